"""Classes of jobs, and the metrics of each."""

import numpy as np

from bfenv.analysis.schedule_metrics import bounded_slowdown
from bfenv.core.jobs import Trace
from bfenv.core.schedule import Schedule

LONG = 3_600  # seconds; a runtime over this is long
WIDE = 8  # processors; a size over this is wide
MEDIUM_ESTIMATE, LONG_ESTIMATE = 1_000, 10_000  # seconds, where these classes begin


def job_classes(trace: Trace) -> dict[str, np.ndarray]:
    """(n,) bool per class.

    Two partitions of the jobs: by runtime, over an hour or not, and size, over 8 processors or not
    (Srinivasan, Kettimuthu, Subramani and Sadayappan, Characterization of Backfilling Strategies
    for Parallel Job Scheduling, 2002); and by estimate, as jobs are queued by Lawson and Smirni
    2002, equation 1.
    """
    long, wide = trace.runtime > LONG, trace.jobs.size > WIDE
    estimate = trace.jobs.estimate
    return {
        "short narrow": ~long & ~wide,
        "short wide": ~long & wide,
        "long narrow": long & ~wide,
        "long wide": long & wide,
        "small estimate": estimate < MEDIUM_ESTIMATE,
        "medium estimate": (MEDIUM_ESTIMATE <= estimate) & (estimate < LONG_ESTIMATE),
        "long estimate": LONG_ESTIMATE <= estimate,
    }


def class_metrics(schedule: Schedule) -> dict[str, dict[str, float]]:
    """Number of jobs, mean wait (s) and mean bounded slowdown per class; NaN means of no jobs."""
    waits, slowdowns = schedule.wait, bounded_slowdown(schedule)
    return {
        name: {
            "jobs": int(chosen.sum()),
            "mean_wait": _mean(waits[chosen]),
            "mean_bounded_slowdown": _mean(slowdowns[chosen]),
        }
        for name, chosen in job_classes(schedule.trace).items()
    }


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else float("nan")
