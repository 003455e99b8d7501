"""Confidence intervals, bootstraps, and comparisons that account for chance.

Scores are arrays of shape (runs, tasks). The runs of a task are alike, such as the seeds of a
workload. Every function is deterministic; those that resample take a seed.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np

from bfenv.core.errors import BfenvError

BATCHES = 20
CONFIDENCE = 0.95
RESAMPLES = 2_000


class Interval(NamedTuple):
    """An estimate with its confidence interval."""

    value: float  # the estimate
    low: float  # lower end; NaN if there is no interval
    high: float  # upper end; NaN if there is no interval
    batches: int = 0  # number of batches behind it; 0 for a bootstrap

    @property
    def zero(self) -> bool:
        """Whether the interval includes 0, or does not exist."""
        return not (self.low > 0 or self.high < 0)


def batch_means(
    series: np.ndarray, batches: int = BATCHES, confidence: float = CONFIDENCE, warmup: float = 0.0
) -> Interval:
    """Estimate the mean of an autocorrelated series, with a confidence interval.

    The series is cut into `batches` consecutive parts, equal but for one value. Their means are
    nearly independent and normal if the parts are long compared with the correlation, so Student's
    t applies to them (Law and Kelton; used by Shmueli 2003, section 4.2). More than 30 batches gain
    little (Schmeiser 1982), and 20 leave them long. A series shorter than `batches` has batches of
    one value. A single value has no interval.

    Measured coverage of the 95 % interval, 20 batches, on 4,000 autoregressive series of 20,000
    values: 95.2 % for a correlation of neighbours of 0, 95.3 % for 0.5, 94.7 % for 0.9, 94.2 % for
    0.99 and 76.4 % for 0.999, where 10 batches have 86.6 %: there, a batch of 1,000 is too short.

    Args:
        series: The values in time order.
        batches: Number of batches, at least 2.
        confidence: Confidence level, between 0 and 1.
        warmup: Share of the series to drop at its beginning.

    Returns:
        In the unit of the series.

    Raises:
        BfenvError: If the series is empty or an option is out of range.

    Examples:
        >>> import bfenv
        >>> from bfenv.analysis import batch_means
        >>> schedule = bfenv.simulate(bfenv.load_workload("lublin:jobs=1000"), "easy")
        >>> interval = batch_means(schedule.wait)
        >>> interval.low < interval.value < interval.high
        True
    """
    series = np.asarray(series, dtype=np.float64)
    if batches < 2 or not 0 < confidence < 1 or not 0 <= warmup < 1:
        raise BfenvError(
            "batch means need at least 2 batches, a confidence between 0 and 1 and a warm-up from "
            f"0 to below 1, got {batches} batches, confidence {confidence}, warm-up {warmup}"
        )
    series = series[int(warmup * len(series)) :]
    if len(series) == 0:
        raise BfenvError("cannot take the mean of an empty series")
    mean, batches = float(series.mean()), min(batches, len(series))
    if batches < 2:
        return Interval(mean, np.nan, np.nan, batches)
    cuts = np.arange(batches + 1) * len(series) // batches
    means = np.add.reduceat(series, cuts[:-1]) / np.diff(cuts)
    error = float(means.std(ddof=1)) / batches**0.5
    half = student_quantile((1 + confidence) / 2, batches - 1) * error
    return Interval(mean, mean - half, mean + half, batches)


@cache
def student_quantile(probability: float, dof: int) -> float:
    """Return a quantile of Student's t with `dof` degrees of freedom, an integer.

    For integer degrees of freedom the distribution is a finite series in the angle
    atan(t / sqrt(dof)) (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4), solved here by bisection.

    Raises BfenvError if the probability is not between 0 and 1, or `dof` is below 1.
    """
    if not 0 < probability < 1 or dof < 1:
        raise BfenvError(
            "a quantile of Student's t needs a probability between 0 and 1 and at least 1 degree "
            f"of freedom, got {probability} and {dof}"
        )
    if probability <= 0.5:
        return -student_quantile(1 - probability, dof) if probability < 0.5 else 0.0
    odd, k = dof % 2, np.arange(1, dof // 2)
    factors = 2 * k / (2 * k + 1) if odd else (2 * k - 1) / (2 * k)
    series = np.concatenate([[1.0], np.cumprod(factors)])[: dof // 2]
    powers = 2.0 * np.arange(len(series))
    low, high = 0.0, np.pi / 2
    while low < (middle := (low + high) / 2) < high:
        cosine, sine = float(np.cos(middle)), float(np.sin(middle))
        total = float(np.sum(series * cosine**powers))
        # The probability of |T| below the t of this angle
        within = (middle + sine * cosine * total) * 2 / np.pi if odd else sine * total
        if within < 2 * probability - 1:
            low = middle
        else:
            high = middle
    return float(np.sqrt(dof) * np.tan(middle))


def mean(scores: np.ndarray) -> np.ndarray:
    """Return the mean over runs and tasks, the last two axes."""
    means: np.ndarray = scores.mean(axis=(-2, -1))
    return means


def interquartile_mean(scores: np.ndarray) -> np.ndarray:
    """Return the mean of the middle half of all scores, (...,) float64.

    A quarter of the scores, rounded down, is dropped at each end (Agarwal et al., NeurIPS 2021).

    Args:
        scores: (..., runs, tasks). The last two axes are pooled.

    Examples:
        >>> import numpy as np
        >>> from bfenv.analysis import interquartile_mean
        >>> float(interquartile_mean(np.array([[1.0, 2.0, 3.0, 1000.0]])))
        2.5
    """
    flat = np.sort(scores.reshape(*scores.shape[:-2], -1), axis=-1)
    cut = flat.shape[-1] // 4
    means: np.ndarray = flat[..., cut : flat.shape[-1] - cut].mean(axis=-1)
    return means


def bootstrap(
    scores: np.ndarray,
    statistic: Callable[[np.ndarray], np.ndarray] = interquartile_mean,
    *,
    seed: int,
    over: Literal["runs", "tasks"] = "runs",
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
    expanded: bool = True,
) -> Interval:
    """Estimate a statistic of scores, with its percentile bootstrap interval.

    A bootstrap of few runs is too narrow: its variance is (k - 1) / k of the true one if it
    resamples k items, and it ignores Student's t. The expanded percentile interval (Hesterberg, The
    American Statistician, 2015) makes up for both by going further out in the tails.

    Measured coverage of the 95 % interval of a mean of normal scores, 4,000 times each: 6 tasks of
    2, 3, 5, 10, 20 runs 89.3, 94.2, 94.9, 93.9, 94.4 %, 2 tasks of 2 runs 67.5 %; whole tasks, 2,
    3, 4, 5, 10, 20 of them, 50.2, 74.6, 86.5, 91.8, 94.7, 94.6 %, because no resample leaves the
    range of the scores. With fewer than 5 tasks, or 3 runs, take the interval as a hint.

    Args:
        scores: (runs, tasks).
        statistic: A function from (..., runs, tasks) to (...).
        seed: Equal seeds resample equal runs and tasks, so that differences of two policies can be
            resampled as pairs.
        over: "runs" resamples the runs of each task separately: the stratified bootstrap of Agarwal
            et al. (NeurIPS 2021). It estimates what other seeds would give on the same tasks.
            "tasks" resamples whole tasks: what other tasks of this kind would give. With fewer than
            two items to resample there is no interval.
        resamples: Number of resamples.
        confidence: Confidence level, between 0 and 1.
        expanded: Whether to expand the percentiles; if False, they are the plain ones.

    Returns:
        Around the statistic of `scores` themselves.

    Raises:
        BfenvError: If there are no scores.

    Examples:
        Four runs on two tasks.

        >>> import numpy as np
        >>> from bfenv.analysis import bootstrap
        >>> scores = np.array([[1.0, 5.0], [1.1, 5.1], [0.9, 4.9], [1.0, 5.0]])
        >>> found = bootstrap(scores, seed=1)
        >>> found.low < found.value < found.high
        True
    """
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim != 2 or scores.size == 0:
        raise BfenvError(f"scores must have shape (runs, tasks), got {scores.shape}")
    runs, tasks = scores.shape
    value = float(statistic(scores))
    items = runs if over == "runs" else tasks
    if items < 2:
        return Interval(value, np.nan, np.nan)
    random = np.random.default_rng(seed)
    if over == "runs":
        resampled = scores[random.integers(runs, size=(resamples, runs, tasks)), np.arange(tasks)]
    else:
        resampled = scores[:, random.integers(tasks, size=(resamples, tasks))].swapaxes(0, 1)
    tail = (1 - confidence) / 2
    if expanded:
        dof = (items - 1) * (tasks if over == "runs" else 1)
        reach = (items / (items - 1)) ** 0.5 * student_quantile(1 - tail, dof)
        tail = math.erfc(reach / 2**0.5) / 2
    low, high = np.quantile(statistic(resampled), (tail, 1 - tail))
    return Interval(value, float(low), float(high))


def probability_of_improvement(x: np.ndarray, y: np.ndarray, *, paired: bool = False) -> float:
    """Estimate the probability that a run of x has a lower score than one of y.

    It is the mean over tasks of the share of pairs of runs, where ties count half (Agarwal et al.
    2021, for whom higher scores are better). This is Mann and Whitney's U over the number of pairs.

    Args:
        x, y: (runs, tasks) scores.
        paired: Compare run k of `x` with run k of `y` only, for runs on the same jobs.

    Returns:
        From 0 to 1.

    Examples:
        >>> from bfenv.analysis import probability_of_improvement
        >>> probability_of_improvement([[1.0], [3.0]], [[2.0], [4.0]])
        0.75
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if not paired:
        x, y = x[:, None, :], y[None, :, :]
    return float(np.mean((x < y) + 0.5 * (x == y)))


def ranks(scores: np.ndarray, **options: Any) -> np.ndarray:
    """Rank policies by their scores, low being best, so that doubtful differences tie.

    Policies are visited in order of their means. The first one leads a group. The policies after it
    belong to the group up to the first that is surely worse than the leader: the bootstrap interval
    of the mean of their differences, run by run on the same jobs, is above 0. That policy leads the
    next group. The rank of a group is 1 + the number of policies in the groups before it. Ties are
    therefore transitive, unlike comparisons of pairs. A policy in a later group is surely worse
    than the leader of a group before, or has a worse mean than one that is. Policies without an
    interval all tie; equal means keep the given order.

    Args:
        scores: (policies, runs, tasks).
        **options: Keywords of `bootstrap`; `seed` is required.

    Returns:
        (policies,) int64, from 1.

    Examples:
        The second policy is always better by about 1; the first and the third differ by chance.

        >>> import numpy as np
        >>> from bfenv.analysis import ranks
        >>> noise = np.random.default_rng(0).normal(0, 0.1, (3, 20, 1))
        >>> ranks(noise + np.array([2, 1, 2])[:, None, None], seed=1)
        array([2, 1, 2])
    """
    order = np.argsort(scores.mean(axis=(1, 2)), kind="stable")
    ranked = np.empty(len(scores), dtype=np.int64)
    leader = 0
    for i, policy in enumerate(order):
        if not bootstrap(scores[policy] - scores[order[leader]], mean, **options).zero:
            leader = i
        ranked[policy] = 1 + leader
    return ranked
