"""What a scorer is to the machine: its memory, and the scores of the waiting jobs.

Where to look for what is seen: `bfenv.envs.observation`, whose formulas are called here, each
rounded to float32 as in the observation. All sums are in float64, in the order of `SUMMED`.
"""

import math
from typing import NamedTuple

import numpy as np

from bfenv.core.cluster import FIRST_JOB, NEXT_JOB, finished, free, now, waiting
from bfenv.core.jobs import Jobs
from bfenv.core.kernel import kernel
from bfenv.core.profile import shadow
from bfenv.envs.observation import (
    QUEUE,
    accuracy_feature,
    clock_features,
    remember,
    request_features,
    reservation_features,
)

FEATURES = len(QUEUE)
PRESENT, SIZE, ESTIMATE, WAIT, SLOWDOWN, FITS, BEFORE_SHADOW, WITHIN_EXTRA, ACCURACY, PRIORITY = (
    [feature.name for feature in QUEUE].index(name)
    for name in (
        *("present", "size", "estimate", "wait", "slowdown"),
        *("fits", "before_shadow", "within_extra", "accuracy", "priority"),
    )
)
# The order of summation: first what stays while a job waits, which is then summed once per job.
# The feature left out is 0 in every trace that the policy takes: it plans for no requested start.
SUMMED = (
    *(PRESENT, SIZE, ESTIMATE, PRIORITY),
    *(WAIT, SLOWDOWN, FITS, BEFORE_SHADOW, WITHIN_EXTRA, ACCURACY),
)
# Numerator (without x) and denominator of `curve`, polynomials in x^2, highest power first
ABOVE = (1.0, 4095.0, 2552550.0, 523783260.0, 41247931725.0, 1159525191825.0, 7905853580625.0)
BELOW = (91.0, 120120.0, 41351310.0, 5237832600.0, 252070693875.0, 3794809718700.0, 7905853580625.0)


class Memory(NamedTuple):
    """The scorer's parameters, what it knows of users, and room to work in."""

    weights: np.ndarray  # (units, FEATURES) float64; a linear scorer is one unit
    outer: np.ndarray  # (units,) float64 weights of the units' tanh; (0,) of a linear scorer
    requests: np.ndarray  # (units, n) float64: sums over what stays while a job waits
    accuracy: np.ndarray  # (2, users) float64, see `remember`
    habits: np.ndarray  # (users + 1,) float64: each user's feature "accuracy"; last, the unknown's
    score: np.ndarray  # (n,) float64 of the job at the same place of the queue; -inf once started
    request: np.ndarray  # (n,) float64 of `requests` for one unit and the same place; or (0,)
    seen: np.ndarray  # (6, n) float64 what changes while a job waits, as `_unit` has it; or (6, 0)
    places: np.ndarray  # (n,) int64 places in the queue of jobs that may be backfilled
    looks_ahead: np.ndarray  # (1,) bool: some weight is on the head's reservation
    learns: np.ndarray  # (1,) bool: some weight is on the users' accuracy
    fresh: np.ndarray  # (1,) bool: no pass has been seen


def new_memory(
    jobs: Jobs, processors: int, generator: np.random.Generator, *, theta: np.ndarray, hidden: int
) -> Memory:
    """The memory of a scorer with parameters `theta`, see `scorer.dimension`."""
    count, users, units = len(jobs.submit), int(jobs.user.max()) + 1, max(hidden, 1)
    memory = Memory(
        weights=np.empty((units, FEATURES)),
        outer=np.empty(hidden),
        requests=np.empty((units, count)),
        accuracy=np.empty((2, users)),
        habits=np.empty(users + 1),
        score=np.empty(count),
        request=np.empty(count if hidden else 0),
        seen=np.empty((6, count if hidden else 0)),
        places=np.empty(count, dtype=np.int64),
        looks_ahead=np.empty(1, dtype=np.bool_),
        learns=np.empty(1, dtype=np.bool_),
        fresh=np.empty(1, dtype=np.bool_),
    )
    prepare(memory, jobs, processors, theta)
    return memory


@kernel
def prepare(memory, jobs, processors, theta):
    """Take parameters `theta` and forget everything else; changes `memory` in place."""
    weights = memory.weights
    memory.looks_ahead[0] = False
    memory.learns[0] = False
    for unit in range(len(weights)):
        for feature in range(FEATURES):
            weights[unit, feature] = theta[unit * FEATURES + feature]
        if weights[unit, BEFORE_SHADOW] != 0.0 or weights[unit, WITHIN_EXTRA] != 0.0:
            memory.looks_ahead[0] = True
        if weights[unit, ACCURACY] != 0.0:
            memory.learns[0] = True
    for unit in range(len(memory.outer)):
        memory.outer[unit] = theta[len(weights) * FEATURES + unit]
    for job in range(len(memory.score)):
        present, size, estimate, priority = request_features(
            jobs.size[job], jobs.estimate[job], jobs.priority[job], processors
        )
        for unit in range(len(weights)):
            memory.requests[unit, job] = (
                weights[unit, PRESENT] * np.float32(present)
                + weights[unit, SIZE] * np.float32(size)
                + weights[unit, ESTIMATE] * np.float32(estimate)
                + weights[unit, PRIORITY] * np.float32(priority)
            )
    memory.accuracy[:] = 0.0
    memory.habits[:] = -1.0
    memory.fresh[0] = True


@kernel
def learn(cluster, jobs, memory):
    """Note the jobs that ended; in the first pass also those that ended before it."""
    if memory.fresh[0]:
        memory.fresh[0] = False
        for job in range(cluster.state[FIRST_JOB], cluster.state[NEXT_JOB]):
            if 0 <= cluster.end[job] < now(cluster):
                _note(cluster, jobs, memory, job)
    for job in finished(cluster):
        _note(cluster, jobs, memory, job)


@kernel
def _note(cluster, jobs, memory, job):
    remember(cluster, jobs, memory.accuracy, job)
    user = jobs.user[job]
    if user >= 0:
        memory.habits[user] = np.float32(accuracy_feature(memory.accuracy, user))


@kernel
def write_scores(cluster, jobs, memory):
    """Write the scores of all waiting jobs as the machine stands, to `memory.score`.

    Returns the place of the best, and how many `memory.places` now holds: those of jobs that fit.
    """
    queue = waiting(cluster)
    time, available = now(cluster), free(cluster)
    shadow_time, extra_nodes = time, available
    if memory.looks_ahead[0]:
        shadow_time, extra_nodes = shadow(cluster, jobs, queue[0])
    unknown = len(memory.habits) - 1
    linear, room = len(memory.outer) == 0, memory.seen
    best, highest, fitting = 0, -math.inf, 0
    for place in range(len(queue)):
        job = queue[place]
        size, estimate = jobs.size[job], jobs.estimate[job]
        user = jobs.user[job] if jobs.user[job] >= 0 else unknown
        clock = clock_features(time, jobs.submit[job], estimate)
        head = reservation_features(time, size, estimate, shadow_time, extra_nodes)
        wait, slowdown = np.float32(clock[0]), np.float32(clock[1])
        if linear:
            seen = wait, slowdown, size <= available, head[0], head[1], memory.habits[user]
            value = _unit(memory.weights[0], memory.requests[0, job], seen)
            memory.score[place] = value
            if value > highest:
                best, highest = place, value
        else:
            room[0, place], room[1, place], room[2, place] = wait, slowdown, size <= available
            room[3, place], room[4, place], room[5, place] = head[0], head[1], memory.habits[user]
        if size <= available:
            memory.places[fitting] = place
            fitting += 1
    if not linear:
        _write_sums_of_units(memory, queue)
        best = best_of(memory.score, len(queue))
    return best, fitting


@kernel
def _unit(weights, request, seen):
    """A weighted sum of features, begun with what stays while a job waits."""
    wait, slowdown, fits, before_shadow, within_extra, accuracy = seen
    return (
        request
        + weights[WAIT] * wait
        + weights[SLOWDOWN] * slowdown
        + weights[FITS] * fits
        + weights[BEFORE_SHADOW] * before_shadow
        + weights[WITHIN_EXTRA] * within_extra
        + weights[ACCURACY] * accuracy
    )


@kernel
def _write_sums_of_units(memory, queue):
    """The scores of a network, unit by unit, so that the processor takes several jobs at a time."""
    score, request, count = memory.score, memory.request, len(queue)
    wait, slowdown, fits, before_shadow, within_extra, accuracy = (
        memory.seen[0],
        memory.seen[1],
        memory.seen[2],
        memory.seen[3],
        memory.seen[4],
        memory.seen[5],
    )
    for place in range(count):
        score[place] = 0.0
    for unit in range(len(memory.outer)):
        weights, outer = memory.weights[unit], memory.outer[unit]
        for place in range(count):
            request[place] = memory.requests[unit, queue[place]]
        for place in range(count):
            seen = (
                wait[place],
                slowdown[place],
                fits[place],
                before_shadow[place],
                within_extra[place],
                accuracy[place],
            )
            score[place] += outer * curve(_unit(weights, request[place], seen))


@kernel
def curve(x):
    """The hyperbolic tangent, within 4e-8, from sums, products and a quotient only.

    Lambert's continued fraction x / (1 + x^2 / (3 + x^2 / (5 + ...))) up to 25, cut at -1 and 1.
    Unlike a library's it is the same on every machine, and so are the schedules.
    """
    y = x * x
    above, below = ABOVE[0], BELOW[0]
    for i in range(1, len(ABOVE)):
        above = above * y + ABOVE[i]
        below = below * y + BELOW[i]
    value = x * above / below
    value = 1.0 if value > 1.0 else value
    return -1.0 if value < -1.0 else value


@kernel
def best_of(score, count):
    """The place of the highest score, the first of equals; -1 if all have started."""
    best, highest = -1, -math.inf
    for place in range(count):
        if score[place] > highest:
            best, highest = place, score[place]
    return best
