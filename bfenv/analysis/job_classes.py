"""Classes of jobs, by runtime and size and by estimate, and the metrics of each class.

In all functions, `schedule` (Schedule) is judged, and `trace` (Trace) has the jobs.
"""

import numpy as np

from bfenv.analysis.comparison import slowdown_ratio
from bfenv.analysis.schedule_metrics import bounded_slowdown
from bfenv.core.durations import HOUR, TAU
from bfenv.core.jobs import Trace
from bfenv.core.schedule import Schedule

LONG = HOUR  # seconds; a job is long if its runtime is above this
WIDE = 8  # processors; a job is wide if its size is above this
MEDIUM_ESTIMATE, LONG_ESTIMATE = 1_000, 10_000  # seconds at which these classes begin


def classify_jobs(trace: Trace) -> dict[str, np.ndarray]:
    """Assign jobs to classes of length and width.

    There are two partitions of the jobs. One is by runtime, above an hour or not, and by size,
    above 8 processors or not (Srinivasan, Kettimuthu, Subramani and Sadayappan, Characterization of
    Backfilling Strategies for Parallel Job Scheduling, 2002). The other is by estimate, with the
    limits of Lawson and Smirni 2002, equation 1. If priorities differ, a third one is by priority,
    such as "priority 0" and "priority 1".

    Returns:
        dict: For each class by name, (n,) bool: which jobs belong to it.

    Examples:
        >>> import bfenv
        >>> from bfenv.analysis import classify_jobs
        >>> trace = bfenv.make_trace(submit=[0, 0], size=[1, 16], runtime=[60, 7200], processors=16)
        >>> [name for name, members in classify_jobs(trace).items() if members[1]]
        ['long wide', 'medium estimate']
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
    } | (
        {f"priority {level}": trace.jobs.priority == level for level in levels}
        if len(levels := np.unique(trace.jobs.priority).tolist()) > 1
        else {}
    )


def slowdown_ratios_by_class(schedule: Schedule, reference: Schedule) -> dict[str, float]:
    """Compute the slowdown ratio R of each class of `classify_jobs`, see `slowdown_ratio`.

    Lawson and Smirni 2002, sections 3.1 to 3.3, Figures 3, 5, 6 and 8.

    Args:
        reference: Another schedule of the same jobs.

    Returns:
        dict: The ratio by name of the class, NaN for a class without jobs.

    Raises:
        BfenvError: If the schedules are of different jobs.
    """
    return {
        name: slowdown_ratio(schedule, reference, members)
        for name, members in classify_jobs(schedule.trace).items()
    }


def class_metrics(schedule: Schedule, tau: int = TAU) -> dict[str, dict[str, float]]:
    """Compute jobs, mean wait and mean bounded slowdown of each class of `classify_jobs`.

    Args:
        tau: Bound of the slowdowns, in seconds.

    Returns:
        dict: For each class by name: "jobs", "mean_wait" in seconds, and "mean_bounded_slowdown".
        The means of an empty class are NaN.
    """
    waits, slowdowns = schedule.wait, bounded_slowdown(schedule, tau)
    return {
        name: {
            "jobs": int(members.sum()),
            "mean_wait": _mean(waits[members]),
            "mean_bounded_slowdown": _mean(slowdowns[members]),
        }
        for name, members in classify_jobs(schedule.trace).items()
    }


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else float("nan")
