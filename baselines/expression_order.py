"""EASY with expressions: orders, believed runtimes, processors to keep free; and the age guard.

Before each pass of `easy_pass`, the values of the expressions (`bfenv.knowledge.expressions`) and
the limit of the guard (`bfenv.baselines.age_guard`) are written to where the pass reads them.
Expressions and options are data: one compiled kernel serves all of them.

With at most one reservation, an order whose values change needs no sorted queue:
`bfenv.baselines.selection_pass` makes the same pass from the best job and the jobs that fit.
"""

import re
from collections.abc import Collection
from typing import NamedTuple

import numpy as np

import bfenv.knowledge.user_history as h
from bfenv.baselines.age_guard import AgeGuard, new_age_guard, note_starts, update_age_guard
from bfenv.baselines.easy_pass import Memory as PassMemory
from bfenv.baselines.easy_pass import Options, any_fits, let_trials_run_on
from bfenv.baselines.easy_pass import decide as easy_pass
from bfenv.baselines.easy_pass import new_memory as new_pass_memory
from bfenv.baselines.selection_pass import believe, selection_pass, write_fitting
from bfenv.core.cluster import finished, free, waiting
from bfenv.core.errors import PolicyError
from bfenv.core.events import advance
from bfenv.core.jobs import FOREVER, Jobs
from bfenv.core.kernel import kernel
from bfenv.core.text import suggest
from bfenv.knowledge.best_score import Scores, new_scores
from bfenv.knowledge.expression_program import parse_expression, score_jobs
from bfenv.knowledge.expressions import RUNTIME, suggest_quantity
from bfenv.knowledge.priorities import EXPRESSION, ORDERS, Order, find_order


class Memory(NamedTuple):
    """What EASY keeps, the programs of its expressions, the guard, and what is known of users."""

    easy: PassMemory
    queue: Scores
    backfill: Scores
    belief: Scores  # the backfill estimate, seconds
    keep: Scores  # processors that a job leaves free when it starts
    history: h.UserHistory
    guard: AgeGuard
    scored: np.ndarray  # (4,) bool: the queue's order, the backfill's, the belief, or the number of
    # processors to keep free is an expression
    learns: np.ndarray  # (1,) bool: uses what is known of ended jobs
    counts: np.ndarray  # (2,) bool: uses the numbers of a user's waiting and of its running jobs
    selects: np.ndarray  # (1,) bool: by `selection_pass`
    fitting: np.ndarray  # (n,) int64 waiting jobs that fit
    firsts: np.ndarray  # (n,) int64 waiting jobs of which one may come first
    unscored: np.ndarray  # (n,) int64 waiting jobs that have no value yet
    valued: np.ndarray  # (3, 2) int64, of the queue, the backfill and what to keep free, if values
    # do not change: how many jobs have a value, and the number behind the youngest of them


@kernel
def decide(cluster, jobs, memory):
    """Prepare a pass of EASY, unless nothing can start, and make it."""
    let_trials_run_on(cluster, jobs, memory.easy.trial)
    if memory.learns[0]:
        h.learn_jobs(memory.history, cluster, jobs, finished(cluster))
    limit = update_age_guard(memory.guard, memory.history, cluster, jobs)
    memory.easy.queue.age_limit[0] = limit
    h.note_age_limit(memory.history, limit)
    if memory.selects[0]:
        selection_pass(cluster, jobs, memory)
    else:
        if memory.scored[3] and free(cluster) > 0:
            h.count_jobs(memory.history, cluster, jobs, memory.counts[0], memory.counts[1])
            _score_queue(cluster, jobs, memory, memory.keep, memory.easy.keep, memory.valued[2])
        if any_fits(cluster, jobs, memory.easy, FOREVER, 0):
            _score(cluster, jobs, memory)
        easy_pass(cluster, jobs, memory.easy)
    note_starts(memory.guard, cluster)


@kernel
def _score(cluster, jobs, memory):
    """Write the expressions' values of the jobs that need them."""
    h.count_jobs(memory.history, cluster, jobs, memory.counts[0], memory.counts[1])
    if memory.scored[0]:
        number = memory.easy.queue.number
        _score_queue(cluster, jobs, memory, memory.queue, number, memory.valued[0])
    if memory.scored[1]:
        number = memory.easy.backfill.number
        _score_queue(cluster, jobs, memory, memory.backfill, number, memory.valued[1])
    if memory.scored[2]:
        believe(cluster, jobs, memory, write_fitting(cluster, jobs, memory))


@kernel
def _score_queue(cluster, jobs, memory, scores, number, valued):
    """Write the values of the waiting jobs that have none, or of all if values change."""
    todo = waiting(cluster)
    if not scores.program.changes[0]:
        todo = memory.unscored[: _list_unscored(todo, memory.unscored, number, valued)]
    score_jobs(scores.program, scores.columns, memory.history, cluster, jobs, todo, number)


@kernel
def _list_unscored(queue, unscored, number, valued):
    """List the jobs of a queue that have no value yet; return how many they are.

    They are the last ones, unless an outage or a window has hidden older jobs until now.
    """
    first = 0
    if valued[0] == valued[1]:
        first = len(queue)
        while first > 0 and np.isnan(number[queue[first - 1]]):
            first -= 1
    count = 0
    for job in queue[first:]:
        if np.isnan(number[job]):
            unscored[count] = job
            count += 1
    if count > 0:
        valued[0] += count
        valued[1] = max(valued[1], unscored[count - 1] + 1)
    return count


@kernel
def run(cluster, jobs, truth, memory):
    """The event loop with this policy in it."""
    while advance(cluster, jobs, truth):
        decide(cluster, jobs, memory)


def find_order_or_expression(
    text: str, option: str = "order", names: Collection[str] = ORDERS
) -> Order:
    """Return the order of that name, or one by the value of an expression, the smallest first.

    Only orders in `names` are found. The message lists all of `names`.

    Raises PolicyError if the text is neither.
    """
    if not isinstance(text, str):
        raise PolicyError(f"{option} must be the name of an order or an expression, got {text!r}")
    if text in names:
        return find_order(text, option)
    words = re.fullmatch(r"[A-Za-z]\w*(-[A-Za-z]\w*)*", text)
    if words and not set(text.split("-")) & set(h.NAMES):
        known = f"known are {', '.join(names)}, and expressions in {', '.join(h.NAMES)}"
        hint = suggest_quantity(text) if text == RUNTIME else suggest(text, [*names, *h.NAMES])
        raise PolicyError(f"{option}: unknown order {text!r}; {hint or known}")
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
    texts += [text for text in (options.backfill_estimate, options.keep) if text]
    return options.guard is not None or any(parse_expression(text).learns[0] for text in texts)


def new_memory(
    jobs: Jobs, processors: int, generator: np.random.Generator, *, options: Options
) -> Memory:
    """Return the memory for these options."""
    orders = options.order, options.backfill
    scored = [order.code == EXPRESSION for order in orders]
    easy = new_pass_memory(jobs, processors, generator, options=options)
    if scored[1] and not easy.two_orders[0]:
        scored[1] = False  # the backfill shares the queue's ranking
    believes = options.backfill_estimate is not None
    same_order = options.backfill == options.order
    selects = (
        orders[0].code == EXPRESSION
        and (orders[0].dynamic or options.guard is not None)  # else the queue stays sorted
        and same_order
        and options.reservations in (0, 1)
        and options.lookahead == FOREVER
        and options.predictor is None
        and options.shadow_intervals < 0
    )
    learns = uses_history(options)
    queue = new_scores(orders[0].formula if scored[0] else None, jobs, selects)
    backfill = new_scores(orders[1].formula if scored[1] else None, jobs)
    belief = new_scores(options.backfill_estimate, jobs)
    keep = new_scores(options.keep, jobs)
    programs = [each.program for each in (queue, backfill, belief, keep)]
    return Memory(
        easy,
        queue,
        backfill,
        belief,
        keep,
        history=h.new_user_history(jobs),
        guard=new_age_guard(jobs, processors, options.guard_scale, options.guard),
        scored=np.array([*scored, believes, options.keep is not None]),
        learns=np.array([learns]),
        counts=np.logical_or.reduce([program.counts for program in programs]),
        selects=np.array([selects]),
        fitting=np.empty(len(jobs.submit), dtype=np.int64),
        firsts=np.empty(len(jobs.submit), dtype=np.int64),
        unscored=np.empty(len(jobs.submit), dtype=np.int64),
        valued=np.zeros((3, 2), dtype=np.int64),
    )
