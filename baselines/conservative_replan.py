"""Conservative backfilling without guarantees: planned from scratch in every pass.

Zotkin, Keleher and Perkovic 2000, section 8, Tables 10 and 11. The jobs are placed in the order of
the sorted queue, each at its anchor point beside the running jobs and those placed before; those
whose anchor point is now start. Every reservation is forgotten again, so a job may be put off by
any job that sorts before it: unless the order ages, jobs can starve.

`bfenv.baselines.conservative.conservative` makes these policies with any order;
`bfenv.baselines.queue_order` has what a random order means.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from bfenv.baselines.queue_order import (
    QueueOrder,
    learn_ends,
    must_see_all,
    new_queue_order,
    sort,
)
from bfenv.baselines.reservations import place_job
from bfenv.core.cluster import may_start, now, start
from bfenv.core.events import advance
from bfenv.core.jobs import Jobs
from bfenv.core.kernel import kernel
from bfenv.core.openings import Openings, forget_fronts, new_openings, note_from_now
from bfenv.core.policy import Policy
from bfenv.core.profile import Profile, fits, new_profile, place, rebuild
from bfenv.knowledge.priorities import Order, find_order

CHECK_EVERY = 4  # jobs that are placed
LONG = 256  # waiting jobs from which on remembering how early they may fit is worth its cost


class Memory(NamedTuple):
    """Room for the plan of one pass, and the order of the queue."""

    profile: Profile
    openings: Openings  # how early classes of jobs may fit beside those that have been placed
    order: QueueOrder


@kernel
def decide(cluster, jobs, memory):
    """Place the jobs in order and start those that can start now; stop when no other job can.

    As the plan fills up, a job that does not fit now will not: those at the end of the line that do
    not fit need no place. In a long line, the search for a place begins where jobs like this one
    may fit at the earliest.
    """
    profile, openings, line = memory.profile, memory.openings, memory.order.ranking.line
    learn_ends(memory.order, cluster, jobs)
    count = sort(memory.order, cluster, jobs)
    while count > 0 and not may_start(cluster, jobs, line[count - 1]):
        count -= 1
    if count == 0:
        return
    rebuild(profile, cluster, jobs)
    is_long = count >= openings.long[0]
    if is_long:
        note_from_now(openings, count)
        forget_fronts(openings)
    for position in range(count):
        if position % CHECK_EVERY == 0:
            while count > position and not fits_now(profile, cluster, jobs, line[count - 1]):
                count -= 1
        if position >= count:
            break
        job = line[position]
        if is_long:
            anchor = place_job(profile, openings, cluster, jobs, job)
        else:
            earliest = max(now(cluster), jobs.requested_start[job])
            anchor = place(profile, jobs.size[job], jobs.estimate[job], earliest)
        if anchor == now(cluster):
            start(cluster, jobs, job)


@kernel
def fits_now(profile, cluster, jobs, job):
    """Tell whether a job can start now, beside what is in the profile."""
    may_begin = jobs.requested_start[job] <= now(cluster)
    return may_begin and fits(profile, jobs.size[job], jobs.estimate[job], now(cluster))


@kernel
def run(cluster, jobs, truth, memory):
    """The event loop with this policy in it."""
    while advance(cluster, jobs, truth):
        decide(cluster, jobs, memory)


def new_memory(
    jobs: Jobs,
    processors: int,
    generator: np.random.Generator,
    *,
    order: Order,
    weight: float | None,
) -> Memory:
    """Return room for all jobs."""
    count = len(jobs.submit)
    return Memory(
        new_profile(min(count, processors), count),
        new_openings(jobs, processors, LONG),
        new_queue_order(order, jobs, generator, weight),
    )


_SECTION = "Zotkin, Keleher and Perkovic 2000, section 8"


def replan_policy(
    order: Order,
    weight: float | None = None,
    *,
    name: str = "",
    summary: str = "",
    source: str = _SECTION,
) -> Policy:
    """Make a policy that plans all jobs in this order; `weight` (1/s) is for the aged orders."""
    return Policy(
        name=name,
        decide=decide,
        run=run,
        memory=partial(new_memory, order=order, weight=weight),
        summary=summary or f"plans all jobs from scratch at every pass, {order.meaning} first",
        source=source,
        stochastic=order.stochastic,
        stateful=must_see_all(order),
        requested_starts=True,
    )


POLICIES = (
    CONSERVATIVE_REPLAN,
    CONSERVATIVE_REPLAN_SJF,
    CONSERVATIVE_REPLAN_RANDOM,
    CONSERVATIVE_REPLAN_RANDOM_SJF,
    CONSERVATIVE_REPLAN_AGED_SJF,
    CONSERVATIVE_REPLAN_AGED_RANDOM,
) = tuple(
    replan_policy(
        find_order(order),
        name="conservative-replan" if order == "fcfs" else f"conservative-replan-{order}",
        summary=f"plans all jobs from scratch at every pass, {clause}",
        source=f"{_SECTION}, {place}",
    )
    for order, clause, place in (
        ("fcfs", "in order of arrival", "Table 10 (FIFO-backfilling)"),
        ("sjf", "the shortest first", "Table 10 (shortest-first)"),
        ("random", "in random order", "Table 10 (randomized)"),
        ("random-sjf", "in random order favouring short jobs", "Table 10 (combination)"),
        ("aged-sjf", "by 1 / estimate + weight x delay", "first criterion against starvation"),
        ("aged-random", "by random number + weight x delay", "second criterion against starvation"),
    )
)
FAMILIES = ()
