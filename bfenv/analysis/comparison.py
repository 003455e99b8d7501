"""A schedule compared with another one of the same trace, job by job."""

import math
from typing import Any

import numpy as np

from bfenv.analysis.intervals import Interval, batch_means
from bfenv.analysis.schedule_metrics import bounded_slowdown, slowdown
from bfenv.core.errors import BfenvError
from bfenv.core.schedule import Schedule

STARVES = 2.0  # a policy starves jobs if its longest wait is above this multiple of EASY's


def check_comparable(schedule: Schedule, reference: Schedule) -> None:
    """Check that both are schedules of the same jobs.

    Raises
    ------
    BfenvError
        If they are not.
    """
    one, other = schedule.trace, reference.trace
    if one is not other and one.hash != other.hash:
        raise BfenvError(
            f"{schedule.policy} on {one.name} cannot be compared with {reference.policy} on "
            f"{other.name}: the jobs differ"
        )


def slowdown_ratio(schedule: Schedule, reference: Schedule) -> float:
    """Return the slowdown ratio R = (s_r - s) / min(s_r, s) of mean slowdowns without a bound.

    s_r is the mean of the reference and s that of the schedule (Lawson and Smirni 2002, equation
    3). R is above 0 if the schedule is better and below 0 if the reference is; it changes sign
    when the two are exchanged.
    """
    return float(_ratio(slowdown(schedule).mean(), slowdown(reference).mean()))


def slowdown_ratios(
    schedule: Schedule, reference: Schedule, batch: int = 1000
) -> tuple[np.ndarray, np.ndarray]:
    """Return the slowdown ratio of each batch of consecutive jobs.

    See Lawson and Smirni 2002, section 3.1 and Figure 4, which has 1000 jobs to a batch. Jobs
    after the last complete batch are left out.

    Returns
    -------
    times
        (k,) int64 seconds, the submit time of the first job of each batch.
    ratios
        (k,) float64.
    """
    complete = len(schedule.trace) // batch
    means = [
        slowdown(one)[: complete * batch].reshape(complete, batch).mean(axis=1)
        for one in (schedule, reference)
    ]
    return schedule.trace.jobs.submit[: complete * batch : batch], _ratio(*means)


def longest_wait_ratio(schedule: Schedule, reference: Schedule) -> float:
    """Return the longest wait over that of the reference.

    It is 1 if no job waits in either schedule, and infinite if none waits in the reference only.
    Above `STARVES` it is called starvation.
    """
    own, other = int(schedule.wait.max()), int(reference.wait.max())
    if other == 0:
        return 1.0 if own == 0 else math.inf
    return own / other


def differences(schedule: Schedule, reference: Schedule) -> dict[str, Interval]:
    """Return the mean differences to the reference, with intervals by batch means.

    Values below 0 are better than the reference. Both schedules are of the same jobs, so
    job-by-job differences vary far less than the values themselves: common random numbers
    (Shmueli 2003, section 4.2). All jobs count, none is left out as warm-up, because both
    schedules start on the same empty machine and the reported means are over all jobs, too.
    """
    slowdowns = bounded_slowdown(schedule) - bounded_slowdown(reference)
    return {
        "mean_bounded_slowdown": batch_means(slowdowns),
        "mean_wait": batch_means(schedule.wait - reference.wait),
    }


def _ratio(own: Any, other: Any) -> Any:
    """Return the slowdown ratio of means, or of arrays of them."""
    return (other - own) / np.minimum(other, own)
