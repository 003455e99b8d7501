"""How far a simulated schedule is from the one that the log records.

A simulation predicts what another policy would do only as well as it repeats what the site's own
policy did. Four numbers say how well, and a verdict in one word sums them up.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from bfenv.analysis.comparison import check_comparable
from bfenv.core.durations import MINUTE
from bfenv.core.schedule import Schedule

NEAR = 10 * MINUTE  # seconds by which two waits may differ and still count as close
FACTOR = 2.0  # by which two waits may differ and still count as close


class Limits(NamedTuple):
    """What a calibration must reach for a verdict."""

    factor: float  # by which the mean wait may be off, either way
    correlation: float  # of the ranks of waits, at least
    close: float  # share of jobs with a close wait, at least


VERDICTS = {
    "good": Limits(factor=1.25, correlation=0.7, close=0.7),
    "fair": Limits(factor=2.0, correlation=0.4, close=0.5),
}  # of the first that is reached; "poor" if none is
VERDICTS_MEANING = (
    "A job is close if its wait differs from the logged one by at most ten minutes or a factor of "
    "two. A simulation is good if the mean waits differ by at most a factor of 1.25, the rank "
    "correlation is at least 0.7, and 70 % of the jobs are close. It is fair with 2, 0.4 and 50 %. "
    "Otherwise it is poor."
)


def calibrate(schedule: Schedule, logged: Schedule) -> dict[str, float]:
    """Compare a schedule with the logged one of the same jobs.

    Args:
        schedule: A simulated schedule.
        logged: What the site's scheduler did, see `logged_schedule`.

    Returns:
        "log_mean_wait_ratio" and "log_median_wait_ratio" are the schedule's mean and median wait
        over the logged ones: 1 if both are 0, NaN (in truth infinite) if only the logged one is.
        "log_rank_correlation" is Spearman's coefficient of the waits: 1 if all waits are equal in
        both schedules, because their orders agree, and NaN if they are in only one. "log_close" is
        the share of the jobs whose waits differ by at most ten minutes or a factor of two.

    Raises:
        BfenvError: If the schedules are not of the same jobs.
    """
    check_comparable(schedule, logged)
    simulated, real = schedule.wait.astype(np.float64), logged.wait.astype(np.float64)
    apart = np.abs(simulated - real)
    close = (apart <= NEAR) | (np.maximum(simulated, real) <= FACTOR * np.minimum(simulated, real))
    all_tied = np.ptp(simulated) == np.ptp(real) == 0
    return {
        "log_mean_wait_ratio": _ratio(simulated.mean(), real.mean()),
        "log_median_wait_ratio": _ratio(float(np.median(simulated)), float(np.median(real))),
        "log_rank_correlation": 1.0 if all_tied else rank_correlation(simulated, real),
        "log_close": float(close.mean()),
    }


def verdict(numbers: Mapping[str, float | None]) -> str:
    """Judge how well a simulation agrees with a log.

    Args:
        numbers: What `calibrate` returns, or a row that has its entries.

    Returns:
        "good", "fair" or "poor", by the thresholds in `VERDICTS`, all three of which must be
        reached; "" without numbers to judge. A number that is NaN reaches none. So where no job
        waits in the log, the simulation is good if no job waits in it either, and poor otherwise.

    Examples:
        >>> from bfenv.analysis import verdict
        >>> verdict({"log_mean_wait_ratio": 1.1, "log_rank_correlation": 0.9, "log_close": 0.9})
        'good'
    """
    ratio, close = numbers.get("log_mean_wait_ratio"), numbers.get("log_close")
    correlation = numbers.get("log_rank_correlation")
    if close is None:
        return ""
    for word, limits in VERDICTS.items():
        if (
            ratio is not None
            and 1 / limits.factor <= ratio <= limits.factor
            and correlation is not None
            and correlation >= limits.correlation
            and close >= limits.close
        ):
            return word
    return "poor"


def rank_correlation(x: np.ndarray, y: np.ndarray) -> float:
    """Return Spearman's rank correlation of two series; equal values share their mean rank.

    The result is NaN if all values of one series are equal.
    """
    centred = []
    for values in (x, y):
        _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
        ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]  # from 1
        centred.append(ranks - (len(values) + 1) / 2)
    a, b = centred
    norm = float(np.sqrt(np.dot(a, a) * np.dot(b, b)))
    return float(np.dot(a, b)) / norm if norm else float("nan")


def _ratio(simulated: float, logged: float) -> float:
    if simulated == logged:  # also 0
        return 1.0
    return float(simulated / logged) if logged else float("nan")
