"""CONS+RS: conservative backfilling whose plan is improved by random search.

Klusacek and Rudova 2011. After a completion earlier than estimated the plan of conservative
backfilling has gaps. Random jobs are moved into gaps, and a move is kept if it improves the mean
slowdown and the mean wait that are to be expected.

Where the paper is silent, this follows Alea, the authors' simulator, whose plan is a list of jobs
and not of reservations. The search sets out from the plan of `bfenv.baselines.conservative`, its
jobs moved up in queue order. A move takes a job out of the plan, lets the others close up in queue
order, each never later than before, and puts the job into the first gap where it fits. Mean wait
and mean slowdown are of the waiting jobs, by their estimates, and a move is kept if the sum
of their relative changes is negative. So a job may come later than it was promised, for the good of
the others: the guarantees of conservative backfilling are given up, and records tell how often.
"""

import time
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import bfenv.baselines.reservations as rs
from bfenv.baselines.conservative import admit, records, update
from bfenv.baselines.policy_names import expression
from bfenv.baselines.shuffling import new_stream, random_number
from bfenv.core.arguments import check_integer, check_number
from bfenv.core.cluster import now, waiting, wake_at
from bfenv.core.errors import PolicyError
from bfenv.core.events import advance
from bfenv.core.jobs import Jobs
from bfenv.core.kernel import kernel
from bfenv.core.openings import copy_openings
from bfenv.core.policy import Policy

ITERATIONS = 20  # the paper gives no number; these have most of the effect
SLOTS = 2048  # of the wheel that is copied for each move
BATCH = 5  # moves between two readings of the clock
ROUNDING = 1e-9  # smaller relative changes count as none


class Memory(NamedTuple):
    """The plan, and what undoes a move that is not kept."""

    reservations: rs.Reservations
    before_move: rs.Reservations
    guarantee: np.ndarray  # (n,) int64 seconds: first reservation; NONE if started on arrival
    stream: np.ndarray  # (1,) int64 state of the random numbers
    iterations: np.ndarray  # (1,) int64 moves to try after an early completion


@kernel
def decide(cluster, jobs, memory):
    """Conservative backfilling, with a search for a better plan after an early completion."""
    if prepare(cluster, jobs, memory):
        search(cluster, jobs, memory, memory.iterations[0])
    finish(cluster, jobs, memory)


@kernel
def prepare(cluster, jobs, memory):
    """Close up as conservative backfilling does; return whether there was a reason to."""
    gap = update(cluster, jobs, memory)
    if gap:
        rs.close_up(memory.reservations, jobs, waiting(cluster), now(cluster))
    return gap


@kernel
def finish(cluster, jobs, memory):
    """Reserve for the new jobs, and start the jobs that are due."""
    admit(cluster, jobs, memory)
    wake_at(cluster, rs.start_due(memory.reservations, cluster, jobs))


@kernel
def search(cluster, jobs, memory, iterations):
    """Try `iterations` moves of jobs that have a reservation, and keep those that are better.

    Return False if there are too few jobs to try any.
    """
    reservations, queue = memory.reservations, waiting(cluster)
    count = 0
    while count < len(queue) and reservations.planned_start[queue[count]] != rs.NONE:
        count += 1
    queue = queue[:count]
    if count < 2:
        return False
    wait, slowdown = expect(reservations, jobs, queue)
    copy_plan(reservations, memory.before_move, queue)
    for _ in range(iterations):
        job = queue[random_number(memory.stream) % count]
        move(reservations, cluster, jobs, queue, job)
        new_wait, new_slowdown = expect(reservations, jobs, queue)
        # the sum of (new - old) / old, multiplied by both totals, as no job may have to wait
        change = (new_wait - wait) * slowdown + (new_slowdown - slowdown) * wait
        if change < -ROUNDING * wait * slowdown:
            wait, slowdown = new_wait, new_slowdown
            copy_plan(reservations, memory.before_move, queue)
        else:
            copy_plan(memory.before_move, reservations, queue)
    return True


@kernel
def copy_plan(plan, other, queue):
    """Make `other` the same plan for the jobs of `queue`, with all that is known of it."""
    rs.copy_reservations(plan, other, queue)
    copy_openings(plan.openings, other.openings, queue)


@kernel
def move(reservations, cluster, jobs, queue, job):
    """Take a job out of the plan, let the others close up, and put it into the first gap."""
    rs.give_up(reservations, jobs, job)
    rs.close_up(reservations, jobs, queue, now(cluster))
    rs.reserve_anchor_point(reservations, cluster, jobs, job)


@kernel
def expect(reservations, jobs, queue):
    """Return the total wait (s) and the total slowdown of the waiting jobs, as planned."""
    wait, slowdown = 0, 0.0
    for job in queue:
        delay = reservations.planned_start[job] - jobs.submit[job]
        wait += delay
        slowdown += (delay + jobs.estimate[job]) / jobs.estimate[job]
    return wait, slowdown


@kernel
def run(cluster, jobs, truth, memory):
    """The event loop with this policy in it."""
    while advance(cluster, jobs, truth):
        decide(cluster, jobs, memory)


def decide_in_time(cluster: Any, jobs: Jobs, memory: Memory, *, limit_ms: float) -> None:
    """As `decide`, but the search goes on until `limit_ms` milliseconds have passed."""
    begin = time.perf_counter()
    if prepare(cluster, jobs, memory):
        while search(cluster, jobs, memory, BATCH):
            if (time.perf_counter() - begin) * 1000 >= limit_ms:
                break
    finish(cluster, jobs, memory)


def new_memory(
    jobs: Jobs, processors: int, generator: np.random.Generator, *, iterations: int
) -> Memory:
    """Return the plan of an empty machine."""
    return Memory(
        rs.new_reservations(jobs, processors, slots=SLOTS),
        rs.new_reservations(jobs, processors, slots=SLOTS),
        np.full(len(jobs.submit), rs.NONE, dtype=np.int64),
        new_stream(generator),
        np.array([iterations]),
    )


def cons_rs(iterations: int = ITERATIONS, limit_ms: float | None = None) -> Policy:
    """Make a policy of CONS+RS.

    Args:
        iterations: Moves per search; not used with a limit.
        limit_ms: Milliseconds per search, 50 in the paper. Schedules then differ from run to run,
            because the clock decides how many moves are tried.

    Raises:
        PolicyError: If an option is out of its range.
    """
    check_integer("iterations", iterations, 0, error=PolicyError)
    policy = Policy(
        name=expression(cons_rs, {"iterations": iterations}),
        decide=decide,
        run=run,
        memory=partial(new_memory, iterations=iterations),
        records=records,  # the guarantees of conservative backfilling, which do not hold here
        summary="conservative, its plan improved by random moves after early completions",
        source="Klusacek and Rudova 2011",
        stochastic=True,
        stateful=True,
        requested_starts=True,
    )
    if limit_ms is None:
        return policy
    check_number("limit_ms", limit_ms, positive=True, error=PolicyError)
    return replace(
        policy,
        name=expression(cons_rs, {"limit_ms": limit_ms}),
        decide=partial(decide_in_time, limit_ms=limit_ms),
        run=None,
    )


CONS_RS = cons_rs()
POLICIES = (CONS_RS,)
FAMILIES = (cons_rs,)
