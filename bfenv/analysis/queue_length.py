"""How many jobs wait, and what stands idle meanwhile, as functions of time."""

import numpy as np

from bfenv.analysis.schedule_metrics import makespan
from bfenv.core.schedule import Schedule, steps

Steps = tuple[np.ndarray, np.ndarray]  # instants (k,) int64 seconds, ascending; values from then on


def queue_length(schedule: Schedule) -> Steps:
    """Instants (k,) int64 seconds and (k,) int64 jobs in the queue from then on.

    A job is in the queue from its submit time until its start, but for the time of its trial.
    """
    tried = schedule.trial_end >= 0
    come = (schedule.trace.jobs.submit, schedule.trial_end[tried])
    go = (schedule.start, schedule.trial_start[tried])
    change = np.repeat(np.array([1, -1]), sum(map(len, come)))
    return steps(np.concatenate(come + go), change)


def mean_queue_length(schedule: Schedule) -> float:
    """Jobs in the queue, mean over the makespan.

    By Little's law that is the total time in the queue over the makespan.
    """
    tried = schedule.trial_end >= 0
    trials = (schedule.trial_end - schedule.trial_start)[tried]
    return float(schedule.wait.sum() - trials.sum()) / makespan(schedule)


def queue_curve(schedule: Schedule, parts: int = 200) -> Steps:
    """The makespan cut at (m + 1,) int64 seconds, and (m,) float64 mean queue length in each part.

    The m parts are equal but for rounding to whole seconds: `parts` of them, fewer where the
    makespan has fewer seconds.
    """
    begin, length = int(schedule.trace.jobs.submit[0]), makespan(schedule)
    parts = min(parts, length)
    cuts = begin + np.array([length * part // parts for part in range(parts + 1)])
    times, jobs = queue_length(schedule)
    areas = np.concatenate([[0.0], np.cumsum(np.diff(times).astype(np.float64) * jobs[:-1])])
    return cuts, np.diff(np.interp(cuts, times, areas)) / np.diff(cuts)


def loss_of_capacity(schedule: Schedule) -> float:
    """Processor-seconds idle while a job waits, over processors x makespan.

    With f free processors between an event and the next, and d = 1 if anything waits then and 0
    if not: the sum of f d (length of the interval), over processors x makespan (Zhang, Franke,
    Moreira and Sivasubramaniam, JSSPP 2001). Lost to fragmentation and to reservations alike.
    Jobs count as waiting from their requested start times on.
    """
    jobs, processors = schedule.trace.jobs, schedule.trace.processors
    tried = schedule.trial_end >= 0
    since = np.maximum(jobs.submit, jobs.requested_start)
    one, once, size, sizes = np.ones_like(jobs.size), tried[tried] * 1, jobs.size, jobs.size[tried]
    time, waiting, used = (
        np.concatenate(parts)
        for parts in (
            (since, schedule.start, schedule.end, schedule.trial_start[tried],
             schedule.trial_end[tried]),
            (one, -one, 0 * one, -once, once),
            (0 * size, size, -size, sizes, -sizes),
        )
    )  # fmt: skip
    times, (waiting, used) = steps(time, np.stack([waiting, used]))
    idle = np.where(waiting > 0, processors - used, 0)[:-1].astype(np.float64)
    return float((idle * np.diff(times)).sum()) / (processors * makespan(schedule))
