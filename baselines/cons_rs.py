"""CONS+RS: conservative backfilling whose plan is improved by random search.

Klusacek and Rudova 2011. After a completion earlier than estimated the plan of conservative
backfilling has gaps; random jobs are moved into gaps, and a move is kept if it improves the mean
slowdown and the mean wait that are to be expected.

Where the paper is silent, in the manner of Alea, the authors' simulator, whose plan is a list of
jobs and not of reservations: the search sets out from the plan of `bfenv.baselines.conservative`,
its jobs re-placed in queue order. A move takes a job out of the plan, lets the others close up in
queue order, each never later than before, and puts the job into the first gap where it fits. Mean
wait and mean slowdown are those of the waiting jobs, by their estimates, and a move is kept if the
sum of their relative changes is negative. So a job may come later than it was promised, for the
good of the others: the guarantees of conservative backfilling are given up, and records tell how
often.
"""

import time
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from bfenv.baselines.conservative import (
    NONE,
    Plan,
    admit,
    close_up,
    new_plan,
    records,
    start_due,
    update,
)
from bfenv.baselines.conservative_replan import random_number
from bfenv.core.cluster import advance, now, waiting
from bfenv.core.errors import PolicyError
from bfenv.core.jobs import Jobs
from bfenv.core.kernel import kernel
from bfenv.core.policy import Policy
from bfenv.core.profile import Profile, copy, new_profile, place, release

BATCH = 5  # moves between two looks at the time
ROUNDING = 1e-9  # relative changes below this are none


class Search(NamedTuple):
    """The plan, and what a move that is not kept is undone with."""

    plan: Plan
    profile: Profile  # before the move
    reserved: np.ndarray  # (n,) int64 seconds: reservations before the move
    iterations: np.ndarray  # (1,) int64 moves to try after an early completion


def new_search(
    jobs: Jobs, processors: int, generator: np.random.Generator, iterations: int
) -> Search:
    """The plan of an empty machine."""
    count = len(jobs.submit)
    return Search(
        new_plan(jobs, processors, generator),
        new_profile(min(count, processors), count),
        np.full(count, NONE),
        np.array([iterations]),
    )


@kernel
def decide(cluster, jobs, memory):
    """Conservative backfilling, with a search for a better plan after an early completion."""
    if prepare(cluster, jobs, memory):
        search(cluster, jobs, memory, memory.iterations[0])
    finish(cluster, jobs, memory)


@kernel
def prepare(cluster, jobs, memory):
    """Close up as conservative backfilling does; return whether there was a reason to."""
    gap = update(cluster, jobs, memory.plan)
    if gap:
        close_up(memory.plan, jobs, waiting(cluster), now(cluster))
    return gap


@kernel
def finish(cluster, jobs, memory):
    """New reservations, and starts."""
    admit(cluster, jobs, memory.plan)
    start_due(cluster, jobs, memory.plan)


@kernel
def search(cluster, jobs, memory, iterations):
    """Try so many moves of jobs that have a reservation, and keep those that improve the plan.

    Returns False if there are too few jobs to try any.
    """
    plan, queue = memory.plan, waiting(cluster)
    count = 0
    while count < len(queue) and plan.reserved[queue[count]] != NONE:
        count += 1
    queue = queue[:count]
    if count < 2:
        return False
    wait, slowdown = expect(plan, jobs, queue)
    for _ in range(iterations):
        job = queue[random_number(plan.stream) % count]
        _copy(plan.profile, plan.reserved, memory.profile, memory.reserved, queue)
        move(plan, jobs, queue, job, now(cluster))
        new_wait, new_slowdown = expect(plan, jobs, queue)
        # the sum of (new - old) / old, multiplied by both totals: nobody may have to wait at all
        change = (new_wait - wait) * slowdown + (new_slowdown - slowdown) * wait
        if change < -ROUNDING * wait * slowdown:
            wait, slowdown = new_wait, new_slowdown
        else:
            _copy(memory.profile, memory.reserved, plan.profile, plan.reserved, queue)
    return True


@kernel
def move(plan, jobs, queue, job, time):
    """Take a job out of the plan, let the others close up, and put it into the first gap."""
    size, duration, reserved = jobs.size[job], jobs.estimate[job], plan.reserved[job]
    release(plan.profile, size, reserved, reserved + duration)
    plan.reserved[job] = NONE
    close_up(plan, jobs, queue, time)
    earliest = max(time, jobs.requested_start[job])
    plan.reserved[job] = place(plan.profile, size, duration, earliest)


@kernel
def expect(plan, jobs, queue):
    """Total wait (s) and total slowdown of the waiting jobs by reservations and estimates."""
    wait, slowdown = 0, 0.0
    for job in queue:
        delay = plan.reserved[job] - jobs.submit[job]
        wait += delay
        slowdown += (delay + jobs.estimate[job]) / jobs.estimate[job]
    return wait, slowdown


@kernel
def _copy(profile, reserved, other_profile, other_reserved, queue):
    """Copy one plan over another, as far as it is in use."""
    copy(profile, other_profile)
    for job in queue:
        other_reserved[job] = reserved[job]


@kernel
def run(cluster, jobs, truth, memory):
    """The event loop with this policy in it."""
    while advance(cluster, jobs, truth):
        decide(cluster, jobs, memory)


def decide_in_time(cluster, jobs, memory, limit_ms):
    """As `decide`, but the search goes on until so many milliseconds have passed."""
    begin = time.perf_counter()
    if prepare(cluster, jobs, memory):
        while search(cluster, jobs, memory, memory.iterations[0]):
            if (time.perf_counter() - begin) * 1000 >= limit_ms:
                break
    finish(cluster, jobs, memory)


def guarantees(memory: Search) -> dict[str, np.ndarray]:
    """The records of conservative backfilling; here a job may start after its guarantee."""
    return records(memory.plan)


def cons_rs(iterations: int = 20, limit_ms: float | None = None) -> Policy:
    """CONS+RS with so many moves per search, or with as many as there is time for.

    The paper gives no number of iterations; 20 have most of the effect. With a limit (that of the
    paper is 50 ms) `iterations` is ignored, and schedules differ from run to run, as the clock
    decides. Raises PolicyError on a number of iterations below 0 or a limit that is not positive.
    """
    if isinstance(iterations, bool) or not isinstance(iterations, int) or iterations < 0:
        raise PolicyError(f"iterations is a whole number from 0 on, not {iterations!r}")
    if limit_ms is None:
        return _policy(f"cons-rs(iterations={iterations})", iterations)
    if isinstance(limit_ms, bool) or not isinstance(limit_ms, int | float) or not limit_ms > 0:
        raise PolicyError(f"limit_ms is a positive number of milliseconds, not {limit_ms!r}")
    in_time = partial(decide_in_time, limit_ms=limit_ms)
    return replace(_policy(f"cons-rs(limit_ms={limit_ms})", BATCH), decide=in_time, run=None)


def _policy(name: str, iterations: int) -> Policy:
    return Policy(
        name=name,
        decide=decide,
        run=run,
        memory=partial(new_search, iterations=iterations),
        records=guarantees,
        summary="conservative, its plan improved by random moves after early completions",
        source="Klusacek and Rudova 2011",
        stochastic=True,
        stateful=True,
        requested_starts=True,
    )


CONS_RS = _policy("cons-rs", 20)
