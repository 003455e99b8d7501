"""Backfills, wild ones, the time they steal, and the promises to heads."""

from hypothesis import example, given
from hypothesis import strategies as st

import bfenv
from bfenv.analysis.backfills import find_backfills, head_promises
from tests.analysis.drawn import DRAWN, TRYING, drawn
from tests.conftest import small_traces


@given(small_traces())
def test_exact_estimates(trace):
    """With exact estimates, EASY steals no time."""
    jobs = trace.jobs
    exact = bfenv.make_trace(jobs.submit, jobs.size, trace.runtime, trace.processors)
    assert not find_backfills(bfenv.simulate(exact, "easy")).wild.any()


@given(small_traces())
def test_fcfs(trace):
    """FCFS backfills nothing."""
    found = find_backfills(bfenv.simulate(trace, "fcfs"))
    assert not found.backfilled.any() and not found.stolen.any()


TRIALS = "easy(trial=2, trial_above=3)"


@given(small_traces(), st.sampled_from(["easy", TRIALS]))
@example(bfenv.make_trace([0, 0], [1, 1], [4, 1], 2), TRIALS)  # job 1 starts during a trial
def test_against_list(trace, policy):
    """Backfills equal those of a slow replay with a list; who is on trial does not wait."""
    schedule = bfenv.simulate(trace, policy)
    found = find_backfills(schedule)
    jobs = trace.jobs
    start, end = schedule.start.tolist(), schedule.end.tolist()
    trials = list(zip(schedule.trial_start.tolist(), schedule.trial_end.tolist(), strict=True))
    runs = [(start[job], 0, job, end[job]) for job in range(len(start))]
    runs += [(begin, 1, job, over) for job, (begin, over) in enumerate(trials) if over >= 0]
    ran, stolen = [], {}

    def earliest(need, time):
        while sum(s for s, e in ran if e > time) + need > trace.processors:
            time += 1
        return time

    def keeps_waiting(job, now):
        return jobs.submit[job] <= now < start[job] and not trials[job][0] <= now < trials[job][1]

    for now, is_trial, job, over in sorted(runs):
        waits = [j for j in range(len(start)) if keeps_waiting(j, now)]
        before = earliest(jobs.size[waits[0]], now) if waits else now
        ran.append((int(jobs.size[job]), over))
        if is_trial:
            continue
        backfilled = bool(waits) and waits[0] < job
        assert found.backfilled[job] == backfilled
        after = earliest(jobs.size[waits[0]], now) if backfilled else before
        assert found.stolen[job] == after - before
        assert found.head[job] == (waits[0] if backfilled else -1)
        if after > before:
            stolen.setdefault(waits[0], []).append(after - before)
    losses = [sum(parts) for parts in stolen.values()]
    expected = sum(losses) / len(losses) if losses else 0
    assert found.stolen_per_delayed_head == expected


def test_heel_and_toe():
    """Tsafrir 2010, Figure 6: three wild backfills move job 3 from 6 to 10, so 4 are stolen."""
    trace = bfenv.make_trace(
        [0, 0, 1, 1, 1, 1], [1, 1, 2, 1, 1, 1], [6, 4, 1, 4, 3, 2], 2, estimate=[12, 8, 2, 8, 6, 4]
    )
    schedule = bfenv.simulate(trace, "easy")
    found = find_backfills(schedule)
    assert schedule.start.tolist() == [0, 0, 10, 4, 6, 8]
    assert found.head.tolist() == [-1, -1, -1, 2, 2, 2]
    assert found.stolen.tolist() == [0, 0, 0, 2, 1, 1]
    assert found.stolen_per_delayed_head == 4


def test_promise():
    """A promise is the shadow time as the job becomes the head: 5 for job 1, 9 for job 3."""
    assert head_promises(DRAWN).tolist() == [-1, 5, -1, 9]


def test_broken_promise():
    """Job 1 needs both processors and was promised 4; shortest jobs first, 2 and 3 pass it."""
    trace = bfenv.make_trace([0, 1, 2, 2], [1, 2, 1, 1], [4, 9, 4, 4], 2)
    passed = drawn(trace, [0, 10, 2, 6])
    assert head_promises(passed).tolist() == [-1, 4, -1, -1]


def test_requested_start():
    """A promise is not before the requested start."""
    trace = bfenv.make_trace([0, 0], [2, 2], [3, 1], 2, requested_start=[0, 7])
    assert head_promises(drawn(trace, [0, 8])).tolist() == [-1, 7]


@given(small_traces(jobs=12))
def test_easy(trace):
    """EASY keeps every promise."""
    schedule = bfenv.simulate(trace, "easy")
    promises = head_promises(schedule)
    assert (schedule.start <= promises)[promises >= 0].all()


@given(small_traces(requested_starts=True), st.sampled_from(["conservative", TRYING]))
def test_promises_against_list(trace, policy):
    """Promises equal those of a slow replay with a list."""
    schedule = bfenv.simulate(trace, policy)
    jobs, start = trace.jobs, schedule.start.tolist()
    ran = [
        (start[job], int(schedule.end[job]), start[job] + int(jobs.estimate[job]), job)
        for job in range(len(start))
    ] + [
        (int(schedule.trial_start[job]), int(end), int(end), job)
        for job, end in enumerate(schedule.trial_end)
        if end >= 0
    ]
    expected = []
    for job, own in enumerate(start):
        now = max([int(jobs.submit[job]), *start[:job]])
        if own <= now:
            expected.append(-1)
            continue
        runs = [(until, other) for begin, end, until, other in ran if begin <= now < end]
        time, need = now, int(jobs.size[job])
        while sum(jobs.size[o] for until, o in runs if until > time) > trace.processors - need:
            time += 1
        expected.append(max(time, int(jobs.requested_start[job])))
    assert head_promises(schedule).tolist() == expected
