"""What an agent sees: the tables of features and the kernel that writes them.

Everything is computed from requests, the clock, expected ends and finished jobs. The functions
x / (x + c) squash [0, inf) into [0, 1) with 1/2 at c; they are written `squash(x, c)`.
"""

from typing import NamedTuple

import numpy as np

from bfenv.core.cluster import (
    NOW,
    PROCESSORS,
    expected_ends,
    free,
    may_start,
    now,
    running,
    waiting,
)
from bfenv.core.kernel import kernel
from bfenv.core.profile import shadow


class Feature(NamedTuple):
    """One number of the observation."""

    name: str
    unit: str  # of what is squashed or scaled
    low: float
    high: float
    formula: str


HOUR = 3600.0
AHEAD = np.concatenate([[0], np.rint(np.geomspace(60, 5 * 86_400, 31))]).astype(np.int64)

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


@kernel
def squash(value, half):
    """[0, inf) into [0, 1), 1/2 at `half`."""
    return value / (value + half)


@kernel
def request_features(size, estimate, priority, processors):
    """The columns of QUEUE that stay while a job waits: present, size, estimate, priority."""
    return 1.0, size / processors, squash(estimate, HOUR), priority / (1.0 + abs(priority))


@kernel
def clock_features(time, submit, estimate):
    """The columns of QUEUE that change with the clock: wait, slowdown."""
    waited = time - submit
    return squash(waited, HOUR), squash(waited, estimate)


@kernel
def reservation_features(time, size, estimate, shadow_time, extra_nodes):
    """The columns of QUEUE about the head's reservation: before_shadow, within_extra."""
    return time + estimate <= shadow_time, size <= extra_nodes


@kernel
def accuracy_feature(accuracy, user):
    """The column of QUEUE about a user's ended jobs, from the sums and counts of `remember`."""
    if user >= 0 and accuracy[1, user] > 0:
        return accuracy[0, user] / accuracy[1, user]
    return -1.0


@kernel
def remember(cluster, jobs, accuracy, job):
    """Add a job that has ended to `accuracy` (2, users) float64, its user's sum and count."""
    user = jobs.user[job]
    if user >= 0:
        accuracy[0, user] += (cluster.end[job] - cluster.start[job]) / jobs.estimate[job]
        accuracy[1, user] += 1.0


@kernel
def observe(cluster, jobs, accuracy, time_of_day, queue, profile, machine):
    """Write the three parts of the observation.

    `accuracy` (2, users) float64 as `remember` leaves it;
    `time_of_day` seconds at time 0; `queue` (window, len(QUEUE)), `profile` (len(AHEAD),) and
    `machine` (len(CLUSTER),) float32 are overwritten.
    """
    window = len(queue)
    line = waiting(cluster)
    processors = cluster.state[PROCESSORS]
    time = now(cluster)
    shadow_time, extra_nodes = time, processors
    if len(line) > 0:
        shadow_time, extra_nodes = shadow(cluster, jobs, line[0])

    seen = min(window, len(line))
    queue[seen:] = 0.0
    for slot in range(seen):
        job = line[slot]
        size, estimate = jobs.size[job], jobs.estimate[job]
        row = queue[slot]
        row[0], row[1], row[2], row[9] = request_features(
            size, estimate, jobs.priority[job], processors
        )
        row[3], row[4] = clock_features(time, jobs.submit[job], estimate)
        row[5] = may_start(cluster, jobs, job)
        row[6], row[7] = reservation_features(time, size, estimate, shadow_time, extra_nodes)
        row[8] = accuracy_feature(accuracy, jobs.user[job])
        row[10] = squash(max(jobs.requested_start[job] - time, 0), HOUR)

    runs = running(cluster)
    ends = expected_ends(cluster)
    available, place = free(cluster), 0
    for step in range(len(AHEAD)):
        while place < len(runs) and ends[place] <= time + AHEAD[step]:
            available += jobs.size[runs[place]]
            place += 1
        profile[step] = available / processors

    beyond = max(len(line) - window, 0)
    angle = (cluster.state[NOW] + time_of_day) % 86400 * (2 * np.pi / 86400)
    machine[0] = free(cluster) / processors
    machine[1] = squash(len(line), window)
    machine[2] = squash(beyond, window)
    machine[3] = squash(shadow_time - time, HOUR)
    machine[4] = extra_nodes / processors
    machine[5] = 1.0
    if len(runs) > 0:
        machine[5] = squash(ends[0] - time, HOUR)
    machine[6] = np.sin(angle)
    machine[7] = np.cos(angle)
