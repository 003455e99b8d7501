"""How many jobs wait, and how much capacity is idle meanwhile, over time."""

import numpy as np

from bfenv.analysis.schedule_metrics import makespan
from bfenv.core.schedule import Schedule, steps

Steps = tuple[np.ndarray, np.ndarray]  # instants (k,) int64 seconds, ascending; values from then on


def queue_steps(schedule: Schedule) -> Steps:
    """Return the instants, (k,) int64 seconds, and the jobs in the queue from then on, (k,) int64.

    A job is in the queue from its submit time until its start, except during its trial.
    """
    tried = schedule.trial_end >= 0
    entries = (schedule.trace.jobs.submit, schedule.trial_end[tried])
    exits = (schedule.start, schedule.trial_start[tried])
    change = np.repeat(np.array([1, -1]), sum(map(len, entries)))
    return steps(np.concatenate(entries + exits), change)


def mean_queue_length(schedule: Schedule) -> float:
    """Return the mean number of jobs in the queue over the makespan.

    By Little's law this is the total time in the queue over the makespan.
    """
    tried = schedule.trial_end >= 0
    trials = (schedule.trial_end - schedule.trial_start)[tried]
    return float(schedule.wait.sum() - trials.sum()) / makespan(schedule)


def queue_curve(schedule: Schedule, parts: int = 200) -> Steps:
    """Return the mean queue length in each of `parts` equal parts of the makespan.

    The parts are equal except for rounding to whole seconds. There are fewer of them if the
    makespan has fewer seconds.

    Returns
    -------
    cuts
        (m + 1,) int64 seconds, the limits of the m parts.
    jobs
        (m,) float64.
    """
    begin, length = int(schedule.trace.jobs.submit[0]), makespan(schedule)
    parts = min(parts, length)
    cuts = begin + np.array([length * part // parts for part in range(parts + 1)])
    times, jobs = queue_steps(schedule)
    areas = np.concatenate([[0.0], np.cumsum(np.diff(times).astype(np.float64) * jobs[:-1])])
    return cuts, np.diff(np.interp(cuts, times, areas)) / np.diff(cuts)


def loss_of_capacity(schedule: Schedule) -> float:
    """Return the processor-seconds idle while a job waits, over processors x makespan.

    Between an event and the next, let f processors be free, and d be 1 if a job waits and 0 if
    not. The loss is the sum of f d (length of the interval), over processors x makespan (Zhang,
    Franke, Moreira and Sivasubramaniam, JSSPP 2001). It includes what fragmentation costs and what
    reservations cost. A job counts as waiting from its requested start time on. Processors out of
    service are not idle.
    """
    jobs, processors = schedule.trace.jobs, schedule.trace.processors
    tried = schedule.trial_end >= 0
    since = np.maximum(jobs.submit, jobs.requested_start)
    one, once, size, sizes = np.ones_like(jobs.size), tried[tried] * 1, jobs.size, jobs.size[tried]
    begin, end, out = np.array(schedule.trace.outages, dtype=np.int64).reshape(-1, 3).T
    time, waiting, used = (
        np.concatenate(parts)
        for parts in (
            (since, schedule.start, schedule.end, schedule.trial_start[tried],
             schedule.trial_end[tried], begin, end),
            (one, -one, 0 * one, -once, once, 0 * out, 0 * out),
            (0 * size, size, -size, sizes, -sizes, out, -out),
        )
    )  # fmt: skip
    times, (waiting, used) = steps(time, np.stack([waiting, used]))
    idle = np.where(waiting > 0, processors - used, 0)[:-1].astype(np.float64)
    return float((idle * np.diff(times)).sum()) / (processors * makespan(schedule))
