"""Which hours of a schedule are worth a look (bench layer)."""

from collections.abc import Sequence

import numpy as np

from bfenv.core.schedule import Schedule

SPANS = (3_600, 7_200, 14_400, 28_800, 86_400, 172_800)  # seconds
ENOUGH = 40  # jobs that a picture should show
MOST = 400  # jobs, beyond which it is a blur


def interesting(schedules: Sequence[Schedule], span: int) -> int:
    """The second at which a stretch of `span` seconds begins that shows most.

    Of two schedules that is where they differ most: most seconds between a job's two starts, none
    counted above the span; of one, where most jobs wait. Stretches begin at multiples of half a
    span, and the first of several as good is taken.
    """
    step = max(1, span // 2)
    first = schedules[0]
    if len(schedules) == 1:
        moments, weight = first.start, np.minimum(first.wait, span)
    else:
        apart = np.abs(first.start - schedules[1].start)
        moments, weight = first.start, np.minimum(apart, span)
    bins = np.bincount(moments // step, weights=weight)
    if len(bins) < 2:
        return 0
    return int(np.argmax(bins[:-1] + bins[1:])) * step


def readable_span(schedule: Schedule) -> int:
    """The shortest of SPANS, in seconds, in which enough jobs of a schedule start on average."""
    length = int(schedule.end.max() - schedule.trace.jobs.submit[0])
    return next(
        (span for span in SPANS if len(schedule.trace) * span / length >= ENOUGH), SPANS[-1]
    )
