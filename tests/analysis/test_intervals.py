"""Intervals have the coverage they claim, and agree with scipy if it computes the same."""

import math

import numpy as np
import pytest
import scipy.stats
from scipy.signal import lfilter

import bfenv.analysis.intervals as intervals
from bfenv.core.errors import BfenvError


@pytest.mark.parametrize("probability", [0.01, 0.5, 0.6, 0.9, 0.975, 0.995, 0.9995])
def test_quantiles(probability):
    """Quantiles of Student's t equal scipy's."""
    degrees = [*range(1, 1001), 5_000, 100_001]
    found = [intervals.student_quantile(probability, dof) for dof in degrees]
    expected = scipy.stats.t.ppf(probability, degrees)
    assert found == pytest.approx(expected, rel=1e-11, abs=1e-13)


def test_closed_forms():
    """Quantiles have closed forms for one and two degrees of freedom."""
    assert intervals.student_quantile(0.75, 1) == pytest.approx(1.0, rel=1e-14)  # Cauchy
    assert intervals.student_quantile(0.9, 1) == pytest.approx(math.tan(0.4 * math.pi), rel=1e-14)
    assert intervals.student_quantile(0.9, 2) == pytest.approx(0.8 * math.sqrt(2 / 0.36), rel=1e-14)


@pytest.mark.parametrize(("probability", "dof"), [(0.0, 3), (1.0, 3), (math.nan, 3), (0.9, 0)])
def test_quantile_range(probability, dof):
    """A probability or degrees of freedom out of range are refused."""
    with pytest.raises(BfenvError, match=rf"got {probability} and {dof}"):
        intervals.student_quantile(probability, dof)


def test_batch_means():
    """Batches (1 3), (5 7), (9 11): means 2, 6, 10, deviation 4, t of 2 degrees of freedom."""
    found = intervals.batch_means([1, 3, 5, 7, 9, 11], batches=3)
    half = scipy.stats.t.ppf(0.975, 2) * 4 / math.sqrt(3)
    assert found == pytest.approx((6.0, 6 - half, 6 + half, 3))


def test_batches_of_one():
    """Batches of one give the textbook interval of independent values."""
    values = np.random.default_rng(0).normal(3, 2, 15)
    found = intervals.batch_means(values, batches=15, confidence=0.9)
    error = scipy.stats.sem(values)
    low, high = scipy.stats.t.interval(0.9, 14, loc=values.mean(), scale=error)
    assert found == pytest.approx((values.mean(), low, high, 15))
    assert intervals.batch_means(values, batches=400) == intervals.batch_means(values, batches=15)


def test_uneven_batches():
    """23 values in 5 batches: none is lost, and the mean is that of all."""
    series = np.arange(23.0) ** 2
    parts = [series[k * 23 // 5 : (k + 1) * 23 // 5].mean() for k in range(5)]
    found = intervals.batch_means(series, batches=5)
    assert found.value == series.mean()
    assert found.high - found.value == pytest.approx(
        scipy.stats.t.ppf(0.975, 4) * np.std(parts, ddof=1) / math.sqrt(5)
    )


def test_warmup():
    """The warm-up is dropped."""
    series = np.concatenate([np.full(10, 1e6), np.arange(90.0)])
    assert intervals.batch_means(series, warmup=0.1) == intervals.batch_means(np.arange(90.0))


def test_single_value():
    """A single value has a mean and no interval."""
    found = intervals.batch_means([4.0])
    assert found.value == 4.0 and math.isnan(found.low) and math.isnan(found.high)
    assert found.zero  # nothing can be said


@pytest.mark.parametrize(
    ("series", "options", "message"),
    [
        ([], {}, "empty"),
        ([1.0, 2.0], {"batches": 1}, "got 1 batches"),
        ([1.0, 2.0], {"confidence": 1.0}, "confidence 1.0"),
        ([1.0, 2.0], {"warmup": 1.0}, "warm-up 1.0"),
    ],
)
def test_bad_batch_means(series, options, message):
    """An empty series and options out of range are refused."""
    with pytest.raises(BfenvError, match=message):
        intervals.batch_means(series, **options)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9, 0.99])
def test_coverage(correlation):
    """1,500 series of 20,000 values: 93 to 97 % is within 3.5 standard errors of 95 %."""
    random = np.random.default_rng(20_031)
    covered = 0
    for _ in range(1500):
        before = random.standard_normal() / math.sqrt(1 - correlation**2)
        noise = random.standard_normal(20_000)
        series, _ = lfilter([1], [1, -correlation], noise, zi=[correlation * before])
        found = intervals.batch_means(series)
        covered += found.low <= 0 <= found.high
    assert 0.93 <= covered / 1500 <= 0.97


def test_independence():
    """What batches are for: the same series in as many batches as values."""
    random = np.random.default_rng(20_031)
    covered = 0
    for _ in range(200):
        series = lfilter([1], [1, -0.99], random.standard_normal(2_000))
        found = intervals.batch_means(series, batches=2_000)
        covered += found.low <= 0 <= found.high
    assert covered < 100


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (3, 4), (10, 26), (7, 3)])
def test_interquartile_mean(shape):
    """The interquartile mean is a trimmed mean."""
    scores = np.random.default_rng(1).lognormal(size=shape)
    assert intervals.interquartile_mean(scores) == pytest.approx(
        scipy.stats.trim_mean(scores.ravel(), 0.25)
    )


def test_plain_bootstrap():
    """A plain bootstrap of one task agrees with scipy."""
    scores = np.random.default_rng(2).exponential(size=25)
    options = {"n_resamples": 100_000, "method": "percentile", "random_state": 1}
    expected = scipy.stats.bootstrap((scores,), np.mean, **options).confidence_interval
    for over, shaped in (("runs", scores[:, None]), ("tasks", scores[None, :])):
        found = intervals.bootstrap(
            shaped, intervals.mean, seed=3, over=over, resamples=100_000, expanded=False
        )
        assert found.value == pytest.approx(scores.mean())
        assert (found.low, found.high) == pytest.approx(tuple(expected), abs=0.01)


def test_strata():
    """Two tasks that differ much and whose runs do not: no interval but a point."""
    scores = np.array([[1.0, 100.0], [1.0, 100.0]])
    assert intervals.bootstrap(scores, intervals.mean, seed=0)[:3] == (50.5, 50.5, 50.5)
    assert intervals.bootstrap(scores, intervals.mean, seed=0, over="tasks")[1:3] == (1.0, 100.0)


def test_expanded():
    """Hesterberg's purpose: 12 values, half widths within 5 %; the plain one is narrower."""
    scores = scipy.stats.norm.ppf((np.arange(12) + 0.5) / 12)[:, None]
    half = scipy.stats.t.ppf(0.975, 11) * scipy.stats.sem(scores.ravel())
    found = intervals.bootstrap(scores, intervals.mean, seed=0, resamples=100_000)
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=0.05)
    plain = intervals.bootstrap(scores, intervals.mean, seed=0, resamples=100_000, expanded=False)
    assert plain.high - plain.low < 0.9 * (found.high - found.low)


def test_stratified_coverage():
    """Six tasks of five runs, of different means: 94.9 %, measured there 4,000 times, here 600."""
    random = np.random.default_rng(5)
    tasks = np.array([0.0, 1, 2, 4, 8, 16])
    covered = 0
    for seed in range(600):
        found = intervals.bootstrap(
            tasks + random.standard_normal((5, 6)), intervals.mean, seed=seed
        )
        covered += found.low <= tasks.mean() <= found.high
    assert 0.92 <= covered / 600 <= 0.975


def test_seeds():
    """Equal seeds give equal intervals, and other seeds do not."""
    scores = np.random.default_rng(4).normal(size=(5, 6))
    assert intervals.bootstrap(scores, seed=1) == intervals.bootstrap(scores, seed=1)
    assert intervals.bootstrap(scores, seed=1) != intervals.bootstrap(scores, seed=2)


@pytest.mark.parametrize(("shape", "over"), [((1, 6), "runs"), ((6, 1), "tasks")])
def test_no_sample(shape, over):
    """One run, or one task, has a value and no interval."""
    found = intervals.bootstrap(np.arange(6.0).reshape(shape), intervals.mean, seed=0, over=over)
    assert found.value == 2.5 and math.isnan(found.low) and math.isnan(found.high)


@pytest.mark.parametrize("scores", [[], [1.0, 2.0], [[]]])
def test_bad_scores(scores):
    """Scores must be a matrix."""
    with pytest.raises(BfenvError, match=r"\(runs, tasks\)"):
        intervals.bootstrap(scores, intervals.mean, seed=0)


def test_improvement():
    """The probability of improvement is Mann and Whitney's."""
    random = np.random.default_rng(6)
    x, y = random.integers(0, 6, (7, 3)), random.integers(1, 7, (5, 3))
    shares = [scipy.stats.mannwhitneyu(y[:, task], x[:, task]).statistic / 35 for task in range(3)]
    assert intervals.probability_of_improvement(x, y) == pytest.approx(np.mean(shares))
    assert intervals.probability_of_improvement(y, x) == pytest.approx(1 - np.mean(shares))


def test_paired_improvement():
    """Run by run x is always lower; of all nine pairs it is so in six."""
    x, y = np.array([[1.0], [2.0], [3.0]]), np.array([[1.5], [2.5], [3.5]])
    assert intervals.probability_of_improvement(x, y, paired=True) == 1.0
    assert intervals.probability_of_improvement(x, y) == 6 / 9
    assert intervals.probability_of_improvement(x, x, paired=True) == 0.5


def test_ranks():
    """Noise common to all policies does not blur their order, noise of their own does."""
    random = np.random.default_rng(7)
    jobs, own = random.normal(0, 10, (5, 4)), random.normal(0, 1, (5, 4))
    own -= own.mean()
    scores = np.stack([jobs + 3, jobs, jobs + own + 0.01, jobs + 1.5, jobs + 1.5])
    assert intervals.ranks(scores, seed=0).tolist() == [5, 1, 1, 3, 3]


def test_ties():
    """A ties with B and B with C, but C is surely worse than A: C begins the next group."""
    noise = np.linspace(-1, 1, 20)[:, None] * 4
    zero = np.zeros((20, 1))
    scores = np.stack([zero, zero + noise + 0.8, zero + 1.6])
    assert intervals.ranks(scores[:2], seed=0).tolist() == [1, 1]
    assert intervals.ranks(scores[1:], seed=0).tolist() == [1, 1]
    assert intervals.ranks(scores, seed=0).tolist() == [1, 1, 3]


def test_rank_order():
    """Ranks do not depend on the order of the policies."""
    random = np.random.default_rng(8)
    scores = random.normal(0, 1, (9, 5, 3)) + np.arange(9)[:, None, None] * 0.3
    found = intervals.ranks(scores, seed=0)
    order = random.permutation(9)
    assert intervals.ranks(scores[order], seed=0).tolist() == found[order].tolist()
    assert 1 < len(set(found.tolist())) < 9


def test_all_tie():
    """Without an interval, all policies tie."""
    assert intervals.ranks(np.array([1.0, 5.0, 3.0]).reshape(3, 1, 1), seed=0).tolist() == [1, 1, 1]


def test_zero():
    """An interval excludes 0 if both ends are on one side of it."""
    assert intervals.Interval(1.0, -1.0, 3.0).zero and intervals.Interval(0.0, 0.0, 0.0).zero
    assert (
        not intervals.Interval(2.0, 1.0, 3.0).zero and not intervals.Interval(-2.0, -3.0, -1.0).zero
    )
