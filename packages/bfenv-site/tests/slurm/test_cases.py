"""Whole schedules of small scripted cases, beside the starts of a real slurmctld.

`cases.json` has 30 cases on Debian's Slurm 22.05.8, run 60 times faster than real time. A job is
[submit, size, limit, runtime, the real start in minutes, and what else it was submitted with]; the
other times are in seconds. "begin" is when a job with a requested start, held, or waiting for
another became eligible. An outage is a reservation of the whole machine for another user.
"""

import numpy as np
import pytest

import bfenv
from bfenv.core.jobs import Outage
from site_helpers.cases import CASES
from site_helpers.partitions import in_partitions

LATE = 9  # seconds after a job's end at which the sped-up slurmctld sees it
# The cases with another start, and why.
DIFFER = {
    "queue_depth_1": "job 3 starts in a cycle; the cycles of the real one are at other seconds",
}


def trace_of(case):
    """The jobs of a case, by submit time, and their real starts in minutes."""
    rows = [
        (submit, size, limit + LATE, runtime + LATE, -more.get("nice", 0), more.get("begin", 0))
        for submit, size, limit, runtime, _, more in case["jobs"]
    ]
    order = sorted(range(len(rows)), key=lambda job: rows[job][0])
    submit, size, limit, runtime, priority, begin = zip(*(rows[i] for i in order), strict=True)
    processors = case["nodes"] * case["processors"]
    outages = (Outage(*case["outage"], processors),) if "outage" in case else ()
    partitions = [case["jobs"][i][5].get("partition", "main") for i in order]
    names = sorted(set(partitions))
    trace = bfenv.make_trace(
        submit,
        size,
        runtime,
        processors,
        estimate=limit,
        priority=priority,
        requested_start=begin,
        outages=outages,
        **in_partitions([names.index(name) for name in partitions], names),
    )
    return trace, [case["jobs"][i][4] for i in order]


def policy_of(case, path):
    """The policy of a case; what is beside SchedulerParameters is in a slurm.conf."""
    if not case["conf"]:
        return f'slurm(parameters="{case["parameters"]}", cores_per_node={case["processors"]})'
    lines = [f"NodeName=n[1-{case['nodes']}] CPUs={case['processors']}", *case["conf"]]
    if not any(line.startswith("PartitionName") for line in lines):
        lines.append("PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP")
    lines.append(f"SchedulerParameters={case['parameters']}")
    path.write_text("\n".join(lines))
    return f"slurm(conf='{path}')"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_real_starts(case, tmp_path):
    """Each job starts within a minute of the real one, except in cases that are known to differ."""
    trace, real = trace_of(case)
    start = bfenv.simulate(trace, policy_of(case, tmp_path / "slurm.conf")).start / 60
    is_same = np.abs(start - real).max() <= 1
    assert is_same != (case["name"] in DIFFER), (start, real)
