"""Conservative backfilling: every waiting job has a reservation and keeps it.

Shmueli 2003, Algorithm 9; Feitelson and Weil 1998; Zotkin, Keleher and Perkovic 2000, sections 2, 6
and 8. On arrival a job is promised its anchor point: the first time at which it fits for its whole
estimate beside the running jobs and all reservations. A completion earlier than estimated leaves a
gap; the waiting jobs are then moved up one by one, each never later than before.

Section 6 of Zotkin et al. does not spell out what it means to sort the queue where there are
guarantees. Here the order is that in which jobs move up, and new jobs are promised what is left, in
order of arrival: section 8 says that guarantees are generated in arrival order, and in Table 9 the
orders do not differ when estimates are exact, as then no job ever moves up. The queue is gone
through once per instant with early completions; gaps that this leaves wait for the next one.

`bfenv.baselines.conservative_replan` has the plans without guarantees,
`bfenv.baselines.queue_order` what a random order means.
"""

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

import bfenv.baselines.reservations as rs
from bfenv.baselines.conservative_replan import replan_policy
from bfenv.baselines.policy_names import expression
from bfenv.baselines.queue_order import (
    QueueOrder,
    find_order_or_expression,
    learn_ends,
    new_queue_order,
    sort,
)
from bfenv.core.arguments import check_choice
from bfenv.core.cluster import finished, now, one_event_at_a_time, waiting, wake_at
from bfenv.core.errors import PolicyError
from bfenv.core.events import advance
from bfenv.core.jobs import Jobs
from bfenv.core.kernel import kernel
from bfenv.core.policy import Policy
from bfenv.knowledge.priorities import Order, check_weight


class Memory(NamedTuple):
    """The plan, and the order in which jobs move up."""

    reservations: rs.Reservations  # the two data structures of Algorithm 9: planned starts, profile
    guarantee: np.ndarray  # (n,) int64 seconds: first reservation; NONE if started on arrival
    order: QueueOrder


@kernel
def decide(cluster, jobs, memory):
    """Move jobs up after early completions, then treat new jobs by Algorithm 9."""
    learn_ends(memory.order, cluster, jobs)
    if update(cluster, jobs, memory):
        count = sort(memory.order, cluster, jobs)
        rs.close_up(memory.reservations, jobs, memory.order.ranking.line[:count], now(cluster))
    admit(cluster, jobs, memory)  # steps 1 and 2
    wake_at(cluster, rs.start_due(memory.reservations, cluster, jobs))  # step 3


@kernel
def update(cluster, jobs, memory):
    """Bring the plan up to now; return whether the waiting jobs are to be moved up.

    They are after a completion earlier than estimated. One event at a time, they are after every
    completion, as in the simulator pyss. A plan that others have not followed is dropped, and the
    waiting jobs are treated as new.
    """
    any_early = rs.bring_up_to_now(memory.reservations, cluster, jobs)
    if not rs.followed(memory.reservations, cluster, jobs):
        rs.cancel_all(memory.reservations, cluster, jobs)
    return any_early or (one_event_at_a_time(cluster) and len(finished(cluster)) > 0)


@kernel
def admit(cluster, jobs, memory):
    """Algorithm 9, steps 1 and 2, for each new job; the new jobs are last in the queue.

    Step 1 finds the anchor point, step 2 takes the job's processors out of the profile from there.
    """
    queue, planned_start = waiting(cluster), memory.reservations.planned_start
    first_new = len(queue)
    while first_new > 0 and planned_start[queue[first_new - 1]] == rs.NONE:
        first_new -= 1
    for job in queue[first_new:]:
        anchor = rs.reserve_anchor_point(memory.reservations, cluster, jobs, job)
        if anchor > now(cluster) and memory.guarantee[job] == rs.NONE:
            memory.guarantee[job] = anchor


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
    """Return the plan of an empty machine."""
    return Memory(
        rs.new_reservations(jobs, processors),
        np.full(len(jobs.submit), rs.NONE, dtype=np.int64),
        new_queue_order(order, jobs, generator, weight),
    )


def records(memory: Memory) -> dict[str, np.ndarray]:
    """Return the guarantee (s) of each job: its first planned start, -1 if it started on arrival.

    Zotkin, Keleher and Perkovic 2000, Figure 16, is about the ratio of (guarantee - submit) to the
    wait, over the jobs that have a guarantee.
    """
    return {"guarantee": memory.guarantee.copy()}


def conservative(
    order: str = "fcfs", guarantees: bool = True, weight: float | None = None
) -> Policy:
    """Make a policy of conservative backfilling, with any order of the waiting jobs.

    Args:
        order: A name of `bfenv.knowledge.priorities.ORDERS`, or an expression as `easy` takes it.
            With guarantees, jobs move up in this order; without, they are planned in it.
        guarantees: If false, every pass plans all jobs from scratch and forgets the reservations
            again.
        weight: Weight of a second's delay in the aged orders, in 1/s; None for the order's own.

    Raises:
        PolicyError: If an option is out of its range, or the order has no weight.
    """
    chosen = find_order_or_expression(order)
    check_choice("guarantees", guarantees, (True, False), error=PolicyError)
    check_weight(weight, chosen)
    if guarantees:
        policy = Policy(
            name="",
            decide=decide,
            run=run,
            memory=partial(new_memory, order=chosen, weight=weight),
            records=records,
            summary=f"conservative; after early completions, {chosen.meaning} moves up first",
            source=_SECTION + "6",
            stochastic=chosen.stochastic,
            stateful=True,
            requested_starts=True,
        )
    else:
        policy = replan_policy(chosen, weight)
    options = {"order": order, "guarantees": guarantees, "weight": weight}
    return replace(policy, name=expression(conservative, options))


_SECTION = "Zotkin, Keleher and Perkovic 2000, section "

CONSERVATIVE = replace(
    conservative(),
    summary="a reservation for every job, never put off",
    source="Feitelson and Weil 1998; " + _SECTION + "2, Table 9 (BF)",
)
CONSERVATIVE_SJF, CONSERVATIVE_RANDOM, CONSERVATIVE_RANDOM_SJF = (
    replace(
        conservative(order),
        name=f"conservative-{order}",
        summary=f"conservative; {clause}",
        source=_SECTION + f"6, Table 9 ({label})",
    )
    for order, clause, label in (
        ("sjf", "after early completions the shortest jobs move up first", "LSBF"),
        ("random", "after early completions jobs move up in random order", "RBF"),
        ("random-sjf", "jobs move up in random order, the shorter with better chances", "RLBF"),
    )
)
POLICIES = (CONSERVATIVE, CONSERVATIVE_SJF, CONSERVATIVE_RANDOM, CONSERVATIVE_RANDOM_SJF)
FAMILIES = (conservative,)
