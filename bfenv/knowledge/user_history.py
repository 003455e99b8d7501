"""What a scheduler may know of a job and its user: requests, and the runtimes of ended jobs.

Every quantity that a priority function, a searched policy or an observation may use stands once
in QUANTITIES. They come from requests, from the clock, and from jobs that have ended; the runtime
of a job that has not ended is in none of them.

The history of a user changes when one of the user's jobs ends. Where there is no history yet,
because nothing has ended or the log does not name the user, the job's own estimate stands in for
a runtime, and an accuracy is 1.

The likely runtime of a job starts from its estimate. It is moved halfway, on a logarithmic scale,
to the recent runtime of the user's jobs, and then halfway to that of those with the same estimate;
a step without ended jobs is left out. A recent runtime is an exponentially weighted geometric mean:
the job that ended last counts for NEWEST of it.

The limit of the age guard (`bfenv.baselines.age_guard`) stands here for expressions to read. It is
the same for all jobs. A policy with a guard renews it in each pass (`note_age_limit`).

Free processors and the backlog are those at the moment when an order is computed (`count_jobs`): a
policy does that once in a pass, before its first start.

Random numbers stand here as well: a policy draws one for each job from its seed.
"""

import math
from typing import NamedTuple

import numpy as np

from bfenv.core.cluster import PROCESSORS, free, now, running, waiting
from bfenv.core.jobs import FOREVER, Jobs
from bfenv.core.kernel import kernel
from bfenv.knowledge.groups import Groups, group_of, new_groups

NEWEST = 0.3  # weight of the last runtime in a recent runtime


class Quantity(NamedTuple):
    """One number that is known of a waiting job."""

    name: str
    unit: str
    meaning: str
    fixed: bool = False  # does not change while the job waits


QUANTITIES = (
    Quantity("submit", "s", "submit time, since the trace began", fixed=True),
    Quantity("size", "processors", "requested processors", fixed=True),
    Quantity("estimate", "s", "requested runtime, the kill limit", fixed=True),
    Quantity("priority", "-", "requested priority, larger is more urgent", fixed=True),
    Quantity("processors", "processors", "processors of the machine", fixed=True),
    Quantity("wait", "s", "time since submission"),
    Quantity("expansion", "-", "(wait + estimate) / estimate"),
    Quantity("prediction", "s", "mean of the user's last two runtimes, at most the estimate"),
    Quantity("predicted_expansion", "-", "(wait + prediction) / prediction"),
    Quantity("user_runtime", "s", "harmonic mean runtime of the user's ended jobs"),
    Quantity("same_estimate_runtime", "s", "mean runtime of those with the same estimate"),
    Quantity("same_size_runtime", "s", "mean runtime of those with the same size"),
    Quantity("last_runtime", "s", "runtime of the user's job that ended last"),
    Quantity("previous_runtime", "s", "runtime of the one before"),
    Quantity("likely_runtime", "s", "estimate, moved towards the user's recent runtimes"),
    Quantity("accuracy", "-", "mean runtime / estimate of the user's ended jobs"),
    Quantity("user_queued", "jobs", "waiting jobs of the user; 1, the job itself, if unknown"),
    Quantity("user_running", "jobs", "running jobs of the user"),
    Quantity("user_ended", "jobs", "ended jobs of the user"),
    Quantity("tried", "-", "1 if the job has had a trial, else 0"),
    Quantity("age_limit", "s", "limit of the guard on the wait; without a guard, longer than any"),
    Quantity("free", "processors", "free processors as the order is computed"),
    Quantity("fits", "-", "1 if the job needs no more than the free processors, else 0"),
    Quantity("backlog", "s", "sum over the waiting jobs of size x estimate / processors"),
    Quantity("random", "-", "random number of the job in [0, 1), drawn by the seed", fixed=True),
)
NAMES = tuple(quantity.name for quantity in QUANTITIES)
(
    SUBMIT,
    SIZE,
    ESTIMATE,
    PRIORITY,
    MACHINE_SIZE,
    WAIT,
    EXPANSION,
    PREDICTION,
    PREDICTED_EXPANSION,
    USER_RUNTIME,
    SAME_ESTIMATE_RUNTIME,
    SAME_SIZE_RUNTIME,
    LAST_RUNTIME,
    PREVIOUS_RUNTIME,
    LIKELY_RUNTIME,
    ACCURACY,
    USER_QUEUED,
    USER_RUNNING,
    USER_ENDED,
    TRIED,
    AGE_LIMIT,
    FREE,
    FITS,
    BACKLOG,
    RANDOM,
) = range(len(NAMES))
COUNTABLE = (USER_QUEUED, USER_RUNNING, BACKLOG)  # what `count_jobs` counts if it is asked to
COUNT_QUEUED, COUNT_RUNNING, COUNT_BACKLOG = range(len(COUNTABLE))
COUNTS_OF_USERS = np.array([True, True, False])
ALL_COUNTS = np.ones(len(COUNTABLE), dtype=np.bool_)

# Kinds of groups: jobs of one user and estimate; of one user and size; of one user, estimate, size
# and priority
BY_ESTIMATE, BY_SIZE, ALIKE = range(3)


class UserHistory(NamedTuple):
    """Sums over the ended jobs of each user, and of each user's jobs of one estimate or size."""

    groups: Groups
    group: np.ndarray  # (n, 3) int64: numbers by kind, see BY_ESTIMATE; 0 where not looked at
    ended: np.ndarray  # (users,) int64 jobs
    inverse: np.ndarray  # (users,) float64 1/s: sum of 1 / runtime
    accuracy: np.ndarray  # (users,) float64: sum of runtime / estimate
    log_runtime: np.ndarray  # (users,) float64: logarithm of the recent runtime in seconds
    recent: np.ndarray  # (users, 2) int64 seconds: last runtime and the one before; 0 for none
    by_estimate: np.ndarray  # (groups, 3) float64: sum of runtimes in seconds, number, and the
    # logarithm of the recent runtime
    by_size: np.ndarray  # (groups, 2) float64: sum of runtimes in seconds, number
    queued: np.ndarray  # (users,) int64 jobs, of users with waiting jobs, see `count_jobs`
    running: np.ndarray  # (users,) int64 jobs, the same
    age_limit: np.ndarray  # (1,) int64 seconds; FOREVER without a guard
    free: np.ndarray  # (1,) int64 processors, see `count_jobs`
    backlog: np.ndarray  # (1,) float64 seconds, the same
    random: np.ndarray  # (n,) float64 in [0, 1); zeros where nothing is drawn


def new_user_history(jobs: Jobs) -> UserHistory:
    """Make the history of users none of whose jobs has ended."""
    count, users = len(jobs.submit), 1 + int(jobs.user.max())
    return UserHistory(
        groups=new_groups(4 * count),
        group=np.zeros((count, 3), dtype=np.int64),
        ended=np.zeros(users, dtype=np.int64),
        inverse=np.zeros(users),
        accuracy=np.zeros(users),
        log_runtime=np.zeros(users),
        recent=np.zeros((users, 2), dtype=np.int64),
        by_estimate=np.zeros((count + 1, 3)),
        by_size=np.zeros((count + 1, 2)),
        queued=np.zeros(users, dtype=np.int64),
        running=np.zeros(users, dtype=np.int64),
        age_limit=np.full(1, FOREVER),
        free=np.zeros(1, dtype=np.int64),
        backlog=np.zeros(1),
        random=np.zeros(count),
    )


@kernel
def estimate_group(history, jobs, job):
    """Return the number of the group of a job's user and estimate."""
    if history.group[job, BY_ESTIMATE] == 0:
        history.group[job, BY_ESTIMATE] = group_of(
            history.groups, BY_ESTIMATE, jobs.user[job], jobs.estimate[job]
        )
    return history.group[job, BY_ESTIMATE]


@kernel
def size_group(history, jobs, job):
    """Return the number of the group of a job's user and size."""
    if history.group[job, BY_SIZE] == 0:
        history.group[job, BY_SIZE] = group_of(
            history.groups, BY_SIZE, jobs.user[job], jobs.size[job]
        )
    return history.group[job, BY_SIZE]


@kernel
def group_of_alike(history, jobs, job):
    """Return the number of the group of a job's user, estimate, size and priority."""
    if history.group[job, ALIKE] == 0:
        pair = group_of(history.groups, ALIKE, estimate_group(history, jobs, job), jobs.size[job])
        history.group[job, ALIKE] = group_of(history.groups, ALIKE, -pair, jobs.priority[job])
    return history.group[job, ALIKE]


@kernel
def find_groups(history, jobs):
    """Find the groups of all jobs of known users, in trace order."""
    for job in range(len(jobs.submit)):
        if jobs.user[job] >= 0:
            estimate_group(history, jobs, job)
            size_group(history, jobs, job)


@kernel
def learn_jobs(history, cluster, jobs, ended):
    """Take in jobs that have ended, (k,) int64, in the order of their ends."""
    for job in ended:
        user = jobs.user[job]
        if user < 0:
            continue
        runtime = cluster.end[job] - cluster.start[job]
        same = history.by_estimate[estimate_group(history, jobs, job)]
        log = math.log(runtime)
        history.log_runtime[user] = _moved(history.log_runtime[user], log, history.ended[user])
        same[2] = _moved(same[2], log, same[1])
        history.ended[user] += 1
        history.inverse[user] += 1.0 / runtime
        history.accuracy[user] += runtime / jobs.estimate[job]
        history.recent[user, 1] = history.recent[user, 0]
        history.recent[user, 0] = runtime
        same[0] += runtime
        same[1] += 1.0
        same_size = history.by_size[size_group(history, jobs, job)]
        same_size[0] += runtime
        same_size[1] += 1.0


@kernel
def _moved(mean, value, count):
    """Return the mean of `count` values, of which the newest count most, with another one."""
    return value if count == 0 else (1.0 - NEWEST) * mean + NEWEST * value


@kernel
def count_jobs(history, cluster, jobs, counts):
    """Count what `free`, `fits` and the quantities of COUNTABLE are until the next call.

    Args:
        counts (np.ndarray): (3,) bool, which of COUNTABLE are asked for. Waiting and running jobs
            are counted of each user that has a waiting job.
    """
    history.free[0] = free(cluster)
    if counts[COUNT_BACKLOG]:
        work = 0.0
        for job in waiting(cluster):
            if cluster.start[job] < 0:
                work += float(jobs.size[job]) * jobs.estimate[job]
        history.backlog[0] = work / cluster.state[PROCESSORS]
    if counts[COUNT_QUEUED]:
        for job in waiting(cluster):
            if jobs.user[job] >= 0:
                history.queued[jobs.user[job]] = 0
        for job in waiting(cluster):
            if jobs.user[job] >= 0 and cluster.start[job] < 0:
                history.queued[jobs.user[job]] += 1
    if counts[COUNT_RUNNING]:
        for job in waiting(cluster):
            if jobs.user[job] >= 0:
                history.running[jobs.user[job]] = 0
        for job in running(cluster):
            if jobs.user[job] >= 0:
                history.running[jobs.user[job]] += 1


@kernel
def note_age_limit(history, limit):
    """Note the limit (s) of the age guard; infinity for none."""
    history.age_limit[0] = int(limit) if limit < FOREVER else FOREVER


@kernel
def predict_runtime(history, jobs, job):
    """Return the mean (s) of the user's last two runtimes, at most the estimate.

    The estimate itself where fewer than two jobs of the user have ended (Tsafrir, Etsion and
    Feitelson 2007).
    """
    user = jobs.user[job]
    if user < 0 or history.recent[user, 1] == 0:
        return float(jobs.estimate[job])
    mean = (history.recent[user, 0] + history.recent[user, 1]) / 2.0
    return min(mean, float(jobs.estimate[job]))


@kernel
def likely_runtime(history, jobs, job):
    """Return the likely runtime (s) of a waiting job."""
    user = jobs.user[job]
    log = math.log(jobs.estimate[job])
    if user >= 0 and history.ended[user] > 0:
        log = (log + history.log_runtime[user]) / 2.0
        same = history.by_estimate[estimate_group(history, jobs, job)]
        if same[1] > 0:
            log = (log + same[2]) / 2.0
    return math.exp(log)


@kernel
def quantity(history, cluster, jobs, job, kind):
    """Return one of QUANTITIES of a waiting job, as a float."""
    user, estimate = jobs.user[job], float(jobs.estimate[job])
    has_history = user >= 0 and history.ended[user] > 0
    wait = float(now(cluster) - jobs.submit[job])
    if kind == ESTIMATE:
        return estimate
    if kind == SIZE:
        return float(jobs.size[job])
    if kind == WAIT:
        return wait
    if kind == EXPANSION:
        return (wait + estimate) / estimate
    if kind == SUBMIT:
        return float(jobs.submit[job])
    if kind == PRIORITY:
        return float(jobs.priority[job])
    if kind == MACHINE_SIZE:
        return float(cluster.state[PROCESSORS])
    if kind == PREDICTION:
        return predict_runtime(history, jobs, job)
    if kind == PREDICTED_EXPANSION:
        prediction = predict_runtime(history, jobs, job)
        return (wait + prediction) / prediction
    if kind == AGE_LIMIT:
        return float(max(1, history.age_limit[0]))
    if kind == FREE:
        return float(history.free[0])
    if kind == FITS:
        return 1.0 if jobs.size[job] <= history.free[0] else 0.0
    if kind == BACKLOG:
        return history.backlog[0]
    if kind == RANDOM:
        return history.random[job]
    if kind == TRIED:
        return 1.0 if cluster.trial_start[job] >= 0 else 0.0
    if kind == USER_QUEUED:
        return float(history.queued[user]) if user >= 0 else 1.0  # the job itself
    if kind == USER_RUNNING:
        return float(history.running[user]) if user >= 0 else 0.0
    if kind == USER_ENDED:
        return float(history.ended[user]) if user >= 0 else 0.0
    if kind == ACCURACY:
        return history.accuracy[user] / history.ended[user] if has_history else 1.0
    if kind == LIKELY_RUNTIME:
        return likely_runtime(history, jobs, job)
    if not has_history:
        return estimate
    if kind == USER_RUNTIME:
        return history.ended[user] / history.inverse[user]
    if kind == LAST_RUNTIME:
        return float(history.recent[user, 0])
    if kind == PREVIOUS_RUNTIME:
        return float(history.recent[user, 1]) if history.recent[user, 1] > 0 else estimate
    if kind == SAME_SIZE_RUNTIME:
        group = size_group(history, jobs, job)
        total, number = history.by_size[group, 0], history.by_size[group, 1]
    else:
        group = estimate_group(history, jobs, job)
        total, number = history.by_estimate[group, 0], history.by_estimate[group, 1]
    return total / number if number > 0 else estimate
