"""FCFS and EASY against hand-solved cases, the naive versions, and published schedules.

Joined here: `fcfs` and `easy`, which share their cases.
"""

import pytest
from hypothesis import given

import bfenv
from bfenv.core.cluster import start, waiting
from bfenv.core.events import advance, commit_starts, new_cluster
from bfenv.core.profile import shadow
from tests.conftest import as_naive, log, small_traces
from tests.oracles import machine as naive


def schedule(policy, processors, *jobs, **options):
    """Starts of jobs (submit, size, estimate, runtime)."""
    submit, size, estimate, runtime = zip(*jobs, strict=True)
    trace = bfenv.make_trace(submit, size, runtime, processors, estimate=estimate)
    return bfenv.simulate(trace, policy, **options).check().start.tolist()


def test_fcfs_waits_for_the_head():
    #  P
    #  4 |00001111
    #  3 |00001111      job 2 needs one processor and waits behind job 1 all the same
    #  2 |00  1111
    #  1 |      22
    assert schedule("fcfs", 4, (0, 2, 4, 4), (1, 3, 4, 4), (2, 1, 2, 2)) == [0, 4, 4]


def test_easy_backfills_what_ends_by_the_shadow_time():
    #  P
    #  4 |  2 1111
    #  3 |  221111      shadow time 4, extra nodes 1
    #  2 |00001111
    #  1 |00001111      job 2 (size 2) ends at 4 and starts; job 3 would end at 5 and waits
    jobs = (0, 2, 4, 4), (1, 4, 4, 4), (2, 2, 2, 2), (2, 2, 3, 3)
    assert schedule("easy", 4, *jobs) == [0, 4, 2, 8]


def test_easy_backfills_on_extra_nodes_which_then_are_used_up():
    #  the head (size 3) starts at 4 and leaves one extra node: for job 2, not for job 3 as well
    jobs = (0, 2, 4, 4), (1, 3, 4, 4), (2, 1, 9, 9), (2, 1, 9, 9)
    assert schedule("easy", 4, *jobs) == [0, 4, 2, 8]


def test_a_job_that_ends_at_the_shadow_time_exactly_is_backfilled():
    assert schedule("easy", 2, (0, 1, 5, 5), (1, 2, 1, 1), (2, 1, 3, 3)) == [0, 5, 2]


def test_starts_before_the_head():
    """Jobs that start before the head was found are not backfilled again."""
    #  All come at 0: jobs 0 and 1 start, job 2 (size 4) is the head, and job 3 ends before it.
    jobs = (0, 1, 4, 4), (0, 1, 4, 4), (0, 4, 1, 1), (0, 1, 3, 3)
    assert schedule("easy", 4, *jobs) == [0, 0, 4, 0]


def test_a_job_too_large_for_the_free_processors_does_not_end_the_backfill():
    #  job 2 (size 2) fits neither now nor beside the head; job 3 behind it ends by the shadow time
    assert schedule("easy", 2, (0, 1, 5, 5), (1, 2, 1, 1), (1, 2, 1, 1), (1, 1, 3, 3)) == [
        0,
        5,
        6,
        1,
    ]


def test_all_jobs_expected_to_end_at_the_shadow_time_count_towards_the_extra_nodes():
    #  jobs 0 and 1 both end at 5 by estimates: the head needs one of them, two nodes are extra
    jobs = (0, 2, 5, 5), (0, 2, 5, 5), (1, 3, 2, 2), (1, 1, 20, 20), (1, 1, 20, 20)
    assert schedule("easy", 5, *jobs) == [0, 0, 5, 1, 5]


def test_the_schedule_of_the_thesis_in_table_1_1_is_that_of_fcfs():
    """Shmueli 2003, Figures 1.1 and 1.2: jobs of size 3 2 4 3 for 2 4 2 2 s on 5 processors."""
    #  P
    #  5 |11  3344
    #  4 |11  3344
    #  3 |11  3344
    #  2 |222233
    #  1 |2222
    trace = bfenv.make_trace([0] * 4, [3, 2, 4, 3], [2, 4, 2, 2], 5)
    result = bfenv.simulate(trace, "fcfs").check()
    assert result.start.tolist() == [0, 0, 4, 6]
    assert result.end.tolist() == [2, 4, 6, 8]
    assert result.wait.tolist() == [0, 0, 4, 6]
    metrics = bfenv.metrics(result)
    assert metrics["makespan"] == 8
    assert metrics["utilization"] == 0.70


def test_easy_does_better_on_the_jobs_of_table_1_1():
    #  P
    #  5 |114433      job 4 fits in before job 3, which waits for job 2
    #  4 |114433
    #  3 |114433
    #  2 |222233
    #  1 |2222
    assert schedule("easy", 5, (0, 3, 2, 2), (0, 2, 4, 4), (0, 4, 2, 2), (0, 3, 2, 2)) == [
        0,
        0,
        4,
        2,
    ]


def thesis_machine():
    """Shmueli 2003, Figure 3.1: machine 10 at t = 25, size 5 runs for 3 more, five jobs wait."""
    trace = bfenv.make_trace([22, 25, 25, 25, 25, 25], [5, 7, 2, 1, 2, 3], [6, 4, 2, 6, 4, 5], 10)
    cluster, jobs, truth = new_cluster(trace)
    advance(cluster, jobs, truth)
    start(cluster, jobs, 0)
    advance(cluster, jobs, truth)
    commit_starts(cluster, jobs, truth)
    return cluster, jobs


def test_shadow_time_and_extra_nodes_of_the_theses_figures_3_2_and_3_4():
    cluster, jobs = thesis_machine()
    assert waiting(cluster).tolist() == [1, 2, 3, 4, 5]
    assert tuple(shadow(cluster, jobs, 1)) == (28, 3)


@given(small_traces())
def test_fcfs_and_easy_equal_their_naive_versions(trace):
    for policy in ("fcfs", "easy"):
        for order in ("standard", "pyss"):
            result = bfenv.simulate(trace, policy, event_order=order)
            expected = getattr(naive, policy)(*as_naive(trace), event_order=order)
            assert list(zip(result.start.tolist(), result.end.tolist(), strict=True)) == expected


@pytest.mark.parametrize(
    ("policy", "mean_wait", "mean_bounded_slowdown"),
    [("fcfs", 353776, 6814.97), ("easy", 6836.87, 92.5765)],
)
def test_published_schedules_of_kth_are_reproduced(policy, mean_wait, mean_bounded_slowdown):
    """Gaussier, Glesser, Reis and Trystram, SC'15, whose schedules come from pyss."""
    result = bfenv.simulate(log("KTH-SP2-1996-2"), policy, event_order="pyss").check()
    metrics = bfenv.metrics(result)
    digits = 0 if policy == "fcfs" else 2
    assert round(metrics["mean_wait"], digits) == mean_wait
    assert float(f"{metrics['mean_bounded_slowdown']:.6g}") == mean_bounded_slowdown
    if policy == "easy":
        assert round(metrics["utilization"], 6) == 0.685613
        assert metrics["makespan"] == 29_363_626
