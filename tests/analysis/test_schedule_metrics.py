"""Metrics of schedules drawn by hand, and against slow versions of themselves."""

import numpy as np
import pytest
from hypothesis import given

import bfenv
from bfenv.analysis import schedule_metrics as m
from bfenv.core.jobs import make_trace
from tests.analysis.drawn import DRAWN, TRIED
from tests.conftest import small_traces


def test_wrong_type():
    """What is not a schedule is refused by name."""
    with pytest.raises(bfenv.BfenvError, match="expected a Schedule, got 3"):
        bfenv.metrics(3)


def test_by_hand():
    """Times and slowdowns, by hand."""
    assert m.wait(DRAWN).tolist() == [0, 3, 0, 7]
    assert m.response(DRAWN).tolist() == [4, 8, 2, 27]
    assert m.slowdown(DRAWN).tolist() == [1, 1.6, 1, 1.35]
    assert m.bounded_slowdown(DRAWN).tolist() == [1, 1, 1, 1.35]
    assert m.bounded_slowdown(DRAWN, tau=6).tolist() == [1, 8 / 6, 1, 1.35]
    assert m.delay_slowdown(DRAWN).tolist() == [1, 1.3, 1, 1.35]
    assert m.width_slowdown(DRAWN).tolist() == [4 / 30, 8 / 40, 2 / 10, 27 / 20]
    assert m.makespan(DRAWN) == 29
    assert m.utilization(DRAWN) == (3 * 4 + 4 * 5 + 2 + 20) / (4 * 29)


def test_trials():
    """Killed trials count as busy, and a response ends with the last run."""
    assert m.utilization(TRIED) == (2 * 2 + 2 * 4 + 3 * 3) / (3 * 9)
    assert m.response(TRIED).tolist() == [9, 4]


def test_width_slowdown():
    """The example of Zotkin, Keleher and Perkovic 2000, section 5.1: 11 and 110 become 11 each."""
    trace = bfenv.make_trace([0, 0], [1, 10], [100, 10], 11)
    start = np.array([1000, 1090])
    none = np.array([-1, -1])
    schedule = bfenv.Schedule(trace, "", 0, start, start + trace.runtime, none, none)
    assert m.bounded_slowdown(schedule).tolist() == [11, 110]
    assert m.width_slowdown(schedule).tolist() == [11, 11]


def test_largest_width_slowdown():
    """The product of size and runtime may exceed 64 bits."""
    size, runtime = 2**31, 2**40
    trace = make_trace([0], [size], [runtime], size)
    assert m.width_slowdown(bfenv.simulate(trace, "fcfs")).tolist() == [1 / size]


def test_names():
    """The names that others rely on come first, in order."""
    found = bfenv.metrics(DRAWN)
    first = "mean_wait mean_bounded_slowdown utilization max_wait p95_wait makespan median_wait"
    assert list(found)[:10] == [*first.split(), "p99_wait", "mean_response", "p95_bounded_slowdown"]
    assert all(type(value) is float for value in found.values())


def test_metrics():
    """Every metric, by hand."""
    found = bfenv.metrics(DRAWN)
    expected = {
        "mean_wait": 2.5,
        "median_wait": 1.5,
        "max_wait": 7.0,
        "p95_wait": 3 + 4 * 0.85,  # between the last two of four jobs
        "p99_wait": 3 + 4 * 0.97,
        "mean_response": 41 / 4,
        "area_weighted_wait": (20 * 3 + 20 * 7) / 54,
        "area_weighted_response": (12 * 4 + 20 * 8 + 2 * 2 + 20 * 27) / 54,
        "p95_response": 8 + 19 * 0.85,
        "max_response": 27.0,
        "p95_bounded_slowdown_60": 1.0,
        "mean_bounded_slowdown": 4.35 / 4,
        "median_bounded_slowdown": 1.0,
        "p95_bounded_slowdown": 1 + 0.35 * 0.85,
        "p99_bounded_slowdown": 1 + 0.35 * 0.97,
        "max_bounded_slowdown": 1.35,
        "mean_slowdown": 4.95 / 4,
        "mean_delay_slowdown": 4.65 / 4,
        "mean_width_slowdown": (4 / 30 + 0.2 + 0.2 + 1.35) / 4,
        "makespan": 29.0,
        "utilization": 54 / 116,
        "mean_bounded_slowdown_60": 1.0,
        "mean_bounded_slowdown_600": 1.0,
        "started_at_once": 0.5,
        "crashed_share": 0.0,
    }
    assert found == pytest.approx(expected)


def test_tau():
    """Runtimes 4, 5, 2 and 20 count as at least tau; names that end in a number keep theirs."""
    found = bfenv.metrics(DRAWN, tau=2)
    assert found["mean_bounded_slowdown"] == pytest.approx((1 + 8 / 5 + 1 + 27 / 20) / 4)
    assert found["max_bounded_slowdown"] == 1.6
    assert found["mean_delay_slowdown"] == found["mean_bounded_slowdown"]  # no runtime is below 2
    assert found["mean_width_slowdown"] == pytest.approx((1 / 3 + 2 / 5 + 1 + 1.35) / 4)
    assert found["mean_bounded_slowdown_60"] == 1
    for tau in (0, -1, 1.5, "10"):
        with pytest.raises(bfenv.BfenvError, match="tau must be an integer >= 1"):
            bfenv.metrics(DRAWN, tau=tau)


def test_crashed_share():
    """One of four jobs has an estimate above 1000 s and a runtime below 180 s."""
    trace = make_trace([0] * 4, [1] * 4, [179, 180, 100, 60], 4, estimate=[3600, 3600, 1000, 301])
    assert bfenv.metrics(bfenv.simulate(trace, "fcfs"))["crashed_share"] == 0.25


@given(small_traces())
def test_order(trace):
    """Unbounded and delay slowdowns are at least the bounded one, which is at least 1."""
    schedule = bfenv.simulate(trace, "easy")
    bounded, slowdown = m.bounded_slowdown(schedule), m.slowdown(schedule)
    assert (bounded >= 1).all() and (slowdown >= bounded).all()
    assert (m.delay_slowdown(schedule) >= bounded).all()
    assert (m.width_slowdown(schedule) <= slowdown).all()
