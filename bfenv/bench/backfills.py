"""Which jobs of a schedule were backfilled, and what that truly cost the head (bench layer)."""

from typing import NamedTuple

import numpy as np

from bfenv.core.kernel import kernel
from bfenv.core.schedule import Schedule


class Backfills(NamedTuple):
    """Per job, in trace order."""

    backfilled: np.ndarray  # (n,) bool: started while a job submitted earlier went on waiting
    stolen: np.ndarray  # (n,) int64 seconds by which its start delayed the head's true earliest

    @property
    def wild(self) -> np.ndarray:
        """(n,) bool: the start delayed the earliest time at which the head could have started."""
        return self.stolen > 0


def backfills(schedule: Schedule) -> Backfills:
    """Judge every start by the truth, after the event (Tsafrir 2010, section 3.3).

    The head at a start is the first job, in order of submission, that goes on waiting. Its true
    earliest start follows from when the running jobs did end; a backfill that moves it is wild, and
    what it moves it by is stolen time. Jobs that start at one instant are judged in index order,
    which is that of EASY's scan. Killed trials hold their processors like any other job.
    """
    trace, tried = schedule.trace, np.flatnonzero(schedule.trial_end >= 0)
    count = len(trace)
    start = np.concatenate([schedule.start, schedule.trial_start[tried]])
    end = np.concatenate([schedule.end, schedule.trial_end[tried]])
    size = np.concatenate([trace.jobs.size, trace.jobs.size[tried]])
    backfilled = np.zeros(count, dtype=np.bool_)
    stolen = np.zeros(count, dtype=np.int64)
    running = np.empty((2, min(len(start), trace.processors)), dtype=np.int64)
    order = np.lexsort((np.arange(len(start)), start))
    _judge(
        order, start, end, size, trace.jobs.submit, trace.processors, running, backfilled, stolen
    )
    return Backfills(backfilled, stolen)


@kernel
def _judge(order, start, end, size, submit, processors, running, backfilled, stolen):
    """Replay the starts; `running` (2, m) holds true ends, ascending, and sizes."""
    count = len(submit)
    head, runs, free = 0, 0, processors
    for item in order:
        now = start[item]
        gone = 0
        while gone < runs and running[0, gone] <= now:
            free += running[1, gone]
            gone += 1
        for place in range(gone, runs):
            running[0, place - gone] = running[0, place]
            running[1, place - gone] = running[1, place]
        runs -= gone
        while head < count and start[head] <= now:
            head += 1
        before = now
        judged = item < count and head < item and submit[head] <= now
        if judged:
            before = _earliest(running, runs, free, size[head], now)
        place = runs
        while place > 0 and running[0, place - 1] > end[item]:
            running[0, place] = running[0, place - 1]
            running[1, place] = running[1, place - 1]
            place -= 1
        running[0, place] = end[item]
        running[1, place] = size[item]
        runs += 1
        free -= size[item]
        if judged:
            backfilled[item] = True
            stolen[item] = _earliest(running, runs, free, size[head], now) - before


@kernel
def _earliest(running, runs, free, need, now):
    time = now
    for place in range(runs):
        if free >= need:
            break
        free += running[1, place]
        time = running[0, place]
    return time
