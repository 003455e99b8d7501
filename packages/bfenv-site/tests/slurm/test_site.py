"""A site's nodes, partitions and priorities: whole schedules against a slow oracle."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bfenv
from bfenv.baselines.registry import find_competitor, find_policy
from bfenv.core.cluster import NEXT_JOB
from bfenv.core.errors import PolicyError
from bfenv.core.events import advance, new_cluster
from bfenv.core.simulator import simulate
from bfenv.workloads.logs.swf import write_swf
from bfenv_site.logs.selection import Selection
from bfenv_site.logs.slurm import read_sacct
from bfenv_site.slurm.conf import Multifactor, Partition, Site
from bfenv_site.slurm.parameters import read_parameters
from bfenv_site.slurm.scheduler import PARTITION
from bfenv_site.slurm.site import columns_of, policy_for
from site_helpers import slurm_oracle as oracle
from site_helpers.partitions import in_partitions
from tests.conftest import small_traces, stretched

FACTOR = 13  # seconds in a unit of the small traces
CONF = """
NodeName=DEFAULT CPUs=2
NodeName=n[1-2]
NodeName=fat CPUs=4
PartitionName=thin Nodes=n[1-2] Default=YES
PartitionName=fat Nodes=fat PriorityTier=5
"""


def with_columns(trace, partitions, groups, names):
    """The trace with a record of each job's partition and group, and with the partitions' names."""
    return stretched(trace, FACTOR, **in_partitions(partitions, names, groups))


@st.composite
def sites(draw, priorities=True, fair_share=True):
    """A trace, a site, its SchedulerParameters, and the oracle's jobs and settings."""
    trace = draw(small_traces(jobs=12, processors=8, requested_starts=True))
    processors = trace.processors
    sizes, left = [], processors
    while left:
        sizes.append(draw(st.integers(1, min(3, left))))
        left -= sizes[-1]
    numbers = range(len(sizes))
    parts = []
    for name in ("a", "b", "c")[: draw(st.integers(1, 3))]:
        nodes = sorted(draw(st.sets(st.sampled_from(numbers)))) if parts else list(numbers)
        nodes = nodes or list(numbers)
        tier, factor = draw(st.integers(1, 2)), draw(st.integers(0, 2))
        parts.append(Partition(name, np.array(nodes), tier, factor))
    room = [sum(sizes[node] for node in part.nodes.tolist()) for part in parts]
    of_job = [
        draw(st.sampled_from([i for i in range(len(parts)) if room[i] >= size]))
        for size in trace.jobs.size.tolist()
    ]
    groups = [draw(st.integers(1, 2)) for _ in of_job]
    weight = st.sampled_from([0, 0, 10, 1000])
    weights = tuple(draw(weight) for _ in range(4))
    if not fair_share:
        weights = (weights[0], 0, *weights[2:])
    is_on = priorities and draw(st.booleans())
    small, by_time = draw(st.booleans()), draw(st.booleans())
    max_age, period = draw(st.sampled_from([30, 200])), draw(st.sampled_from([1, 20, 100]))
    multifactor = Multifactor(
        is_on, *map(float, weights), max_age, small, by_time, half_life=0.0, period=period
    )
    whole, builtin = draw(st.booleans()), draw(st.booleans())
    site = Site(np.array(sizes), tuple(parts), 0, not builtin, whole, multifactor)
    reserved, depth = draw(st.sampled_from([0, 0, 1, 2])), draw(st.sampled_from([1, 3, 100]))
    text = (
        f"bf_interval=7,bf_resolution=10,bf_job_part_count_reserve={reserved},"
        f"default_queue_depth={depth},sched_interval=20"
    )
    trace = with_columns(trace, of_job, groups, [part.name for part in parts])
    jobs = trace.jobs
    users = list(zip(groups, jobs.user.tolist(), strict=True))
    columns = (jobs.submit, jobs.size, jobs.estimate, trace.runtime, jobs.requested_start)
    rows = list(zip(*(column.tolist() for column in columns), of_job, users, strict=True))
    meant = oracle.Settings(
        7,
        10,
        1440 * 60,
        500,
        0,
        reserved,
        depth,
        20,
        every_cycle=False,
        whole=whole,
        builtin=builtin,
        partitions=tuple((part.tier, part.nodes.tolist()) for part in parts),
        period=period if is_on else 0,
        priority=oracle.Multifactor(
            weights,
            tuple(part.factor for part in parts),
            processors,
            max_age,
            small,
            by_time,
        ),
    )
    return trace, site, read_parameters(text)[0], rows, sizes, meant


def starts(trace, site, parameters):
    """The starts of the jobs of a trace on a site."""
    return simulate(trace, policy_for(trace, "slurm", site, parameters)).start.tolist()


@given(sites())
@settings(max_examples=300)
def test_oracle(drawn):
    """The policy of a site makes the schedule of the oracle."""
    trace, site, parameters, rows, sizes, meant = drawn
    assert starts(trace, site, parameters) == oracle.simulate(rows, sizes, meant)


@given(sites(fair_share=False))
@settings(max_examples=100)
def test_skipped_cycles(drawn):
    """Cycles before which nothing changed would start nothing."""
    trace, site, parameters, rows, sizes, meant = drawn
    every = replace(meant, every_cycle=True)
    assert starts(trace, site, parameters) == oracle.simulate(rows, sizes, every)


@pytest.fixture
def policy(tmp_path):
    """The policy of a site with a thin partition of two nodes and a fat one of one."""
    path = tmp_path / "slurm.conf"
    path.write_text(CONF)
    return find_competitor(f"slurm(conf='{path}')")


def trace_of(size, partitions, names=("thin", "fat"), processors=8):
    """Jobs of a second that are submitted at once, in the partitions of these numbers."""
    size = np.array(size)
    zeros = np.zeros(len(size), dtype=int)
    trace = bfenv.make_trace(zeros, size, zeros + 1, processors)
    return with_columns(trace, partitions, -1, names)


def test_head_of_a_partition(policy):
    """The head of a partition blocks only the partition's own nodes."""
    trace = trace_of([3, 3, 4], [0, 0, 1])
    assert bfenv.simulate(trace, policy).start.tolist() == [0, 13, 0]


def test_default_partition(policy):
    """A job without a partition is in the default one."""
    trace = trace_of([4, 4], [0, -1])
    assert bfenv.simulate(trace, policy).start.tolist() == [0, 13]


def test_processor_as_node(policy):
    """A processor of the workload may be a node."""
    trace = trace_of([2, 1], [0, 1], processors=3)
    assert bfenv.simulate(trace, policy).start.tolist() == [0, 0]


def test_imported_log(policy, tmp_path):
    """An imported log keeps its partitions and accounts, in its file and in a part of it."""
    dump, file = tmp_path / "dump.txt", tmp_path / "site.swf"
    rows = [("thin", "x"), ("fat", "y"), ("fat", "x"), ("thin", "y")]
    dump.write_text(
        "JobID|User|Account|Partition|Submit|Start|End|TimelimitRaw|State|AllocCPUS\n"
        + "".join(
            f"{job}|ann|{account}|{partition}|{100 + job}|200|300|9|COMPLETED|1\n"
            for job, (partition, account) in enumerate(rows)
        )
    )
    write_swf(read_sacct(dump, processors=8, selection=Selection(names=True)), file)
    site = policy.bind.keywords["site"]
    columns = columns_of(bfenv.load_workload(str(file))[1:], site)
    assert columns.tolist() == [[1, 1, 0], [1, 0, 1], [1, 0, 1]]


@pytest.mark.parametrize(
    ("trace", "message"),
    [
        (trace_of([1], [0], processors=9), "has 8 CPUs in 3 nodes, and the machine"),
        (trace_of([1, 5], [0, 1]), "job 1 of unnamed needs 5 processors, and the partition fat"),
        (trace_of([1], [0], names=()), "does not name the partitions of its jobs"),
        (trace_of([1], [0], names=("huge",)), "no partition huge, in which unnamed has jobs"),
        (trace_of([1], [6]), "no partition 7, in which unnamed has jobs; it has thin, fat"),
    ],
)
def test_misfit(policy, trace, message):
    """A workload that does not fit the site is refused."""
    with pytest.raises(PolicyError, match=message):
        bfenv.simulate(trace, policy)


def test_messages_name_the_file(tmp_path):
    """What does not fit is said of the file that was given, whatever its name."""
    path = tmp_path / "typo.conf"
    path.write_text(CONF.replace("PartitionName=fat", "PartitionName=fatt"))
    policy = find_competitor(f"slurm(conf='{path}')")
    with pytest.raises(PolicyError, match=f"^{path} has no partition fat, in which"):
        bfenv.simulate(trace_of([1, 1], [0, 1]), policy)
    with pytest.raises(PolicyError, match=f"^{path} has 8 CPUs in 3 nodes"):
        bfenv.simulate(trace_of([1], [0], processors=9), policy)


def test_too_large_machine():
    """A machine whose processors take a table of gigabytes is refused before there is one."""
    trace = bfenv.make_trace([0], [1], [1], processors=2**40)
    with pytest.raises(PolicyError, match=r"is too large; a machine may have 67,108,864"):
        simulate(trace, bfenv.find_policy("slurm"))


def test_pass_by_pass(policy):
    """The policy of a site cannot act pass by pass."""
    with pytest.raises(PolicyError, match="makes whole schedules"):
        find_policy(policy)


def test_jobs_to_come(policy):
    """For jobs to come, the partition is the default, and every other column is -1."""
    trace = bfenv.make_trace([0, 5, 10, 15], [1] * 4, [3] * 4, 8, user=[0, 1, 0, 1])
    trace = with_columns(trace, [1, 0, 1, 0], -1, ("thin", "fat"))
    site, parameters = (policy.bind.keywords[name] for name in ("site", "settings"))
    site_policy = policy_for(trace, "slurm", site, parameters)
    cluster, jobs, truth = new_cluster(trace)
    memory = site_policy.memory(jobs, trace.processors, np.random.default_rng(0))
    seen = set()
    while advance(cluster, jobs, truth):
        site_policy.decide(cluster, jobs, memory)
        count = cluster.state[NEXT_JOB]
        columns = memory.slurm.columns
        assert (columns[PARTITION, :count] == [1, 0, 1, 0][:count]).all()
        assert (columns[PARTITION, count:] == site.default).all()
        assert (columns[PARTITION + 1 :, count:] == -1).all()
        assert memory.slurm.priority.counts[1] == min(count, 2)
        seen.add(int(count))
    assert seen == {1, 2, 3, 4}
