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
def test_a_policy_on_the_merged_workload_is_the_policy_on_each_partition(trace, policy):
    """Job by job, with the partition read as a workload of its own that begins at time 0."""
    schedule = bfenv.simulate(trace, policy).check()
    for jobs, part in traces_of_machines(trace):
        begin = part.jobs.submit[0]
        alone = bfenv.simulate(part[:], policy)
        assert (schedule.start[jobs] == alone.start + begin).all()


def test_a_job_waits_for_its_own_partition_while_another_one_is_idle():
    assert bfenv.simulate(three_jobs(), "easy").start.tolist() == [0, 100, 2]


def test_one_partition_of_a_larger_machine_has_its_own_processors_only():
    trace = partitioned(bfenv.make_trace([0, 1], [2, 2], [9, 9], 4), [1, 1], "cpu=2", 4)
    assert bfenv.simulate(trace, "fcfs").start.tolist() == [0, 9]


def test_partitions_on_the_same_nodes_are_one_machine():
    trace = bfenv.make_trace([0, 1], [3, 3], [9, 9], 4)
    one = partitioned(trace, [1, 2], "cpu=4,gpu=cpu", 4)
    assert bfenv.simulate(one, "fcfs").start.tolist() == [0, 9]


def test_partitions_that_share_some_nodes_are_refused():
    trace = partitioned(bfenv.make_trace([0, 1], [1, 1], [9, 9], 4), [1, 2], "cpu=4,gpu&cpu", 4)
    with pytest.raises(PolicyError, match="easy knows no partitions, and gpu and cpu of site"):
        bfenv.simulate(trace, "easy")


def test_messages_have_the_numbers_of_the_whole_trace():
    def idle(cluster, jobs):
        """Start nothing."""

    with pytest.raises(PolicyError, match="leaves job 2 waiting forever"):
        bfenv.simulate(three_jobs(), idle)


def test_an_outage_takes_its_share_of_each_partition():
    outages = (Outage(0, 10, 6), Outage(20, 30, 3))
    parts = [part for _, part in traces_of_machines(three_jobs(outages=outages))]
    assert [[one.processors for one in part.outages] for part in parts] == [[4, 2], [2, 1]]


def test_a_partition_is_a_workload_of_its_own():
    part = bfenv.workloads.transformed(three_jobs(), partition="gpu")
    assert (part.processors, part.jobs.size.tolist()) == (2, [2, 2])


def test_the_environment_draws_episodes_from_each_partition():
    from bfenv.envs.episode_source import EpisodeSource

    source = EpisodeSource(three_jobs(), None, "all", 0, 1)
    assert [trace.processors for trace in source.traces] == [4, 2]


def test_sizes_make_a_trace_another_content():
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
def test_sizes_that_cannot_be_are_refused(sizes, message):
    trace = bfenv.make_trace([0, 1, 2], [2, 2, 4], [9, 9, 9], 6)
    with pytest.raises(WorkloadError, match=message):
        partitioned(trace, [2, 2, 1], sizes, 6)
