"""The waiting job with the smallest value of an expression, found without a sorted queue.

Of jobs with the same user and the same requests, the oldest has the smallest of values that do not
rise while a job waits (`bfenv.knowledge.expression_direction`). So only the first of them is looked
at (`write_firsts`); users tend to submit many at once.
"""

from typing import NamedTuple

import numpy as np

import bfenv.knowledge.expression_program as ep
from bfenv.core.cluster import PASSES
from bfenv.core.jobs import Jobs
from bfenv.core.kernel import kernel, shared_kernel
from bfenv.knowledge.user_history import group_of_alike


class Scores(NamedTuple):
    """The values of an expression that are known."""

    program: ep.Program
    columns: ep.Columns
    value: np.ndarray  # (n,) float64
    known_in: np.ndarray  # (n,) int64: the pass in which `value` is the job's
    chunk: np.ndarray  # (CHUNK,) int64 jobs to be evaluated
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
        chunk=np.empty(ep.CHUNK, dtype=np.int64),
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


@shared_kernel
def find_best(scores, history, cluster, jobs, queue):
    """Return the job of a queue with the smallest value, the first of equals; -1 if it is empty.

    If the expression has what `count_jobs` counts, call that first.
    """
    if len(queue) < 2:
        return queue[0] if len(queue) else -1
    _make_known(scores, history, cluster, jobs, queue)
    best = queue[0]
    for job in queue:
        if scores.value[job] < scores.value[best]:
            best = job
    return best


@kernel
def _make_known(scores, history, cluster, jobs, queue):
    """Evaluate those jobs of a queue whose values in this pass are not known."""
    place = 0
    while place < len(queue):
        count = 0
        while place < len(queue) and count < ep.CHUNK:
            job = queue[place]
            place += 1
            if scores.known_in[job] != cluster.state[PASSES]:
                scores.known_in[job] = cluster.state[PASSES]
                scores.chunk[count] = job
                count += 1
        if count > 0:
            part = scores.chunk[:count]
            ep.score_jobs(
                scores.program, scores.columns, history, cluster, jobs, part, scores.value
            )
