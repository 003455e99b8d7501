"""A schedule compared with another one of the same trace, job by job.

In all functions, `schedule` (Schedule) is judged, and `reference` (Schedule) is another schedule of
the same trace, such as that of EASY.
"""

import math
from typing import Any

import numpy as np

from bfenv.analysis.intervals import Interval, batch_means
from bfenv.analysis.schedule_metrics import bounded_slowdown, slowdown
from bfenv.core.arguments import check_integer
from bfenv.core.durations import TAU
from bfenv.core.errors import BfenvError
from bfenv.core.schedule import Schedule, penalized

STARVES = 2.0  # a policy starves jobs if its longest wait is above this multiple of EASY's


def check_comparable(schedule: Schedule, reference: Schedule) -> None:
    """Check that both are schedules of the same jobs.

    Raises:
        BfenvError: If they are not.
    """
    trace, reference_trace = schedule.trace, reference.trace
    if trace is not reference_trace and trace.hash != reference_trace.hash:
        raise BfenvError(
            f"{schedule.policy} on {trace.name} cannot be compared with {reference.policy} on "
            f"{reference_trace.name}: the jobs differ"
        )


def slowdown_ratio(
    schedule: Schedule, reference: Schedule, members: np.ndarray | slice = slice(None)
) -> float:
    """Compute the slowdown ratio R = (s_r - s) / min(s_r, s) of mean slowdowns without a bound.

    The reference has the mean s_r, the schedule the mean s (Lawson and Smirni 2002, equation 3).

    Args:
        members: (n,) bool, which jobs count; all by default.

    Returns:
        Above 0 if the schedule is better, below 0 if the reference is. The sign changes when the
        two are exchanged. NaN if no job counts.

    Raises:
        BfenvError: If the schedules are of different jobs.
    """
    check_comparable(schedule, reference)
    slowdowns, reference_slowdowns = slowdown(schedule)[members], slowdown(reference)[members]
    return (
        float(_ratio(slowdowns.mean(), reference_slowdowns.mean())) if len(slowdowns) else math.nan
    )


def slowdown_ratios(
    schedule: Schedule, reference: Schedule, batch: int = 1000
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the slowdown ratio of each batch of consecutive jobs.

    Lawson and Smirni 2002, section 3.1 and Figure 4.

    Args:
        batch: Jobs in a batch, 1000 in the paper. Jobs after the last complete batch are left out.

    Returns:
        tuple:
        * `times` (np.ndarray): (k,) int64 seconds, the submit time of the first job of each batch.
        * `ratios` (np.ndarray): (k,) float64.

    Raises:
        BfenvError: If the schedules are of different jobs, or `batch` is not a positive integer.
    """
    check_comparable(schedule, reference)
    batch = check_integer("batch", batch, 1)
    complete = len(schedule.trace) // batch
    means = [
        slowdown(run)[: complete * batch].reshape(complete, batch).mean(axis=1)
        for run in (schedule, reference)
    ]
    return schedule.trace.jobs.submit[: complete * batch : batch], _ratio(*means)


def longest_wait_ratio(schedule: Schedule, reference: Schedule) -> float:
    """Divide the longest wait by that of a reference.

    Returns:
        A ratio above `STARVES` is called starvation. It is 1 if no job waits in either schedule,
        and infinite if none waits in the reference only.

    Raises:
        BfenvError: If the schedules are of different jobs.
    """
    check_comparable(schedule, reference)
    longest, reference_longest = int(schedule.wait.max()), int(reference.wait.max())
    if reference_longest == 0:
        return 1.0 if longest == 0 else math.inf
    return longest / reference_longest


def starves(longest_wait: float, easy_longest_wait: float) -> bool:
    """Tell whether a policy starves jobs: its longest wait is over STARVES times EASY's.

    Args:
        longest_wait: The policy's longest wait in seconds.
        easy_longest_wait: EASY's on the same jobs; below a second, it counts as a second.
    """
    return longest_wait > STARVES * max(easy_longest_wait, 1.0)


def penalized_slowdown(schedule: Schedule, reference: Schedule) -> float:
    """Compute the penalized slowdown, the measure by which bfenv ranks.

    It is the mean bounded slowdown over the reference's, multiplied by how many times longer the
    longest wait is than the reference's. A longest wait that is shorter brings nothing. A longest
    wait of the reference below an hour counts as an hour: on a machine that is nearly idle, EASY
    may let no job wait at all, and a wait of minutes would decide.

    Returns:
        1 for the reference itself, below 1 if the schedule is better.

    Examples:
        >>> import bfenv
        >>> from bfenv.analysis import penalized_slowdown
        >>> trace = bfenv.load_workload("lublin:jobs=500,load=0.9")
        >>> easy, saf = (bfenv.simulate(trace, name) for name in ("easy", "easy-saf"))
        >>> penalized_slowdown(easy, easy), round(penalized_slowdown(saf, easy), 2)
        (1.0, 0.44)
    """
    check_comparable(schedule, reference)
    means = (float(bounded_slowdown(run).mean()) for run in (schedule, reference))
    longest = (int(run.wait.max()) for run in (schedule, reference))
    mean, usual_mean = means
    return float(penalized(mean / usual_mean, *longest))


def differences(schedule: Schedule, reference: Schedule, tau: int = TAU) -> dict[str, Interval]:
    """Estimate the mean differences to a reference, with intervals by batch means.

    Both schedules are of the same jobs, so job-by-job differences vary far less than the values
    themselves: common random numbers (Shmueli 2003, section 4.2). All jobs count, none is left out
    as warm-up, because both schedules start on the same empty machine and the reported means are
    over all jobs, too.

    Args:
        tau: Bound of the slowdowns, in seconds.

    Returns:
        "mean_bounded_slowdown", and "mean_wait" in seconds; below 0 if the schedule is better.

    Raises:
        BfenvError: If the schedules are of different jobs.

    Examples:
        >>> import bfenv
        >>> from bfenv.analysis import differences
        >>> trace = bfenv.load_workload("lublin:jobs=500,load=0.9")
        >>> easy, fcfs = (bfenv.simulate(trace, name) for name in ("easy", "fcfs"))
        >>> found = differences(easy, fcfs)["mean_wait"]
        >>> found.low <= found.value <= found.high < 0
        True
    """
    check_comparable(schedule, reference)
    slowdowns = bounded_slowdown(schedule, tau) - bounded_slowdown(reference, tau)
    return {
        "mean_bounded_slowdown": batch_means(slowdowns),
        "mean_wait": batch_means(schedule.wait - reference.wait),
    }


def _ratio(mean: Any, reference_mean: Any) -> Any:
    """Return the slowdown ratio of means, or of arrays of them."""
    return (reference_mean - mean) / np.minimum(reference_mean, mean)
