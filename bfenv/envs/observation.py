"""What an agent sees: the tables of features, and the kernel that writes them.

Every feature is computed from requests, the clock, expected ends and finished jobs. `squash(x, c)`
is x / (x + c): it maps [0, inf) to [0, 1), and c to 1/2.
"""

from typing import NamedTuple

import numpy as np

from bfenv.core.cluster import PROCESSORS, expected_ends, free, may_start, now, running, waiting
from bfenv.core.durations import DAY, HOUR
from bfenv.core.kernel import kernel
from bfenv.core.profile import shadow


class Feature(NamedTuple):
    """One number of the observation."""

    name: str
    unit: str  # before it is squashed or scaled
    low: float
    high: float
    formula: str


AHEAD = np.concatenate([[0], np.rint(np.geomspace(60, 5 * DAY, 31))]).astype(np.int64)

QUEUE = (
    Feature("present", "-", 0, 1, "1 if a job waits in this slot; else the whole row is 0"),
    Feature("size", "processors", 0, 1, "size / machine"),
    Feature("estimate", "s", 0, 1, "squash(estimate, 1 h)"),
    Feature("wait", "s", 0, 1, "squash(now - submit, 1 h)"),
    Feature("slowdown", "-", 0, 1, "squash(now - submit, estimate) = 1 - 1 / expected slowdown"),
    Feature("fits", "-", 0, 1, "1 if it fits now and its requested start time has come"),
    Feature("before_shadow", "-", 0, 1, "1 if now + estimate <= the head's shadow time"),
    Feature("within_extra", "-", 0, 1, "1 if size <= the head's extra nodes"),
    Feature("accuracy", "-", -1, 1, "mean runtime / estimate of the user's ended jobs, -1: none"),
    Feature("priority", "-", -1, 1, "priority / (1 + abs(priority))"),
    Feature("start_in", "s", 0, 1, "squash(requested start - now, 1 h), 0 if it may start"),
)
CLUSTER = (
    Feature("free", "processors", 0, 1, "free / machine"),
    Feature("queue", "jobs", 0, 1, "squash(waiting jobs, window)"),
    Feature("overflow", "jobs", 0, 1, "squash(waiting jobs beyond the window, window)"),
    Feature("shadow", "s", 0, 1, "squash(head's shadow time - now, 1 h), 0 if none waits"),
    Feature("extra", "processors", 0, 1, "head's extra nodes / machine, 1 if none waits"),
    Feature("next_end", "s", 0, 1, "squash(next expected end - now, 1 h), 1 if none runs"),
    Feature("day_sin", "h", -1, 1, "sin(2 pi time of day / 24 h)"),
    Feature("day_cos", "h", -1, 1, "cos(2 pi time of day / 24 h)"),
)
PROFILE = tuple(
    Feature(f"free_in_{ahead}_s", "processors", 0, 1, f"free / machine, {ahead} s ahead")
    for ahead in AHEAD.tolist()
)


def column(features: tuple[Feature, ...], name: str) -> int:
    """Return the index of the feature with this name."""
    return [feature.name for feature in features].index(name)


# Columns of QUEUE, whose rows are jobs
JOB_PRESENT = column(QUEUE, "present")
JOB_SIZE = column(QUEUE, "size")
JOB_ESTIMATE = column(QUEUE, "estimate")
JOB_WAIT = column(QUEUE, "wait")
JOB_SLOWDOWN = column(QUEUE, "slowdown")
JOB_FITS = column(QUEUE, "fits")
JOB_BEFORE_SHADOW = column(QUEUE, "before_shadow")
JOB_WITHIN_EXTRA = column(QUEUE, "within_extra")
JOB_ACCURACY = column(QUEUE, "accuracy")
JOB_PRIORITY = column(QUEUE, "priority")
JOB_START_IN = column(QUEUE, "start_in")
# Columns of CLUSTER
CLUSTER_FREE = column(CLUSTER, "free")
CLUSTER_QUEUE = column(CLUSTER, "queue")
CLUSTER_OVERFLOW = column(CLUSTER, "overflow")
CLUSTER_SHADOW = column(CLUSTER, "shadow")
CLUSTER_EXTRA = column(CLUSTER, "extra")
CLUSTER_NEXT_END = column(CLUSTER, "next_end")
CLUSTER_DAY_SIN = column(CLUSTER, "day_sin")
CLUSTER_DAY_COS = column(CLUSTER, "day_cos")


# The formulas of QUEUE ----------------------------------------------------------------------


@kernel
def squash(value, half):
    """Map [0, inf) to [0, 1), and `half` to 1/2."""
    return value / (value + half)


@kernel
def request_features(size, estimate, priority, processors):
    """Return the features that stay while a job waits: present, size, estimate, priority."""
    return 1.0, size / processors, squash(estimate, HOUR), priority / (1.0 + abs(priority))


@kernel
def clock_features(time, submit, estimate):
    """Return the features that change with the clock: wait, slowdown."""
    waited = time - submit
    return squash(waited, HOUR), squash(waited, estimate)


@kernel
def reservation_features(time, size, estimate, shadow_time, extra_nodes):
    """Return the features about the head's reservation: before_shadow, within_extra."""
    return time + estimate <= shadow_time, size <= extra_nodes


@kernel
def accuracy_feature(accuracy, user):
    """Return the feature about a user's ended jobs, from what `record_accuracy` summed."""
    if user >= 0 and accuracy[1, user] > 0:
        return accuracy[0, user] / accuracy[1, user]
    return -1.0


@kernel
def record_accuracy(cluster, jobs, accuracy, job):
    """Add an ended job to `accuracy` (2, users) float64: sum of runtime / estimate, and count."""
    user = jobs.user[job]
    if user >= 0:
        accuracy[0, user] += (cluster.end[job] - cluster.start[job]) / jobs.estimate[job]
        accuracy[1, user] += 1.0


# The observation ----------------------------------------------------------------------------


@kernel
def observe(cluster, jobs, accuracy, time_of_day, queue, profile, cluster_features):
    """Write the three parts of the observation.

    `accuracy` (2, users) float64 is as `record_accuracy` leaves it, `time_of_day` in seconds at
    time 0. `queue` (window, len(QUEUE)), `profile` (len(AHEAD),) and `cluster_features`
    (len(CLUSTER),) float32 are overwritten.
    """
    shadow_time, extra_nodes = now(cluster), cluster.state[PROCESSORS]
    if len(waiting(cluster)) > 0:
        shadow_time, extra_nodes = shadow(cluster, jobs, waiting(cluster)[0])
    _write_queue(cluster, jobs, accuracy, shadow_time, extra_nodes, queue)
    _write_profile(cluster, jobs, profile)
    _write_cluster(cluster, time_of_day, shadow_time, extra_nodes, len(queue), cluster_features)


@kernel
def _write_queue(cluster, jobs, accuracy, shadow_time, extra_nodes, queue):
    line = waiting(cluster)
    processors = cluster.state[PROCESSORS]
    time = now(cluster)
    seen = min(len(queue), len(line))
    queue[seen:] = 0.0
    for slot in range(seen):
        job = line[slot]
        size, estimate = jobs.size[job], jobs.estimate[job]
        row = queue[slot]
        row[JOB_PRESENT], row[JOB_SIZE], row[JOB_ESTIMATE], row[JOB_PRIORITY] = request_features(
            size, estimate, jobs.priority[job], processors
        )
        row[JOB_WAIT], row[JOB_SLOWDOWN] = clock_features(time, jobs.submit[job], estimate)
        row[JOB_FITS] = may_start(cluster, jobs, job)
        row[JOB_BEFORE_SHADOW], row[JOB_WITHIN_EXTRA] = reservation_features(
            time, size, estimate, shadow_time, extra_nodes
        )
        row[JOB_ACCURACY] = accuracy_feature(accuracy, jobs.user[job])
        row[JOB_START_IN] = squash(max(jobs.requested_start[job] - time, 0), HOUR)


@kernel
def _write_profile(cluster, jobs, profile):
    runs = running(cluster)
    ends = expected_ends(cluster)
    time, processors = now(cluster), cluster.state[PROCESSORS]
    available, k = free(cluster), 0
    for step in range(len(AHEAD)):
        while k < len(runs) and ends[k] <= time + AHEAD[step]:
            available += jobs.size[runs[k]]
            k += 1
        profile[step] = available / processors


@kernel
def _write_cluster(cluster, time_of_day, shadow_time, extra_nodes, window, cluster_features):
    waits = len(waiting(cluster))
    processors = cluster.state[PROCESSORS]
    time = now(cluster)
    ends = expected_ends(cluster)
    angle = (time + time_of_day) % DAY * (2 * np.pi / DAY)
    cluster_features[CLUSTER_FREE] = free(cluster) / processors
    cluster_features[CLUSTER_QUEUE] = squash(waits, window)
    cluster_features[CLUSTER_OVERFLOW] = squash(max(waits - window, 0), window)
    cluster_features[CLUSTER_SHADOW] = squash(shadow_time - time, HOUR)
    cluster_features[CLUSTER_EXTRA] = extra_nodes / processors
    cluster_features[CLUSTER_NEXT_END] = 1.0
    if len(ends) > 0:
        cluster_features[CLUSTER_NEXT_END] = squash(ends[0] - time, HOUR)
    cluster_features[CLUSTER_DAY_SIN] = np.sin(angle)
    cluster_features[CLUSTER_DAY_COS] = np.cos(angle)
