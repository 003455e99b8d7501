"""The scores of forecasts, and the ways that they are compared with."""

import numpy as np
import pytest
from scipy import stats

import bfenv
from bfenv_site.forecasts.rivals import (
    CONFIDENCE,
    binomial_rank,
    bound_waits,
    class_median,
    random_waiting,
)
from bfenv_site.forecasts.when_evaluation import (
    OURS,
    SCORED,
    Outcome,
    evaluate_forecasts,
    reliability,
    scores,
)


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
    small, large = (bound_waits(size, wait, own, 0, np.array([0.5])) for own in (3, 65))
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
    found = scores(outcomes, "a way")
    error = 200 - at["a way"]
    loss = np.where(error > 0, SCORED * error, (SCORED - 1) * error)
    assert found["pinball"] == loss.mean() and found["median_error"] == 100
    assert (found["within_1min"], found["within_10min"], found["width"]) == (0, 1, 490)
    assert found["holds_50"] == found["holds_80"] == 1
    assert reliability(outcomes).tolist() == [0, 0, 0, 0, 0.5, 0, 0.5, 0, 0, 0]


def test_evaluation():
    """Outcomes are what the schedule did, for jobs of the last part, and ranks are shares."""
    trace = bfenv.load_workload("lublin:procs=64,jobs=300,load=1.1")
    found = evaluate_forecasts(trace, moments=5, futures=30, past=4, regression=False)
    start = bfenv.simulate(trace, "easy").start
    assert len(found.outcomes) == 10 and not found.recorded
    for one in found.outcomes:
        assert one.wait == start[one.job] - one.time >= 0 and 0 <= one.rank <= 1
        assert one.is_new == (trace.jobs.submit[one.job] == one.time)
        assert one.time >= trace.jobs.submit[180]
        assert (np.diff(one.quantiles[OURS]) >= 0).all()


def test_random_waiting():
    """A job is drawn that has been submitted before, and starts later."""
    trace = bfenv.make_trace([0, 0, 5, 9], [1, 1, 1, 1], [10, 10, 10, 10], 1)
    schedule, generator = bfenv.simulate(trace, "fcfs"), np.random.default_rng(0)
    drawn = {random_waiting(schedule, 12, generator) for _ in range(50)}
    assert drawn == {2, 3} and random_waiting(schedule, 0, generator) == -1
