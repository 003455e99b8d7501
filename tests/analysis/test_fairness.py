"""Fairness to users and to jobs."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bfenv
import bfenv.analysis.comparison as cmp
from bfenv.analysis.fairness import by_user, delays, jain, overtaken, user_fairness
from bfenv.analysis.job_classes import (
    class_metrics,
    classify_jobs,
    slowdown_ratios_by_class,
)
from bfenv.analysis.promises import reservation_tail
from bfenv.analysis.queue_length import queue_curve
from bfenv.analysis.schedule_metrics import (
    bounded_slowdown,
    delay_slowdown,
    slowdown,
    width_slowdown,
)
from bfenv.core.errors import BfenvError
from tests.analysis.drawn import DRAWN, drawn
from tests.conftest import small_traces


@pytest.mark.parametrize(
    ("shares", "index"),
    [([3, 3, 3], 1), ([1, 0, 0, 0], 0.25), ([0, 1.5], 0.5), ([1, 2], 0.9), ([7], 1)],
)
def test_jain(shares, index):
    """Jain's index by hand."""
    assert jain(np.array(shares)) == pytest.approx(index)


@pytest.mark.parametrize("shares", [[], [0, 0]])
def test_no_shares(shares):
    """Without shares the index is NaN."""
    assert math.isnan(jain(np.array(shares)))


def test_users():
    """Means by user, by hand; the user of job 3 is unknown."""
    assert by_user(DRAWN, DRAWN.wait).tolist() == [0, 1.5]  # job 3 is of an unknown user
    assert user_fairness(DRAWN) == {"user_fairness": 1, "max_user_bounded_slowdown": 1}


def test_unknown_users():
    """If all users are unknown, the numbers are NaN."""
    schedule = bfenv.simulate(bfenv.make_trace([0, 0], [1, 1], [5, 5], 1), "fcfs")
    assert all(map(math.isnan, user_fairness(schedule).values()))


@given(small_traces())
def test_means_by_user(trace):
    """The means by user are those of their jobs."""
    schedule = bfenv.simulate(trace, "easy")
    values = bounded_slowdown(schedule)
    of_user = {}
    for user, value in zip(trace.jobs.user.tolist(), values.tolist(), strict=True):
        of_user.setdefault(user, []).append(value)
    expected = [sum(of_user[u]) / len(of_user[u]) for u in sorted(of_user) if u >= 0]
    assert by_user(schedule, values).tolist() == pytest.approx(expected)


def test_overtaken():
    """Overtaken jobs, by hand."""
    assert overtaken(DRAWN).tolist() == [False, True, False, False]


@given(small_traces())
def test_overtaken_against_all(trace):
    """A job is overtaken if any later job starts earlier; under FCFS none is."""
    start = bfenv.simulate(trace, "sjf").start.tolist()
    schedule = bfenv.simulate(trace, "sjf")
    expected = [any(later < own for later in start[job:]) for job, own in enumerate(start)]
    assert overtaken(schedule).tolist() == expected
    assert not overtaken(bfenv.simulate(trace, "fcfs")).any()


def test_delays():
    """Only late starts count: job 2 starts early under EASY, and job 1 is not delayed."""
    fcfs = bfenv.simulate(DRAWN.trace, "fcfs")
    assert fcfs.start.tolist() == [0, 4, 9, 9]
    assert delays(DRAWN, fcfs).tolist() == [0, 0, 0, 0]
    assert delays(fcfs, DRAWN).tolist() == [0, 0, 7, 0]


TRACE = bfenv.make_trace([0, 0], [1, 1], [4, 2], 1)


FIRST, SECOND = drawn(TRACE, [0, 4]), drawn(TRACE, [2, 0])  # slowdowns 1 and 3, or 1.5 and 1


def test_slowdown_ratio():
    """(2 - 1.25) / 1.25: SECOND outdoes FIRST by 60 %, and the other way round."""
    assert cmp.slowdown_ratio(SECOND, FIRST) == 0.6
    assert cmp.slowdown_ratio(FIRST, SECOND) == -0.6
    assert cmp.slowdown_ratio(FIRST, FIRST) == 0


@given(small_traces(), st.sampled_from([400, 1500]))
def test_slowdown_ratio_by_class(small, scale):
    """R of each class of estimates and of each priority, by a loop over the jobs."""
    jobs = small.jobs
    trace = bfenv.make_trace(
        jobs.submit * scale,
        jobs.size,
        small.runtime * scale,
        small.processors,
        estimate=jobs.estimate * scale,
        priority=np.maximum(jobs.user, 0),
    )
    one, other = (bfenv.simulate(trace, policy) for policy in ("easy", "fcfs"))
    limits = {"small": (0, 1000), "medium": (1000, 10_000), "long": (10_000, 10**9)}
    classes = {
        f"{name} estimate": lambda job, a=a, b=b: a <= trace.jobs.estimate[job] < b
        for name, (a, b) in limits.items()
    }
    levels = set(trace.jobs.priority.tolist())
    if len(levels) > 1:
        classes |= {
            f"priority {level}": lambda job, level=level: trace.jobs.priority[job] == level
            for level in levels
        }
    found = slowdown_ratios_by_class(one, other)
    assert {name for name in found if "estimate" in name or "priority" in name} == classes.keys()
    for name, belongs in classes.items():
        jobs = [job for job in range(len(trace)) if belongs(job)]
        if not jobs:
            assert math.isnan(found[name])
            continue
        own, reference = (
            sum(1 + s.wait[job] / trace.runtime[job] for job in jobs) / len(jobs)
            for s in (one, other)
        )
        assert found[name] == pytest.approx((reference - own) / min(own, reference))
    numbers = bfenv.metrics(one, other)
    named = {f"slowdown_ratio_{name.replace(' ', '_')}": ratio for name, ratio in found.items()}
    assert {name: numbers[name] for name in named} == pytest.approx(named, nan_ok=True)


def test_unbounded():
    """At most 1 s of 10 is nothing to a bounded slowdown."""
    assert bfenv.metrics(FIRST)["mean_bounded_slowdown"] == 1
    assert cmp.slowdown_ratio(SECOND, FIRST) != 0


def test_penalized_slowdown():
    """Two jobs of an hour, one after the other: the mean grows, and the longest wait costs.

    EASY starts both at once, so its longest wait, 0, counts as an hour. With waits of 0 and 2 h,
    bounded slowdowns are 1 and 3, and the longest wait is twice an hour: 2 x 2.
    """
    trace, none = bfenv.make_trace([0, 0], [1, 1], [3600, 3600], 2), np.array([-1, -1])
    easy, late = (
        bfenv.Schedule(trace, "p", 0, np.array(start), np.array(start) + 3600, none, none)
        for start in ([0, 0], [0, 7200])
    )
    assert cmp.penalized_slowdown(late, easy) == 4
    assert cmp.penalized_slowdown(easy, easy) == 1
    assert cmp.penalized_slowdown(easy, late) == 0.5  # a shorter longest wait brings nothing


def test_longest_wait_ratio():
    """The longest waits are compared; without any wait there is no starvation."""
    assert cmp.longest_wait_ratio(FIRST, SECOND) == 2
    wide = bfenv.make_trace([0, 0], [1, 1], [4, 2], 2)
    both, later = drawn(wide, [0, 0]), drawn(wide, [0, 1])
    assert cmp.longest_wait_ratio(both, both) == 1
    assert cmp.longest_wait_ratio(both, later) == 0
    assert cmp.longest_wait_ratio(later, both) == np.inf


def test_batches():
    """There is one ratio for each complete batch of submissions."""
    trace = bfenv.load_workload("lublin:jobs=1050,procs=32")
    schedule, easy = bfenv.simulate(trace, "sjf"), bfenv.simulate(trace, "easy")
    times, ratios = cmp.slowdown_ratios(schedule, easy, batch=100)
    assert len(times) == len(ratios) == 10
    for place in range(10):
        jobs = slice(place * 100, place * 100 + 100)
        mine, theirs = slowdown(schedule)[jobs].mean(), slowdown(easy)[jobs].mean()
        assert times[place] == trace.jobs.submit[place * 100]
        assert ratios[place] == pytest.approx((theirs - mine) / min(theirs, mine))
    assert len(cmp.slowdown_ratios(schedule, easy)[0]) == 1
    assert len(cmp.slowdown_ratios(schedule, easy, batch=2000)[1]) == 0


def test_differences():
    """Differences are those of the means, and change sign when the sides are exchanged."""
    trace = bfenv.load_workload("lublin:jobs=600,procs=32")
    schedule, easy = bfenv.simulate(trace, "fcfs"), bfenv.simulate(trace, "easy")
    mine, theirs = bfenv.metrics(schedule), bfenv.metrics(easy)
    there, back = cmp.differences(schedule, easy), cmp.differences(easy, schedule)
    assert set(there) == {"mean_bounded_slowdown", "mean_wait"}
    for name, found in there.items():
        assert found.value == pytest.approx(mine[name] - theirs[name])
        assert found.low < found.value < found.high and found.batches == 20
        assert back[name][:3] == pytest.approx((-found.value, -found.high, -found.low))
    assert there["mean_wait"].low > 0  # FCFS is surely worse
    assert all(found[:3] == (0, 0, 0) for found in cmp.differences(easy, easy).values())


def test_other_jobs():
    """Schedules of other jobs are refused, with both policies and traces."""
    other = drawn(bfenv.make_trace([0, 0], [1, 1], [4, 3], 1, name="other"), [0, 4])
    with pytest.raises(BfenvError, match="drawn on unnamed .* drawn on other"):
        cmp.check_comparable(FIRST, other)
    cmp.check_comparable(FIRST, drawn(bfenv.make_trace([0, 0], [1, 1], [4, 2], 1), [0, 4]))


@pytest.mark.parametrize(
    "compare",
    [
        cmp.slowdown_ratio,
        cmp.slowdown_ratios,
        cmp.longest_wait_ratio,
        cmp.penalized_slowdown,
        cmp.differences,
        slowdown_ratios_by_class,
    ],
)
def test_comparisons_of_other_jobs(compare):
    """Every comparison refuses schedules of other jobs, of as many or of more."""
    for runtime in ([4, 3], [4, 2, 2]):
        count = len(runtime)
        other = drawn(bfenv.make_trace([0] * count, [1] * count, runtime, 9), [0] * count)
        with pytest.raises(BfenvError, match="the jobs differ"):
            compare(FIRST, other)


@pytest.mark.parametrize(
    ("compute", "named"),
    [
        (lambda schedule: bounded_slowdown(schedule, 0), "tau"),
        (lambda schedule: delay_slowdown(schedule, -1), "tau"),
        (lambda schedule: width_slowdown(schedule, "x"), "tau"),
        (lambda schedule: class_metrics(schedule, 0), "tau"),
        (lambda schedule: cmp.slowdown_ratios(schedule, schedule, 0), "batch"),
        (lambda schedule: queue_curve(schedule, 0), "parts"),
        (lambda schedule: reservation_tail(schedule, 0), "points"),
    ],
)
def test_wrong_numbers(compute, named):
    """A number that is out of range is named."""
    with pytest.raises(BfenvError, match=f"{named} must be an integer >= 1"):
        compute(FIRST)


CLASSES = bfenv.make_trace(
    [0] * 6,
    [8, 9, 8, 9, 1, 1],
    [3600, 3600, 3601, 3601, 1, 1],
    64,
    estimate=[9_999, 10_000, 9_999, 10_000, 999, 1_000],
)


def test_limits():
    """The limits belong to short, to narrow, and to the longer estimate."""
    chosen = {name: np.flatnonzero(jobs).tolist() for name, jobs in classify_jobs(CLASSES).items()}
    assert chosen == {
        "short narrow": [0, 4, 5],
        "short wide": [1],
        "long narrow": [2],
        "long wide": [3],
        "small estimate": [4],
        "medium estimate": [0, 2, 5],
        "long estimate": [1, 3],
    }


def test_partitions():
    """Both partitions have each job once."""
    classes = list(classify_jobs(bfenv.load_workload("lublin:jobs=300")).values())
    assert (np.sum(classes[:4], axis=0) == 1).all() and (np.sum(classes[4:], axis=0) == 1).all()


def test_class_metrics():
    """The means of a class are those of its jobs, NaN without any."""
    trace = bfenv.make_trace([0, 0, 0], [1, 1, 9], [10, 20, 5000], 10)
    schedule = bfenv.simulate(trace, "fcfs")
    assert schedule.wait.tolist() == [0, 0, 10]
    found = class_metrics(schedule)
    assert found["short narrow"] == {"jobs": 2, "mean_wait": 0, "mean_bounded_slowdown": 1}
    assert found["long wide"]["mean_wait"] == 10
    assert found["long wide"]["mean_bounded_slowdown"] == bounded_slowdown(schedule)[2] == 1.002
    assert found["long narrow"]["jobs"] == 0 and math.isnan(found["long narrow"]["mean_wait"])
