"""Which jobs were backfilled, what that cost the head, and what it was promised."""

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
    count = len(schedule.trace)
    ran = _ran(schedule)
    backfilled = np.zeros(count, dtype=np.bool_)
    stolen = np.zeros(count, dtype=np.int64)
    _judge(
        ran, ran.end, schedule.trace.jobs.submit, schedule.trace.processors, _machine(schedule),
        backfilled, stolen,
    )  # fmt: skip
    return Backfills(backfilled, stolen)


def head_promises(schedule: Schedule) -> np.ndarray:
    """(n,) int64 seconds: when each job could expect to start as it became the head; -1 for none.

    A job becomes the head when all jobs submitted before it have started; one that starts at that
    instant or earlier has no promise. The promise is its shadow time (Shmueli 2003, section
    3.2.1), by estimates, after the starts of that instant, and not before its requested start
    time. EASY in the order of submission keeps every one of these promises, whatever the
    estimates are worth; a policy that lets others pass the head may break them.
    """
    jobs, start = schedule.trace.jobs, schedule.start
    before = np.maximum.accumulate(np.concatenate([[0], start[:-1]]))
    since = np.maximum(jobs.submit, before)
    heads = np.flatnonzero(start > since)
    ran = _ran(schedule)
    expected = ran.end.copy()
    expected[: len(start)] = start + jobs.estimate  # a trial ends at its limit, known beforehand
    promises = np.full(len(start), -1, dtype=np.int64)
    _promise(
        ran, expected, heads, since, schedule.trace.processors, _machine(schedule), promises
    )  # fmt: skip
    return np.where(promises < 0, -1, np.maximum(promises, jobs.requested_start))


class _Ran(NamedTuple):
    """All that held processors: the jobs in trace order, then the killed trials."""

    order: np.ndarray  # (m,) int64 by start, at one instant by index
    start: np.ndarray  # (m,) int64 seconds
    end: np.ndarray  # (m,) int64 seconds
    size: np.ndarray  # (m,) int64 processors


def _ran(schedule: Schedule) -> _Ran:
    tried = np.flatnonzero(schedule.trial_end >= 0)
    size = schedule.trace.jobs.size
    start = np.concatenate([schedule.start, schedule.trial_start[tried]])
    end = np.concatenate([schedule.end, schedule.trial_end[tried]])
    order = np.argsort(start, kind="stable")
    return _Ran(order, start, end, np.concatenate([size, size[tried]]))


def _machine(schedule: Schedule) -> np.ndarray:
    """Room for what runs at one time: true ends, sizes, and the ends by which it is sorted."""
    most = min(2 * len(schedule.trace), schedule.trace.processors)
    return np.empty((3, most), dtype=np.int64)


@kernel
def _judge(ran, key, submit, processors, running, backfilled, stolen):
    """Replay the starts, filling `backfilled` and `stolen`."""
    count = len(submit)
    head, runs, free = 0, 0, processors
    for item in ran.order:
        now = ran.start[item]
        runs, gone = _leave(running, runs, now)
        free += gone
        while head < count and ran.start[head] <= now:
            head += 1
        before = now
        judged = item < count and head < item and submit[head] <= now
        if judged:
            before = _earliest(running, runs, free, ran.size[head], now)
        _enter(running, runs, ran.end[item], ran.size[item], key[item])
        runs += 1
        free -= ran.size[item]
        if judged:
            backfilled[item] = True
            stolen[item] = _earliest(running, runs, free, ran.size[head], now) - before


@kernel
def _promise(ran, key, heads, since, processors, running, promises):
    """Replay the starts, filling `promises` of the heads, who became that at `since`."""
    place, runs, free = 0, 0, processors
    for head in heads:
        now = since[head]
        while place < len(ran.order) and ran.start[ran.order[place]] <= now:
            item = ran.order[place]
            runs, gone = _leave(running, runs, ran.start[item])
            _enter(running, runs, ran.end[item], ran.size[item], key[item])
            runs += 1
            free += gone - ran.size[item]
            place += 1
        runs, gone = _leave(running, runs, now)
        free += gone
        promises[head] = _earliest(running, runs, free, ran.size[head], now)


@kernel
def _leave(running, runs, now):
    """Take out of `running` what has truly ended; how many stay, and the processors let go."""
    stay, gone = 0, 0
    for place in range(runs):
        if running[0, place] <= now:
            gone += running[1, place]
        else:
            if stay < place:
                for row in range(3):
                    running[row, stay] = running[row, place]
            stay += 1
    return stay, gone


@kernel
def _enter(running, runs, end, size, key):
    """Put one more into `running`, which is ascending in `key`."""
    place = runs
    while place > 0 and running[2, place - 1] > key:
        for row in range(3):
            running[row, place] = running[row, place - 1]
        place -= 1
    running[0, place] = end
    running[1, place] = size
    running[2, place] = key


@kernel
def _earliest(running, runs, free, need, now):
    """When `need` processors are free, if all that runs ends by the key it is sorted by."""
    time = now
    for place in range(runs):
        if free >= need:
            break
        free += running[1, place]
        time = running[2, place]
    return time
