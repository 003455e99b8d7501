"""EASY with expressions, orders and believed runtimes, and with the age guard.

Before each pass of `order_pass`, the values of the expressions (`bfenv.knowledge.expressions`) and
the limit of the guard (`bfenv.baselines.age_guard`) are written to where the pass reads them.
Expressions and numbers are data. Code is compiled for each kind of guard, for either way of making
passes, and for the values of expressions, predictions, deadlines and trials.

With at most one reservation, an order whose values change needs no sorted queue: `_selection_pass`
makes the same pass from the best job and the jobs that fit. The next job is selected each time
(`bfenv.knowledge.best_score`), as few start in a pass.
"""

import math
from typing import NamedTuple

import numpy as np

import bfenv.knowledge.user_history as h
from bfenv.baselines.age_guard import AgeGuard, new_age_guard, note_starts, update_age_guard
from bfenv.baselines.easy_orders.order_pass import Memory as PassMemory
from bfenv.baselines.easy_orders.order_pass import (
    Options,
    any_fits,
    let_trials_run_on,
    may_backfill,
    note_trust,
    start_or_try,
    try_backfill,
)
from bfenv.baselines.easy_orders.order_pass import decide as order_pass
from bfenv.baselines.easy_orders.order_pass import new_memory as new_pass_memory
from bfenv.core.cluster import finished, free, now, shadow, waiting
from bfenv.core.events import advance
from bfenv.core.jobs import FOREVER, Jobs
from bfenv.core.kernel import kernel
from bfenv.knowledge.best_score import Scores, find_best, new_scores, write_firsts
from bfenv.knowledge.expression_program import draws_numbers, parse_expression, score_jobs
from bfenv.knowledge.priorities import EXPRESSION


class Memory(NamedTuple):
    """What EASY keeps, the programs of its expressions, the guard, and what is known of users."""

    easy: PassMemory
    queue: Scores
    backfill: Scores
    belief: Scores  # the backfill estimate, seconds
    history: h.UserHistory
    guard: AgeGuard | None
    uses_expression: np.ndarray  # (3,) bool: for the queue's order, the backfill's, the belief
    uses_history: np.ndarray  # (1,) bool: uses what is known of ended jobs
    counts: np.ndarray  # (3,) bool: which of `user_history.COUNTABLE` they use
    # One of the two is None, so that only one kind of pass is compiled
    selects: bool | None  # True: passes are made by `_selection_pass`
    sorts: bool | None  # True: they are made by `order_pass`
    scores: bool | None  # True: there are expressions; None: their code is not compiled
    fitting: np.ndarray  # (n,) int64 waiting jobs that fit
    firsts: np.ndarray  # (n,) int64 waiting jobs of which one may come first
    unscored: np.ndarray  # (n,) int64 waiting jobs that have no value yet
    valued: np.ndarray  # (2, 2) int64, of the queue and the backfill, if values do not change: how
    # many jobs have a value, and the number behind the youngest of them


@kernel
def decide(cluster, jobs, memory):
    """Prepare a pass of EASY, unless nothing can start, and make it."""
    let_trials_run_on(cluster, jobs, memory.easy.trial)
    if memory.uses_history[0]:
        h.learn_jobs(memory.history, cluster, jobs, finished(cluster))
    if memory.guard is not None:
        limit = update_age_guard(memory.guard, memory.history, cluster, jobs)
        memory.easy.queue.age_limit[0] = limit
        h.note_age_limit(memory.history, limit)
    if memory.selects is not None:
        _selection_pass(cluster, jobs, memory)
    if memory.sorts is not None:
        if memory.scores is not None:
            if any_fits(cluster, jobs, memory.easy, FOREVER, 0):
                _score(cluster, jobs, memory)
        order_pass(cluster, jobs, memory.easy)
    if memory.guard is not None:
        note_starts(memory.guard, cluster)


@kernel
def _score(cluster, jobs, memory):
    """Write the expressions' values of the jobs that need them."""
    h.count_jobs(memory.history, cluster, jobs, memory.counts)
    if memory.uses_expression[0]:
        number = memory.easy.queue.number
        _score_queue(cluster, jobs, memory, memory.queue, number, memory.valued[0])
    if memory.uses_expression[1]:
        number = memory.easy.backfill.number
        _score_queue(cluster, jobs, memory, memory.backfill, number, memory.valued[1])
    if memory.uses_expression[2]:
        _believe(cluster, jobs, memory, _write_fitting(cluster, jobs, memory))


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
def _selection_pass(cluster, jobs, memory):
    """Start jobs in order until one, the head, must wait; then backfill behind it."""
    count = _write_fitting(cluster, jobs, memory)
    if count == 0:
        return
    h.count_jobs(memory.history, cluster, jobs, memory.counts)
    head = _first(cluster, jobs, memory)
    while head >= 0 and jobs.size[head] <= free(cluster):
        start_or_try(cluster, jobs, memory.easy.trial, head)
        head = _first(cluster, jobs, memory)
    if head < 0 or free(cluster) == 0:
        return
    memory.easy.head_overdue[0] = _is_overdue(cluster, jobs, memory, head)
    _backfill(cluster, jobs, memory, head, count)


@kernel
def _write_fitting(cluster, jobs, memory):
    """Write the waiting jobs that fit now to `memory.fitting`; return their number."""
    count = 0
    if free(cluster) > 0:
        for job in waiting(cluster):
            if jobs.size[job] <= free(cluster) and cluster.start[job] < 0:
                memory.fitting[count] = job
                count += 1
    return count


@kernel
def _believe(cluster, jobs, memory, count):
    """Write how long the first `count` jobs of `memory.fitting` are believed to run."""
    fitting, belief = memory.fitting[:count], memory.belief
    score_jobs(belief.program, belief.columns, memory.history, cluster, jobs, fitting, belief.value)
    for job in fitting:
        runtime = min(belief.value[job], float(jobs.estimate[job]))
        memory.easy.believed[job] = max(1, math.ceil(runtime))


@kernel
def _is_overdue(cluster, jobs, memory, job):
    return now(cluster) - jobs.submit[job] > memory.easy.queue.age_limit[0]


@kernel
def _first(cluster, jobs, memory):
    """Return the job that comes first; -1 if none waits."""
    for job in waiting(cluster):
        if not _is_overdue(cluster, jobs, memory, job):
            break
        if cluster.start[job] < 0:
            return job
    queue, history = waiting(cluster), memory.history
    count = write_firsts(memory.queue, history, cluster, jobs, queue, memory.firsts)
    return find_best(memory.queue, memory.history, cluster, jobs, memory.firsts[:count])


@kernel
def _backfill(cluster, jobs, memory, head, count):
    """Start, one by one, the first of the fitting jobs that does not delay the head."""
    fitting, queue, history = memory.fitting, memory.queue, memory.history
    if memory.uses_expression[2]:
        count = _drop(cluster, jobs, memory, count, FOREVER, 0)  # what started left less room
        _believe(cluster, jobs, memory, count)
    shadow_time, extra_nodes = FOREVER, 0
    if memory.easy.reservations[0] > 0 or memory.easy.head_overdue[0]:
        shadow_time, extra_nodes = shadow(cluster, jobs, head)
    note_trust(cluster, memory.easy, head, shadow_time)
    while count > 0:
        count = _drop(cluster, jobs, memory, count, shadow_time, extra_nodes)
        if count > 0:
            job = fitting[0]  # the oldest
            if not _is_overdue(cluster, jobs, memory, job):
                first_count = write_firsts(
                    queue, history, cluster, jobs, fitting[:count], memory.firsts
                )
                job = find_best(queue, history, cluster, jobs, memory.firsts[:first_count])
            extra_nodes -= try_backfill(cluster, jobs, memory.easy, job, False, shadow_time)


@kernel
def _drop(cluster, jobs, memory, count, shadow_time, extra_nodes):
    """Drop the fitting jobs that may not be backfilled; return the number of the others."""
    kept = 0
    for job in memory.fitting[:count]:
        if may_backfill(cluster, jobs, memory.easy, job, shadow_time, extra_nodes):
            memory.fitting[kept] = job
            kept += 1
    return kept


@kernel
def run(cluster, jobs, truth, memory):
    """The event loop with this policy in it."""
    while advance(cluster, jobs, truth):
        decide(cluster, jobs, memory)


def _expressions(options: Options) -> list[str]:
    orders = options.order, options.backfill
    texts = [order.formula for order in orders if order.code == EXPRESSION]
    return [*texts, options.backfill_estimate] if options.backfill_estimate else texts


def uses_history(options: Options) -> bool:
    """Whether a policy must see every pass, to learn from what has ended."""
    learns = (parse_expression(text).learns[0] for text in _expressions(options))
    return options.guard is not None or any(learns)


def uses_random(options: Options) -> bool:
    """Whether a policy draws random numbers for its expressions."""
    return any(map(draws_numbers, _expressions(options)))


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
    queue = new_scores(orders[0].formula if scored[0] else None, jobs, selects)
    backfill = new_scores(orders[1].formula if scored[1] else None, jobs)
    belief = new_scores(options.backfill_estimate, jobs)
    programs = [scores.program for scores in (queue, backfill, belief)]
    history = h.new_user_history(jobs)
    if uses_random(options):
        rankings = zip((easy.queue, easy.backfill), orders, strict=True)
        drawn = [r.number for r, o in rankings if o.stochastic and o.code != EXPRESSION]
        # one number for each job, whatever reads it
        history.random[:] = drawn[0] if drawn else generator.random(len(jobs.submit))
    return Memory(
        easy,
        queue,
        backfill,
        belief,
        history=history,
        guard=new_age_guard(jobs, processors, options.guard_scale, options.guard),
        uses_expression=np.array([*scored, believes]),
        uses_history=np.array([uses_history(options)]),
        counts=np.logical_or.reduce([program.counts for program in programs]),
        selects=True if selects else None,
        sorts=None if selects else True,
        scores=True if any(scored) or believes else None,
        fitting=np.empty(len(jobs.submit), dtype=np.int64),
        firsts=np.empty(len(jobs.submit), dtype=np.int64),
        unscored=np.empty(len(jobs.submit), dtype=np.int64),
        valued=np.zeros((2, 2), dtype=np.int64),
    )
