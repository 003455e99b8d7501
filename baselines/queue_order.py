"""The order in which a policy goes through its queue: by name, or by the value of an expression.

A policy that sorts its whole queue keeps a QueueOrder: it calls `learn_ends` in every pass, and
`sort` where it needs the order. EASY, which needs only the first jobs, has passes of its own
(`bfenv.baselines.easy_orders`).

Zotkin, Keleher and Perkovic 2000 do not say whether a job keeps its random number. `sort` draws new
ones for all waiting jobs: in conservative backfilling that gives the numbers of their Table 10, and
one number per job does not (docs/reproductions/zotkin2000.md). EASY, for which the paper has no
random figures, keeps one number per job: its head would otherwise lose its reservation to the next
number drawn.
"""

import re
from typing import NamedTuple

import numpy as np

import bfenv.knowledge.user_history as h
from bfenv.baselines.shuffling import new_stream, random_number
from bfenv.core.cluster import finished, waiting
from bfenv.core.errors import PolicyError
from bfenv.core.jobs import Jobs
from bfenv.core.kernel import kernel
from bfenv.core.text import suggest
from bfenv.knowledge.best_score import Scores, new_scores
from bfenv.knowledge.expression_program import draws_numbers, parse_expression, score_jobs
from bfenv.knowledge.expressions import RUNTIME, suggest_quantity
from bfenv.knowledge.priorities import (
    EXPRESSION,
    ORDERS,
    Order,
    Ranking,
    new_ranking,
    rank,
)


class QueueOrder(NamedTuple):
    """The waiting jobs in order, and what gives them their values."""

    ranking: Ranking
    stream: np.ndarray  # (1,) int64 state of the random numbers
    draws: np.ndarray  # (1,) bool: the order has random numbers
    scores: Scores | None  # of an expression; None for an order by name
    history: h.UserHistory | None  # what the expression may know; None for an order by name


def order_unless_none(
    order: Order | None, jobs: Jobs, generator: np.random.Generator | None
) -> QueueOrder | None:
    """Return the order of an empty queue, or None where there is no order or no generator."""
    return None if order is None or generator is None else new_queue_order(order, jobs, generator)


def new_queue_order(
    order: Order, jobs: Jobs, generator: np.random.Generator, weight: float | None = None
) -> QueueOrder:
    """Return the order of an empty queue; `weight` (1/s) is for the aged orders."""
    ranking = new_ranking(order, jobs, generator, weight)
    ranking.dynamic[0] |= order.stochastic
    draws, scores, history = np.array([order.stochastic]), None, None
    if order.code == EXPRESSION:
        scores, history = new_scores(order.formula, jobs), h.new_user_history(jobs)
        if order.stochastic:
            generator.random(len(jobs.submit))  # as many as an order by name draws
    return QueueOrder(ranking, new_stream(generator), draws, scores, history)


@kernel
def learn_ends(order, cluster, jobs):
    """Take in the jobs that have ended since the last pass."""
    if order.history is not None:
        if order.scores.program.learns[0]:
            h.learn_jobs(order.history, cluster, jobs, finished(cluster))


@kernel
def sort(order, cluster, jobs):
    """Rank the waiting jobs, which are then ranking.line[:result]."""
    if order.scores is None:
        if order.draws[0]:
            for job in waiting(cluster):
                order.ranking.number[job] = random_number(order.stream) / 2**31
    else:
        score(order, order.scores, order.history, cluster, jobs)
    return rank(order.ranking, cluster, jobs)


@kernel
def score(order, scores, history, cluster, jobs):
    """Write the values of an expression for the waiting jobs to `order.ranking.number`."""
    program, columns = scores.program, scores.columns
    if order.draws[0]:
        for job in waiting(cluster):
            history.random[job] = random_number(order.stream) / 2**31
            columns.version[job] = -1  # what was computed from the last number is out of date
    h.count_jobs(history, cluster, jobs, program.counts)
    number = order.ranking.number
    score_jobs(program, columns, history, cluster, jobs, waiting(cluster), number)


def find_order_or_expression(text: str, option: str = "order") -> Order:
    """Return the order of that name, or one by the value of an expression, the smallest first.

    Raises PolicyError if the text is neither.
    """
    if not isinstance(text, str):
        raise PolicyError(f"{option} must be the name of an order or an expression, got {text!r}")
    if text in ORDERS:
        return ORDERS[text]
    words = re.fullmatch(r"[A-Za-z]\w*(-[A-Za-z]\w*)*", text)
    if words and not set(text.split("-")) & set(h.NAMES):
        choices = f"known are {', '.join(ORDERS)}, and expressions in {', '.join(h.NAMES)}"
        hint = suggest_quantity(text) if text == RUNTIME else suggest(text, [*ORDERS, *h.NAMES])
        raise PolicyError(f"{option}: unknown order {text!r}; {hint or choices}")
    return order_by_expression(text, option)


def order_by_expression(text: str, option: str) -> Order:
    """Return the order by the value of an expression, the smallest first.

    Raises PolicyError if the text is no expression.
    """
    if not isinstance(text, str):
        raise PolicyError(f"{option} must be an expression, got {text!r}")
    program = parse_expression(text, option)
    return Order(
        text,
        EXPRESSION,
        f"smallest {text}",
        text,
        "expression",
        dynamic=bool(program.changes[0]),
        stochastic=draws_numbers(text),
    )


def must_see_all(order: Order) -> bool:
    """Tell whether a policy must make every pass, to learn from ends or to draw its numbers."""
    learns = order.code == EXPRESSION and bool(parse_expression(order.formula).learns[0])
    return order.stochastic or learns
