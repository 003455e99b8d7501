"""The memory of a scorer, and the kernels that score the waiting jobs.

Features are those of `bfenv.agents.search.features`, rounded to float32. All sums are float64, in
the order of `SUMMED`.
"""

import math
from typing import NamedTuple

import numpy as np

from bfenv.agents.search.features import (
    JOB_ACCURACY,
    JOB_BEFORE_SHADOW,
    JOB_ESTIMATE,
    JOB_FITS,
    JOB_PRESENT,
    JOB_PRIORITY,
    JOB_SIZE,
    JOB_SLOWDOWN,
    JOB_WAIT,
    JOB_WITHIN_EXTRA,
    NAMES,
    accuracy_feature,
    clock_features,
    record_accuracy,
    request_features,
    reservation_features,
)
from bfenv.core.cluster import FIRST_JOB, NEXT_JOB, finished, free, now, waiting
from bfenv.core.jobs import Jobs
from bfenv.core.kernel import kernel
from bfenv.core.profile import shadow

FEATURES = len(NAMES)
# The order of summation: first the features that stay while a job waits, summed once per job, then
# those that change. JOB_START_IN is left out: it is 0 in every trace that the policy takes, as it
# does not plan for requested start times.
SUMMED = (
    JOB_PRESENT,
    JOB_SIZE,
    JOB_ESTIMATE,
    JOB_PRIORITY,
    JOB_WAIT,
    JOB_SLOWDOWN,
    JOB_FITS,
    JOB_BEFORE_SHADOW,
    JOB_WITHIN_EXTRA,
    JOB_ACCURACY,
)
# Numerator (without x) and denominator of `tanh_rational`, polynomials in x^2, highest power first
NUMERATOR = (1.0, 4095.0, 2552550.0, 523783260.0, 41247931725.0, 1159525191825.0, 7905853580625.0)
DENOMINATOR = (
    91.0,
    120120.0,
    41351310.0,
    5237832600.0,
    252070693875.0,
    3794809718700.0,
    7905853580625.0,
)


class Memory(NamedTuple):
    """The scorer's parameters, what it knows of users, and room to work in."""

    weights: np.ndarray  # (units, FEATURES) float64; a linear scorer is one unit
    outer: np.ndarray  # (units,) float64 weights of the units' tanh; (0,) of a linear scorer
    request_sums: np.ndarray  # (units, n) float64 by job: sums over what stays while it waits
    accuracy: np.ndarray  # (2, users) float64, see `record_accuracy`
    user_accuracy: np.ndarray  # (users + 1,) float64 feature of each user; the last: user unknown
    # By position in the queue; the last two are needed by networks only, else n is 0
    score: np.ndarray  # (n,) float64; -inf once started
    request_sum: np.ndarray  # (n,) float64: `request_sums` of one unit
    changing: np.ndarray  # (FEATURES, n) float64: the features that change while a job waits
    fitting: np.ndarray  # (n,) int64 positions in the queue of jobs that fit
    uses_reservation: np.ndarray  # (1,) bool: some weight is on the head's reservation
    uses_accuracy: np.ndarray  # (1,) bool: some weight is on the users' accuracy
    is_first_pass: np.ndarray  # (1,) bool: no pass has been seen


def new_memory(
    jobs: Jobs, processors: int, generator: np.random.Generator, *, theta: np.ndarray, hidden: int
) -> Memory:
    """Make the memory of a scorer with parameters `theta`, see `scorers.dimension`."""
    count, users, units = len(jobs.submit), int(jobs.user.max()) + 1, max(hidden, 1)
    memory = Memory(
        weights=np.empty((units, FEATURES)),
        outer=np.empty(hidden),
        request_sums=np.empty((units, count)),
        accuracy=np.empty((2, users)),
        user_accuracy=np.empty(users + 1),
        score=np.empty(count),
        request_sum=np.empty(count if hidden else 0),
        changing=np.empty((FEATURES, count if hidden else 0)),
        fitting=np.empty(count, dtype=np.int64),
        uses_reservation=np.empty(1, dtype=np.bool_),
        uses_accuracy=np.empty(1, dtype=np.bool_),
        is_first_pass=np.empty(1, dtype=np.bool_),
    )
    prepare(memory, jobs, processors, theta)
    return memory


@kernel
def prepare(memory, jobs, processors, theta):
    """Set the parameters to `theta` and clear the rest of `memory`, in place."""
    weights = memory.weights
    memory.uses_reservation[0] = False
    memory.uses_accuracy[0] = False
    for unit in range(len(weights)):
        for feature in range(FEATURES):
            weights[unit, feature] = theta[unit * FEATURES + feature]
        if weights[unit, JOB_BEFORE_SHADOW] != 0.0 or weights[unit, JOB_WITHIN_EXTRA] != 0.0:
            memory.uses_reservation[0] = True
        if weights[unit, JOB_ACCURACY] != 0.0:
            memory.uses_accuracy[0] = True
    for unit in range(len(memory.outer)):
        memory.outer[unit] = theta[len(weights) * FEATURES + unit]
    for job in range(len(memory.score)):
        present, size, estimate, priority = request_features(
            jobs.size[job], jobs.estimate[job], jobs.priority[job], processors
        )
        for unit in range(len(weights)):
            memory.request_sums[unit, job] = (
                weights[unit, JOB_PRESENT] * np.float32(present)
                + weights[unit, JOB_SIZE] * np.float32(size)
                + weights[unit, JOB_ESTIMATE] * np.float32(estimate)
                + weights[unit, JOB_PRIORITY] * np.float32(priority)
            )
    memory.accuracy[:] = 0.0
    memory.user_accuracy[:] = -1.0
    memory.is_first_pass[0] = True


@kernel
def record_ended(cluster, jobs, memory):
    """Record the jobs that ended; in the first pass also those that ended before it."""
    if memory.is_first_pass[0]:
        memory.is_first_pass[0] = False
        for job in range(cluster.state[FIRST_JOB], cluster.state[NEXT_JOB]):
            if 0 <= cluster.end[job] < now(cluster):
                _record(cluster, jobs, memory, job)
    for job in finished(cluster):
        _record(cluster, jobs, memory, job)


@kernel
def _record(cluster, jobs, memory, job):
    record_accuracy(cluster, jobs, memory.accuracy, job)
    user = jobs.user[job]
    if user >= 0:
        memory.user_accuracy[user] = np.float32(accuracy_feature(memory.accuracy, user))


@kernel
def write_scores(cluster, jobs, memory):
    """Write the scores of all waiting jobs to `memory.score`, and those that fit to `.fitting`.

    Returns the position in the queue of the best job, and how many jobs fit.
    """
    queue = waiting(cluster)
    time, available = now(cluster), free(cluster)
    shadow_time, extra_nodes = time, available
    if memory.uses_reservation[0]:
        shadow_time, extra_nodes = shadow(cluster, jobs, queue[0])
    unknown = len(memory.user_accuracy) - 1
    linear, changing = len(memory.outer) == 0, memory.changing
    best, highest, count = 0, -math.inf, 0
    for k in range(len(queue)):
        job = queue[k]
        size, estimate = jobs.size[job], jobs.estimate[job]
        user = jobs.user[job] if jobs.user[job] >= 0 else unknown
        clock = clock_features(time, jobs.submit[job], estimate)
        head = reservation_features(time, size, estimate, shadow_time, extra_nodes)
        wait, slowdown = np.float32(clock[0]), np.float32(clock[1])
        before_shadow, within_extra = head
        fits, accuracy = size <= available, memory.user_accuracy[user]
        if linear:
            features = wait, slowdown, fits, before_shadow, within_extra, accuracy
            value = _unit(memory.weights[0], memory.request_sums[0, job], features)
            memory.score[k] = value
            if value > highest:
                best, highest = k, value
        else:
            changing[JOB_WAIT, k] = wait
            changing[JOB_SLOWDOWN, k] = slowdown
            changing[JOB_FITS, k] = fits
            changing[JOB_BEFORE_SHADOW, k] = before_shadow
            changing[JOB_WITHIN_EXTRA, k] = within_extra
            changing[JOB_ACCURACY, k] = accuracy
        if fits:
            memory.fitting[count] = k
            count += 1
    if not linear:
        _write_network_scores(memory, queue)
        best = best_of(memory.score, len(queue))
    return best, count


@kernel
def _unit(weights, request_sum, features):
    """Return a weighted sum of features, given the part that stays while a job waits."""
    wait, slowdown, fits, before_shadow, within_extra, accuracy = features
    return (
        request_sum
        + weights[JOB_WAIT] * wait
        + weights[JOB_SLOWDOWN] * slowdown
        + weights[JOB_FITS] * fits
        + weights[JOB_BEFORE_SHADOW] * before_shadow
        + weights[JOB_WITHIN_EXTRA] * within_extra
        + weights[JOB_ACCURACY] * accuracy
    )


@kernel
def _write_network_scores(memory, queue):
    """Write the scores of a network unit by unit, so that several jobs share a CPU instruction."""
    score, request_sum, count = memory.score, memory.request_sum, len(queue)
    wait = memory.changing[JOB_WAIT]
    slowdown = memory.changing[JOB_SLOWDOWN]
    fits = memory.changing[JOB_FITS]
    before_shadow = memory.changing[JOB_BEFORE_SHADOW]
    within_extra = memory.changing[JOB_WITHIN_EXTRA]
    accuracy = memory.changing[JOB_ACCURACY]
    for k in range(count):
        score[k] = 0.0
    for unit in range(len(memory.outer)):
        weights, outer = memory.weights[unit], memory.outer[unit]
        for k in range(count):
            request_sum[k] = memory.request_sums[unit, queue[k]]
        for k in range(count):
            features = (
                wait[k],
                slowdown[k],
                fits[k],
                before_shadow[k],
                within_extra[k],
                accuracy[k],
            )
            score[k] += outer * tanh_rational(_unit(weights, request_sum[k], features))


@kernel
def tanh_rational(x):
    """Return the hyperbolic tangent within 4e-8, from sums, products and a quotient only.

    It is Lambert's continued fraction x / (1 + x^2 / (3 + x^2 / (5 + ...))) up to 25, clipped to
    [-1, 1]. Unlike a library's tanh it is the same on every machine, and so are the schedules.
    """
    y = x * x
    above, below = NUMERATOR[0], DENOMINATOR[0]
    for i in range(1, len(NUMERATOR)):
        above = above * y + NUMERATOR[i]
        below = below * y + DENOMINATOR[i]
    value = x * above / below
    value = 1.0 if value > 1.0 else value
    return -1.0 if value < -1.0 else value


@kernel
def best_of(score, count):
    """Return the position of the highest score, the first of equals; -1 if all have started."""
    best, highest = -1, -math.inf
    for k in range(count):
        if score[k] > highest:
            best, highest = k, score[k]
    return best
