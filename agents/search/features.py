"""The features of a waiting job that a scorer weighs.

They are fixed, so that saved scorers keep their meaning when the observation of Backfill-v0
changes. `squash(x, c)` is x / (x + c): it maps [0, inf) to [0, 1), and c to 1/2.
"""

from typing import NamedTuple

from bfenv.core.durations import HOUR
from bfenv.core.kernel import kernel


class ScorerFeature(NamedTuple):
    """One number about a waiting job."""

    name: str
    formula: str


FEATURE_TABLE = (
    ScorerFeature("present", "1"),
    ScorerFeature("size", "size / machine"),
    ScorerFeature("estimate", "squash(estimate, 1 h)"),
    ScorerFeature("wait", "squash(now - submit, 1 h)"),
    ScorerFeature("slowdown", "squash(now - submit, estimate) = 1 - 1 / expected slowdown"),
    ScorerFeature("fits", "1 if it fits now and its requested start time has come"),
    ScorerFeature("before_shadow", "1 if now + estimate <= the oldest job's shadow time"),
    ScorerFeature("within_extra", "1 if size <= the oldest job's extra nodes"),
    ScorerFeature("accuracy", "mean runtime / estimate of the user's ended jobs, -1: none"),
    ScorerFeature("priority", "priority / (1 + abs(priority))"),
    ScorerFeature("start_in", "squash(requested start - now, 1 h), 0 if it may start"),
)
NAMES = tuple(feature.name for feature in FEATURE_TABLE)
JOB_PRESENT = NAMES.index("present")
JOB_SIZE = NAMES.index("size")
JOB_ESTIMATE = NAMES.index("estimate")
JOB_WAIT = NAMES.index("wait")
JOB_SLOWDOWN = NAMES.index("slowdown")
JOB_FITS = NAMES.index("fits")
JOB_BEFORE_SHADOW = NAMES.index("before_shadow")
JOB_WITHIN_EXTRA = NAMES.index("within_extra")
JOB_ACCURACY = NAMES.index("accuracy")
JOB_PRIORITY = NAMES.index("priority")


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
