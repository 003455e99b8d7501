"""Conservative backfilling: every waiting job has a reservation and keeps it.

Feitelson and Weil 1998, and Zotkin, Keleher and Perkovic 2000, sections 2, 6 and 8. A job is
promised its anchor point when it is submitted: the first time at which it fits for its whole
estimate beside the running jobs and all reservations. A completion earlier than estimated leaves a
gap; then the waiting jobs are re-placed one by one, each never later than before.

What sorting the queue means where there are guarantees (section 6) is not spelled out. Here the
order is that of the re-placement, and new jobs are promised what is left, in order of arrival:
section 8 says that the guarantees are generated in arrival order, and in Table 9 the orders do not
differ when estimates are exact, as then no job is ever re-placed. The queue is gone through once
per instant with early completions; gaps which this leaves wait for the next one. Plans without
guarantees are in `bfenv.baselines.conservative_replan`, and what is said there of random numbers
holds.
"""

import math
from functools import partial
from typing import NamedTuple

import numpy as np

from bfenv.baselines import conservative_replan
from bfenv.baselines.conservative_replan import new_stream, shuffled_ranking, sort
from bfenv.baselines.priorities import ORDERS, Ranking, find_order
from bfenv.core.cluster import (
    advance,
    finished,
    free,
    now,
    one_event_at_a_time,
    start,
    waiting,
    wake_at,
)
from bfenv.core.errors import PolicyError
from bfenv.core.jobs import FOREVER, Jobs
from bfenv.core.kernel import kernel
from bfenv.core.policy import Policy
from bfenv.core.profile import (
    Profile,
    anchor_before,
    begin_at,
    new_profile,
    place,
    rebuild,
    release,
    reserve,
)

NONE = -1  # no reservation, no guarantee


class Plan(NamedTuple):
    """The reservations, kept from pass to pass."""

    profile: Profile  # running jobs up to their expected ends, waiting jobs as reserved
    reserved: np.ndarray  # (n,) int64 seconds: start of the job's reservation, or NONE
    guarantee: np.ndarray  # (n,) int64 seconds: its first reservation; NONE if started on arrival
    ranking: Ranking  # the order of re-placement
    stream: np.ndarray  # (1,) int64 state of the random numbers


def new_plan(
    jobs: Jobs,
    processors: int,
    generator: np.random.Generator,
    order: str = "fcfs",
    weight: float | None = None,
) -> Plan:
    """The plan of an empty machine."""
    count = len(jobs.submit)
    profile = new_profile(min(count, processors), count)
    profile.time[0], profile.free[0] = 0, processors
    return Plan(
        profile,
        np.full(count, NONE),
        np.full(count, NONE),
        shuffled_ranking(order, jobs, generator, weight),
        new_stream(generator),
    )


@kernel
def decide(cluster, jobs, plan):
    """Close up after early completions, make new reservations, start the jobs that are due."""
    if update(cluster, jobs, plan):
        count = sort(plan.ranking, plan.stream, cluster, jobs)
        close_up(plan, jobs, plan.ranking.line[:count], now(cluster))
    admit(cluster, jobs, plan)
    start_due(cluster, jobs, plan)


@kernel
def update(cluster, jobs, plan):
    """Bring the plan up to now; return whether the waiting jobs are to be re-placed.

    They are after a completion earlier than estimated. One event at a time, they are after every
    completion, as in the simulator pyss. A plan that others have not followed is dropped, and the
    waiting jobs are taken as new.
    """
    profile, time = plan.profile, now(cluster)
    begin_at(profile, time)
    replace = one_event_at_a_time(cluster) and len(finished(cluster)) > 0
    for job in finished(cluster):
        if cluster.kill_time[job] > time:
            release(profile, jobs.size[job], time, cluster.kill_time[job])
            replace = True
    if not _followed(cluster, jobs, plan):
        rebuild(profile, cluster, jobs)
        for job in waiting(cluster):
            plan.reserved[job] = NONE
    return replace


@kernel
def _followed(cluster, jobs, plan):
    """Whether no reservation was missed and the machine is as full as the plan says."""
    planned = plan.profile.free[0]
    for job in waiting(cluster):
        if plan.reserved[job] == now(cluster):  # has its place in the profile already
            planned += jobs.size[job]
        elif NONE < plan.reserved[job] < now(cluster):
            return False
    return planned == free(cluster)


@kernel
def close_up(plan, jobs, line, time):
    """Re-place the jobs of `line`, one by one in its order, each never later than before."""
    for job in line:
        size, duration, reserved = jobs.size[job], jobs.estimate[job], plan.reserved[job]
        if reserved <= time:  # is to start now, or has no reservation
            continue
        earliest = max(time, jobs.requested_start[job])
        anchor = anchor_before(plan.profile, size, duration, earliest, reserved)
        if anchor < reserved:
            release(plan.profile, size, reserved, reserved + duration)
            reserve(plan.profile, size, anchor, anchor + duration)
            plan.reserved[job] = anchor


@kernel
def admit(cluster, jobs, plan):
    """Reserve their anchor points for the new jobs, which are last in the queue."""
    queue = waiting(cluster)
    new = len(queue)
    while new > 0 and plan.reserved[queue[new - 1]] == NONE:
        new -= 1
    for job in queue[new:]:
        size, duration = jobs.size[job], jobs.estimate[job]
        earliest = max(now(cluster), jobs.requested_start[job])
        anchor = place(plan.profile, size, duration, earliest)
        plan.reserved[job] = anchor
        if anchor > now(cluster) and plan.guarantee[job] == NONE:
            plan.guarantee[job] = anchor


@kernel
def start_due(cluster, jobs, plan):
    """Start the jobs reserved for now, and ask to be woken for the next.

    A gap may lie before a reservation, which then begins at an instant without any other event.
    """
    next_due = FOREVER
    for job in waiting(cluster):
        if plan.reserved[job] == now(cluster):
            start(cluster, jobs, job)
        else:
            next_due = min(next_due, plan.reserved[job])
    wake_at(cluster, next_due)


@kernel
def run(cluster, jobs, truth, plan):
    """The event loop with this policy in it."""
    while advance(cluster, jobs, truth):
        decide(cluster, jobs, plan)


def records(plan: Plan) -> dict[str, np.ndarray]:
    """The guarantee of each job: its first reserved start in seconds, -1 if it started at once.

    Zotkin, Keleher and Perkovic 2000, Figure 16, is about the ratio of (guarantee - submit) to the
    wait, over the jobs that have one.
    """
    return {"guarantee": plan.guarantee.copy()}


def conservative(
    order: str = "fcfs", guarantees: bool = True, weight: float | None = None
) -> Policy:
    """Conservative backfilling with any order of the waiting jobs.

    With guarantees `order` is that of re-placement; without, all is planned anew in `order` at
    every pass. `weight` (1/s) is that of the delay in the aged orders. Raises PolicyError on an
    unknown order, or a weight that is negative or that the order does not have.
    """
    chosen = find_order(order)
    if not isinstance(guarantees, bool):
        raise PolicyError(f"guarantees is True or False, not {guarantees!r}")
    if weight is not None:
        if not chosen.weight:
            raise PolicyError(f"weight: the order {order} has none")
        if not (isinstance(weight, int | float) and 0 <= weight < math.inf):
            raise PolicyError(f"weight is a number from 0 on, not {weight!r}")
    options = {"order": order, "guarantees": guarantees}
    if weight is not None:
        options["weight"] = weight
    name = f"conservative({', '.join(f'{key}={value}' for key, value in options.items())})"
    if not guarantees:
        return conservative_replan.policy(name, order, weight)
    return _policy(name, order, weight)


def _policy(name: str, order: str, weight: float | None = None, **about: str) -> Policy:
    return Policy(
        name=name,
        decide=decide,
        run=run,
        memory=partial(new_plan, order=order, weight=weight),
        records=records,
        stochastic=ORDERS[order].stochastic,
        stateful=True,
        requested_starts=True,
        **about,
    )


_SECTION = "Zotkin, Keleher and Perkovic 2000, section "

CONSERVATIVE = _policy(
    "conservative",
    "fcfs",
    summary="a reservation for every job, never put off",
    source="Feitelson and Weil 1998; " + _SECTION + "2, Table 9 (BF)",
)
CONSERVATIVE_SJF = _policy(
    "conservative-sjf",
    "sjf",
    summary="conservative; after early completions the shortest jobs move up first",
    source=_SECTION + "6, Table 9 (LSBF)",
)
CONSERVATIVE_RANDOM = _policy(
    "conservative-random",
    "random",
    summary="conservative; after early completions jobs move up in random order",
    source=_SECTION + "6, Table 9 (RBF)",
)
CONSERVATIVE_RANDOM_SJF = _policy(
    "conservative-random-sjf",
    "random-sjf",
    summary="conservative; jobs move up in random order, the shorter with better chances",
    source=_SECTION + "6, Table 9 (RLBF)",
)
