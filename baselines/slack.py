"""Slack-based and relaxed backfilling: a waiting job may be delayed, but only within its slack.

Talby and Feitelson 1999 (slack) and Ward, Mahood and West 2002 (relaxed), as described by Shmueli
2003 (chapter 2): a waiting job has a slack, and a job may be backfilled if it delays no other by
more than that. With `slack` it depends on the job's priority, with `relaxed` it does not.

Choices where that description is silent:

* Every waiting job has a reservation. On arrival that is its anchor point among all others; the job
  must start within its slack of that first reservation, however often it is delayed. When jobs end
  before their estimates, the waiting jobs are moved up one by one in queue order, each no later
  than before.
* To backfill a job, all others are placed from scratch in queue order, each at its anchor point,
  beside the running jobs and this one. If each is within its slack, the job starts and the others
  keep these reservations.
* Jobs are tried once in every pass, in queue order, as long as processors are free.
* `slack`: `seconds` (an hour by default) for a job of priority 0, half as long for each step of
  priority above that, twice for each below.
* `relaxed`: `factor` (1 by default) times the estimate of the job that may be delayed.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

import bfenv.baselines.reservations as rs
from bfenv.baselines.policy_names import expression
from bfenv.core.arguments import check_number
from bfenv.core.cluster import may_start, now, start, waiting, wake_at
from bfenv.core.durations import HOUR, in_seconds
from bfenv.core.errors import PolicyError
from bfenv.core.events import advance
from bfenv.core.jobs import FOREVER, Jobs
from bfenv.core.kernel import kernel
from bfenv.core.policy import Policy
from bfenv.core.profile import reserve
from bfenv.knowledge.groups import Groups, group_of, new_groups

SECONDS = HOUR
FACTOR = 1.0


class Memory(NamedTuple):
    """The plan of the waiting jobs, and the plan that is tried beside it."""

    by_priority: np.ndarray  # (1,) bool: slack by priority, else by estimate
    unit: np.ndarray  # (1,) float64: slack of priority 0 in seconds, or in estimates
    reservations: rs.Reservations
    tentative: rs.Reservations  # if the job that is tried is backfilled
    first_reservation: np.ndarray  # (n,) int64 seconds: planned start on arrival
    guarantee: np.ndarray  # (n,) int64 seconds: the first reservation and the slack
    kinds: Groups
    kind: np.ndarray  # (n,) int64: jobs of one size and estimate are of one kind
    refused: np.ndarray  # (n + 1,) int64: last job of the kind known to delay another too much; or
    # NONE


@kernel
def decide(cluster, jobs, memory):
    """Keep the plan, start the jobs that are due, and backfill within everyone's slack."""
    reservations = memory.reservations
    update(reservations, cluster, jobs)
    for job in waiting(cluster):
        if reservations.planned_start[job] == rs.NONE:
            anchor = rs.reserve_anchor_point(reservations, cluster, jobs, job)
            memory.first_reservation[job] = anchor
            memory.guarantee[job] = anchor + slack_of(memory, jobs, job)
            memory.kind[job] = group_of(memory.kinds, 0, jobs.size[job], jobs.estimate[job])
        memory.refused[memory.kind[job]] = rs.NONE
    next_start = rs.start_due(reservations, cluster, jobs)
    for job in waiting(cluster):
        if (
            may_start(cluster, jobs, job)
            and job > memory.refused[memory.kind[job]]
            and others_can_wait(cluster, jobs, memory, job)
        ):
            start(cluster, jobs, job)
            rs.copy_reservations(memory.tentative, reservations, waiting(cluster))
            rs.forget(reservations, waiting(cluster))
            for waiting_job in waiting(cluster):
                memory.refused[memory.kind[waiting_job]] = rs.NONE
            next_start = rs.start_due(reservations, cluster, jobs)
    wake_at(cluster, next_start)


@kernel
def slack_of(memory, jobs, job):
    """Return the slack (s) of a job, from its own request alone."""
    if memory.by_priority[0]:
        slack = memory.unit[0] * 2.0 ** -max(-60, min(60, jobs.priority[job]))
    else:
        slack = memory.unit[0] * jobs.estimate[job]
    return int(min(slack, float(FOREVER // 4)))


@kernel
def update(reservations, cluster, jobs):
    """Bring the plan up to now; after an early end, move the waiting jobs up in queue order."""
    any_early = rs.bring_up_to_now(reservations, cluster, jobs)
    if not rs.followed(reservations, cluster, jobs):
        rs.keep_all(reservations, cluster, jobs)
    if any_early:
        rs.close_up(reservations, jobs, waiting(cluster), now(cluster))


@kernel
def others_can_wait(cluster, jobs, memory, job):
    """Plan all others beside one job started now; return whether each is within its slack.

    The plan ends with the first job that is not.
    If one is not, later jobs of the kind that would meet the same plan are refused with this job.
    Those are the ones that in this plan stand where their predecessor of the kind would have stood,
    had it been placed in its turn: exchange the two, and all else is as it was.
    """
    tentative, kinds, guarantee = memory.tentative, memory.kind, memory.guarantee
    size, estimate, kind = jobs.size[job], jobs.estimate[job], kinds[job]
    rs.keep_running(tentative, cluster, jobs)
    tentative.planned_start[job] = now(cluster)
    reserve(tentative.profile, size, now(cluster), now(cluster) + estimate)
    turn = rs.NONE  # where the predecessor of the kind would stand
    last = FOREVER  # the last job that would meet this plan: all, if its own turn never comes
    for waiting_job in waiting(cluster):
        if cluster.start[waiting_job] >= 0:
            continue
        if waiting_job == job:
            turn, last = rs.first_fit(tentative, cluster, jobs, job), job
            continue
        anchor = rs.reserve_anchor_point(tentative, cluster, jobs, waiting_job)
        if anchor > guarantee[waiting_job]:
            memory.refused[kind] = last
            return False
        if kinds[waiting_job] == kind and turn == anchor:
            turn, last = rs.first_fit(tentative, cluster, jobs, job), waiting_job
    return True


@kernel
def run(cluster, jobs, truth, memory):
    """The event loop with this policy in it."""
    while advance(cluster, jobs, truth):
        decide(cluster, jobs, memory)


def new_memory(
    jobs: Jobs, processors: int, generator: np.random.Generator, *, by_priority: bool, unit: float
) -> Memory:
    """Return an empty plan."""
    count = len(jobs.submit)
    return Memory(
        by_priority=np.array([by_priority]),
        unit=np.array([min(float(unit), float(FOREVER))]),
        reservations=rs.new_reservations(jobs, processors),
        tentative=rs.new_reservations(jobs, processors),
        first_reservation=np.full(count, rs.NONE, dtype=np.int64),
        guarantee=np.full(count, rs.NONE, dtype=np.int64),
        kinds=new_groups(count),
        kind=np.zeros(count, dtype=np.int64),
        refused=np.full(count + 1, rs.NONE, dtype=np.int64),
    )


def records(memory: Memory) -> dict[str, np.ndarray]:
    """Return each job's planned start on arrival and its latest start, in seconds."""
    return {"reservation": memory.first_reservation, "guarantee": memory.guarantee}


def slack(seconds: float | str = SECONDS) -> Policy:
    """Make a policy of slack-based backfilling.

    Args:
        seconds: Slack of a job of priority 0, in seconds or like "1h".

    Raises:
        PolicyError: If `seconds` is neither a duration nor a finite number >= 0.
    """
    length = in_seconds("seconds", seconds, PolicyError)
    check_number("seconds", length, 0, error=PolicyError)
    return _policy(
        expression(slack, {"seconds": length}),
        by_priority=True,
        unit=length,
        summary="backfills unless a job is delayed beyond its slack, which depends on its priority",
        source="Talby and Feitelson 1999, as in Shmueli 2003, chapter 2",
    )


def relaxed(factor: float = FACTOR) -> Policy:
    """Make a policy of relaxed backfilling.

    Args:
        factor: The slack of a job is its estimate multiplied by this factor.

    Raises:
        PolicyError: If `factor` is not a finite number >= 0.
    """
    check_number("factor", factor, 0, error=PolicyError)
    return _policy(
        expression(relaxed, {"factor": factor}),
        by_priority=False,
        unit=factor,
        summary="backfills unless a job is delayed by more than a multiple of its estimate",
        source="Ward, Mahood and West 2002, as in Shmueli 2003, chapter 2",
    )


def _policy(name: str, *, by_priority: bool, unit: float, summary: str, source: str) -> Policy:
    return Policy(
        name=name,
        decide=decide,
        run=run,
        memory=partial(new_memory, by_priority=by_priority, unit=unit),
        records=records,
        summary=summary,
        source=source,
        stateful=True,
    )


SLACK = slack()
RELAXED = relaxed()
POLICIES = (SLACK, RELAXED)
FAMILIES = (slack, relaxed)
