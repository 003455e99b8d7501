"""How earlier forecasts for such jobs did, and the correction that follows.

At moments of the log's own past the same forecast is made as now, and compared with the start that
followed. The correction is conformal (Vovk, Gammerman and Shafer 2005; for quantiles Romano,
Patterson and Candès 2019): each quantile is moved by as much as would have made that share of the
earlier starts lie below it. Only the NEIGHBOURS earlier forecasts that resemble this one count, as
in localized conformal prediction (Guan 2023): those for jobs that were just submitted, or for jobs
that had waited about as long, whose median, upper quantile, size and limit were closest: what a
site does beyond the policy that is assumed depends on these. Of each moment only the closest one
counts: jobs that wait at the same time share their fate, and would pass for more than one. Waits
are measured on the scale log(wait + 1 min), on which a factor weighs the same for an hour and for a
day. No correction goes beyond both the futures and the longest wait that followed one of these
forecasts.

Where the site does not run the policy that is assumed, a part of the errors may follow from the
same quantities. Least squares predict it. The moments are in BLOCKS, and the errors of each block
are predicted from the others. If that makes the errors smaller, all forecasts are moved by their
predicted errors and corrected again. The result is the mean of the quantiles of both corrections
(Lichtendahl, Grushka-Cockayne and Winkler 2013).

A job that has not started yet counts as one that starts now: nothing later is known.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bfenv.core.durations import MINUTE

LEVELS = (np.arange(40) + 0.5) / 40  # of the quantiles that are corrected
LOWER, MIDDLE, UPPER = 4, 20, 36  # of these
NEIGHBOURS = 80
# The weights of `_features` in a distance: three quantiles, the wait so far, size and limit
ALIKE = np.array([0, 1, 1, 0.3, 0.5, 0.5])
BLOCKS = 10  # of moments, one after the other
SMALLER = 0.95  # the largest share of the errors that may be left, after their median is taken off
FEWEST = 20  # moments of earlier forecasts, without which nothing is corrected
FIRST = 100  # the first job of a log that may be the moment of an earlier forecast


class PastForecasts(NamedTuple):
    """Earlier forecasts and what became of them, (n,) each."""

    job: np.ndarray  # int64, their numbers in the log
    moment: np.ndarray  # int64 seconds
    waited: np.ndarray  # int64 seconds up to then; 0 of a job that has just been submitted
    request: np.ndarray  # (n, 2) int64 processors, and limit in seconds
    quantiles: np.ndarray  # (n, LEVELS) float64 seconds from the moment, before any correction
    corrected: np.ndarray  # (n, LEVELS) the same after it; NaN where nothing is learned
    features: np.ndarray  # (n, f) float64, see `learned.features_of`


def past_moments(jobs: int, moments: int) -> np.ndarray:
    """Return the jobs at whose submissions earlier forecasts are made, when `jobs` have come.

    They are the last `moments` multiples of a power of two, so that two moments of one log share
    most of them.
    """
    if moments == 0 or jobs <= FIRST:
        return np.zeros(0, dtype=np.int64)
    stride = stride_of(jobs, moments)
    numbers = np.arange(0, jobs, stride)[-moments:]
    return numbers[numbers >= FIRST]


def stride_of(jobs: int, moments: int) -> int:
    """Return how many jobs apart the moments of `past_moments` are, a power of two."""
    return 1 << max(0, math.floor(math.log2(max(1, jobs / (2 * moments)))))


def quantiles_of(samples: np.ndarray) -> np.ndarray:
    """Return the quantiles of ascending samples at LEVELS, (a, LEVELS)."""
    return np.stack([np.quantile(row, LEVELS, method="inverted_cdf") for row in samples])


def corrected(
    samples: np.ndarray,
    waited: np.ndarray,
    request: np.ndarray,
    past: PastForecasts,
    start: np.ndarray,
    time: int,
) -> np.ndarray:
    """Return the samples after the correction, (a, F) seconds, ascending.

    Args:
        samples: (a, F) float64 seconds, ascending: what the futures say.
        waited: (a,) int64 seconds, up to now.
        request: (a, 2) int64 processors, and limit in seconds.
        past: Earlier forecasts; those at this moment or later do not count.
        start: (n,) int64 seconds, when their jobs have started; any time after now if they have
            not.
        time: Now, in seconds.
    """
    wait = np.minimum(start, time) - past.moment
    is_known = (past.moment < time) & np.isfinite(past.quantiles).all(axis=1)
    forecast_quantiles = quantiles_of(samples)
    count = samples.shape[1]
    result = samples.copy()
    for is_new in (True, False):
        jobs = np.flatnonzero(
            ((waited == 0) == is_new) & np.isfinite(forecast_quantiles).all(axis=1)
        )
        alike = np.flatnonzero(is_known & ((past.waited == 0) == is_new))
        came, moment = log_scale(wait[alike]), past.moment[alike]
        if not len(jobs) or len(np.unique(moment)) < FEWEST:
            continue
        past_quantiles = log_scale(past.quantiles[alike])
        new_quantiles = log_scale(forecast_quantiles[jobs])
        rows = _features(past_quantiles, past.waited[alike], past.request[alike])
        new_rows = _features(new_quantiles, waited[jobs], request[jobs])
        errors, expected = _expected_errors(
            rows, came - past_quantiles[:, MIDDLE], moment, new_rows
        )
        for i, quantiles, row, error in zip(jobs, new_quantiles, new_rows, expected, strict=True):
            distance = np.abs(rows - row) @ ALIKE
            moved = _moved(quantiles, past_quantiles, came, distance, moment)
            if errors.any():
                distance += np.abs(errors - error)
                second = _moved(
                    quantiles + error, past_quantiles + errors[:, None], came, distance, moment
                )
                moved = (moved + second) / 2
            values = np.maximum(0, np.expm1(moved) * MINUTE)
            result[i] = np.interp((np.arange(count) + 0.5) / count, LEVELS, values)
    return result


def _moved(
    quantiles: np.ndarray,
    past_quantiles: np.ndarray,
    came: np.ndarray,
    distance: np.ndarray,
    moment: np.ndarray,
) -> np.ndarray:
    """Move each quantile of a forecast as the closest earlier ones would have had to be moved.

    * `quantiles`: (LEVELS,) of the forecast.
    * `past_quantiles`, `came`, `distance`, `moment`: (n, LEVELS) and (n,), of earlier ones.
    """
    order = np.argsort(distance, kind="stable")
    closest = np.unique(moment[order], return_index=True)[1]  # of each moment
    nearest = order[np.sort(closest)[:NEIGHBOURS]]
    errors = np.sort(came[nearest, None] - past_quantiles[nearest], axis=0)
    rank = np.clip(np.rint(LEVELS * (len(errors) + 1)).astype(int) - 1, 0, len(errors) - 1)
    moved = np.sort(quantiles + errors[rank, np.arange(len(LEVELS))])
    return moved.clip(max=max(came[nearest].max(), quantiles.max()))


def _expected_errors(
    rows: np.ndarray, error: np.ndarray, moment: np.ndarray, new_rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Predict the errors of earlier forecasts and of others, (n,) and (k,); 0 if that is no help.

    * `rows`, `new_rows`: (n, len(ALIKE)) and (k, len(ALIKE)) of them.
    * `error`, `moment`: (n,) of the earlier ones.
    """
    left = np.column_stack([np.ones(len(rows)), rows])
    moments, order = np.unique(moment, return_inverse=True)
    block = order * BLOCKS // len(moments)
    expected = np.empty(len(error))
    for fold in range(BLOCKS):  # from all other blocks
        fitted = np.linalg.lstsq(left[block != fold], error[block != fold], rcond=None)[0]
        expected[block == fold] = left[block == fold] @ fitted
    if np.abs(error - expected).mean() > SMALLER * np.abs(error - np.median(error)).mean():
        return np.zeros(len(rows)), np.zeros(len(new_rows))
    fitted = np.linalg.lstsq(left, error, rcond=None)[0]
    within = new_rows.clip(rows.min(axis=0), rows.max(axis=0))
    return expected, fitted[0] + within @ fitted[1:]


def _features(quantiles: np.ndarray, waited: np.ndarray, request: np.ndarray) -> np.ndarray:
    """Return the quantities that ALIKE compares, (n, len(ALIKE)), on logarithmic scales."""
    return np.column_stack(
        [quantiles[:, [LOWER, MIDDLE, UPPER]], log_scale(waited), np.log2(request)]
    )


def log_scale(seconds: ArrayLike) -> np.ndarray:
    """Return positions that grow like the logarithm beyond a minute, and from 0."""
    scaled: np.ndarray = np.log1p(np.asarray(seconds, dtype=np.float64) / MINUTE)
    return scaled
