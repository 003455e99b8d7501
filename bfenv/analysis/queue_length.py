"""How many jobs wait, and how much capacity is idle meanwhile, over time.

In all functions, `schedule` (Schedule) is judged.
"""

import math

import numpy as np

from bfenv.analysis.schedule_metrics import makespan
from bfenv.core.arguments import check_integer
from bfenv.core.durations import DAY
from bfenv.core.schedule import Schedule, steps

Steps = tuple[np.ndarray, np.ndarray]  # instants (k,) int64 seconds, ascending; values from then on


def queue_steps(schedule: Schedule) -> Steps:
    """Compute the length of the queue as a step function.

    A job is in the queue from its submit time until its start, except during its trial.

    Returns:
        tuple:
        * `times` (np.ndarray): (k,) int64 seconds, ascending.
        * `jobs` (np.ndarray): (k,) int64, the jobs in the queue from then on.
    """
    tried = schedule.trial_end >= 0
    entries = (schedule.trace.jobs.submit, schedule.trial_end[tried])
    exits = (schedule.start, schedule.trial_start[tried])
    change = np.repeat(np.array([1, -1]), sum(map(len, entries)))
    return steps(np.concatenate(entries + exits), change)


def mean_queue_length(schedule: Schedule) -> float:
    """Compute the mean number of jobs in the queue over the makespan.

    By Little's law this is the total time in the queue over the makespan.

    Returns:
        In jobs.
    """
    tried = schedule.trial_end >= 0
    trials = (schedule.trial_end - schedule.trial_start)[tried]
    return float(schedule.wait.sum() - trials.sum()) / makespan(schedule)


def queue_curve(schedule: Schedule, parts: int = 200) -> Steps:
    """Compute the mean queue length in each of several equal parts of the makespan.

    Args:
        parts: Number of parts. They are equal except for rounding to whole seconds. There are fewer
            of them if the makespan has fewer seconds.

    Returns:
        tuple:
        * `cuts` (np.ndarray): (m + 1,) int64 seconds, the limits of the m parts.
        * `jobs` (np.ndarray): (m,) float64.

    Raises:
        BfenvError: If `parts` is not a positive integer.
    """
    begin, length = int(schedule.trace.jobs.submit[0]), makespan(schedule)
    parts = min(check_integer("parts", parts, 1), length)
    cuts = begin + np.array([length * part // parts for part in range(parts + 1)])
    times, jobs = queue_steps(schedule)
    areas = np.concatenate([[0.0], np.cumsum(np.diff(times).astype(np.float64) * jobs[:-1])])
    return cuts, np.diff(np.interp(cuts, times, areas)) / np.diff(cuts)


def loss_of_capacity(schedule: Schedule) -> float:
    """Compute the processor-seconds idle while a job waits, over processors x makespan.

    Between an event and the next, let f processors be free, and d be 1 if a job waits and 0 if not.
    The loss is the sum of f d (length of the interval), over processors x makespan (Zhang, Franke,
    Moreira and Sivasubramaniam, JSSPP 2001). It includes what fragmentation costs and what
    reservations cost. A job counts as waiting from its requested start time on. Processors out of
    service are not idle.

    Returns:
        From 0 to 1.
    """
    idle, _ = _while_waiting(schedule)
    return idle / (schedule.trace.processors * makespan(schedule))


def packing_efficiency(schedule: Schedule) -> float:
    """Compute the share of the processors in service that is used while a job waits.

    Idle processors while nothing waits are no fault of the scheduler, so they do not count. Outages
    and requested start times count as in `loss_of_capacity`.

    Returns:
        From 0 to 1, NaN if no job ever waits.
    """
    idle, used = _while_waiting(schedule)
    return used / (idle + used) if idle + used else math.nan


def _while_waiting(schedule: Schedule) -> tuple[float, float]:
    """Return the idle and the used processor-seconds of the times at which a job waits."""
    jobs, processors = schedule.trace.jobs, schedule.trace.processors
    tried = schedule.trial_end >= 0
    since = np.maximum(jobs.submit, jobs.requested_start)
    ones, once, size, sizes = np.ones_like(jobs.size), tried[tried] * 1, jobs.size, jobs.size[tried]
    begin, end, out = np.array(schedule.trace.outages, dtype=np.int64).reshape(-1, 3).T
    none, nothing = 0 * size, 0 * out
    time, waiting, used, away = (
        np.concatenate(parts)
        for parts in (
            (
                since,
                schedule.start,
                schedule.end,
                schedule.trial_start[tried],
                schedule.trial_end[tried],
                begin,
                end,
            ),
            (ones, -ones, none, -once, once, nothing, nothing),
            (none, size, -size, sizes, -sizes, nothing, nothing),
            (none, none, none, 0 * once, 0 * once, out, -out),
        )
    )
    times, (waiting, used, away) = steps(time, np.stack([waiting, used, away]))
    seconds = np.where(waiting > 0, 1.0, 0.0)[:-1] * np.diff(times)
    return float((processors - used - away)[:-1] @ seconds), float(used[:-1] @ seconds)


def throughput_deviation(schedule: Schedule) -> float:
    """Compute the standard deviation, over days, of the share of the machine used in a day.

    Days are counted from the first submit time, and only whole days before the last submit time
    count: while jobs still arrive, an even throughput is the scheduler's merit. Boezennec, Dufosse
    and Pallez (ACM ToMPECS 2024) propose the standard deviation of the throughput as a complement
    to utilization.

    Returns:
        From 0 to 1, NaN without a whole day.
    """
    submit = schedule.trace.jobs.submit
    days = int(submit[-1] - submit[0]) // DAY
    if days == 0:
        return math.nan
    tried = schedule.trial_end >= 0
    size, sizes = schedule.trace.jobs.size, schedule.trace.jobs.size[tried]
    begins = (schedule.start, schedule.trial_start[tried])
    ends = (schedule.end, schedule.trial_end[tried])
    times, used = steps(
        np.concatenate([*begins, *ends]), np.concatenate([size, sizes, -size, -sizes])
    )
    areas = np.concatenate([[0.0], np.cumsum(np.diff(times).astype(np.float64) * used[:-1])])
    cuts = submit[0] + DAY * np.arange(days + 1)
    shares = np.diff(np.interp(cuts, times, areas)) / (schedule.trace.processors * DAY)
    return float(shares.std())
