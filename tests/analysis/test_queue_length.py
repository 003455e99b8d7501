"""The queue over time, second by second."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bfenv
import bfenv.analysis.queue_length as q
from bfenv.core.durations import DAY
from tests.analysis.drawn import DRAWN, TRIED, TRYING, drawn
from tests.conftest import small_traces

POLICIES = st.sampled_from(["fcfs", "easy", "sjf", "conservative", TRYING])


def seconds(schedule):
    """(begin, end, tried) of every job's wait, and (begin, end, size) of all that ran."""
    jobs, tried = schedule.trace.jobs, schedule.trial_end >= 0
    waits, ran = [], []
    for job in range(len(jobs.submit)):
        begin, start = int(jobs.submit[job]), int(schedule.start[job])
        wish = max(begin, int(jobs.requested_start[job]))
        first, again = start, start
        if tried[job]:
            first, again = int(schedule.trial_start[job]), int(schedule.trial_end[job])
            ran.append((first, again, int(jobs.size[job])))
        waits.append((begin, wish, first, again, start))
        ran.append((start, int(schedule.end[job]), int(jobs.size[job])))
    return waits, ran


def test_by_hand():
    """The queue, its mean and the lost capacity, by hand."""
    times, jobs = q.queue_steps(DRAWN)
    assert (times.tolist(), jobs.tolist()) == ([0, 1, 2, 4, 9], [0, 1, 2, 1, 0])
    assert q.mean_queue_length(DRAWN) == 10 / 29
    assert q.loss_of_capacity(DRAWN) == 1 / (4 * 29)  # one processor, from 1 to 2
    assert q.packing_efficiency(DRAWN) == 31 / 32  # of four processors, from 1 to 9


def test_trial():
    """A job on trial is not in the queue."""
    times, jobs = q.queue_steps(TRIED)
    assert (times.tolist(), jobs.tolist()) == ([0, 1, 2, 5], [0, 1, 1, 0])
    assert q.mean_queue_length(TRIED) == 4 / 9
    assert q.loss_of_capacity(TRIED) == 1 / (3 * 9)
    assert q.packing_efficiency(TRIED) == 11 / 12


def test_requested_start():
    """A job loses no capacity before its requested start."""
    trace = bfenv.make_trace([0, 0], [1, 1], [9, 1], 2, requested_start=[0, 6])
    assert q.loss_of_capacity(drawn(trace, [0, 6])) == 0
    assert q.loss_of_capacity(drawn(trace, [0, 8])) == 2 / (2 * 9)


def test_idle_machine():
    """An idle machine with an empty queue loses no capacity."""
    trace = bfenv.make_trace([0, 100], [1, 1], [5, 5], 8)
    schedule = bfenv.simulate(trace, "easy")
    assert q.loss_of_capacity(schedule) == q.mean_queue_length(schedule) == 0
    assert math.isnan(q.packing_efficiency(schedule))


def test_outage():
    """Processors out of service count neither as idle nor as used."""
    trace = bfenv.make_trace([0, 0], [2, 1], [4, 2], 3, outages=(bfenv.core.jobs.Outage(0, 4, 1),))
    assert q.packing_efficiency(drawn(trace, [0, 4])) == 1


def test_throughput():
    """Three quarters of the machine are used on the first day, a quarter on the second."""
    trace = bfenv.make_trace([0, 0, 2 * DAY + 5], [2, 1, 1], [DAY, 2 * DAY, 1], 4)
    assert q.throughput_deviation(drawn(trace, [0, 0, 2 * DAY + 5])) == 0.25
    assert math.isnan(q.throughput_deviation(drawn(trace[:2], [0, 0])))


@given(small_traces(requested_starts=True), st.sampled_from(["conservative", TRYING]))
def test_every_second(trace, policy):
    """Queue and lost capacity equal those counted second by second."""
    schedule = bfenv.simulate(trace, policy)
    waits, ran = seconds(schedule)
    begin, end = int(trace.jobs.submit[0]), int(schedule.end.max())
    times, jobs = q.queue_steps(schedule)
    total = lost = used = 0
    for t in range(begin, end):
        queue = sum(b <= t < first or again <= t < start for b, _, first, again, start in waits)
        ready = sum(w <= t < first or again <= t < start for _, w, first, again, start in waits)
        assert jobs[np.searchsorted(times, t, side="right") - 1] == queue
        total += queue
        used += sum(s for b, e, s in ran if b <= t < e) * (ready > 0)
        lost += (trace.processors - sum(s for b, e, s in ran if b <= t < e)) * (ready > 0)
    assert q.mean_queue_length(schedule) == pytest.approx(total / (end - begin))
    assert q.loss_of_capacity(schedule) == pytest.approx(lost / (trace.processors * (end - begin)))
    expected = used / (used + lost) if used + lost else math.nan
    assert q.packing_efficiency(schedule) == pytest.approx(expected, nan_ok=True)


@given(small_traces(), st.sampled_from(["conservative", TRYING]))
def test_throughput_of_every_day(trace, policy):
    """The deviation is that of the days' shares, with days of three seconds."""
    schedule = bfenv.simulate(trace, policy)
    _, ran = seconds(schedule)
    first, last = int(trace.jobs.submit[0]), int(trace.jobs.submit[-1])
    shares = [
        sum(s for t in range(day, day + 3) for b, e, s in ran if b <= t < e)
        for day in range(first, last - 2, 3)
    ]
    expected = np.std(shares) / (3 * trace.processors) if shares else math.nan
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bfenv.analysis.queue_length.DAY", 3)
        assert q.throughput_deviation(schedule) == pytest.approx(expected, nan_ok=True)


@given(small_traces(), POLICIES, st.integers(1, 7))
def test_curve(trace, policy, parts):
    """The curve has the means of its parts."""
    schedule = bfenv.simulate(trace, policy)
    cuts, means = q.queue_curve(schedule, parts)
    waits, _ = seconds(schedule)
    begin, end = int(trace.jobs.submit[0]), int(schedule.end.max())
    assert cuts[0] == begin and cuts[-1] == end and len(cuts) == len(means) + 1
    assert len(means) == min(parts, end - begin)
    for left, right, found in zip(cuts[:-1], cuts[1:], means, strict=True):
        queue = [
            sum(b <= t < first or again <= t < start for b, _, first, again, start in waits)
            for t in range(left, right)
        ]
        assert found == pytest.approx(sum(queue) / len(queue))


def test_long_curve():
    """The curve of a long schedule has 200 parts and its mean."""
    schedule = bfenv.simulate(bfenv.load_workload("lublin:jobs=500"), "easy")
    cuts, means = q.queue_curve(schedule)
    assert len(means) == 200 and np.ptp(np.diff(cuts)) <= 1
    assert np.average(means, weights=np.diff(cuts)) == pytest.approx(q.mean_queue_length(schedule))
