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

A job that has not started yet counts as one that starts now: nothing later is known.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bfenv.core.durations import MINUTE

LEVELS = (np.arange(40) + 0.5) / 40  # of the quantiles that are corrected
MIDDLE, UPPER = 20, 36  # of these, by which forecasts resemble each other
NEIGHBOURS = 80
WAITED = 0.3  # weight of the wait so far in how much forecasts resemble each other
REQUEST = 0.5  # of each power of two between sizes, and between limits
FEWEST = 20  # moments of earlier forecasts, without which nothing is corrected
FIRST = 100  # the first job of a log that may be the moment of an earlier forecast


class PastForecasts(NamedTuple):
    """Earlier forecasts and what became of them, (n,) each."""

    job: np.ndarray  # int64, their numbers in the log
    moment: np.ndarray  # int64 seconds
    waited: np.ndarray  # int64 seconds up to then; 0 of a job that has just been submitted
    request: np.ndarray  # (n, 2) int64 processors, and limit in seconds
    quantiles: np.ndarray  # (n, LEVELS) float64 seconds from the moment, before any correction


def past_moments(jobs: int, moments: int) -> np.ndarray:
    """Return the jobs at whose submissions earlier forecasts are made, when `jobs` have come.

    They are the last `moments` multiples of a power of two, so that two moments of one log share
    most of them.
    """
    if moments == 0 or jobs <= FIRST:
        return np.zeros(0, dtype=np.int64)
    stride = 1 << max(0, math.floor(math.log2(max(1, jobs / (2 * moments)))))
    chosen = np.arange(0, jobs, stride)[-moments:]
    return chosen[chosen >= FIRST]


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
    known = past.moment < time
    own = quantiles_of(samples)
    count = samples.shape[1]
    result = samples.copy()
    for i, quantiles in enumerate(own):
        alike = np.flatnonzero(known & ((past.waited == 0) == (waited[i] == 0)))
        moments = np.unique(past.moment[alike])
        if len(moments) < FEWEST or not np.isfinite(quantiles).all():
            continue
        there, here = log_scale(past.quantiles[alike]), log_scale(quantiles)
        distance = np.abs(there - here)[:, [MIDDLE, UPPER]].sum(axis=1)
        distance += WAITED * np.abs(log_scale(past.waited[alike]) - log_scale(waited[i]))
        others = np.log2(past.request[alike] / request[i])
        distance += REQUEST * np.abs(others).sum(axis=1)
        order = np.argsort(distance, kind="stable")
        closest = np.unique(past.moment[alike[order]], return_index=True)[1]  # of each moment
        nearest = order[np.sort(closest)[:NEIGHBOURS]]
        came = log_scale(wait[alike[nearest]])
        errors = np.sort(came[:, None] - there[nearest], axis=0)
        rank = np.clip(np.rint(LEVELS * (len(errors) + 1)).astype(int) - 1, 0, len(errors) - 1)
        moved = np.sort(here + errors[rank, np.arange(len(LEVELS))])
        moved = np.minimum(moved, max(came.max(), here.max()))
        values = np.maximum(0, np.expm1(moved) * MINUTE)
        result[i] = np.interp((np.arange(count) + 0.5) / count, LEVELS, values)
    return result


def log_scale(seconds: ArrayLike) -> np.ndarray:
    """Return positions that grow like the logarithm beyond a minute, and from 0."""
    scaled: np.ndarray = np.log1p(np.asarray(seconds, dtype=np.float64) / MINUTE)
    return scaled
