"""Predicted runtimes in place of estimates, as EASY++ makes and corrects them.

Tsafrir, Etsion and Feitelson 2007: a job is predicted to run for the mean of the runtimes of the
last two jobs of its user that have ended, but never beyond its estimate, which alone kills it. A
running job that outlives its prediction has it raised, step by step.

Choices: the prediction is made when the policy first sees the job, and rounded down; without two
ended jobs, or without a known user, it is the estimate. It is raised to itself plus one minute,
then plus five, and so on through CORRECTIONS, and after the last to the estimate. A prediction that
expires causes no scheduling pass: it is raised in the next one.
"""

from typing import NamedTuple

import numpy as np

from bfenv.core.cluster import Cluster, finished, now, running, waiting
from bfenv.core.jobs import Jobs
from bfenv.core.kernel import inlined, kernel
from bfenv.knowledge.following import new_from

# CORRECTIONS[i]: seconds by which a prediction is raised once it has been outlived i times
CORRECTIONS = (0, 60, 300, 900, 1800, 3600, 7200, 18000, 36000, 72000, 180000, 360000)


class Predictor(NamedTuple):
    """The predicted runtimes, and what they are made of."""

    duration: np.ndarray  # (n,) int64 seconds: prediction; the estimate where there is none
    predicted: np.ndarray  # (n,) bool: the job has arrived and been predicted
    last_pass: np.ndarray  # (1,) int64, see `new_from`
    recent: np.ndarray  # (users, 2) int64 seconds: runtimes, the last one first; 0 for none yet
    corrections: np.ndarray  # (n,) int64 times that the job has outlived its prediction
    listed: np.ndarray  # (n,) bool: the job is in `running`
    running: np.ndarray  # (m,) int64 running jobs by expected end
    expected_end: np.ndarray  # (m,) int64 seconds, of the jobs in `running`, ascending
    running_count: np.ndarray  # (1,) int64 jobs in `running`


def new_predictor(jobs: Jobs, processors: int) -> Predictor:
    """Return a predictor that knows no runtime yet."""
    count = len(jobs.submit)
    users = 1 + int(jobs.user.max())
    return Predictor(
        duration=np.zeros(count, dtype=np.int64),
        predicted=np.zeros(count, dtype=np.bool_),
        last_pass=np.zeros(1, dtype=np.int64),
        recent=np.zeros((users, 2), dtype=np.int64),
        corrections=np.zeros(count, dtype=np.int64),
        listed=np.zeros(count, dtype=np.bool_),
        running=np.empty(min(count, processors), dtype=np.int64),
        expected_end=np.empty(min(count, processors), dtype=np.int64),
        running_count=np.zeros(1, dtype=np.int64),
    )


@kernel
def predict(predictor, cluster, jobs):
    """Learn from the jobs that ended at this instant, then predict those that arrived."""
    recent = predictor.recent
    for job in finished(cluster):
        user = jobs.user[job]
        if user >= 0:
            recent[user, 1] = recent[user, 0]
            recent[user, 0] = cluster.end[job] - cluster.start[job]
    first = new_from(cluster, predictor.predicted, False, predictor.last_pass)
    for job in waiting(cluster)[first:]:
        if predictor.predicted[job]:
            continue
        user = jobs.user[job]
        predictor.predicted[job] = True
        predictor.duration[job] = jobs.estimate[job]
        if user >= 0 and recent[user, 1] > 0:
            mean = (recent[user, 0] + recent[user, 1]) // 2
            predictor.duration[job] = min(mean, jobs.estimate[job])


@kernel
def _sort_running(predictor, cluster):
    """Bring the running jobs into the order of their predicted ends, all after now."""
    time = now(cluster)
    count = 0
    for i in range(predictor.running_count[0]):
        job = predictor.running[i]
        runs = 0 <= cluster.start[job] <= time  # hidden by an outage, it starts at the end of time
        if not runs or cluster.end[job] >= 0 or cluster.kill_time[job] <= time:
            predictor.listed[job] = False
        else:
            _insert(predictor, count, job, _expected_end(predictor, cluster, job))
            count += 1
    for job in running(cluster):
        if count == len(running(cluster)):
            break
        if not predictor.listed[job]:
            predictor.listed[job] = True
            if not predictor.predicted[job]:  # it started before the first pass of this policy
                predictor.duration[job] = cluster.kill_time[job] - cluster.start[job]
            _insert(predictor, count, job, _expected_end(predictor, cluster, job))
            count += 1
    predictor.running_count[0] = count


@kernel
def _expected_end(predictor, cluster, job):
    """Return when a running job is predicted to end, after now: raise the prediction if need be."""
    while cluster.start[job] + predictor.duration[job] <= now(cluster):
        limit = cluster.kill_time[job] - cluster.start[job]
        step = predictor.corrections[job] + 1
        raised = limit
        if step < len(CORRECTIONS):
            raised = predictor.duration[job] + CORRECTIONS[step] - CORRECTIONS[step - 1]
        predictor.duration[job] = min(raised, limit)
        predictor.corrections[job] = step
    return min(cluster.start[job] + predictor.duration[job], cluster.kill_time[job])


@kernel
def _insert(predictor, count, job, end):
    """Put a job among the running jobs, the first `count` of which are in order."""
    i = count
    while i > 0 and predictor.expected_end[i - 1] > end:
        predictor.expected_end[i] = predictor.expected_end[i - 1]
        predictor.running[i] = predictor.running[i - 1]
        i -= 1
    predictor.expected_end[i] = end
    predictor.running[i] = job


@inlined
def predicted_cluster(cluster, predictor):
    """Return the cluster with predicted ends in place of expected ends."""
    _sort_running(predictor, cluster)
    return Cluster(
        cluster.state,
        cluster.queue,
        predictor.running,
        predictor.expected_end,
        cluster.started,
        cluster.finished,
        cluster.start,
        cluster.end,
        cluster.kill_time,
        cluster.trial_start,
        cluster.trial_end,
    )
