"""Slurm's scheduler in bfenv's engine: partitions, dependencies, evaluations and benchmarks."""

from hypothesis import given, settings

import bfenv
from benchmarks import engine
from bfenv.core.dependencies import dependencies_of
from bfenv.core.partitions import traces_of_machines
from bfenv.evaluation import evaluate, workload_cases
from tests.linked_jobs import chains, merged_traces


@given(merged_traces())
@settings(max_examples=30)
def test_merged_workload(trace):
    """Slurm on the merged workload is Slurm on each partition.

    Job by job, with the partition read as a workload of its own that begins at time 0.
    """
    schedule = bfenv.simulate(trace, "slurm").check()
    for jobs, part in traces_of_machines(trace):
        begin = part.jobs.submit[0]
        alone = bfenv.simulate(part[:], "slurm")
        assert (schedule.start[jobs] == alone.start + begin).all()


@given(chains())
@settings(max_examples=60)
def test_eligible_starts(trace):
    """A job starts after the end of the job before and its think time, under Slurm too."""
    schedule = bfenv.simulate(trace, "slurm").check()
    follow = dependencies_of(trace)
    if follow is not None:
        waits = follow.before >= 0
        eligible = schedule.end[follow.before] + follow.think
        assert (schedule.start >= eligible)[waits].all()


def test_shared_partitions(tmp_path):
    """With a slurm.conf among the policies, EASY runs on each of its partitions by itself."""
    (tmp_path / "slurm.conf").write_text(
        "NodeName=n[1-6] CPUs=1\nPartitionName=cpu Nodes=n[1-4] Default=YES\n"
        "PartitionName=gpu Nodes=n[5-6]\n"
    )
    lines = ["; MaxProcs: 6", "; Partition: 1 cpu", "; Partition: 2 gpu"]
    for job, (size, part) in enumerate([(2, 2), (2, 2), (4, 1)]):
        lines.append(f"{job + 1} {job} -1 100 {size} -1 -1 {size} 100 -1 1 1 1 1 1 {part} -1 -1")
    (tmp_path / "log.swf").write_text("\n".join(lines) + "\n")
    slurm = f"slurm(conf='{tmp_path}/slurm.conf')"
    cases = workload_cases(str(tmp_path / "log.swf"))
    rows = evaluate(["easy", slurm], cases, keep_schedules=True)
    assert [row.schedule.start.tolist() for row in rows] == [[0, 100, 2]] * 2
    [alone] = evaluate(["easy"], cases, keep_schedules=True)
    assert alone.schedule.start.tolist() == [0, 1, 100]


def test_benchmark():
    """Slurm's scheduler is measured with short and with long intervals between cycles."""
    rows = [(row["subject"], row["jobs"]) for row in engine.measure_slurm(1, 50)]
    assert rows == [("slurm", 50), ('slurm(parameters="bf_interval=300")', 50)]
