"""Numbers that summarise a schedule: waits, slowdowns, utilization."""

import numpy as np

from bfenv.core import schedule as schedules
from bfenv.core.schedule import Schedule


def wait(schedule: Schedule) -> np.ndarray:
    """Return the wait of each job: (n,) int64 seconds from submit to start."""
    return schedule.wait


def response(schedule: Schedule) -> np.ndarray:
    """Return the response time of each job: (n,) int64 seconds from submit to end."""
    times: np.ndarray = schedule.wait + schedule.trace.runtime
    return times


def slowdown(schedule: Schedule) -> np.ndarray:
    """Return the slowdown of each job: (n,) float64 (wait + runtime) / runtime, at least 1.

    It equals 1 + delay / service time (Lawson and Smirni 2002, equation 2).
    """
    values: np.ndarray = response(schedule) / schedule.trace.runtime
    return values


def bounded_slowdown(schedule: Schedule, tau: int = schedules.TAU) -> np.ndarray:
    """Return the bounded slowdown of each job, (n,) float64, with `tau` in seconds.

    `bfenv.core.schedule.bounded_slowdown` has the formula.
    """
    values: np.ndarray = schedules.bounded_slowdown(schedule.wait, schedule.trace.runtime, tau)
    return values


def delay_slowdown(schedule: Schedule, tau: int = schedules.TAU) -> np.ndarray:
    """Return 1 + wait / max(runtime, tau) of each job: (n,) float64, with `tau` in seconds.

    See Zotkin, Keleher and Perkovic 2000, section 2. The value is at least the bounded slowdown;
    it is larger for waiting jobs that run for less than `tau`.
    """
    values: np.ndarray = 1.0 + schedule.wait / np.maximum(schedule.trace.runtime, tau)
    return values


def width_slowdown(schedule: Schedule, tau: int = schedules.TAU) -> np.ndarray:
    """Return (wait + runtime) / (size * max(runtime, tau)) of each job: (n,) float64.

    See Zotkin, Keleher and Perkovic 2000, section 5.1, equation 2. Jobs of equal work and equal
    response time have equal values, whatever their size. The value may be below 1, as in the
    paper. `tau` is in seconds.
    """
    trace = schedule.trace
    size = trace.jobs.size.astype(np.float64)  # the product may exceed any int64
    values: np.ndarray = response(schedule) / (size * np.maximum(trace.runtime, tau))
    return values


def area_weighted(schedule: Schedule, values: np.ndarray) -> float:
    """Return the mean of `values`, (n,) one per job, weighted by size x runtime.

    Splitting a job into parts that run side by side does not change it, so it does not reward
    putting small jobs first (Goponenko et al., SBAC-PAD 2022; Boezennec, Dufosse and Pallez, ACM
    ToMPECS 2024).
    """
    area = schedule.trace.jobs.size.astype(np.float64) * schedule.trace.runtime
    return float(np.average(values, weights=area))


def makespan(schedule: Schedule) -> int:
    """Return the seconds from the first submit time to the last end."""
    return int(schedule.end.max() - schedule.trace.jobs.submit[0])


def utilization(schedule: Schedule) -> float:
    """Return busy processor-seconds over processors x makespan; killed trials count as busy."""
    size = schedule.trace.jobs.size.astype(np.float64)
    tried = schedule.trial_end >= 0
    busy = np.dot(size, schedule.end - schedule.start)
    busy += np.dot(size[tried], (schedule.trial_end - schedule.trial_start)[tried])
    return float(busy / (schedule.trace.processors * makespan(schedule)))


def metrics(schedule: Schedule) -> dict[str, float]:
    """Return the metrics of a schedule by name.

    Waits, response times and the makespan are in seconds. Percentiles interpolate linearly between
    jobs. For metrics that replay the schedule or compare it with another one, see
    `bfenv.analysis.summarize`.
    """
    waits = wait(schedule)
    slowdowns = bounded_slowdown(schedule)
    responses = response(schedule)
    return {
        "mean_wait": float(waits.mean()),
        "mean_bounded_slowdown": float(slowdowns.mean()),
        "utilization": utilization(schedule),
        "max_wait": float(waits.max()),
        "p95_wait": float(np.percentile(waits, 95)),
        "makespan": float(makespan(schedule)),
        "median_wait": float(np.median(waits)),
        "p99_wait": float(np.percentile(waits, 99)),
        "mean_response": float(responses.mean()),
        "p95_bounded_slowdown": float(np.percentile(slowdowns, 95)),
        "median_bounded_slowdown": float(np.median(slowdowns)),
        "p99_bounded_slowdown": float(np.percentile(slowdowns, 99)),
        "max_bounded_slowdown": float(slowdowns.max()),
        "mean_slowdown": float(slowdown(schedule).mean()),
        "mean_delay_slowdown": float(delay_slowdown(schedule).mean()),
        "mean_width_slowdown": float(width_slowdown(schedule).mean()),
        "area_weighted_wait": area_weighted(schedule, waits),
        "area_weighted_response": area_weighted(schedule, responses),
        "p95_response": float(np.percentile(responses, 95)),
        "max_response": float(responses.max()),
    }
