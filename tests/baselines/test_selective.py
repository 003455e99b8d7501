"""Selective backfilling against hand-solved cases and the naive version."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import bfenv
from bfenv.baselines.selective import SELECTIVE, selective
from tests.baselines.test_slack import crowds, with_another
from tests.conftest import as_naive, small_traces
from tests.oracles import slack as naive_slack

# (submit, size, estimate) on 2 processors; job 1 needs both
JOBS = (0, 1, 4), (1, 2, 6), (2, 1, 5), (4, 1, 5), (5, 1, 5), (8, 1, 5), (8, 1, 3)


def schedule(policy, jobs, processors=2):
    submit, size, estimate = zip(*jobs, strict=True)
    return bfenv.simulate(bfenv.make_trace(submit, size, estimate, processors), policy).check()


def test_a_job_has_a_reservation_once_its_slowdown_exceeds_the_threshold():
    #  P
    #  2 |  2222244444111111
    #  1 |00003333366611111155555
    #  at 7 job 1 has waited 6 s of 6: its slowdown is 2 and no more, job 4 passes it; at 8 it
    #  is more, and job 1 is promised 12; at 9 job 6 ends by then and starts, job 5 would not
    result = schedule(SELECTIVE, JOBS)
    assert result.start.tolist() == [0, 12, 2, 4, 7, 18, 9]
    assert result.records["guarantee"].tolist() == [-1, 12, -1, -1, -1, 18, -1]


def test_below_the_threshold_a_large_job_is_passed_by_all():
    #  P
    #  2 |  2222244444666111111
    #  1 |00003333355555 111111    until no other job is left
    result = schedule(selective(10), JOBS)
    assert result.start.tolist() == [0, 15, 2, 4, 7, 9, 12]
    assert (result.records["guarantee"] == -1).all()


def test_with_a_reservation_from_the_start_nobody_passes():
    #  with threshold 0 job 1 is promised 4 on arrival, and job 2 would end at 7
    result = schedule(selective(0), JOBS)
    assert result.start[1] == 4
    assert result.records["guarantee"][1] == 4


def test_what_is_backfilled_leaves_less_room_for_the_next():
    #  P
    #  4 |     2222222222...    at 5 job 1 (size 3) has a reservation at 9 that leaves one node
    #  3 |         1            for a job of 20 s, and there are two of them
    #  2 |0000000001333333...
    #  1 |0000000001
    jobs = (0, 2, 9), (0, 3, 1), (5, 1, 20), (5, 1, 20)
    assert schedule(SELECTIVE, jobs, 4).start.tolist() == [0, 9, 5, 10]


def test_a_reservation_moves_forward_when_a_job_ends_early():
    #  P   job 0 asked for 20 s and runs 7; job 1 (size 2, 1 s) is promised 20 at 4, starts at 7;
    #  2 |  2    1     job 3 (asked for 20 s), which came last, waits behind that promise
    #  1 |000000013
    submit, size, runtime, estimate = [0, 1, 2, 4], [1, 2, 1, 1], [7, 1, 1, 20], [20, 1, 1, 20]
    trace = bfenv.make_trace(submit, size, runtime, 2, estimate=estimate)
    result = bfenv.simulate(trace, SELECTIVE).check()
    assert result.start.tolist() == [0, 7, 2, 8]
    assert result.records["guarantee"].tolist()[1] == 20


def test_a_reserved_job_starts_on_its_second_though_no_job_ends_then():
    #  P
    #  2 |0033333  22222  at first job 0 is to run until 10, job 1 until 4, and jobs 2 (size 2) and
    #  1 |1111     22222  3 (size 1) are promised 10 and 4; job 0 ends at 2: job 2, by its turn
    #                     placed first, moves up to where job 3 was to end, then 3 moves up as well
    submit, size, runtime, estimate = [0] * 4, [1, 1, 2, 1], [2, 4, 5, 5], [10, 4, 5, 5]
    trace = bfenv.make_trace(submit, size, runtime, 2, estimate=estimate)
    result = bfenv.simulate(trace, selective(0)).check()
    assert result.records["guarantee"].tolist() == [0, 0, 10, 4]
    assert result.start.tolist() == [0, 0, 9, 2]


THRESHOLD = st.sampled_from([0, 1, 1.5, 2, 4, 1000])


@given(small_traces(jobs=10) | crowds(), THRESHOLD)
def test_it_equals_its_naive_version(trace, threshold):
    for order in ("standard", "pyss"):
        result = bfenv.simulate(trace, selective(threshold), event_order=order)
        expected, reservation = naive_slack.selective(*as_naive(trace), threshold, order)
        assert list(zip(result.start.tolist(), result.end.tolist(), strict=True)) == expected
        guarantee = result.records["guarantee"]
        assert {job: guarantee[job] for job in np.flatnonzero(guarantee >= 0)} == reservation


@given(crowds(), THRESHOLD)
def test_no_job_starts_later_than_its_reservation(trace, threshold):
    result = bfenv.simulate(trace, selective(threshold)).check()
    guarantee = result.records["guarantee"]
    assert (result.start <= guarantee)[guarantee >= 0].all()


@given(small_traces(jobs=10))
def test_with_threshold_zero_it_is_conservative_backfilling(trace):
    expected = bfenv.simulate(trace, "conservative").start.tolist()
    assert bfenv.simulate(trace, selective(0)).start.tolist() == expected


@given(crowds(), st.sampled_from([SELECTIVE, selective(0)]), st.integers(1, 9))
def test_it_takes_over_a_busy_machine_and_gets_over_starts_that_are_not_its_own(trace, policy, n):
    assert (with_another(trace, policy, lambda count: count > n) >= 0).all()
    assert (with_another(trace, policy, lambda count: count % 2) >= 0).all()


def test_a_plan_that_agrees_by_accident():
    """A plan is dropped if another policy decided since, even if it still fills the machine."""
    trace = bfenv.make_trace([0, 1, 2, 3], [2, 1, 2, 1], [5, 1, 1, 4], 2, estimate=[5, 2, 2, 4])
    assert with_another(trace, SELECTIVE, lambda count: count % 2).tolist() == [5, 6, 7, 11]
