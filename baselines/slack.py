"""Slack-based and relaxed backfilling: whoever waits may be delayed, but not too much.

Talby and Feitelson 1999 (slack) and Ward, Mahood and West 2002 (relaxed), as described by Shmueli
2003 (chapter 2): a waiting job has a slack, and a job may be backfilled if it delays no other by
more than that. With `slack` it depends on the job's priority, with `relaxed` it does not.

Choices where that description is silent:

* Every waiting job has a place in a plan. On arrival that is its anchor point among all others; it
  must start within its slack of that first reservation, however often it is delayed. When jobs end
  before their estimates, the waiting ones are taken out and placed at their anchor points again
  one by one in queue order, each no later than before.
* To backfill a job, all others are placed anew in queue order, each at its anchor point, beside
  the running jobs and this one. If each is within its slack, the job starts and that is the plan.
* Jobs are tried once in every pass, in queue order, as long as processors are free.
* `slack`: `seconds` (an hour by default) for a job of priority 0, half as long for each step of
  priority above that, twice for each below.
* `relaxed`: `factor` (1 by default) times the estimate of the job that may be delayed.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from bfenv.core.cluster import (
    advance,
    finished,
    free,
    may_start,
    now,
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
    anchor_point,
    begin_at,
    copy,
    new_profile,
    place,
    rebuild,
    release,
    reserve,
)

SECONDS = 3600
FACTOR = 1.0
NEVER = -1  # planned start of a job that has none yet


class Memory(NamedTuple):
    """The plan of the waiting jobs."""

    slack: np.ndarray  # (n,) int64 seconds
    plan: np.ndarray  # (n,) int64 seconds: planned start
    trial: np.ndarray  # (n,) int64 seconds: planned start if some job is backfilled
    reservation: np.ndarray  # (n,) int64 seconds: planned start on arrival
    guarantee: np.ndarray  # (n,) int64 seconds: the reservation and the slack
    profile: Profile  # running and planned jobs, kept from pass to pass
    beside: Profile  # of the trial
    kind: np.ndarray  # (n,) int64: jobs of one size and estimate are of one kind
    earliest: np.ndarray  # (k,) int64 seconds: no job of the kind fits before, in this trial
    refused: np.ndarray  # (k,) int64: the last job of the kind known to delay another too much


@kernel
def decide(cluster, jobs, memory):
    """Keep the plan, start whose time has come, and backfill within everybody's slack."""
    plan = memory.plan
    update(cluster, jobs, memory.profile, plan)
    for job in waiting(cluster):
        if plan[job] == NEVER:
            plan[job] = place(memory.profile, jobs.size[job], jobs.estimate[job], now(cluster))
            memory.reservation[job] = plan[job]
            memory.guarantee[job] = plan[job] + memory.slack[job]
        memory.refused[memory.kind[job]] = NEVER
    start_due(cluster, jobs, plan)
    for job in waiting(cluster):
        if (
            may_start(cluster, jobs, job)
            and job > memory.refused[memory.kind[job]]
            and others_can_wait(cluster, jobs, memory, job)
        ):
            start(cluster, jobs, job)
            copy(memory.beside, memory.profile)
            for other in waiting(cluster):
                plan[other] = memory.trial[other]
                memory.refused[memory.kind[other]] = NEVER
            start_due(cluster, jobs, plan)
    wake_for(cluster, plan)


@kernel
def others_can_wait(cluster, jobs, memory, job):
    """Plan anew with one job started now; False if anybody else would exceed its slack.

    If somebody would, later jobs of its kind that would meet the same plan are refused with it.
    Those are the ones that in this plan stand where their predecessor of the kind would have, had
    it been placed in its turn: exchange the two, and all else is as it was.
    """
    trial, profile, kinds = memory.trial, memory.beside, memory.kind
    size, estimate, kind = jobs.size[job], jobs.estimate[job], kinds[job]
    for other in waiting(cluster):
        memory.earliest[kinds[other]] = now(cluster)
    rebuild(profile, cluster, jobs)
    trial[job] = now(cluster)
    reserve(profile, size, now(cluster), now(cluster) + estimate)
    turn = NEVER  # where the predecessor of the kind would stand
    last = FOREVER  # the last job that would meet this plan: all, if its own turn never comes
    for other in waiting(cluster):
        if cluster.start[other] >= 0:
            continue
        if other == job:
            turn, last = anchor_point(profile, size, estimate, memory.earliest[kind]), job
            continue
        # As the plan fills up, jobs of a kind are placed in the order of the queue.
        earliest = memory.earliest[kinds[other]]
        begin = place(profile, jobs.size[other], jobs.estimate[other], earliest)
        trial[other] = memory.earliest[kinds[other]] = begin
        if begin > memory.guarantee[other]:
            memory.refused[kind] = last
            return False
        if kinds[other] == kind and turn == begin:
            turn, last = anchor_point(profile, size, estimate, begin), other
    return True


@kernel
def update(cluster, jobs, profile, plan):
    """Bring the plan up to now; after an early end each planned job is placed once more."""
    time = now(cluster)
    begin_at(profile, time)
    early = False
    for job in finished(cluster):
        if cluster.kill_time[job] > time:
            release(profile, jobs.size[job], time, cluster.kill_time[job])
            early = True
    if not _followed(cluster, jobs, profile, plan):
        _draw_plan(cluster, jobs, profile, plan)
    if not early:
        return
    for job in waiting(cluster):
        if plan[job] > time:
            size, estimate, planned = jobs.size[job], jobs.estimate[job], plan[job]
            plan[job] = anchor_before(profile, size, estimate, time, planned)
            if plan[job] < planned:
                release(profile, size, planned, planned + estimate)
                reserve(profile, size, plan[job], plan[job] + estimate)


@kernel
def _followed(cluster, jobs, profile, plan):
    """Whether no planned start was missed and the machine is as full as the plan says."""
    planned = profile.free[0]
    for job in waiting(cluster):
        if plan[job] == now(cluster):
            planned += jobs.size[job]
        elif NEVER < plan[job] < now(cluster):
            return False
    return planned == free(cluster)


@kernel
def _draw_plan(cluster, jobs, profile, plan):
    """The profile of running and planned jobs, those that missed their starts from now on."""
    rebuild(profile, cluster, jobs)
    for job in waiting(cluster):
        if plan[job] != NEVER:
            plan[job] = max(plan[job], now(cluster))
            reserve(profile, jobs.size[job], plan[job], plan[job] + jobs.estimate[job])


@kernel
def start_due(cluster, jobs, plan):
    """Start the jobs whose planned time has come."""
    for job in waiting(cluster):
        if plan[job] != NEVER and plan[job] <= now(cluster) and may_start(cluster, jobs, job):
            start(cluster, jobs, job)


@kernel
def wake_for(cluster, plan):
    """Ask for a pass at the planned starts: nothing else may happen then."""
    for job in waiting(cluster):
        if cluster.start[job] < 0:
            wake_at(cluster, plan[job])


@kernel
def run(cluster, jobs, truth, memory):
    """The event loop with this policy in it."""
    while advance(cluster, jobs, truth):
        decide(cluster, jobs, memory)


def plan_profile(jobs: Jobs, processors: int) -> Profile:
    """An empty machine, with room for the running jobs and for each waiting one."""
    count = len(jobs.submit)
    profile = new_profile(min(count, processors), count)
    profile.time[0], profile.free[0] = 0, processors
    return profile


def new_memory(
    jobs: Jobs,
    processors: int,
    generator: np.random.Generator,
    slack: Callable[[Jobs], np.ndarray],
) -> Memory:
    """An empty plan; `slack` gives (n,) seconds, of each job by its own request alone."""
    count = len(jobs.submit)
    requests = np.stack([jobs.size, jobs.estimate])
    kinds, kind = np.unique(requests, axis=1, return_inverse=True)
    return Memory(
        np.minimum(slack(jobs), FOREVER // 4).astype(np.int64),
        *(np.full(count, NEVER, dtype=np.int64) for _ in range(4)),
        plan_profile(jobs, processors),
        plan_profile(jobs, processors),
        kind.reshape(-1).astype(np.int64),
        *(np.full(kinds.shape[1], NEVER, dtype=np.int64) for _ in range(2)),
    )


def records(memory: Memory) -> dict[str, np.ndarray]:
    """When each job was to start on arrival, and by when at the latest; seconds."""
    return {"reservation": memory.reservation, "guarantee": memory.guarantee}


def by_priority(jobs: Jobs, seconds: float) -> np.ndarray:
    """(n,) seconds, halved by every step of priority."""
    return seconds * 2.0 ** -np.clip(jobs.priority, -60, 60)


def by_estimate(jobs: Jobs, factor: float) -> np.ndarray:
    """(n,) seconds, in proportion to the estimates."""
    return factor * jobs.estimate


def not_negative(family: str, option: str, value: float) -> None:
    """Raise PolicyError, naming the option, unless its value is a finite number, 0 or more."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (number and 0 <= value < FOREVER):
        raise PolicyError(f"{family}: {option} is a finite number, 0 or more, not {value!r}")


def slack(seconds: float = SECONDS) -> Policy:
    """Slack-based backfilling; `seconds` is the slack of a job of priority 0.

    Raises PolicyError unless it is a finite number, 0 or more.
    """
    not_negative("slack", "seconds", seconds)
    return Policy(
        name="slack" if seconds == SECONDS else f"slack(seconds={seconds})",
        decide=decide,
        run=run,
        memory=partial(new_memory, slack=partial(by_priority, seconds=seconds)),
        records=records,
        summary="backfills what delays no job by more than a slack that its priority sets",
        source="Talby and Feitelson 1999, as in Shmueli 2003, chapter 2",
        stateful=True,
    )


def relaxed(factor: float = FACTOR) -> Policy:
    """Relaxed backfilling; the slack is `factor` times the estimate of the job delayed.

    Raises PolicyError unless it is a finite number, 0 or more.
    """
    not_negative("relaxed", "factor", factor)
    return Policy(
        name="relaxed" if factor == FACTOR else f"relaxed(factor={factor})",
        decide=decide,
        run=run,
        memory=partial(new_memory, slack=partial(by_estimate, factor=factor)),
        records=records,
        summary="backfills what delays no job by more than a multiple of its estimate",
        source="Ward, Mahood and West 2002, as in Shmueli 2003, chapter 2",
        stateful=True,
    )


SLACK = slack()
RELAXED = relaxed()
