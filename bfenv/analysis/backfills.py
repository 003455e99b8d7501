"""Which jobs were backfilled, what that cost the head of the queue, and what it was promised.

In all functions, `schedule` (Schedule) is judged.
"""

from typing import NamedTuple

import numpy as np

from bfenv.core.kernel import kernel
from bfenv.core.schedule import Schedule


class Backfills(NamedTuple):
    """Backfilling per job, in trace order."""

    backfilled: np.ndarray  # (n,) bool: started while a job submitted earlier was still waiting
    stolen: np.ndarray  # (n,) int64 seconds by which its start delayed the head's true earliest
    head: np.ndarray  # (n,) int64 index of the job that kept waiting as the head, -1 for none

    @property
    def wild(self) -> np.ndarray:
        """Whether each start delayed the true earliest start of the head, (n,) bool."""
        late: np.ndarray = self.stolen > 0
        return late

    @property
    def stolen_per_delayed_head(self) -> float:
        """Mean stolen time in seconds, over the heads that a wild backfill delayed.

        All that wild backfills steal from a head adds up (Tsafrir 2010, section 3.3, Figures 6 and
        7). It is 0 without wild backfills.
        """
        delayed = np.unique(self.head[self.wild])
        return float(self.stolen.sum() / len(delayed)) if len(delayed) else 0.0


def find_backfills(schedule: Schedule) -> Backfills:
    """Return which jobs are backfilled, and the seconds that each of them stole from the head.

    Starts are judged in hindsight, by true runtimes (Tsafrir 2010, section 3.3). The head at a
    start is the first job, in submission order, that keeps waiting. Its true earliest start follows
    from the true ends of the running jobs. A backfill that moves it is wild, and the seconds by
    which it moves are stolen time. Jobs that start at the same instant are judged in index order,
    the order in which EASY scans the queue. Killed trials hold processors like any other job. A job
    does not wait during its trial.

    Examples:
        Job 1 is the head, and waits for job 0; job 2 passes it.

        >>> import bfenv
        >>> from bfenv.analysis import find_backfills
        >>> trace = bfenv.make_trace(
        ...     submit=[0, 1, 2], size=[3, 4, 1], runtime=[60, 60, 30], processors=4
        ... )
        >>> find_backfills(bfenv.simulate(trace, "easy")).backfilled
        array([False, False,  True])
    """
    count = len(schedule.trace)
    runs = _runs(schedule)
    backfilled = np.zeros(count, dtype=np.bool_)
    stolen = np.zeros(count, dtype=np.int64)
    heads = np.full(count, -1, dtype=np.int64)
    _judge_starts(
        runs,
        runs.end,
        (schedule.trial_start, schedule.trial_end),
        schedule.trace.jobs.submit,
        schedule.trace.processors,
        _running(schedule),
        backfilled,
        stolen,
        heads,
    )
    return Backfills(backfilled, stolen, heads)


def head_promises(schedule: Schedule) -> np.ndarray:
    """Compute the start time that each job could expect when it became the head.

    A job becomes the head when all jobs submitted before it have started. A job that starts at that
    instant or earlier has no promise. The promise is the job's shadow time (Shmueli 2003, section
    3.2.1), by estimates, after the starts of that instant; it is not before the requested start
    time. EASY in submission order keeps every promise, however wrong the estimates are. A policy
    that lets jobs pass the head may break promises.

    Returns:
        (n,) int64 seconds, -1 for no promise.
    """
    jobs, start = schedule.trace.jobs, schedule.start
    before = np.maximum.accumulate(np.concatenate([[0], start[:-1]]))
    since = np.maximum(jobs.submit, before)
    heads = np.flatnonzero(start > since)
    runs = _runs(schedule)
    expected = runs.end.copy()
    expected[: len(start)] = start + jobs.estimate  # a trial ends at its limit, known in advance
    promises = np.full(len(start), -1, dtype=np.int64)
    _promise_starts(
        runs, expected, heads, since, schedule.trace.processors, _running(schedule), promises
    )
    return np.where(promises < 0, -1, np.maximum(promises, jobs.requested_start))


class _Runs(NamedTuple):
    """What held processors: the jobs in trace order, then the killed trials, then outages."""

    order: np.ndarray  # (m,) int64 by start, at one instant by index
    start: np.ndarray  # (m,) int64 seconds
    end: np.ndarray  # (m,) int64 seconds
    size: np.ndarray  # (m,) int64 processors


def _runs(schedule: Schedule) -> _Runs:
    tried = np.flatnonzero(schedule.trial_end >= 0)
    size = schedule.trace.jobs.size
    outages = np.array(schedule.trace.outages, dtype=np.int64).reshape(-1, 3).T
    start = np.concatenate([schedule.start, schedule.trial_start[tried], outages[0]])
    end = np.concatenate([schedule.end, schedule.trial_end[tried], outages[1]])
    order = np.argsort(start, kind="stable")
    return _Runs(order, start, end, np.concatenate([size, size[tried], outages[2]]))


def _running(schedule: Schedule) -> np.ndarray:
    """Allocate room for all runs at one time: true ends, sizes, and the keys that sort them.

    More may overlap than the machine has processors, in a schedule that no machine can run.
    """
    runs = 2 * len(schedule.trace) + len(schedule.trace.outages)
    return np.empty((3, runs), dtype=np.int64)


@kernel
def _judge_starts(runs, key, trials, submit, processors, running, backfilled, stolen, heads):
    """Replay the starts. Writes: `backfilled`, `stolen` and `heads`."""
    jobs = len(submit)
    oldest, count, free = 0, 0, processors  # the first job that has not started for good
    for item in runs.order:
        now = runs.start[item]
        count, released = _remove_ended(running, count, now)
        free += released
        while oldest < jobs and runs.start[oldest] <= now:
            oldest += 1
        head = oldest
        # a submitted job keeps waiting if it starts later and is not on trial
        while head < min(item, jobs) and (
            runs.start[head] <= now or trials[0][head] <= now < trials[1][head]
        ):
            head += 1
        before = now
        judged = item < jobs and head < item and submit[head] <= now
        if judged:
            before = _earliest(running, count, free, runs.size[head], now)
        _insert(running, count, runs.end[item], runs.size[item], key[item])
        count += 1
        free -= runs.size[item]
        if judged:
            backfilled[item] = True
            heads[item] = head
            stolen[item] = _earliest(running, count, free, runs.size[head], now) - before


@kernel
def _promise_starts(runs, key, heads, since, processors, running, promises):
    """Replay the starts. Fills `promises` of the heads, which became the head at `since`."""
    i, count, free = 0, 0, processors
    for head in heads:
        now = since[head]
        while i < len(runs.order) and runs.start[runs.order[i]] <= now:
            item = runs.order[i]
            count, released = _remove_ended(running, count, runs.start[item])
            _insert(running, count, runs.end[item], runs.size[item], key[item])
            count += 1
            free += released - runs.size[item]
            i += 1
        count, released = _remove_ended(running, count, now)
        free += released
        promises[head] = _earliest(running, count, free, runs.size[head], now)


@kernel
def _remove_ended(running, count, now):
    """Remove from `running` what has truly ended; return how many stay, and freed processors."""
    stay, released = 0, 0
    for i in range(count):
        if running[0, i] <= now:
            released += running[1, i]
        else:
            if stay < i:
                for row in range(3):
                    running[row, stay] = running[row, i]
            stay += 1
    return stay, released


@kernel
def _insert(running, count, end, size, key):
    """Insert a run into `running`, which ascends in `key`."""
    i = count
    while i > 0 and running[2, i - 1] > key:
        for row in range(3):
            running[row, i] = running[row, i - 1]
        i -= 1
    running[0, i] = end
    running[1, i] = size
    running[2, i] = key


@kernel
def _earliest(running, count, free, need, now):
    """Return when `need` processors are free, if every run ends at its key."""
    time = now
    for i in range(count):
        if free >= need:
            break
        free += running[1, i]
        time = running[2, i]
    return time
