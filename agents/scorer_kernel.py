"""The compiled side of `agents.scorer`: scores of waiting jobs, EASY in their order (agents).

Where to look for what is seen: `bfenv.envs.observation`, whose formulas are called here, each
rounded to float32 as in the observation. All sums are in float64, in the order of `SUMMED`.
"""

import math
from typing import NamedTuple

import numpy as np

from bfenv.core.cluster import (
    FIRST_JOB,
    NEXT_JOB,
    PROCESSORS,
    advance,
    empty,
    finished,
    free,
    now,
    start,
    waiting,
)
from bfenv.core.jobs import Jobs
from bfenv.core.kernel import kernel
from bfenv.core.profile import shadow
from bfenv.envs.episode import bounded_slowdown
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
        "present",
        "size",
        "estimate",
        "wait",
        "slowdown",
        "fits",
        "before_shadow",
        "within_extra",
        "accuracy",
        "priority",
    )
)
# The order of summation: first what stays while a job waits, which is then summed once per job.
# The feature left out is 0 in every trace that the policy takes: it plans for no requested start.
SUMMED = (PRESENT, SIZE, ESTIMATE, PRIORITY, WAIT, SLOWDOWN, FITS, BEFORE_SHADOW, WITHIN_EXTRA)
SUMMED = (*SUMMED, ACCURACY)
METRICS = ("mean_bounded_slowdown", "mean_wait", "max_wait", "utilization", "makespan")


class Memory(NamedTuple):
    """The scorer's parameters, what it knows of users, and room to work in."""

    weights: np.ndarray  # (units, FEATURES) float64; a linear scorer is one unit
    outer: np.ndarray  # (units,) float64 weights of the units' tanh; (0,) of a linear scorer
    requests: np.ndarray  # (n, units) float64: sums over what stays while a job waits
    accuracy: np.ndarray  # (2, users) float64, see `remember`
    habits: np.ndarray  # (users + 1,) float64: each user's feature "accuracy"; last, the unknown's
    score: np.ndarray  # (n,) float64 of the job at the same place of the queue; -inf once started
    places: np.ndarray  # (n,) int64 places in the queue of jobs that may be backfilled
    looks_ahead: np.ndarray  # (1,) bool: some weight is on the head's reservation
    learns: np.ndarray  # (1,) bool: some weight is on the users' accuracy
    fresh: np.ndarray  # (1,) bool: no pass has been seen


def new_memory(
    jobs: Jobs, processors: int, generator: np.random.Generator, *, theta: np.ndarray, hidden: int
) -> Memory:
    """The memory of a scorer with parameters `theta`, see `agents.scorer.dimension`."""
    count, users, units = len(jobs.submit), int(jobs.user.max()) + 1, max(hidden, 1)
    memory = Memory(
        weights=np.empty((units, FEATURES)),
        outer=np.empty(hidden),
        requests=np.empty((count, units)),
        accuracy=np.empty((2, users)),
        habits=np.empty(users + 1),
        score=np.empty(count),
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
            memory.requests[job, unit] = (
                weights[unit, PRESENT] * np.float32(present)
                + weights[unit, SIZE] * np.float32(size)
                + weights[unit, ESTIMATE] * np.float32(estimate)
                + weights[unit, PRIORITY] * np.float32(priority)
            )
    memory.accuracy[:] = 0.0
    memory.habits[:] = -1.0
    memory.fresh[0] = True


@kernel
def decide(cluster, jobs, memory):
    """Start jobs, the best score first, until one, the head, must wait; backfill behind it."""
    if memory.learns[0]:
        _learn(cluster, jobs, memory)
    if not _any_fits(cluster, jobs):
        return  # so that no score matters
    queue = waiting(cluster)
    write_scores(cluster, jobs, memory)
    head = _best(memory.score, len(queue))
    while head >= 0 and jobs.size[queue[head]] <= free(cluster):
        start(cluster, jobs, queue[head])
        memory.score[head] = -math.inf
        head = _best(memory.score, len(queue))
    if head >= 0 and free(cluster) > 0:
        _backfill(cluster, jobs, memory, head)


@kernel
def run(cluster, jobs, truth, memory):
    """The event loop with this policy in it."""
    while advance(cluster, jobs, truth):
        decide(cluster, jobs, memory)


@kernel
def evaluate(cluster, jobs, truth, memory, thetas, results):
    """Run the trace once with each row of `thetas` (k, d); writes METRICS to `results` (k, m)."""
    processors = cluster.clock[PROCESSORS]
    for i in range(len(thetas)):
        empty(cluster, truth, processors, 0, len(jobs.submit))
        prepare(memory, jobs, processors, thetas[i])
        run(cluster, jobs, truth, memory)
        _measure(cluster, jobs, truth, processors, results[i])


@kernel
def _measure(cluster, jobs, truth, processors, result):
    """METRICS of the run, in that order; sums in trace order."""
    count = len(jobs.submit)
    slowdowns, busy, waits, longest, last = 0.0, 0.0, 0, 0, 0
    for job in range(count):
        waited = cluster.start[job] - jobs.submit[job]
        slowdowns += bounded_slowdown(waited, truth.runtime[job])
        busy += float(jobs.size[job]) * truth.runtime[job]
        waits += waited
        longest = max(longest, waited)
        last = max(last, cluster.end[job])
    makespan = last - jobs.submit[0]
    result[0] = slowdowns / count
    result[1] = waits / count
    result[2] = longest
    result[3] = busy / (processors * makespan)
    result[4] = makespan


@kernel
def _learn(cluster, jobs, memory):
    """Note the jobs that ended; in the first pass also those that ended before it."""
    if memory.fresh[0]:
        memory.fresh[0] = False
        for job in range(cluster.clock[FIRST_JOB], cluster.clock[NEXT_JOB]):
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
def _any_fits(cluster, jobs):
    if free(cluster) > 0:
        for job in waiting(cluster):
            if jobs.size[job] <= free(cluster):
                return True
    return False


@kernel
def write_scores(cluster, jobs, memory):
    """Write the scores of all waiting jobs as the machine stands, to `memory.score`."""
    queue = waiting(cluster)
    time, available = now(cluster), free(cluster)
    shadow_time, extra_nodes = time, available
    if memory.looks_ahead[0]:
        shadow_time, extra_nodes = shadow(cluster, jobs, queue[0])
    unknown = len(memory.habits) - 1
    for place in range(len(queue)):
        job = queue[place]
        size, estimate = jobs.size[job], jobs.estimate[job]
        user = jobs.user[job] if jobs.user[job] >= 0 else unknown
        clock = clock_features(time, jobs.submit[job], estimate)
        head = reservation_features(time, size, estimate, shadow_time, extra_nodes)
        seen = (
            np.float32(clock[0]),
            np.float32(clock[1]),
            size <= available,
            head[0],
            head[1],
            memory.habits[user],
        )
        if len(memory.outer) == 0:
            memory.score[place] = _unit(memory.weights[0], memory.requests[job, 0], seen)
            continue
        total = 0.0
        for unit in range(len(memory.outer)):
            value = _unit(memory.weights[unit], memory.requests[job, unit], seen)
            total += memory.outer[unit] * math.tanh(value)
        memory.score[place] = total


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
def _best(score, count):
    """The place of the highest score, the first of equals; -1 if all have started."""
    best, highest = -1, -math.inf
    for place in range(count):
        if score[place] > highest:
            best, highest = place, score[place]
    return best


@kernel
def _backfill(cluster, jobs, memory, head):
    """Of the jobs that would not delay the head, start the best again and again."""
    queue, places = waiting(cluster), memory.places
    shadow_time, extra_nodes = shadow(cluster, jobs, queue[head])
    count = len(queue)
    for place in range(count):
        places[place] = place
    while count > 0:
        kept, best, highest = 0, -1, -math.inf
        for k in range(count):
            place = places[k]
            job = queue[place]
            if jobs.size[job] > free(cluster) or memory.score[place] == -math.inf:
                continue
            if now(cluster) + jobs.estimate[job] > shadow_time and jobs.size[job] > extra_nodes:
                continue
            places[kept] = place
            kept += 1
            if memory.score[place] > highest:
                best, highest = place, memory.score[place]
        count = kept
        if best >= 0:
            job = queue[best]
            start(cluster, jobs, job)
            memory.score[best] = -math.inf
            if now(cluster) + jobs.estimate[job] > shadow_time:
                extra_nodes -= jobs.size[job]
