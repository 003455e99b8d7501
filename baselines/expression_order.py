"""EASY with what is known of users: orders by expressions, believed runtimes, the age guard.

Before each pass of `easy_pass`, the values of the expressions (`bfenv.baselines.expressions`) and
the limit of the guard (`bfenv.baselines.age_guard`) are written to where the pass reads them.
Expressions and options are data: one compiled kernel serves all of them.
"""

import math
import re
from typing import NamedTuple

import numpy as np

from bfenv.baselines.age_guard import AgeGuard, new_age_guard, note_starts, update_age_guard
from bfenv.baselines.easy_pass import Memory as PassMemory
from bfenv.baselines.easy_pass import Options, any_fits
from bfenv.baselines.easy_pass import decide as easy_pass
from bfenv.baselines.easy_pass import new_memory as new_pass_memory
from bfenv.baselines.expressions import Program, parse_expression, score_jobs
from bfenv.baselines.priorities import EXPRESSION, ORDERS, Order, find_order
from bfenv.baselines.user_history import NAMES, UserHistory, learn, new_user_history
from bfenv.core.cluster import advance, free, waiting
from bfenv.core.errors import PolicyError
from bfenv.core.jobs import FOREVER, Jobs
from bfenv.core.kernel import kernel

PLACEHOLDER = "submit"  # the program of an order that is not an expression; it is not run


class Memory(NamedTuple):
    """What EASY keeps, the programs of its expressions, the guard, and what is known of users."""

    easy: PassMemory
    queue: Program
    backfill: Program
    belief: Program  # the backfill estimate
    history: UserHistory
    guard: AgeGuard
    scored: np.ndarray  # (3,) bool: the queue's order, the backfill's, the belief is an expression
    learns: np.ndarray  # (1,) bool: uses what is known of ended jobs
    value: np.ndarray  # (n,) float64 seconds, of the belief; or (0,)
    fitting: np.ndarray  # (n,) int64 jobs; or (0,)


@kernel
def decide(cluster, jobs, memory):
    """Prepare a pass of EASY, unless nothing can start, and make it."""
    if memory.learns[0]:
        learn(memory.history, cluster, jobs)
    limit = update_age_guard(memory.guard, memory.history, cluster, jobs)
    memory.easy.queue.age_limit[0] = limit
    if any_fits(cluster, jobs, memory.easy, FOREVER, 0):
        _score(cluster, jobs, memory)
    easy_pass(cluster, jobs, memory.easy)
    note_starts(memory.guard, cluster, jobs)


@kernel
def _score(cluster, jobs, memory):
    """Write the expressions' values of the jobs that need them."""
    queue = waiting(cluster)
    if memory.scored[0]:
        number = memory.easy.queue.number
        first = _first_to_score(queue, memory.queue, number)
        score_jobs(memory.queue, memory.history, cluster, jobs, queue[first:], number)
    if memory.scored[1]:
        number = memory.easy.backfill.number
        first = _first_to_score(queue, memory.backfill, number)
        score_jobs(memory.backfill, memory.history, cluster, jobs, queue[first:], number)
    if memory.scored[2]:
        _believe(cluster, jobs, memory)


@kernel
def _believe(cluster, jobs, memory):
    """Write how long the jobs that fit are believed to run."""
    count = 0
    for job in waiting(cluster):
        if jobs.size[job] <= free(cluster):
            memory.fitting[count] = job
            count += 1
    fitting = memory.fitting[:count]
    score_jobs(memory.belief, memory.history, cluster, jobs, fitting, memory.value)
    for job in fitting:
        runtime = min(memory.value[job], float(jobs.estimate[job]))
        memory.easy.believed[job] = max(1, math.ceil(runtime))


@kernel
def _first_to_score(queue, program, number):
    """Return where in the queue the jobs begin that have no score, or all if scores change."""
    if program.changes[0]:
        return 0
    first = len(queue)
    while first > 0 and np.isnan(number[queue[first - 1]]):
        first -= 1
    return first


@kernel
def run(cluster, jobs, truth, memory):
    """The event loop with this policy in it."""
    while advance(cluster, jobs, truth):
        decide(cluster, jobs, memory)


def find_order_or_expression(text: str, option: str = "order") -> Order:
    """Return the order of that name, or one by the value of an expression, the smallest first.

    Raises
    ------
    PolicyError
        If the text is neither.
    """
    if text in ORDERS:
        return find_order(text, option)
    if not isinstance(text, str):
        raise PolicyError(f"{option} must be the name of an order or an expression, got {text!r}")
    words = re.fullmatch(r"[A-Za-z]\w*(-[A-Za-z]\w*)*", text)
    if words and not set(text.split("-")) & set(NAMES):
        raise PolicyError(
            f"{option} must be one of {', '.join(ORDERS)}, or an expression in "
            f"{', '.join(NAMES)}; got {text!r}"
        )
    program = parse_expression(text, option)
    return Order(
        text,
        EXPRESSION,
        f"smallest {text}",
        text,
        "expression",
        dynamic=bool(program.changes[0]),
    )


def uses_history(options: Options) -> bool:
    """Whether a policy must see every pass, to learn from what has ended."""
    texts = [each.formula for each in (options.order, options.backfill) if each.code == EXPRESSION]
    if options.backfill_estimate:
        texts.append(options.backfill_estimate)
    return options.guard is not None or any(parse_expression(text).learns[0] for text in texts)


def new_memory(
    jobs: Jobs, processors: int, generator: np.random.Generator, *, options: Options
) -> Memory:
    """Return the memory for these options."""
    orders = options.order, options.backfill
    scored = [order.code == EXPRESSION for order in orders]
    queue, backfill = (
        parse_expression(order.formula if is_scored else PLACEHOLDER)
        for order, is_scored in zip(orders, scored, strict=True)
    )
    easy = new_pass_memory(jobs, processors, generator, options=options)
    if scored[1] and not easy.two_orders[0]:
        scored[1] = False  # the backfill shares the queue's ranking
    believes = options.backfill_estimate is not None
    count = len(jobs.submit) if believes else 0
    return Memory(
        easy,
        queue,
        backfill,
        parse_expression(options.backfill_estimate or PLACEHOLDER),
        new_user_history(jobs),
        new_age_guard(jobs, processors, options.guard_scale, options.guard),
        scored=np.array([*scored, believes]),
        learns=np.array([uses_history(options)]),
        value=np.empty(count),
        fitting=np.empty(count, dtype=np.int64),
    )
