"""Which hours of a schedule are worth a look."""

from collections.abc import Sequence

import numpy as np

from bfenv.core.schedule import Schedule

SPANS = (3_600, 7_200, 14_400, 28_800, 86_400, 172_800)  # seconds
ENOUGH = 40  # jobs that a picture should show


def interesting(schedules: Sequence[Schedule], span: int) -> int:
    """The second at which a stretch of `span` seconds begins that shows most.

    Of two schedules that is where most happens that does not under the other: the seconds between
    a job's two starts, none counted above the span, summed over the jobs that start then, under
    the schedule with less of it, or under both where one always has none. Of one, it is where
    those who waited most start. Stretches begin at multiples of half a span, and the first of
    several as good is taken.
    """
    step = max(1, span // 2)
    first, other = schedules[0], schedules[-1]
    apart = first.wait if len(schedules) == 1 else np.abs(first.start - other.start)
    weight = np.minimum(apart, span).astype(np.float64)
    halves = [one.start // step for one in (first, other)]
    # The stretches in which anything starts, each by its first half; there may be few of many.
    begins = np.unique(np.concatenate([half - back for half in halves for back in (1, 0)]))
    begins = begins[begins >= 0]
    one, two = (_starting(half, weight, begins) for half in halves)
    least = np.minimum(one, two)
    return int(begins[np.argmax(least if least.any() else one + two)]) * step


def _starting(half: np.ndarray, weight: np.ndarray, begins: np.ndarray) -> np.ndarray:
    """(k,) sums of the weights of the jobs that start in half begins[i] or the one after it."""
    found, place = np.unique(half, return_inverse=True)
    sums = np.append(np.bincount(place, weight), 0.0)  # last, of halves in which nothing starts
    total = np.zeros(len(begins))
    for ahead in (0, 1):
        at = np.searchsorted(found, begins + ahead)
        there = np.append(found, -1)[at] == begins + ahead
        total += sums[np.where(there, at, -1)]
    return total


def readable_span(schedule: Schedule) -> int:
    """The shortest of SPANS, in seconds, in which enough jobs of a schedule start on average."""
    length = int(schedule.end.max() - schedule.trace.jobs.submit[0])
    return next(
        (span for span in SPANS if len(schedule.trace) * span / length >= ENOUGH), SPANS[-1]
    )
