"""Other ways to say when a job will start, against which forecasts are measured.

All use what the log has recorded up to the moment, and nothing later. The trees of
`learned.Regression`, trained once before all moments, are another way.
"""

import numpy as np

CONFIDENCE = 0.95  # of the bounds of Brevik and Wolski
SIZE_CLASSES = 4, 16, 64  # processors: their classes are up to 4, 16, 64 and more
FEWEST = 5  # jobs of a class, without which all jobs count


def bound_waits(
    size: np.ndarray, wait: np.ndarray, own_size: int, waited: int, levels: np.ndarray
) -> np.ndarray:
    """Bound quantiles of a wait from past waits, with CONFIDENCE (Brevik, Nurmi and Wolski 2006).

    The k-th shortest of n waits exceeds the quantile of level q with the chance that fewer than k
    of n such waits lie below it, which is binomial; the least k of enough chance is taken. Only
    jobs of the same class of sizes count that waited longer than this one has.

    Args:
        size, wait: (n,) int64, of the jobs that have started.
        own_size, waited: The job's processors, and its wait so far in seconds.
        levels: (l,) float64.

    Returns:
        (l,) float64 seconds from now.
    """
    classes = np.digitize(size, SIZE_CLASSES, right=True)
    is_alike = classes == np.digitize(own_size, SIZE_CLASSES, right=True)
    past = np.sort(_longer(wait, is_alike, waited))
    if not len(past):
        return np.zeros(len(levels))
    return np.array([past[binomial_rank(len(past), level)] for level in levels]) - waited


def binomial_rank(count: int, level: float) -> int:
    """Return which of `count` ascending values bounds the quantile with CONFIDENCE, from 0.

    The last one, if no one does.
    """
    k = np.arange(1, count + 1)
    odds = np.log(level) - np.log1p(-level)
    log_chance = np.cumsum(np.log((count - k + 1) / k) + odds)
    chances = np.exp(np.append(0.0, log_chance) + count * np.log1p(-level))  # of k successes
    enough = np.cumsum(chances)[:count] >= CONFIDENCE  # at most 0, 1, .. count - 1 successes
    return int(np.argmax(enough)) if enough.any() else count - 1


def class_median(
    size: np.ndarray, limit: np.ndarray, wait: np.ndarray, request: tuple[int, int], waited: int
) -> float:
    """Return the median wait from now of jobs of the same size and limit class.

    Classes are powers of two; jobs that waited less than this one has do not count.
    """
    same = np.rint(np.log2(size)) == np.rint(np.log2(request[0]))
    same &= np.rint(np.log2(limit)) == np.rint(np.log2(request[1]))
    past = _longer(wait, same, waited)
    return float(np.median(past)) - waited if len(past) else 0.0


def _longer(wait: np.ndarray, alike: np.ndarray, waited: int) -> np.ndarray:
    """Return the waits of those jobs that are alike, or else of all, that are no shorter."""
    longer = wait >= waited
    waits: np.ndarray = wait[longer & alike]
    return waits if len(waits) >= FEWEST else wait[longer]
