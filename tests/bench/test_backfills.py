"""Backfills, wild ones, and the time they steal."""

from hypothesis import given

import bfenv
from bfenv.bench.backfills import backfills
from tests.conftest import small_traces


def test_the_heel_and_toe_dynamic_steals_four_seconds_from_the_head():
    """Tsafrir 2010, Figure 6: estimates are double the runtimes, job 3 needs all processors."""
    #  P
    #  2 |22224444663333    the head, job 3, could truly start at 6, when job 1 ends; after the
    #  1 |111111555 3333    start of job 4 at 8, after that of job 5 at 9, after job 6 at 10
    #    +---------> t
    runtime = [6, 4, 5, 4, 3, 2]
    trace = bfenv.make_trace(
        [0] * 6, [1, 1, 2, 1, 1, 1], runtime, 2, estimate=[2 * r for r in runtime]
    )
    schedule = bfenv.simulate(trace, "easy").check()
    assert schedule.start.tolist() == [0, 0, 10, 4, 6, 8]
    found = backfills(schedule)
    assert found.backfilled.tolist() == [False, False, False, True, True, True]
    assert found.stolen.tolist() == [0, 0, 0, 2, 1, 1]
    assert found.wild.tolist() == found.backfilled.tolist()


@given(small_traces())
def test_with_exact_estimates_easy_steals_nothing(trace):
    jobs = trace.jobs
    exact = bfenv.make_trace(jobs.submit, jobs.size, trace.runtime, trace.processors)
    assert not backfills(bfenv.simulate(exact, "easy")).wild.any()


@given(small_traces())
def test_under_fcfs_nothing_is_backfilled(trace):
    found = backfills(bfenv.simulate(trace, "fcfs"))
    assert not found.backfilled.any() and not found.stolen.any()


@given(small_traces())
def test_backfills_are_those_of_a_list_of_what_ran(trace):
    schedule = bfenv.simulate(trace, "easy")
    found = backfills(schedule)
    jobs = trace.jobs
    start, end = schedule.start.tolist(), schedule.end.tolist()
    ran = []

    def earliest(need, time):
        while sum(s for s, e in ran if e > time) + need > trace.processors:
            time += 1
        return time

    for job in sorted(range(len(start)), key=lambda job: (start[job], job)):
        now = start[job]
        waits = [j for j in range(len(start)) if jobs.submit[j] <= now < start[j]]
        before = earliest(jobs.size[waits[0]], now) if waits else now
        ran.append((int(jobs.size[job]), end[job]))
        backfilled = bool(waits) and waits[0] < job
        assert found.backfilled[job] == backfilled
        after = earliest(jobs.size[waits[0]], now) if backfilled else before
        assert found.stolen[job] == after - before
