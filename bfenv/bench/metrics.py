"""Numbers that summarise a schedule (bench layer)."""

import numpy as np

from bfenv.core.schedule import Schedule


def wait(schedule: Schedule) -> np.ndarray:
    """(n,) int64 seconds from submit to start."""
    return schedule.wait


def bounded_slowdown(schedule: Schedule, tau: int = 10) -> np.ndarray:
    """(n,) float64: max(1, (wait + runtime) / max(runtime, tau)), tau in seconds.

    Feitelson et al. 1997; Shmueli 2003, section 1.1.
    """
    runtime = schedule.trace.runtime
    return np.maximum(1.0, (schedule.wait + runtime) / np.maximum(runtime, tau))


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

    Percentiles interpolate linearly between jobs.
    """
    waits = wait(schedule)
    slowdowns = bounded_slowdown(schedule)
    return {
        "mean_wait": float(waits.mean()),
        "mean_bounded_slowdown": float(slowdowns.mean()),
        "utilization": utilization(schedule),
        "max_wait": float(waits.max()),
        "p95_wait": float(np.percentile(waits, 95)),
        "makespan": float(makespan(schedule)),
        "median_wait": float(np.median(waits)),
        "p99_wait": float(np.percentile(waits, 99)),
        "mean_response": float((waits + schedule.trace.runtime).mean()),
        "p95_bounded_slowdown": float(np.percentile(slowdowns, 95)),
    }
