"""Numbers that summarise a schedule: times, slowdowns, utilization."""

import numpy as np

from bfenv.core import schedule as schedules
from bfenv.core.schedule import Schedule


def wait(schedule: Schedule) -> np.ndarray:
    """(n,) int64 seconds from submit to start."""
    return schedule.wait


def response(schedule: Schedule) -> np.ndarray:
    """(n,) int64 seconds from submit to end."""
    return schedule.wait + schedule.trace.runtime


def slowdown(schedule: Schedule) -> np.ndarray:
    """(n,) float64: (wait + runtime) / runtime, at least 1.

    1 + delay / service time (Lawson and Smirni 2002, equation 2) is the same number.
    """
    return response(schedule) / schedule.trace.runtime


def bounded_slowdown(schedule: Schedule, tau: int = schedules.TAU) -> np.ndarray:
    """(n,) float64 as `bfenv.core.schedule.bounded_slowdown` says, tau in seconds."""
    return schedules.bounded_slowdown(schedule.wait, schedule.trace.runtime, tau)


def delay_slowdown(schedule: Schedule, tau: int = schedules.TAU) -> np.ndarray:
    """(n,) float64: 1 + wait / max(runtime, tau), tau in seconds.

    Zotkin, Keleher and Perkovic 2000, section 2. It is at least the bounded slowdown, and more
    than that for jobs shorter than tau that wait.
    """
    return 1.0 + schedule.wait / np.maximum(schedule.trace.runtime, tau)


def width_slowdown(schedule: Schedule, tau: int = schedules.TAU) -> np.ndarray:
    """(n,) float64: (wait + runtime) / (size * max(runtime, tau)), tau in seconds.

    Zotkin, Keleher and Perkovic 2000, section 5.1, equation 2: jobs of equal work that take
    equally long to be done are equal, however wide they are. As printed, it may be below 1.
    """
    trace = schedule.trace
    return response(schedule) / (trace.jobs.size * np.maximum(trace.runtime, tau))


def makespan(schedule: Schedule) -> int:
    """Seconds from the first submit time to the last end."""
    return int(schedule.end.max() - schedule.trace.jobs.submit[0])


def utilization(schedule: Schedule) -> float:
    """Busy processor-seconds over processors x makespan; killed trials count as busy."""
    size = schedule.trace.jobs.size.astype(np.float64)
    tried = schedule.trial_end >= 0
    busy = np.dot(size, schedule.end - schedule.start)
    busy += np.dot(size[tried], (schedule.trial_end - schedule.trial_start)[tried])
    return float(busy / (schedule.trace.processors * makespan(schedule)))


def metrics(schedule: Schedule) -> dict[str, float]:
    """The metrics of a schedule by name; waits, response times and makespan in seconds.

    Percentiles interpolate linearly between jobs. What needs a replay of the schedule or another
    one to compare with is in `bfenv.analysis.summary`.
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
        "p95_response": float(np.percentile(responses, 95)),
        "max_response": float(responses.max()),
    }
