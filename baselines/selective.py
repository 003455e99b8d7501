"""Selective backfilling: reservations for jobs that have waited out of proportion.

Srinivasan, Kettimuthu, Subramani and Sadayappan 2002, as described by Shmueli 2003 (chapter 2): a
job is given a reservation once its expected slowdown (w + e) / e, of its wait w and estimate e,
exceeds a threshold; all others start as long as they delay no reservation.

Choices where that description is silent:

* The threshold is fixed, and 2 by default: a job has a reservation once it has waited longer than
  it asked to run. With threshold 0 every job has one on arrival, as in conservative backfilling.
* The head of the queue has no reservation but by its own slowdown.
* A reservation is kept. When jobs end before their estimates, the reserved jobs are taken out and
  placed at their anchor points again one by one in queue order, each no later than before.
* Slowdowns are looked at in every pass; new reservations, in queue order, precede other starts.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from bfenv.baselines.slack import (
    NEVER,
    not_negative,
    plan_profile,
    start_due,
    update,
    wake_for,
)
from bfenv.core.cluster import advance, may_start, now, start, waiting
from bfenv.core.jobs import Jobs
from bfenv.core.kernel import kernel
from bfenv.core.policy import Policy
from bfenv.core.profile import Profile, fits, place, reserve

THRESHOLD = 2.0


class Memory(NamedTuple):
    """The threshold, and the reservations of the waiting jobs."""

    threshold: np.ndarray  # (1,) float64 expected slowdown
    plan: np.ndarray  # (n,) int64 seconds: reserved start
    guarantee: np.ndarray  # (n,) int64 seconds: the start that was reserved first
    profile: Profile


@kernel
def decide(cluster, jobs, memory):
    """Keep the reservations and make new ones, start whose time has come, and backfill."""
    plan, profile = memory.plan, memory.profile
    update(cluster, jobs, profile, plan)
    for job in waiting(cluster):
        wait, estimate = now(cluster) - jobs.submit[job], jobs.estimate[job]
        if plan[job] == NEVER and wait + estimate > memory.threshold[0] * estimate:
            plan[job] = place(profile, jobs.size[job], jobs.estimate[job], now(cluster))
            memory.guarantee[job] = plan[job]
    start_due(cluster, jobs, plan)
    for job in waiting(cluster):
        if plan[job] == NEVER and may_start(cluster, jobs, job):
            size, estimate = jobs.size[job], jobs.estimate[job]
            if fits(profile, size, estimate, now(cluster)):
                reserve(profile, size, now(cluster), now(cluster) + estimate)
                start(cluster, jobs, job)
    wake_for(cluster, plan)


@kernel
def run(cluster, jobs, truth, memory):
    """The event loop with this policy in it."""
    while advance(cluster, jobs, truth):
        decide(cluster, jobs, memory)


def new_memory(
    jobs: Jobs, processors: int, generator: np.random.Generator, threshold: float
) -> Memory:
    """No reservations yet."""
    count = len(jobs.submit)
    return Memory(
        np.array([threshold], dtype=np.float64),
        np.full(count, NEVER, dtype=np.int64),
        np.full(count, NEVER, dtype=np.int64),
        plan_profile(jobs, processors),
    )


def records(memory: Memory) -> dict[str, np.ndarray]:
    """The start, in seconds, that was reserved first for each job; -1 for one never reserved."""
    return {"guarantee": memory.guarantee}


def selective(threshold: float = THRESHOLD) -> Policy:
    """Selective backfilling; a job has a reservation once its slowdown exceeds the threshold.

    Raises PolicyError unless the threshold is a finite number, 0 or more.
    """
    not_negative("selective", "threshold", threshold)
    return Policy(
        name="selective" if threshold == THRESHOLD else f"selective(threshold={threshold})",
        decide=decide,
        run=run,
        memory=partial(new_memory, threshold=threshold),
        records=records,
        summary="reserves for jobs whose expected slowdown exceeds a threshold",
        source="Srinivasan et al. 2002, as in Shmueli 2003, chapter 2",
        stateful=True,
    )


SELECTIVE = selective()
