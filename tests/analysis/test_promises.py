"""Requested start times and guarantees, by hand and against slow versions."""

import math

import numpy as np
import pytest
from hypothesis import given

import bfenv
from bfenv.analysis import (
    guarantee_metrics,
    guarantee_ratios,
    reservation_delays,
    reservation_metrics,
    reservation_tail,
)
from bfenv.core.schedule import Schedule
from tests.analysis.drawn import drawn
from tests.conftest import small_traces


def test_reservations():
    """Job 1 is on time, job 2 is 3 s late, job 3 came after its time and starts at once."""
    trace = bfenv.make_trace([0, 0, 0, 20], [1] * 4, [5, 2, 1, 1], 1, requested_start=[0, 5, 4, 10])
    schedule = drawn(trace, [0, 5, 7, 20])
    assert reservation_delays(schedule).tolist() == [0, 3, 0]
    expected = {
        "reservations": 3,
        "missed_reservations": 1,
        "mean_reservation_delay": 1,
        "p95_reservation_delay": 3 * 0.9,  # between the last two of three
        "p99_reservation_delay": 3 * 0.98,
        "max_reservation_delay": 3,
    }
    assert reservation_metrics(schedule) == pytest.approx(expected)
    numbers = bfenv.metrics(schedule)
    assert {name: numbers[name] for name in expected} == pytest.approx(expected)
    delays, shares = reservation_tail(schedule, points=2)
    assert delays.tolist() == pytest.approx([3 * 0.6, 3 * 0.8, 3])
    assert shares.tolist() == pytest.approx([0.2, 0.1, 0])


def test_without_reservations():
    """Without requested starts there are no delays, and `metrics` has none."""
    schedule = drawn(bfenv.make_trace([0], [1], [5], 1), [0])
    found = reservation_metrics(schedule)
    assert found.pop("reservations") == found.pop("missed_reservations") == 0
    assert all(math.isnan(value) for value in found.values())
    assert np.isnan(reservation_tail(schedule)[0]).all()
    assert not {"reservations", "mean_guarantee_ratio"} & bfenv.metrics(schedule).keys()


def test_guarantees():
    """Promised 10 and 40, started at 5 and 10: the delays were 2 and 4 times the actual ones."""
    trace = bfenv.make_trace([0, 0, 0, 3], [1] * 4, [5, 5, 5, 1], 1)
    start, none = np.array([0, 5, 10, 15]), np.full(4, -1)
    records = {"guarantee": np.array([-1, 10, 40, 51])}
    schedule = Schedule(trace, "", 0, start, start + trace.runtime, none, none, records)
    assert guarantee_ratios(schedule).tolist() == [2, 4, 4]
    found = guarantee_metrics(schedule)
    assert found == {
        "mean_guarantee_ratio": pytest.approx(10 / 3),
        "median_guarantee_ratio": 4,
        "p80_guarantee_ratio": 4,
    }
    assert found.items() <= bfenv.metrics(schedule).items()


@given(small_traces(jobs=12))
def test_conservative_keeps_its_guarantees(trace):
    """Each job that waits is promised a start, by replaying the plan, and starts no later."""
    schedule = bfenv.simulate(trace, "conservative")
    assert len(guarantee_ratios(schedule)) == (schedule.wait > 0).sum()
    assert (guarantee_ratios(schedule) >= 1).all()
    exact = bfenv.make_trace(trace.jobs.submit, trace.jobs.size, trace.runtime, trace.processors)
    assert (guarantee_ratios(bfenv.simulate(exact, "conservative")) == 1).all()


def test_other_policies():
    """EASY promises nothing on arrival, so it has no ratios."""
    trace = bfenv.make_trace([0, 0], [1, 1], [5, 5], 1)
    assert len(guarantee_ratios(bfenv.simulate(trace, "easy"))) == 0
