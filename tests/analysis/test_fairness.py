"""Fairness to users and to jobs."""

import math

import numpy as np
import pytest
from hypothesis import given

import bfenv
from bfenv.analysis.fairness import by_user, delays, jain, overtaken, user_fairness
from bfenv.analysis.schedule_metrics import bounded_slowdown
from tests.analysis.drawn import DRAWN
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
