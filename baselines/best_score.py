"""The waiting job with the smallest value of an expression, found without looking at all of them.

A value that only falls while a job waits is at least what it will be at the end of a period; one
that only rises, at least what it was at its beginning (`bfenv.baselines.expression_direction`). So
each job has a lower bound that holds for a period, unless the history of its user changes. Only
jobs whose bound is not above the best value found are evaluated. The result is exact.
"""

from typing import NamedTuple

import numpy as np

from bfenv.baselines.expression_direction import FALLS, RISES, STAYS
from bfenv.baselines.expression_program import (
    CHUNK,
    Columns,
    Program,
    evaluate,
    evaluate_after,
    new_columns,
    parse_expression,
    refresh_columns,
    version,
)
from bfenv.baselines.user_history import count_jobs
from bfenv.core.cluster import PASSES, now
from bfenv.core.jobs import FOREVER, Jobs
from bfenv.core.kernel import kernel

SHORTEST = 900  # seconds of a period
SHARE = 8  # a longer period is this part of the time waited
MARGIN = 1e-9  # of a bound, for functions that do not round in order


class Scores(NamedTuple):
    """The values of an expression that are known, and bounds on those that are not."""

    program: Program
    columns: Columns
    value: np.ndarray  # (n,) float64
    known_in: np.ndarray  # (n,) int64: the pass in which `value` is the job's; FOREVER: in any
    bound: np.ndarray  # (n,) float64: no larger than the job's value
    until: np.ndarray  # (n,) int64 seconds: the last instant at which `bound` holds
    some: np.ndarray  # (CHUNK,) int64 jobs to be evaluated


def new_scores(text: str | None, jobs: Jobs) -> Scores:
    """Make the scores by an expression, of which nothing is known; None for no scores at all."""
    program = parse_expression(text or "submit")
    count = len(jobs.submit) if text else 0
    return Scores(
        program,
        new_columns(program, count),
        value=np.empty(count),
        known_in=np.full(count, -1),
        bound=np.full(count, -np.inf),
        until=np.full(count, -1),
        some=np.empty(CHUNK, dtype=np.int64),
    )


@kernel
def begin_pass(scores, history, cluster, jobs, queue):
    """Renew the bounds of a queue that do not hold any more."""
    if scores.program.counts[0]:
        count_jobs(history, cluster, jobs)
    time, count = now(cluster), 0
    for job in queue:
        if scores.until[job] < time or scores.columns.version[job] != version(
            scores.program, history, cluster, jobs, job
        ):
            scores.some[count] = job
            count += 1
            if count == CHUNK:
                _renew(scores, history, cluster, jobs, scores.some)
                count = 0
    if count > 0:
        _renew(scores, history, cluster, jobs, scores.some[:count])


@kernel
def _renew(scores, history, cluster, jobs, part):
    """Evaluate up to CHUNK jobs, and bound their values for a time."""
    refresh_columns(scores.program, scores.columns, history, cluster, jobs, part)
    _evaluate(scores, history, cluster, jobs, part)
    goes = scores.program.direction[0]
    if goes == STAYS:
        for job in part:
            scores.bound[job] = scores.value[job]
            scores.until[job] = scores.known_in[job] = FOREVER
    elif goes == FALLS or goes == RISES:
        _bound(scores, history, cluster, jobs, part)


@kernel
def _evaluate(scores, history, cluster, jobs, part):
    """Write the values of up to CHUNK jobs, whose columns are fresh."""
    evaluate(scores.program, scores.columns, history, cluster, jobs, part)
    for i in range(len(part)):
        scores.value[part[i]] = scores.program.stack[0, i]
        scores.known_in[part[i]] = cluster.state[PASSES]


@kernel
def _bound(scores, history, cluster, jobs, part):
    """Bound the values of up to CHUNK jobs, just evaluated, for a period."""
    wait = scores.program.wait
    for i in range(len(part)):
        period = max(SHORTEST, int(wait[i]) // SHARE)
        scores.until[part[i]] = now(cluster) + period
        wait[i] += period
    if scores.program.direction[0] == FALLS:
        evaluate_after(scores.program, scores.columns, history, cluster, jobs, part)
    for i in range(len(part)):
        value = scores.program.stack[0, i]
        # an infinite value may stand for NaN, which bounds nothing
        lowered = value - MARGIN * abs(value) if value < np.inf else -np.inf
        scores.bound[part[i]] = lowered


@kernel
def find_best(scores, history, cluster, jobs, queue):
    """Return the job of a queue with the smallest value, the first of equals; -1 if none waits.

    Jobs started in this pass are passed over. Call `begin_pass` first.
    """
    promising = -1
    for job in queue:
        if cluster.start[job] < 0 and (
            promising < 0 or scores.bound[job] < scores.bound[promising]
        ):
            promising = job
    if promising < 0:
        return -1
    scores.some[0] = promising
    make_known(scores, history, cluster, jobs, scores.some[:1])
    highest = scores.value[promising]
    _make_known_below(scores, history, cluster, jobs, queue, highest)
    best = -1
    for job in queue:
        if cluster.start[job] < 0 and scores.bound[job] <= highest:
            if best < 0 or scores.value[job] < scores.value[best]:
                best = job
    return best


@kernel
def _make_known_below(scores, history, cluster, jobs, queue, highest):
    """Evaluate the waiting jobs whose value may be `highest` or less."""
    count = 0
    for job in queue:
        if (
            cluster.start[job] < 0
            and scores.bound[job] <= highest
            and not _is_known(scores, cluster, job)
        ):
            scores.some[count] = job
            count += 1
            if count == CHUNK:
                _evaluate(scores, history, cluster, jobs, scores.some)
                count = 0
    if count > 0:
        _evaluate(scores, history, cluster, jobs, scores.some[:count])


@kernel
def make_known(scores, history, cluster, jobs, part):
    """Evaluate those jobs whose values are not known."""
    count = 0
    for job in part:
        if not _is_known(scores, cluster, job):
            scores.some[count] = job
            count += 1
            if count == CHUNK:
                _evaluate(scores, history, cluster, jobs, scores.some)
                count = 0
    if count > 0:
        _evaluate(scores, history, cluster, jobs, scores.some[:count])


@kernel
def _is_known(scores, cluster, job):
    """Return whether `value` is that of this pass."""
    return scores.known_in[job] == FOREVER or scores.known_in[job] == cluster.state[PASSES]
