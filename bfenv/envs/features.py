"""The tables of features: what the numbers of an observation are, in their order.

`log_time(t)` is min(1, log(1 + t / 1 s) / log(1 + 100 days / 1 s)): it maps 10 min to 0.40, 10 h to
0.66, 100 h to 0.80. `log_count(n)` is min(1, log(1 + n) / log(1 + 10^4)). `log_expansion(x)` is
min(1, log10(x) / 4).
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

import bfenv.knowledge.user_history as h
from bfenv.core.durations import DAY

# `log` takes half the time of `log1p`, which would change nothing here
LOG_LONGEST = math.log1p(100 * DAY)
LOG_MOST = math.log1p(10_000)
LOG_LARGEST_EXPANSION = math.log(10_000)
VERSION = 4  # of the tables; saved models note it
AHEAD = np.concatenate([[0], np.rint(np.geomspace(60, 5 * DAY, 31))]).astype(np.int64)


class Feature(NamedTuple):
    """One number of the observation."""

    name: str  # in the tables of the specification
    unit: str  # before it is scaled
    formula: str  # how it is scaled
    low: float = 0  # least value
    high: float = 1  # largest value


QUEUE = (
    Feature("present", "-", "1 if a job is in this slot; else the whole row is 0"),
    Feature("legal", "-", "1 if this action is legal: the mask"),
    Feature("size", "processors", "size / machine"),
    Feature("estimate", "s", "log_time(estimate)"),
    Feature("wait", "s", "log_time(now - submit)"),
    Feature("expansion", "-", "log_expansion((wait + estimate) / estimate)"),
    Feature("fits", "-", "1 if it fits now and its requested start time has come"),
    Feature("head", "-", "1 if it is the head: the job named in this pass, else the oldest"),
    Feature("before_shadow", "-", "1 if now + estimate <= the head's shadow time"),
    Feature("within_extra", "-", "1 if size <= the head's extra nodes"),
)
# Of QUANTITIES, those that the columns of USERS are
USER_QUANTITIES = (
    h.USER_RUNTIME,
    h.SAME_ESTIMATE_RUNTIME,
    h.SAME_SIZE_RUNTIME,
    h.LAST_RUNTIME,
    h.PREVIOUS_RUNTIME,
    h.PREDICTED_EXPANSION,
    h.ACCURACY,
    h.USER_QUEUED,
    h.USER_RUNNING,
    h.USER_ENDED,
)
SCALES = {"s": "log_time({})", "jobs": "log_count({})", "-": "{}"}  # of quantities, by unit


def _user_feature(quantity: int) -> Feature:
    name, unit, meaning, _ = h.QUANTITIES[quantity]
    scale = "log_expansion({})" if quantity == h.PREDICTED_EXPANSION else SCALES[unit]
    return Feature(name, unit, scale.format(meaning))


# Columns that follow those of QUEUE in this order, each group only where it can vary
USERS = tuple(map(_user_feature, USER_QUANTITIES))
PRIORITY = (Feature("priority", "-", "priority / (1 + abs(priority))", -1),)
REQUESTED_START = (Feature("start_in", "s", "log_time(requested start - now), 0 if it may start"),)
CLUSTER = (
    Feature("free", "processors", "free / machine"),
    Feature("queue", "jobs", "log_count(waiting jobs)"),
    Feature("outside", "jobs", "waiting jobs outside the window / waiting jobs"),
    Feature("backlog", "s", "log_time(sum of size x estimate of the waiting / machine)"),
    Feature("shadow", "s", "log_time(head's shadow time - now), 0 if none waits"),
    Feature("extra", "processors", "head's extra nodes / machine, 1 if none waits"),
    Feature("next_end", "s", "log_time(next expected end - now), 1 if none runs"),
    Feature("day_sin", "h", "sin(2 pi time of day / 24 h)", -1),
    Feature("day_cos", "h", "cos(2 pi time of day / 24 h)", -1),
)
PASS = (Feature("pass_legal", "-", "1 if the pass is legal: the mask"),)
PROFILE = tuple(
    Feature(f"free_in_{ahead}_s", "processors", f"free / machine, {ahead} s ahead")
    for ahead in AHEAD.tolist()
)


# Names of the groups that the setting `job_features` takes
JOB_FEATURES = {"users": USERS, "priority": PRIORITY, "requested_start": REQUESTED_START}


def job_columns(groups: Sequence[str]) -> tuple[Feature, ...]:
    """Return the features of the observation's "queue", given the groups behind QUEUE."""
    chosen = [features for name, features in JOB_FEATURES.items() if name in groups]
    return sum(chosen, QUEUE)


# Columns of QUEUE, whose rows are jobs
(
    JOB_PRESENT,
    JOB_LEGAL,
    JOB_SIZE,
    JOB_ESTIMATE,
    JOB_WAIT,
    JOB_EXPANSION,
    JOB_FITS,
    JOB_HEAD,
    JOB_BEFORE_SHADOW,
    JOB_WITHIN_EXTRA,
) = range(len(QUEUE))
# Columns of CLUSTER
(
    CLUSTER_FREE,
    CLUSTER_QUEUE,
    CLUSTER_OUTSIDE,
    CLUSTER_BACKLOG,
    CLUSTER_SHADOW,
    CLUSTER_EXTRA,
    CLUSTER_NEXT_END,
    CLUSTER_DAY_SIN,
    CLUSTER_DAY_COS,
) = range(len(CLUSTER))


def observation_space(
    queue: tuple[Feature, ...], cluster: tuple[Feature, ...], window: int
) -> spaces.Space[Any]:
    """Return the space of an environment's observations.

    * `queue`, `cluster`: columns of these parts.
    * `window`: Slots.
    """
    return spaces.Dict(
        {"queue": _box(queue, window), "profile": _box(PROFILE), "cluster": _box(cluster)}
    )


def _box(features: tuple[Feature, ...], *rows: int) -> spaces.Box:
    low = np.broadcast_to([f.low for f in features], (*rows, len(features)))
    high = np.broadcast_to([f.high for f in features], (*rows, len(features)))
    return spaces.Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)
