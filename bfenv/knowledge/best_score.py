"""The waiting job with the smallest value of an expression, found without looking at all of them.

A value that only falls or only rises while a job waits (`bfenv.knowledge.expression_direction`) is
between its values at the beginning and at the end of a period. So each job has a lower and an upper
bound that hold for a period, unless what is known of the job changes. Only jobs whose lower bound
is not above all upper bounds are evaluated, unless there is just one. The result is exact.

Of jobs with the same user and the same requests, the oldest has the smallest of falling values. So
only the first of them is looked at (`write_firsts`); users tend to submit many at once.
"""

from typing import NamedTuple

import numpy as np

import bfenv.knowledge.expression_program as ep
from bfenv.core.cluster import PASSES, now
from bfenv.core.jobs import FOREVER, Jobs
from bfenv.core.kernel import kernel
from bfenv.knowledge.expression_direction import STAYS, UNKNOWN
from bfenv.knowledge.user_history import group_of_alike

SHORTEST = 900  # seconds of a period
SHARE = 8  # a longer period is this part of the time waited
FEW = 24  # jobs that are evaluated without bounds
MARGIN = 1e-9  # of a bound, for functions that do not round in order


class Scores(NamedTuple):
    """The values of an expression that are known, and bounds on those that are not."""

    program: ep.Program
    columns: ep.Columns
    value: np.ndarray  # (n,) float64
    known_in: np.ndarray  # (n,) int64: the pass in which `value` is the job's; FOREVER: in any
    lowest: np.ndarray  # (n,) float64: no larger than the job's value
    highest: np.ndarray  # (n,) float64: no smaller than the job's value
    until: np.ndarray  # (n,) int64 seconds: the last instant at which the bounds hold
    some: np.ndarray  # (CHUNK,) int64 jobs to be evaluated
    met_in: np.ndarray  # (g, 2) int64: the number of the last list in which one of a group was
    # met, without and with a trial
    lists: np.ndarray  # (1,) int64: number of lists so far


def new_scores(text: str | None, jobs: Jobs, selects: bool = False) -> Scores:
    """Make the scores by an expression, of which nothing is known; None for no scores at all.

    With `selects` they have what `write_firsts` needs.
    """
    program = ep.parse_expression(text or "submit")
    count = len(jobs.submit) if text else 0
    listed = count if selects and program.by_age[0] else 0
    return Scores(
        program,
        ep.new_columns(program, count),
        value=np.empty(count),
        known_in=np.full(count, -1),
        lowest=np.full(count, -np.inf),
        highest=np.full(count, np.inf),
        until=np.full(count, -1),
        some=np.empty(ep.CHUNK, dtype=np.int64),
        met_in=np.zeros((2 * listed + 1, 2), dtype=np.int64),
        lists=np.zeros(1, dtype=np.int64),
    )


@kernel
def write_firsts(scores, history, cluster, jobs, queue, firsts):
    """Write the waiting jobs of a queue that may have the smallest value; return their number.

    They are in the order of the queue, which is by submission. `firsts` may be the queue.
    """
    scores.lists[0] += 1
    count = 0
    for job in queue:
        if cluster.start[job] < 0:
            if scores.program.by_age[0]:
                met_in = scores.met_in[group_of_alike(history, jobs, job)]
                tried = int(cluster.trial_end[job] >= 0)
                if met_in[tried] == scores.lists[0]:
                    continue
                met_in[tried] = scores.lists[0]
            firsts[count] = job
            count += 1
    return count


@kernel
def find_best(scores, history, cluster, jobs, queue):
    """Return the job of a queue with the smallest value, the first of equals; -1 if it is empty.

    If the expression counts a user's jobs, call `count_jobs` first.
    """
    if len(queue) <= FEW:
        return find_best_of_few(scores, history, cluster, jobs, queue)
    renew_bounds(scores, history, cluster, jobs, queue)
    # the job with the lowest upper bound, that bound, and the lowest lower bound of the others
    best, limit, others = -1, np.inf, np.inf
    for job in queue:
        rival = job
        if scores.highest[job] < limit:
            rival, best, limit = best, job, scores.highest[job]
        if rival >= 0:
            others = min(others, scores.lowest[rival])
    if others > limit:
        return best
    make_known(scores, history, cluster, jobs, queue, limit)
    best = -1
    for job in queue:
        if scores.lowest[job] <= limit and (best < 0 or scores.value[job] < scores.value[best]):
            best = job
    return best


@kernel
def find_best_of_few(scores, history, cluster, jobs, queue):
    """Return what `find_best` does, without bounds, which save no time for a few jobs."""
    if len(queue) < 2:
        return queue[0] if len(queue) else -1
    make_known(scores, history, cluster, jobs, queue, np.inf)
    best = queue[0]
    for job in queue:
        if scores.value[job] < scores.value[best]:
            best = job
    return best


@kernel
def renew_bounds(scores, history, cluster, jobs, queue):
    """Renew the bounds of the jobs of a queue that do not hold any more."""
    time, next = now(cluster), 0
    while next < len(queue):
        count = 0
        while next < len(queue) and count < ep.CHUNK // 2:
            job = queue[next]
            next += 1
            if scores.until[job] < time or ep.has_changed(
                scores.program, scores.columns, history, cluster, jobs, job
            ):
                scores.some[count] = job
                count += 1
        if count > 0:
            _renew(scores, history, cluster, jobs, count)


@kernel
def _renew(scores, history, cluster, jobs, count):
    """Evaluate the first jobs of `some`, up to CHUNK // 2, at both ends of a period."""
    some, wait, goes = scores.some, scores.program.wait, scores.program.direction[0]
    ends = 1 if goes == STAYS or goes == UNKNOWN else 2
    for i in range(count, ends * count):
        some[i] = some[i - count]
    ep.write_waits(scores.program, cluster, jobs, some[: ends * count])
    for i in range(count, ends * count):
        wait[i] += max(SHORTEST, int(wait[i]) // SHARE)
    _evaluate(scores, history, cluster, jobs, count, some[: ends * count])
    for i in range(count):
        job, last = some[i], (ends - 1) * count + i
        value, later = scores.program.stack[0, i], scores.program.stack[0, last]
        low, high = min(value, later), max(value, later)
        scores.until[job] = FOREVER if goes == STAYS else jobs.submit[job] + int(wait[last])
        bounded = goes != UNKNOWN and high < np.inf  # infinity may be NaN
        scores.lowest[job] = low - MARGIN * abs(low) if bounded else -np.inf
        scores.highest[job] = high + MARGIN * abs(high) if bounded else np.inf


@kernel
def make_known(scores, history, cluster, jobs, queue, limit):
    """Evaluate those jobs whose values are not known and may be `limit` or less."""
    next = 0
    while next < len(queue):
        count = 0
        while next < len(queue) and count < ep.CHUNK:
            job = queue[next]
            next += 1
            if scores.lowest[job] <= limit and not _is_known(scores, history, cluster, jobs, job):
                scores.some[count] = job
                count += 1
        if count > 0:
            ep.write_waits(scores.program, cluster, jobs, scores.some[:count])
            _evaluate(scores, history, cluster, jobs, count, scores.some[:count])


@kernel
def _evaluate(scores, history, cluster, jobs, count, part):
    """Compute values after the waits in program.wait; the first `count` are present waits."""
    ep.evaluate(scores.program, scores.columns, history, cluster, jobs, part)
    stays = scores.program.direction[0] == STAYS
    for i in range(count):
        scores.value[part[i]] = scores.program.stack[0, i]
        scores.known_in[part[i]] = FOREVER if stays else cluster.state[PASSES]
    columns = scores.columns
    for job in columns.stale[ep.COUNTED, : columns.stale_count[ep.COUNTED]]:
        scores.until[job] = -1
        scores.lowest[job] = -np.inf
        scores.highest[job] = np.inf


@kernel
def _is_known(scores, history, cluster, jobs, job):
    """Return whether `value` belongs to this pass."""
    if scores.known_in[job] == FOREVER:
        return not ep.has_changed(scores.program, scores.columns, history, cluster, jobs, job)
    return scores.known_in[job] == cluster.state[PASSES]
