"""How evenly a schedule treats users and jobs."""

import numpy as np

from bfenv.analysis.schedule_metrics import bounded_slowdown
from bfenv.core.schedule import Schedule


def jain(shares: np.ndarray) -> float:
    """Jain's fairness index of shares: (sum x)^2 / (K sum x^2), from 1 / K to 1, all equal.

    Jain, Chiu and Hawe, DEC-TR-301, 1984. NaN for no shares or where all are 0.
    """
    squares = len(shares) * float(np.sum(np.square(shares, dtype=np.float64)))
    return float(np.sum(shares)) ** 2 / squares if squares else float("nan")


def by_user(schedule: Schedule, values: np.ndarray) -> np.ndarray:
    """(users,) float64: mean of (n,) values per user who has jobs; unknown users are left out."""
    order = np.argsort(schedule.trace.jobs.user, kind="stable")
    user = schedule.trace.jobs.user[order]
    begins = np.flatnonzero(np.diff(user, prepend=-1))
    if len(begins) == 0:
        return np.empty(0)
    jobs = np.diff(begins, append=len(user))
    return np.add.reduceat(values[order].astype(np.float64), begins) / jobs


def user_fairness(schedule: Schedule) -> dict[str, float]:
    """Jain's index over the users' mean bounded slowdowns, and the largest of these.

    NaN where the trace knows no users.
    """
    means = by_user(schedule, bounded_slowdown(schedule))
    return {
        "user_fairness": jain(means),
        "max_user_bounded_slowdown": float(means.max()) if len(means) else float("nan"),
    }


def overtaken(schedule: Schedule) -> np.ndarray:
    """(n,) bool: a job submitted later (trace order) started earlier.

    Such a job did not have its place of the first come, first served order of starts. No other
    schedule is needed to say so; how much it cost the job is another matter: see `delays`.
    """
    earliest = np.minimum.accumulate(schedule.start[::-1])[::-1]  # of this and all later jobs
    return earliest < schedule.start


def delays(schedule: Schedule, fair: Schedule) -> np.ndarray:
    """(n,) int64 seconds by which jobs start later than in a schedule that is held to be fair.

    As with the fair start times of Sabin and Sadayappan (JSSPP 2005), a job is treated unfairly
    that starts later than its fair start time, and being early makes up for nothing. Here the fair
    start time is that of one schedule of the same trace, commonly first come, first served without
    backfilling; theirs takes a simulation per job.
    """
    return np.maximum(0, schedule.start - fair.start)
