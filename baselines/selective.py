"""Selective backfilling: reservations for jobs that have waited out of proportion.

Srinivasan, Kettimuthu, Subramani and Sadayappan 2002, as described by Shmueli 2003 (chapter 2): a
job is given a reservation once its expected slowdown (w + e) / e, of its wait w and estimate e,
exceeds a threshold; all others start as long as they delay no reservation.

Choices where that description is silent:

* The threshold is fixed, and 2 by default: a job has a reservation once it has waited longer than
  it asked to run. With threshold 0 every job has one on arrival, as in conservative backfilling.
* The head of the queue has no reservation but by its own slowdown.
* A reservation is kept. When jobs end before their estimates, the jobs with reservations are moved
  up one by one in queue order, each no later than before.
* Slowdowns are compared in every pass; new reservations, in queue order, precede other starts.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

import bfenv.baselines.reservations as rs
from bfenv.baselines.policy_names import expression
from bfenv.baselines.slack import update
from bfenv.core.arguments import check_number
from bfenv.core.cluster import may_start, now, start, waiting, wake_at
from bfenv.core.errors import PolicyError
from bfenv.core.events import advance
from bfenv.core.jobs import Jobs
from bfenv.core.kernel import kernel
from bfenv.core.policy import Policy
from bfenv.core.profile import fits, reserve

THRESHOLD = 2.0


class Memory(NamedTuple):
    """The threshold, and the reservations of the waiting jobs."""

    threshold: np.ndarray  # (1,) float64 expected slowdown
    reservations: rs.Reservations
    guarantee: np.ndarray  # (n,) int64 seconds: first reservation; NONE if it never had one


@kernel
def decide(cluster, jobs, memory):
    """Keep the reservations and make new ones, start the jobs that are due, and backfill."""
    reservations, profile = memory.reservations, memory.reservations.profile
    update(reservations, cluster, jobs)
    for job in waiting(cluster):
        wait, estimate = now(cluster) - jobs.submit[job], jobs.estimate[job]
        overdue = wait + estimate > memory.threshold[0] * estimate
        if overdue and reservations.planned_start[job] == rs.NONE:
            memory.guarantee[job] = rs.reserve_anchor_point(reservations, cluster, jobs, job)
    wake_at(cluster, rs.start_due(reservations, cluster, jobs))
    for job in waiting(cluster):
        if reservations.planned_start[job] == rs.NONE and may_start(cluster, jobs, job):
            size, estimate = jobs.size[job], jobs.estimate[job]
            if fits(profile, size, estimate, now(cluster)):
                reserve(profile, size, now(cluster), now(cluster) + estimate)
                start(cluster, jobs, job)


@kernel
def run(cluster, jobs, truth, memory):
    """The event loop with this policy in it."""
    while advance(cluster, jobs, truth):
        decide(cluster, jobs, memory)


def new_memory(
    jobs: Jobs, processors: int, generator: np.random.Generator, *, threshold: float
) -> Memory:
    """Return no reservations yet."""
    return Memory(
        np.array([threshold], dtype=np.float64),
        rs.new_reservations(jobs, processors),
        np.full(len(jobs.submit), rs.NONE, dtype=np.int64),
    )


def records(memory: Memory) -> dict[str, np.ndarray]:
    """Return each job's first reservation in seconds; -1 for a job that never had one."""
    return {"guarantee": memory.guarantee}


def selective(threshold: float = THRESHOLD) -> Policy:
    """Make a policy of selective backfilling.

    Args:
        threshold: A job has a reservation once its expected slowdown exceeds this.

    Raises:
        PolicyError: If `threshold` is not a finite number >= 0.
    """
    check_number("threshold", threshold, 0, error=PolicyError)
    return Policy(
        name=expression(selective, {"threshold": threshold}),
        decide=decide,
        run=run,
        memory=partial(new_memory, threshold=threshold),
        records=records,
        summary="reserves for jobs whose expected slowdown exceeds a threshold",
        source="Srinivasan et al. 2002, as in Shmueli 2003, chapter 2",
        stateful=True,
    )


SELECTIVE = selective()
POLICIES = (SELECTIVE,)
FAMILIES = (selective,)
