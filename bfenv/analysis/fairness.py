"""How evenly a schedule treats users and jobs.

In all functions, `schedule` (Schedule) is judged.
"""

import numpy as np

from bfenv.analysis.schedule_metrics import bounded_slowdown
from bfenv.core.durations import TAU
from bfenv.core.schedule import Schedule


def jain(shares: np.ndarray) -> float:
    """Compute Jain's fairness index of K shares, (sum x)^2 / (K sum x^2).

    Jain, Chiu and Hawe, DEC-TR-301, 1984.

    Args:
        shares: (K,) one per user, of any unit, at least 0.

    Returns:
        From 1 / K to 1, where all shares are equal; NaN if there are no shares or all of them are
        0.

    Examples:
        >>> from bfenv.analysis import jain
        >>> jain([1, 1, 1, 1]), jain([1, 0, 0, 0])
        (1.0, 0.25)
    """
    squares = len(shares) * float(np.sum(np.square(shares, dtype=np.float64)))
    return float(np.sum(shares)) ** 2 / squares if squares else float("nan")


def by_user(schedule: Schedule, values: np.ndarray) -> np.ndarray:
    """Average values of jobs for each user.

    Args:
        values: (n,) one per job, of any unit.

    Returns:
        (users,) float64 in ascending order of user. Jobs of unknown users are left out.

    Examples:
        >>> import bfenv
        >>> from bfenv.analysis import by_user
        >>> trace = bfenv.make_trace(
        ...     submit=[0, 0, 0], size=[1, 1, 1], runtime=[60, 60, 60], processors=4, user=[0, 1, 1]
        ... )
        >>> by_user(bfenv.simulate(trace, "easy"), trace.jobs.size)
        array([1., 1.])
    """
    order = np.argsort(schedule.trace.jobs.user, kind="stable")
    user = schedule.trace.jobs.user[order]
    begins = np.flatnonzero(np.diff(user, prepend=-1))
    if len(begins) == 0:
        return np.empty(0)
    jobs = np.diff(begins, append=len(user))
    means: np.ndarray = np.add.reduceat(values[order].astype(np.float64), begins) / jobs
    return means


def user_fairness(schedule: Schedule, tau: int = TAU) -> dict[str, float]:
    """Measure how evenly users are served.

    Args:
        tau: Bound of the slowdowns, in seconds.

    Returns:
        "user_fairness" is Jain's index over the users' mean bounded slowdowns, and
        "max_user_bounded_slowdown" the largest of these. Both are NaN if all users are unknown.
    """
    means = by_user(schedule, bounded_slowdown(schedule, tau))
    return {
        "user_fairness": jain(means),
        "max_user_bounded_slowdown": float(means.max()) if len(means) else float("nan"),
    }


def overtaken(schedule: Schedule) -> np.ndarray:
    """Find the jobs that start after a job that was submitted later.

    For what being overtaken costs, see `delays`.

    Returns:
        (n,) bool. "Later" is later in trace order.
    """
    earliest = np.minimum.accumulate(schedule.start[::-1])[::-1]  # of this and all later jobs
    late: np.ndarray = earliest < schedule.start
    return late


def delays(schedule: Schedule, fair: Schedule) -> np.ndarray:
    """Compute how much later than in a fair schedule each job starts.

    As in Sabin and Sadayappan (JSSPP 2005), a job is treated unfairly if it starts after its fair
    start time, and early starts compensate nothing. Their fair start times take one simulation per
    job; these take one in all.

    Args:
        fair: A schedule of the same trace, usually first come, first served without backfilling.

    Returns:
        (n,) int64 seconds, at least 0.
    """
    late: np.ndarray = np.maximum(0, schedule.start - fair.start)
    return late
