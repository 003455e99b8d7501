"""CONS+RS: conservative backfilling whose plan is improved by random search.

Klusacek and Rudova 2011. After a completion earlier than estimated the plan of conservative
backfilling has gaps. Random jobs are moved into gaps, and a move is kept if it improves the mean
slowdown and the mean wait that are to be expected.

Where the paper is silent, this follows Alea, the authors' simulator, whose plan is a list of jobs
and not of reservations. The search sets out from the plan of `bfenv.baselines.conservative`, its
jobs moved up in queue order. A move takes a job out of the plan, lets the others close up in queue
order, each never later than before, and puts the job into the first gap where it fits. Mean wait
and mean slowdown are of the waiting jobs, by their estimates, and a move is kept if the weighted
sum of their relative changes is negative. So a job may come later than it was promised, for the
good of the others: the guarantees of conservative backfilling are given up, and records tell how
often.
"""

import time
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import bfenv.baselines.reservations as rs
from bfenv.baselines.conservative import admit, records, update
from bfenv.baselines.policy_names import expression
from bfenv.baselines.queue_order import (
    QueueOrder,
    find_order_or_expression,
    learn_ends,
    new_queue_order,
    sort,
)
from bfenv.baselines.shuffling import new_stream, random_number
from bfenv.core.arguments import check_choice, check_integer, check_number
from bfenv.core.cluster import now, waiting, wake_at
from bfenv.core.errors import PolicyError
from bfenv.core.events import advance
from bfenv.core.jobs import FOREVER, Jobs
from bfenv.core.kernel import kernel
from bfenv.core.openings import copy_openings
from bfenv.core.policy import Policy
from bfenv.knowledge.priorities import Order

ITERATIONS = 20  # the paper gives no number; these have most of the effect
SLOTS = 2048  # of the wheel that is copied for each move
BATCH = 5  # moves between two readings of the clock
ROUNDING = 1e-9  # smaller relative changes count as none
CHOICES = ("uniform", "wait", "slowdown")  # of the job to move
UNIFORM, BY_WAIT, BY_SLOWDOWN = range(3)


class Memory(NamedTuple):
    """The plan, and what undoes a move that is not kept."""

    reservations: rs.Reservations
    before_move: rs.Reservations
    guarantee: np.ndarray  # (n,) int64 seconds: first reservation; NONE if started on arrival
    stream: np.ndarray  # (1,) int64 state of the random numbers
    order: QueueOrder  # in which jobs move up
    iterations: np.ndarray  # (1,) int64 moves to try after an early completion
    weights: np.ndarray  # (2,) float64 of the mean wait and of the mean slowdown
    choice: np.ndarray  # (1,) int64: UNIFORM, BY_WAIT or BY_SLOWDOWN


@kernel
def decide(cluster, jobs, memory):
    """Conservative backfilling, with a search for a better plan after an early completion."""
    if prepare(cluster, jobs, memory):
        search(cluster, jobs, memory, memory.iterations[0])
    finish(cluster, jobs, memory)


@kernel
def prepare(cluster, jobs, memory):
    """Close up as conservative backfilling does; return whether there was a reason to."""
    learn_ends(memory.order, cluster, jobs)
    gap = update(cluster, jobs, memory)
    if gap:
        count = sort(memory.order, cluster, jobs)
        rs.close_up(memory.reservations, jobs, memory.order.ranking.line[:count], now(cluster))
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
    line = memory.order.ranking.line[: len(queue)]
    weight_of_wait, weight_of_slowdown = memory.weights
    count = 0
    while count < len(queue) and reservations.planned_start[queue[count]] != rs.NONE:
        count += 1
    queue = queue[:count]
    if count < 2:
        return False
    wait, slowdown = expect(reservations, jobs, queue)
    copy_plan(reservations, memory.before_move, queue)
    for _ in range(iterations):
        job = choose(memory, jobs, queue, wait, slowdown)
        move(reservations, cluster, jobs, line, job)
        new_wait, new_slowdown = expect(reservations, jobs, queue)
        # the sum of (new - old) / old, multiplied by both totals, as no job may have to wait
        change = weight_of_wait * (new_wait - wait) * slowdown
        change += weight_of_slowdown * (new_slowdown - slowdown) * wait
        if change < -ROUNDING * wait * slowdown:
            wait, slowdown = new_wait, new_slowdown
            copy_plan(reservations, memory.before_move, queue)
        else:
            copy_plan(memory.before_move, reservations, queue)
    return True


@kernel
def choose(memory, jobs, queue, wait, slowdown):
    """Return a random job to move; `wait` (s) and `slowdown` are the totals of the queue.

    By wait and by slowdown, a job is as likely as its share of the total.
    """
    number = random_number(memory.stream)
    if memory.choice[0] == UNIFORM or wait == 0:
        return queue[number % len(queue)]
    by_wait = memory.choice[0] == BY_WAIT
    left = number / 2**31 * (wait if by_wait else slowdown)
    for job in queue:
        delay = memory.reservations.planned_start[job] - jobs.submit[job]
        left -= delay if by_wait else (delay + jobs.estimate[job]) / jobs.estimate[job]
        if left < 0:
            return job
    return queue[len(queue) - 1]  # the total is rounded


@kernel
def copy_plan(plan, target, queue):
    """Make `target` the same plan for the jobs of `queue`, with all that is known of it."""
    rs.copy_reservations(plan, target, queue)
    copy_openings(plan.openings, target.openings, queue)


@kernel
def move(reservations, cluster, jobs, line, job):
    """Take a job out of the plan, let the others close up, and put it into the first gap."""
    rs.give_up(reservations, jobs, job)
    rs.close_up(reservations, jobs, line, now(cluster))
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
    """As `decide`, but the search ends when `limit_ms` milliseconds have passed."""
    begin = time.perf_counter()
    if prepare(cluster, jobs, memory):
        left = int(memory.iterations[0])
        while left > 0 and search(cluster, jobs, memory, min(BATCH, left)):
            left -= BATCH
            if (time.perf_counter() - begin) * 1000 >= limit_ms:
                break
    finish(cluster, jobs, memory)


def new_memory(
    jobs: Jobs,
    processors: int,
    generator: np.random.Generator,
    *,
    order: Order,
    iterations: int,
    weights: tuple[float, float],
    choice: str,
) -> Memory:
    """Return the plan of an empty machine."""
    return Memory(
        rs.new_reservations(jobs, processors, slots=SLOTS),
        rs.new_reservations(jobs, processors, slots=SLOTS),
        np.full(len(jobs.submit), rs.NONE, dtype=np.int64),
        new_stream(generator),
        new_queue_order(order, jobs, generator),
        np.array([iterations]),
        np.array(weights, dtype=np.float64),
        np.array([CHOICES.index(choice)]),
    )


def cons_rs(
    iterations: int | None = ITERATIONS,
    limit_ms: float | None = None,
    wait_weight: float = 1.0,
    slowdown_weight: float = 1.0,
    choice: str = "uniform",
    order: str = "fcfs",
) -> Policy:
    """Make a policy of CONS+RS.

    Args:
        iterations: Most moves per search; None for no number, which needs a limit.
        limit_ms: Most milliseconds per search, 50 in the paper; the search ends with whichever
            comes first. Schedules then differ from run to run, because the clock decides how many
            moves are tried. None for no limit.
        wait_weight, slowdown_weight: Weights of the relative changes of the mean wait and of the
            mean slowdown, whose sum decides whether a move is kept.
        choice: Which job is moved: "uniform" draws from all, as in the paper; "wait" and "slowdown"
            draw a job in proportion to its planned wait or slowdown.
        order: The order in which jobs move up: a name of `bfenv.knowledge.priorities.ORDERS`, or an
            expression as `easy` takes it.

    Raises:
        PolicyError: If an option is out of its range.
    """
    options = locals()
    if iterations is not None:
        check_integer("iterations", iterations, 0, error=PolicyError)
    elif limit_ms is None:
        raise PolicyError("cons-rs needs iterations or limit_ms")
    if limit_ms is not None:
        check_number("limit_ms", limit_ms, positive=True, error=PolicyError)
    for name in ("wait_weight", "slowdown_weight"):
        check_number(name, options[name], 0, error=PolicyError)
    if wait_weight == slowdown_weight == 0:
        raise PolicyError("wait_weight and slowdown_weight must not both be 0")
    check_choice("choice", choice, CHOICES, error=PolicyError)
    memory = partial(
        new_memory,
        order=find_order_or_expression(order),
        iterations=FOREVER if iterations is None else iterations,
        weights=(wait_weight, slowdown_weight),
        choice=choice,
    )
    policy = Policy(
        name=expression(cons_rs, options),
        decide=decide,
        run=run,
        memory=memory,
        records=records,  # the guarantees of conservative backfilling, which do not hold here
        summary="conservative, its plan improved by random moves after early completions",
        source="Klusacek and Rudova 2011",
        stochastic=True,
        stateful=True,
        requested_starts=True,
    )
    if limit_ms is None:
        return policy
    return replace(policy, decide=partial(decide_in_time, limit_ms=limit_ms), run=None)


CONS_RS = cons_rs()
POLICIES = (CONS_RS,)
FAMILIES = (cons_rs,)
