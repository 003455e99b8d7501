"""A schedule beside another one of the same trace, job by job."""

import numpy as np

from bfenv.analysis.intervals import Interval, batch_means
from bfenv.analysis.schedule_metrics import bounded_slowdown, slowdown
from bfenv.core.errors import BfenvError
from bfenv.core.schedule import Schedule

STARVES = 2.0  # times the reference's longest wait


def check_comparable(schedule: Schedule, reference: Schedule) -> None:
    """Raise BfenvError unless both are schedules of the same jobs."""
    one, other = schedule.trace, reference.trace
    if one is not other and one.hash != other.hash:
        raise BfenvError(
            f"{schedule.policy} on {one.name} cannot be compared with {reference.policy} on "
            f"{other.name}: these are not the same jobs"
        )


def slowdown_ratio(schedule: Schedule, reference: Schedule) -> float:
    """R = (s_1 - s) / min(s_1, s) with the mean slowdowns s_1 of the reference and s of the other.

    Lawson and Smirni 2002, equation 3, on slowdowns without a bound: above 0 the reference is
    outdone, below 0 it is the better one, and R changes sign when the two are exchanged.
    """
    return float(_ratio(slowdown(schedule).mean(), slowdown(reference).mean()))


def slowdown_ratios(
    schedule: Schedule, reference: Schedule, batch: int = 1000
) -> tuple[np.ndarray, np.ndarray]:
    """Submit times (k,) int64 seconds, and (k,) float64 slowdown ratios, batch by batch of jobs.

    Lawson and Smirni 2002, section 3.1 and Figure 4: per 1000 submissions. The jobs after the
    last whole batch are left out; each time is that of the batch's first submission.
    """
    whole = len(schedule.trace) // batch
    means = [
        slowdown(one)[: whole * batch].reshape(whole, batch).mean(axis=1)
        for one in (schedule, reference)
    ]
    return schedule.trace.jobs.submit[: whole * batch : batch], _ratio(*means)


def longest_wait_ratio(schedule: Schedule, reference: Schedule) -> float:
    """Longest wait over that of the reference; over STARVES is called starvation.

    1 where nobody waits in either, infinite where nobody waits in the reference only.
    """
    mine, theirs = int(schedule.wait.max()), int(reference.wait.max())
    if theirs == 0:
        return 1.0 if mine == 0 else float("inf")
    return mine / theirs


def differences(schedule: Schedule, reference: Schedule) -> dict[str, Interval]:
    """Mean differences to the reference over all jobs, with intervals by batch means.

    Both schedules are of the same jobs, so that job-by-job differences vary far less than the
    values themselves: common random numbers (Shmueli 2003, section 4.2). Below 0 is better than
    the reference. No job is left out as warm-up: both start from the same empty machine, and the
    difference is to be that of the means which are reported.
    """
    slowdowns = bounded_slowdown(schedule) - bounded_slowdown(reference)
    return {
        "mean_bounded_slowdown": batch_means(slowdowns),
        "mean_wait": batch_means(schedule.wait - reference.wait),
    }


def _ratio(mine, theirs):
    return (theirs - mine) / np.minimum(theirs, mine)
