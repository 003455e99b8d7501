"""The scores of forecasts, and the ways that they are compared with."""

import numpy as np
import pytest
from scipy import stats

import bfenv
from bfenv_site.forecasts.learned import random_waiting
from bfenv_site.forecasts.rivals import (
    CONFIDENCE,
    binomial_rank,
    bound_waits,
    class_median,
)
from bfenv_site.forecasts.when_evaluation import (
    FORECAST,
    SCORED,
    Outcome,
    evaluate_forecasts,
    reliability,
    scores,
    share_inside,
)

pytestmark = pytest.mark.compiled  # forecasts simulate many futures


@pytest.mark.parametrize("level", [0.025, 0.5, 0.95])
@pytest.mark.parametrize("count", [1, 20, 59, 500])
def test_binomial_rank(count, level):
    """The k-th of n values exceeds the quantile with a binomial chance; the least k counts."""
    rank = binomial_rank(count, level)
    below = stats.binom.cdf(np.arange(count), count, level)
    enough = below >= CONFIDENCE - 1e-12
    assert rank == (np.argmax(enough) if enough.any() else count - 1)


def test_bounds_of_past_waits():
    """Only waits of the size class count that are no shorter than this one so far."""
    size, wait = np.repeat([2, 100], 100), np.arange(200)
    small, large = (bound_waits(size, wait, job_size, 0, np.array([0.5])) for job_size in (3, 65))
    assert 50 <= small[0] < 70 and 150 <= large[0] < 170
    assert bound_waits(size, wait, 3, 90, np.array([0.5]))[0] <= 9
    assert not bound_waits(size, wait, 3, 900, np.array([0.5, 0.9])).any()
    limit = np.full(200, 3600)
    assert class_median(size, limit, wait, (2, 3600), 0) == 49.5
    assert class_median(size, limit, wait, (2, 3600), 90) == 4.5


def test_scores():
    """A forecast that is 100 s late for all jobs, and covers them, has these scores by hand."""
    at = dict.fromkeys(["a way"], np.array([0.0, 10, 100, 300, 400, 500, 600]))
    outcomes = [Outcome(0, 0, True, 200, 0.42, at), Outcome(1, 0, True, 200, 0.62, at)]
    result = scores(outcomes, "a way")
    error = 200 - at["a way"]
    loss = np.where(error > 0, SCORED * error, (SCORED - 1) * error)
    assert result["pinball"] == loss.mean() and result["median_error"] == 100
    assert (result["within_1min"], result["within_10min"], result["width"]) == (0, 1, 490)
    assert result["holds_50"] == result["holds_80"] == 1
    assert reliability(outcomes).tolist() == [0, 0, 0, 0, 0.5, 0, 0.5, 0, 0, 0]


def test_evaluation():
    """Outcomes are what the schedule did, for jobs of the last part, and ranks are shares."""
    trace = bfenv.load_workload("lublin:procs=64,jobs=300,load=1.1")
    evaluation = evaluate_forecasts(trace, moments=5, futures=30, past=4, regression=False)
    start = bfenv.simulate(trace, "easy").start
    assert len(evaluation.outcomes) == 10 and not evaluation.recorded
    for outcome in evaluation.outcomes:
        assert outcome.wait == start[outcome.job] - outcome.time >= 0 and 0 <= outcome.rank <= 1
        assert outcome.is_new == (trace.jobs.submit[outcome.job] == outcome.time)
        assert outcome.time >= trace.jobs.submit[180]
        assert (np.diff(outcome.quantiles[FORECAST]) >= 0).all()


def test_random_waiting():
    """A job is drawn that has been submitted before, and starts later."""
    trace = bfenv.make_trace([0, 0, 5, 9], [1, 1, 1, 1], [10, 10, 10, 10], 1)
    schedule, generator = bfenv.simulate(trace, "fcfs"), np.random.default_rng(0)
    drawn = {random_waiting(schedule, 12, generator) for _ in range(50)}
    assert drawn == {2, 3} and random_waiting(schedule, 0, generator) == -1


@pytest.mark.parametrize(
    ("quantiles", "wait", "holds"),
    [
        ([0, 10, 20, 30, 40, 50, 60], 25, 1.0),  # between the levels 25 and 50 %
        ([0, 10, 20, 30, 40, 50, 60], 55, 0.0),  # between 90 and 97.5 %
        ([0] * 7, 0, 0.8),  # a point at what came
        ([5] * 7, 0, 0.0),
        ([0, 0, 0, 0, 9, 9, 9], 0, 0.65 / 0.75),  # the levels from 0 to 75 %, of them 10 to 75 %
    ],
)
def test_share_of_interval(quantiles, wait, holds):
    """A start at an end that levels share counts with the part of them that is in the interval."""
    assert share_inside(np.array(quantiles, dtype=float), wait, 0.8) == pytest.approx(holds)


def test_interval_by_weeks():
    """An interval by weeks is wider where the jobs of a week share their fate.

    Ten outcomes in each of ten weeks: all inside in five of them, or half inside in each.
    """
    at = {"a way": np.array([0.0, 10, 20, 30, 40, 50, 60])}
    widths = []
    for fate in (lambda week, i: week % 2, lambda week, i: i % 2):
        result = scores(
            [
                Outcome(0, 7 * 86400 * week, True, 25 if fate(week, i) else 99, 0.5, at)
                for week in range(10)
                for i in range(10)
            ],
            "a way",
        )
        assert result["holds_80"] == 0.5
        widths.append(result["holds_80_high"] - result["holds_80_low"])
    assert widths[0] > 0.5 and widths[1] == 0


def test_fewer_moments_are_explained():
    """If fewer moments can be drawn than you ask for, the evaluation says why."""
    trace = bfenv.make_trace(range(0, 60_000, 1000), [1] * 60, [10] * 60, 4)
    evaluation = evaluate_forecasts(trace, moments=40, futures=5, past=0, regression=False)
    assert evaluation.drawn.startswith(
        "24 of 40 jobs as they are submitted: the part of the log has 24"
    )
    assert evaluation.drawn.endswith(
        "0 of 40 jobs that wait: at 800 of 800 random times no job waited"
    )
