"""The later jobs that are the first to be too late in a plan that is made in queue order.

A job that is placed at its anchor point leaves no room before that for any job that is as large
and as long or more so. So if a later one of those must start before, the plan is known to fail
without the jobs between the two being placed. Sizes and estimates are in classes, as in
`bfenv.core.openings`.
"""

from typing import NamedTuple

import numpy as np

from bfenv.core.jobs import Jobs
from bfenv.core.kernel import kernel
from bfenv.core.openings import Openings, duration_class

NONE = -1
WORTH = 5  # jobs placed for each of the queue, from which on later jobs are looked for
DEEP = 64  # jobs placed until a plan fails, on average, from which on they are


class LaterJobs(NamedTuple):
    """For each job the later jobs, as large and as long at least, that must start first."""

    first: np.ndarray  # (n,) int64 the one that must start first, or NONE
    second: np.ndarray  # (n,) int64 the one that must start next, or NONE
    first_of: np.ndarray  # (c, k) int64 the same, by the least size and duration of a class
    second_of: np.ndarray  # (c, k) int64
    noted: np.ndarray  # (1,) bool: they describe the present queue
    placed: np.ndarray  # (1,) int64 jobs placed in plans for this queue before they were noted
    plans: np.ndarray  # (1,) int64 plans in which they were placed
    worth: np.ndarray  # (1,) int64 jobs placed for each of the queue, from which on they are noted


def new_later_jobs(jobs: Jobs, openings: Openings) -> LaterJobs:
    """Return room for the jobs, in the classes of the openings."""
    count = len(jobs.submit)
    return LaterJobs(
        first=np.full(count, NONE, dtype=np.int64),
        second=np.full(count, NONE, dtype=np.int64),
        first_of=np.full(openings.front.shape, NONE, dtype=np.int64),
        second_of=np.full(openings.front.shape, NONE, dtype=np.int64),
        noted=np.zeros(1, dtype=np.bool_),
        placed=np.zeros(1, dtype=np.int64),
        plans=np.zeros(1, dtype=np.int64),
        worth=np.array([WORTH]),
    )


@kernel
def forget_later_jobs(later):
    """Forget the later jobs, because the queue has changed."""
    later.noted[0] = False
    later.placed[0] = later.plans[0] = 0


@kernel
def later_jobs_are_known(later, openings, cluster, jobs, queue, guarantee):
    """Return whether the later jobs are known; find them once that is worth its cost.

    In a short queue, and where plans fail after a few jobs, it is not.
    """
    if not later.noted[0] and openings.noted[0]:
        placed = later.placed[0]
        if placed > later.worth[0] * len(queue) and placed >= DEEP * later.plans[0]:
            note_later_jobs(later, openings, cluster, jobs, queue, guarantee)
        later.plans[0] += 1
    return later.noted[0]


@kernel
def note_later_jobs(later, openings, cluster, jobs, queue, guarantee):
    """Find the later jobs of each waiting job of the queue, the last job first."""
    first_of, second_of = later.first_of, later.second_of
    first_of[:] = NONE
    second_of[:] = NONE
    for i in range(len(queue) - 1, -1, -1):
        job = queue[i]
        if cluster.start[job] >= 0:
            continue
        size_class, row = openings.class_of[jobs.size[job]], duration_class(openings, jobs, job)
        column = size_class + int(openings.least[size_class] < jobs.size[job])
        first = row + int(openings.shortest[row] < jobs.estimate[job])
        later.first[job] = later.second[job] = NONE
        if column < first_of.shape[0] and first < first_of.shape[1]:
            later.first[job] = first_of[column, first]
            later.second[job] = second_of[column, first]
        _note(first_of, second_of, guarantee, job, size_class, row)
    later.noted[0] = True


@kernel
def _note(first_of, second_of, guarantee, job, size_class, row):
    """Note a job for the classes whose sizes and durations are at most its own."""
    for column in range(size_class, -1, -1):
        for i in range(row, -1, -1):
            second = second_of[column, i]
            if second != NONE and guarantee[second] <= guarantee[job]:
                break  # so it is for shorter durations
            first = first_of[column, i]
            if first == NONE or guarantee[job] < guarantee[first]:
                first_of[column, i], second_of[column, i] = job, first
            else:
                second_of[column, i] = job


@kernel
def too_late(later, guarantee, job, anchor, tried):
    """Return a later job that will be too late if a job is placed at `anchor`, or NONE.

    The job that is tried has been started, and cannot be too late.
    """
    first = later.first[job]
    if first == tried:
        first = later.second[job]
    if first != NONE and guarantee[first] < anchor:
        return first
    return NONE
