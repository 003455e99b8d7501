"""How evenly a schedule treats users and jobs."""

import numpy as np

from bfenv.analysis.schedule_metrics import bounded_slowdown
from bfenv.core.schedule import Schedule


def jain(shares: np.ndarray) -> float:
    """Return Jain's fairness index of K shares: (sum x)^2 / (K sum x^2).

    It ranges from 1 / K to 1, where all shares are equal; it is NaN if there are no shares or all
    of them are 0 (Jain, Chiu and Hawe, DEC-TR-301, 1984).
    """
    squares = len(shares) * float(np.sum(np.square(shares, dtype=np.float64)))
    return float(np.sum(shares)) ** 2 / squares if squares else float("nan")


def by_user(schedule: Schedule, values: np.ndarray) -> np.ndarray:
    """Return the mean of `values`, (n,) one per job, for each user: (users,) float64.

    Users are in ascending order. Jobs of unknown users are left out.
    """
    order = np.argsort(schedule.trace.jobs.user, kind="stable")
    user = schedule.trace.jobs.user[order]
    begins = np.flatnonzero(np.diff(user, prepend=-1))
    if len(begins) == 0:
        return np.empty(0)
    jobs = np.diff(begins, append=len(user))
    means: np.ndarray = np.add.reduceat(values[order].astype(np.float64), begins) / jobs
    return means


def user_fairness(schedule: Schedule) -> dict[str, float]:
    """Return Jain's index over the users' mean bounded slowdowns, and the largest of these.

    Both are NaN if all users are unknown.
    """
    means = by_user(schedule, bounded_slowdown(schedule))
    return {
        "user_fairness": jain(means),
        "max_user_bounded_slowdown": float(means.max()) if len(means) else float("nan"),
    }


def overtaken(schedule: Schedule) -> np.ndarray:
    """Return which jobs start after a job that was submitted later: (n,) bool.

    "Later" is later in trace order. For what being overtaken costs, see `delays`.
    """
    earliest = np.minimum.accumulate(schedule.start[::-1])[::-1]  # of this and all later jobs
    late: np.ndarray = earliest < schedule.start
    return late


def delays(schedule: Schedule, fair: Schedule) -> np.ndarray:
    """Return how much later than in a fair schedule each job starts: (n,) int64 seconds, >= 0.

    `fair` is a schedule of the same trace, usually first come, first served without backfilling.
    As in Sabin and Sadayappan (JSSPP 2005), a job is treated unfairly if it starts after its fair
    start time, and early starts compensate nothing. Their fair start times take one simulation
    per job; these take one in all.
    """
    late: np.ndarray = np.maximum(0, schedule.start - fair.start)
    return late
