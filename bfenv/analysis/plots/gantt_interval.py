"""Select the hours of a schedule that a Gantt chart shows."""

from collections.abc import Sequence

import numpy as np

from bfenv.core.durations import DAY, HOUR
from bfenv.core.schedule import Schedule

SPANS = (HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR, DAY, 2 * DAY)  # seconds
ENOUGH_JOBS = 40  # to start within a readable span


def choose_begin(schedules: Sequence[Schedule], span: int) -> int:
    """Choose the interval of schedules that shows most.

    For two schedules of the same trace, that is where they differ most. A job counts with the
    seconds between its two starts, at most `span`, in the interval in which it starts; of the two
    sums the smaller one counts, or their total if one of them is always 0. For one schedule, that
    is where the jobs that waited longest start.

    Args:
        schedules: One schedule, or several of the same trace; the first and the last are compared.
        span: Length of the interval in seconds.

    Returns:
        The second at which the interval begins, a multiple of half a span. Of equal ones, it is the
        first.
    """
    step = max(1, span // 2)
    first, last = schedules[0], schedules[-1]
    distance = first.wait if len(schedules) == 1 else np.abs(first.start - last.start)
    weight = np.minimum(distance, span).astype(np.float64)
    halves = [schedule.start // step for schedule in (first, last)]
    # Only intervals in which a job starts, by their first half: a trace may be very long.
    begins = np.unique(np.concatenate([half - back for half in halves for back in (1, 0)]))
    begins = begins[begins >= 0]
    first_sums, last_sums = (_starting(half, weight, begins) for half in halves)
    least = np.minimum(first_sums, last_sums)
    return int(begins[np.argmax(least if least.any() else first_sums + last_sums)]) * step


def _starting(half: np.ndarray, weight: np.ndarray, begins: np.ndarray) -> np.ndarray:
    """Return (k,) sums of the weights of the jobs that start in half begins[i] or the next one."""
    distinct, inverse = np.unique(half, return_inverse=True)
    sums = np.append(np.bincount(inverse, weight), 0.0)  # the last is of halves without a start
    total = np.zeros(len(begins))
    for ahead in (0, 1):
        i = np.searchsorted(distinct, begins + ahead)
        is_start = np.append(distinct, -1)[i] == begins + ahead
        total += sums[np.where(is_start, i, -1)]
    return total


def readable_span(schedule: Schedule) -> int:
    """Choose a length of interval for `draw_gantt`.

    Args:
        schedule: The schedule to draw.

    Returns:
        The shortest of SPANS, in seconds, in which enough jobs start on average to see something.
    """
    length = int(schedule.end.max() - schedule.trace.jobs.submit[0])
    return next(
        (span for span in SPANS if len(schedule.trace) * span / length >= ENOUGH_JOBS), SPANS[-1]
    )
