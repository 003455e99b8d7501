"""Numbers that summarise a schedule: waits, slowdowns, utilization.

In all functions, `schedule` (Schedule) is judged, and runtimes below `tau` (int) seconds count as
`tau`. They raise BfenvError if `tau` is not a positive integer.
"""

import numpy as np

from bfenv.core import schedule as schedules
from bfenv.core.arguments import check_integer
from bfenv.core.durations import TAU
from bfenv.core.schedule import Schedule


def wait(schedule: Schedule) -> np.ndarray:
    """Compute the wait of each job, from submit to start.

    Returns:
        (n,) int64 seconds.
    """
    return schedule.wait


def response(schedule: Schedule) -> np.ndarray:
    """Compute the response time of each job, from submit to end.

    Returns:
        (n,) int64 seconds.
    """
    times: np.ndarray = schedule.wait + schedule.trace.runtime
    return times


def slowdown(schedule: Schedule) -> np.ndarray:
    """Compute the slowdown of each job, (wait + runtime) / runtime.

    It equals 1 + delay / service time (Lawson and Smirni 2002, equation 2).

    Returns:
        (n,) float64, at least 1.
    """
    values: np.ndarray = response(schedule) / schedule.trace.runtime
    return values


def bounded_slowdown(schedule: Schedule, tau: int = TAU) -> np.ndarray:
    """Compute the bounded slowdown of each job, see `bfenv.core.bounded_slowdown`.

    Returns:
        (n,) float64, at least 1.
    """
    tau = check_integer("tau", tau, 1)
    values: np.ndarray = schedules.bounded_slowdown(schedule.wait, schedule.trace.runtime, tau)
    return values


def delay_slowdown(schedule: Schedule, tau: int = TAU) -> np.ndarray:
    """Compute 1 + wait / max(runtime, tau) of each job.

    It is at least the bounded slowdown, and larger for waiting jobs that run for less than `tau`
    (Zotkin, Keleher and Perkovic 2000, section 2).

    Returns:
        (n,) float64, at least 1.
    """
    tau = check_integer("tau", tau, 1)
    values: np.ndarray = 1.0 + schedule.wait / np.maximum(schedule.trace.runtime, tau)
    return values


def width_slowdown(schedule: Schedule, tau: int = TAU) -> np.ndarray:
    """Compute (wait + runtime) / (size * max(runtime, tau)) of each job.

    Jobs of equal work and equal response time have equal values, whatever their size (Zotkin,
    Keleher and Perkovic 2000, section 5.1, equation 2).

    Returns:
        (n,) float64. A value may be below 1, as in the paper.
    """
    tau, trace = check_integer("tau", tau, 1), schedule.trace
    size = trace.jobs.size.astype(np.float64)  # the product may exceed any int64
    values: np.ndarray = response(schedule) / (size * np.maximum(trace.runtime, tau))
    return values


def area_weighted(schedule: Schedule, values: np.ndarray) -> float:
    """Average values of jobs, weighted by size x runtime.

    Splitting a job into parts that run side by side does not change this mean, so it does not
    reward putting small jobs first (Goponenko et al., SBAC-PAD 2022; Boezennec, Dufosse and Pallez,
    ACM ToMPECS 2024).

    Args:
        values: (n,) one per job, of any unit.

    Returns:
        The weighted mean, in the unit of `values`.

    Examples:
        The first job has three times the work of the second one.

        >>> import bfenv
        >>> from bfenv.analysis import area_weighted
        >>> trace = bfenv.make_trace(submit=[0, 0], size=[3, 1], runtime=[60, 60], processors=4)
        >>> area_weighted(bfenv.simulate(trace, "easy"), [0, 100])
        25.0
    """
    area = schedule.trace.jobs.size.astype(np.float64) * schedule.trace.runtime
    return float(np.average(values, weights=area))


def makespan(schedule: Schedule) -> int:
    """Compute the time from the first submit time to the last end.

    Returns:
        In seconds.
    """
    return int(schedule.end.max() - schedule.trace.jobs.submit[0])


def utilization(schedule: Schedule) -> float:
    """Compute busy processor-seconds over processors x makespan.

    Returns:
        From 0 to 1. Killed trials count as busy.
    """
    size = schedule.trace.jobs.size.astype(np.float64)
    tried = schedule.trial_end >= 0
    busy = np.dot(size, schedule.end - schedule.start)
    busy += np.dot(size[tried], (schedule.trial_end - schedule.trial_start)[tried])
    return float(busy / (schedule.trace.processors * makespan(schedule)))
