"""How far a simulation is from the log."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bfenv.analysis.calibration import calibrate, rank_correlation, verdict
from bfenv.core.errors import BfenvError
from bfenv.core.jobs import make_trace
from bfenv.core.schedule import Schedule


def waiting(*waits):
    """A schedule of jobs of one second each that wait so long."""
    count = len(waits)
    trace = make_trace(range(count), [1] * count, [1] * count, count)
    start = trace.jobs.submit + np.array(waits)
    never = np.full(count, -1)
    return Schedule(trace, "test", 0, start, start + 1, never, never)


def test_numbers():
    """Ratios of mean and median, and the jobs within ten minutes or a factor of two."""
    own, real = waiting(0, 600, 1_000, 10_000), waiting(600, 1_300, 3_000, 20_000)
    numbers = calibrate(own, real)
    assert numbers["log_mean_wait_ratio"] == pytest.approx(11_600 / 24_900)
    assert numbers["log_median_wait_ratio"] == pytest.approx(800 / 2_150)
    assert numbers["log_rank_correlation"] == pytest.approx(1)
    assert numbers["log_close"] == 0.5  # the first by ten minutes, the last by its factor


def test_itself():
    """A schedule repeats itself: ratios of 1, all jobs close, and a good verdict."""
    numbers = calibrate(waiting(1, 2, 5), waiting(1, 2, 5))
    assert list(numbers.values()) == pytest.approx([1, 1, 1, 1])
    assert verdict(numbers) == "good"


def test_nothing_waits():
    """Where the log has no waits, ratios are unknown, and so is how well it is repeated."""
    numbers = calibrate(waiting(0, 5), waiting(0, 0))
    assert math.isnan(numbers["log_mean_wait_ratio"])
    assert math.isnan(numbers["log_rank_correlation"])
    assert verdict(numbers) == "poor"


@pytest.mark.parametrize(
    ("ratio", "correlation", "close", "word"),
    [
        (1.25, 0.7, 0.7, "good"),
        (0.8, 0.7, 0.7, "good"),
        (0.79, 0.7, 0.7, "fair"),
        (1.0, 0.69, 0.9, "fair"),
        (0.5, 0.4, 0.5, "fair"),
        (2.01, 0.9, 0.9, "poor"),
        (1.0, 0.39, 0.9, "poor"),
        (1.0, 0.9, 0.49, "poor"),
        (None, 0.9, 0.9, "poor"),
    ],
)
def test_verdict(ratio, correlation, close, word):
    """All three numbers must reach a verdict's limits."""
    numbers = {
        "log_mean_wait_ratio": ratio,
        "log_rank_correlation": correlation,
        "log_close": close,
    }
    assert verdict(numbers) == word


def test_no_verdict():
    """Without a log there is no verdict."""
    assert verdict({"mean_wait": 1.0}) == ""


def test_other_jobs():
    """Schedules of other jobs are refused."""
    with pytest.raises(BfenvError, match="the jobs differ"):
        calibrate(waiting(1, 2), waiting(1, 2, 3))


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=30))
def test_rank_correlation(pairs):
    """It is Spearman's coefficient, ties included."""
    x, y = np.array(pairs, dtype=float).T
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert math.isnan(rank_correlation(x, y))
    else:
        assert rank_correlation(x, y) == pytest.approx(stats.spearmanr(x, y).statistic)
