"""The tables of features: what the numbers of an observation are, in their order.

`log_time(t)` is min(1, log(1 + t / 1 s) / log(1 + 100 days / 1 s)): it maps 10 min to 0.40, 10 h to
0.66, 100 h to 0.80. `log_count(n)` is min(1, log(1 + n) / log(1 + 10^4)).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bfenv.core.durations import DAY

# `log` takes half the time of `log1p`, which would change nothing here
LOG_LONGEST = math.log1p(100 * DAY)
LOG_MOST = math.log1p(10_000)
LOG_LARGEST_EXPANSION = math.log(10_000)
VERSION = 3  # of the tables; saved models note it
AHEAD = np.concatenate([[0], np.rint(np.geomspace(60, 5 * DAY, 31))]).astype(np.int64)


class Feature(NamedTuple):
    """One number of the observation."""

    name: str
    unit: str  # before it is scaled
    low: float
    high: float
    formula: str


QUEUE = (
    Feature("present", "-", 0, 1, "1 if a job is in this slot; else the whole row is 0"),
    Feature("legal", "-", 0, 1, "1 if this action is legal: the mask"),
    Feature("size", "processors", 0, 1, "size / machine"),
    Feature("estimate", "s", 0, 1, "log_time(estimate)"),
    Feature("wait", "s", 0, 1, "log_time(now - submit)"),
    Feature("expansion", "-", 0, 1, "min(1, log10((wait + estimate) / estimate) / 4)"),
    Feature("fits", "-", 0, 1, "1 if it fits now and its requested start time has come"),
    Feature("head", "-", 0, 1, "1 if it is the head: the chosen job, else the oldest"),
    Feature("before_shadow", "-", 0, 1, "1 if now + estimate <= the head's shadow time"),
    Feature("within_extra", "-", 0, 1, "1 if size <= the head's extra nodes"),
)
# Columns that follow those of QUEUE in this order, each group only where it can vary
USERS = (
    Feature("user_runtime", "s", 0, 1, "log_time(harmonic mean runtime of the user's ended jobs)"),
    Feature("same_estimate_runtime", "s", 0, 1, "log_time(mean runtime of those of its estimate)"),
    Feature("last_runtime", "s", 0, 1, "log_time(runtime of the user's job that ended last)"),
    Feature("accuracy", "-", 0, 1, "mean runtime / estimate of the user's ended jobs, 1: none"),
    Feature("user_ended", "jobs", 0, 1, "log_count(the user's ended jobs)"),
)
PRIORITY = (Feature("priority", "-", -1, 1, "priority / (1 + abs(priority))"),)
REQUESTED_START = (
    Feature("start_in", "s", 0, 1, "log_time(requested start - now), 0 if it may start"),
)
AGE = (Feature("age", "-", 0, 1, "wait / the age guard's limit, at most 1"),)
TRIAL = (
    Feature("tried", "-", 0, 1, "1 if the job has had its trial"),
    Feature("trial_legal", "-", 0, 1, "1 if its trial is legal: the mask"),
)
CLUSTER = (
    Feature("free", "processors", 0, 1, "free / machine"),
    Feature("queue", "jobs", 0, 1, "log_count(waiting jobs)"),
    Feature("outside", "jobs", 0, 1, "waiting jobs outside the window / waiting jobs"),
    Feature("backlog", "s", 0, 1, "log_time(sum of size x estimate of the waiting / machine)"),
    Feature("shadow", "s", 0, 1, "log_time(head's shadow time - now), 0 if none waits"),
    Feature("extra", "processors", 0, 1, "head's extra nodes / machine, 1 if none waits"),
    Feature("next_end", "s", 0, 1, "log_time(next expected end - now), 1 if none runs"),
    Feature("day_sin", "h", -1, 1, "sin(2 pi time of day / 24 h)"),
    Feature("day_cos", "h", -1, 1, "cos(2 pi time of day / 24 h)"),
)
PASS = (Feature("pass_legal", "-", 0, 1, "1 if the pass is legal: the mask"),)
PROFILE = tuple(
    Feature(f"free_in_{ahead}_s", "processors", 0, 1, f"free / machine, {ahead} s ahead")
    for ahead in AHEAD.tolist()
)


# Names of the groups that the setting `job_features` takes; AGE comes with `max_age`, TRIAL with
# `trial_limit`
JOB_FEATURES = {"users": USERS, "priority": PRIORITY, "requested_start": REQUESTED_START}


def job_columns(
    groups: Sequence[str], age: bool = False, trial: bool = False
) -> tuple[Feature, ...]:
    """Return the features of the observation's "queue", given the groups behind QUEUE."""
    chosen = [features for name, features in JOB_FEATURES.items() if name in groups]
    return sum(chosen, QUEUE) + (AGE if age else ()) + (TRIAL if trial else ())


def column(features: tuple[Feature, ...], name: str) -> int:
    """Return the index of the feature with this name."""
    return [feature.name for feature in features].index(name)


# Columns of QUEUE, whose rows are jobs
JOB_PRESENT = column(QUEUE, "present")
JOB_LEGAL = column(QUEUE, "legal")
JOB_SIZE = column(QUEUE, "size")
JOB_ESTIMATE = column(QUEUE, "estimate")
JOB_WAIT = column(QUEUE, "wait")
JOB_EXPANSION = column(QUEUE, "expansion")
JOB_FITS = column(QUEUE, "fits")
JOB_HEAD = column(QUEUE, "head")
JOB_BEFORE_SHADOW = column(QUEUE, "before_shadow")
JOB_WITHIN_EXTRA = column(QUEUE, "within_extra")
# Columns of USERS, from its first
USER_RUNTIME = column(USERS, "user_runtime")
USER_SAME_ESTIMATE_RUNTIME = column(USERS, "same_estimate_runtime")
USER_LAST_RUNTIME = column(USERS, "last_runtime")
USER_ACCURACY = column(USERS, "accuracy")
USER_USER_ENDED = column(USERS, "user_ended")
# Columns of CLUSTER
CLUSTER_FREE = column(CLUSTER, "free")
CLUSTER_QUEUE = column(CLUSTER, "queue")
CLUSTER_OUTSIDE = column(CLUSTER, "outside")
CLUSTER_BACKLOG = column(CLUSTER, "backlog")
CLUSTER_SHADOW = column(CLUSTER, "shadow")
CLUSTER_EXTRA = column(CLUSTER, "extra")
CLUSTER_NEXT_END = column(CLUSTER, "next_end")
CLUSTER_DAY_SIN = column(CLUSTER, "day_sin")
CLUSTER_DAY_COS = column(CLUSTER, "day_cos")
