"""Which processors each job of a schedule gets, for pictures and formats that name them.

The simulated cluster counts processors and does not name them. Here the lowest free ones are
assigned, in order of start.
"""

import heapq
from typing import NamedTuple

import numpy as np

from bfenv.core.schedule import Schedule

Span = tuple[int, int]  # first processor, one past the last


class Placed(NamedTuple):
    """A run of a job, or a trial of one, and the processors it holds from start to end."""

    job: int  # index in the trace
    start: int  # seconds
    end: int  # seconds
    trial: bool  # whether it ends by being killed
    spans: list[Span]  # first processor and one past the last, ascending


def place(schedule: Schedule, begin: int | None = None, stop: int | None = None) -> list[Placed]:
    """Assign processors to the runs of a schedule.

    A run gets the lowest gap that holds it in one piece, or the lowest free processors if no gap
    does. A possible schedule never lacks processors.

    Args:
        schedule: The schedule to draw.
        begin, stop: Take only runs that overlap [begin, stop) seconds; None is no limit. The
            processors of a run depend on the interval, because runs that end before it are ignored.

    Returns:
        Runs and trials in order of start.

    Examples:
        >>> import bfenv
        >>> from bfenv.analysis import place
        >>> trace = bfenv.make_trace(submit=[0, 0], size=[3, 1], runtime=[60, 30], processors=4)
        >>> for run in place(bfenv.simulate(trace, "easy")):
        ...     print(run.job, run.start, run.end, run.spans)
        0 0 60 [(0, 3)]
        1 0 30 [(3, 4)]
    """
    runs = _runs(schedule, begin, stop)
    free: list[Span] = [(0, schedule.trace.processors)]
    busy: list[tuple[int, int, list[Span]]] = []  # end, index in runs, spans
    placed = []
    for i, (start, _, job, end, trial) in enumerate(runs):
        while busy and busy[0][0] <= start:
            free = _give_back(free, heapq.heappop(busy)[2])
        spans, free = _take(free, int(schedule.trace.jobs.size[job]))
        heapq.heappush(busy, (end, i, spans))
        placed.append(Placed(job, start, end, trial, spans))
    return placed


def _runs(
    schedule: Schedule, begin: int | None, stop: int | None
) -> list[tuple[int, int, int, int, bool]]:
    """Return (start, order, job, end, trial), ascending; runs of no length hold nothing."""
    tried = np.flatnonzero(schedule.trial_end >= 0)
    job = np.concatenate([np.arange(len(schedule.trace)), tried])
    start = np.concatenate([schedule.start, schedule.trial_start[tried]])
    end = np.concatenate([schedule.end, schedule.trial_end[tried]])
    trial = np.arange(len(job)) >= len(schedule.trace)
    overlaps = end > start
    if begin is not None:
        overlaps &= end > begin
    if stop is not None:
        overlaps &= start < stop
    kept = np.flatnonzero(overlaps)
    columns = (start[kept], kept, job[kept], end[kept], trial[kept])
    return sorted(zip(*(column.tolist() for column in columns), strict=True))


def _take(free: list[Span], size: int) -> tuple[list[Span], list[Span]]:
    """Return spans of `size` processors, and the spans that remain free."""
    for i, (first, last) in enumerate(free):
        if last - first >= size:
            remainder = [(first + size, last)] if last - first > size else []
            return [(first, first + size)], free[:i] + remainder + free[i + 1 :]
    taken: list[Span] = []
    while size:
        first, last = free[0]
        part = min(size, last - first)
        taken.append((first, first + part))
        size -= part
        free = ([(first + part, last)] if first + part < last else []) + free[1:]
    return taken, free


def _give_back(free: list[Span], spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for first, last in sorted(free + spans):
        if merged and merged[-1][1] == first:
            merged[-1] = (merged[-1][0], last)
        else:
            merged.append((first, last))
    return merged
