"""Partitions: each is a machine of its own, on one clock."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bfenv
from bfenv.core.errors import PolicyError, WorkloadError
from bfenv.core.jobs import Outage
from bfenv.core.partitions import traces_of_machines
from tests.linked_jobs import merged_traces, partitioned, three_jobs


@given(merged_traces(), st.sampled_from(["fcfs", "easy", "conservative", "easy-sjf"]))
@settings(max_examples=60)
def test_merged_workload(trace, policy):
    """A policy on the merged workload is the policy on each partition.

    Job by job, with the partition read as a workload of its own that begins at time 0.
    """
    schedule = bfenv.simulate(trace, policy).check()
    for jobs, part in traces_of_machines(trace):
        begin = part.jobs.submit[0]
        alone = bfenv.simulate(part[:], policy)
        assert (schedule.start[jobs] == alone.start + begin).all()


def test_idle_partition():
    """A job waits for its own partition while another one is idle."""
    assert bfenv.simulate(three_jobs(), "easy").start.tolist() == [0, 100, 2]


def test_larger_machine():
    """One partition of a larger machine has its own processors only."""
    trace = partitioned(bfenv.make_trace([0, 1], [2, 2], [9, 9], 4), [1, 1], "cpu=2", 4)
    assert bfenv.simulate(trace, "fcfs").start.tolist() == [0, 9]


def test_same_nodes():
    """Partitions on the same nodes are one machine."""
    trace = bfenv.make_trace([0, 1], [3, 3], [9, 9], 4)
    one = partitioned(trace, [1, 2], "cpu=4,gpu=cpu", 4)
    assert bfenv.simulate(one, "fcfs").start.tolist() == [0, 9]


def test_some_shared_nodes():
    """Partitions that share some nodes are refused, and the message names them."""
    trace = partitioned(bfenv.make_trace([0, 1], [1, 1], [9, 9], 4), [1, 2], "cpu=4,gpu&cpu", 4)
    with pytest.raises(PolicyError, match="easy knows no partitions, and gpu and cpu of site"):
        bfenv.simulate(trace, "easy")


def test_numbers_in_messages():
    """Messages have the numbers that jobs have in the whole trace."""

    def idle(cluster, jobs):
        """Start nothing."""

    with pytest.raises(PolicyError, match="leaves job 2 waiting forever"):
        bfenv.simulate(three_jobs(), idle)


def test_outages():
    """An outage takes its share of each partition."""
    outages = (Outage(0, 10, 6), Outage(20, 30, 3))
    parts = [part for _, part in traces_of_machines(three_jobs(outages=outages))]
    assert [[one.processors for one in part.outages] for part in parts] == [[4, 2], [2, 1]]


def test_one_partition():
    """A partition can be read as a workload of its own."""
    part = bfenv.workloads.transformed(three_jobs(), partition="gpu")
    assert (part.processors, part.jobs.size.tolist()) == (2, [2, 2])


def test_episodes():
    """The environment draws episodes from each partition."""
    from bfenv.envs.episode_source import EpisodeSource

    source = EpisodeSource(three_jobs(), None, "all", 0, 1)
    assert [trace.processors for trace in source.traces] == [4, 2]


def test_hashes():
    """A trace has another hash with other sizes of partitions, and with none."""
    trace = bfenv.make_trace([0, 1], [2, 2], [9, 9], 6)
    sizes = ["", "cpu=4,gpu=2", "cpu=2,gpu=4"]
    hashes = {partitioned(trace, [1, 2], text, 6).hash for text in sizes}
    assert len(hashes) == 3


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ("cpu", "'cpu' is not like cpu=512"),
        ("cpu=4,cpu=2", "'cpu=4' comes twice|'cpu=2' comes twice"),
        ("cpu=4,gpu=other", "gpu=other, but other has no size"),
        ("cpu=4", "site has jobs in the partition gpu, and sizes of cpu only"),
        ("cpu=5,gpu=2", "its partitions have 7 processors, and the machine has 6"),
        ("cpu=3,gpu=2", "job 2 needs 4 processors, and the partition cpu has 3"),
        ("cpu=4,gpu=0", "gives no processors"),
    ],
)
def test_wrong_sizes(sizes, message):
    """Sizes that cannot be are refused, and the message says why."""
    trace = bfenv.make_trace([0, 1, 2], [2, 2, 4], [9, 9, 9], 6)
    with pytest.raises(WorkloadError, match=message):
        partitioned(trace, [2, 2, 1], sizes, 6)
