"""What an agent sees: the tables of features and the kernel that writes them (envs layer).

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
def observe(cluster, jobs, accuracy, time_of_day, queue, profile, machine):
    """Write the three parts of the observation.

    `accuracy` (2, users) float64: sums and counts of runtime / estimate of ended jobs;
    `time_of_day` seconds at time 0; `queue` (window, len(QUEUE)), `profile` (len(AHEAD),) and
    `machine` (len(CLUSTER),) float32 are overwritten.
    """
    window = len(queue)
    line = waiting(cluster)
    processors = cluster.clock[PROCESSORS]
    time = now(cluster)
    shadow_time, extra_nodes = time, processors
    if len(line) > 0:
        shadow_time, extra_nodes = shadow(cluster, jobs, line[0])

    queue[:] = 0.0
    for slot in range(min(window, len(line))):
        job = line[slot]
        waited = time - jobs.submit[job]
        user = jobs.user[job]
        row = queue[slot]
        row[0] = 1.0
        row[1] = jobs.size[job] / processors
        row[2] = jobs.estimate[job] / (jobs.estimate[job] + HOUR)
        row[3] = waited / (waited + HOUR)
        row[4] = waited / (waited + jobs.estimate[job])
        row[5] = may_start(cluster, jobs, job)
        row[6] = time + jobs.estimate[job] <= shadow_time
        row[7] = jobs.size[job] <= extra_nodes
        row[8] = -1.0
        if user >= 0 and accuracy[1, user] > 0:
            row[8] = accuracy[0, user] / accuracy[1, user]
        row[9] = jobs.priority[job] / (1.0 + abs(jobs.priority[job]))
        start_in = max(jobs.requested_start[job] - time, 0)
        row[10] = start_in / (start_in + HOUR)

    runs = running(cluster)
    ends = expected_ends(cluster)
    available, place = free(cluster), 0
    for step in range(len(AHEAD)):
        while place < len(runs) and ends[place] <= time + AHEAD[step]:
            available += jobs.size[runs[place]]
            place += 1
        profile[step] = available / processors

    beyond = max(len(line) - window, 0)
    angle = (cluster.clock[NOW] + time_of_day) % 86400 * (2 * np.pi / 86400)
    machine[0] = free(cluster) / processors
    machine[1] = len(line) / (len(line) + window)
    machine[2] = beyond / (beyond + window)
    machine[3] = (shadow_time - time) / (shadow_time - time + HOUR)
    machine[4] = extra_nodes / processors
    machine[5] = 1.0
    if len(runs) > 0:
        machine[5] = (ends[0] - time) / (ends[0] - time + HOUR)
    machine[6] = np.sin(angle)
    machine[7] = np.cos(angle)
