"""Simulation of a machine whose processors are out of service at known times.

The simulator treats an outage as a job that no user submitted: it takes its processors at its begin
and gives them back at its end. All outages are announced long before, as maintenance is. So no job
starts that could still be running, by its estimate, when its processors go out of service, and an
outage kills no job.

The policy decides as always. In each pass it sees only the waiting jobs that, taken alone, end in
time or leave the outage enough processors. If the jobs that it starts together leave too few, the
first that is too many is hidden as well, the starts are undone, and it decides again.
"""

from typing import Any, NamedTuple

import numpy as np

from bfenv.core.cluster import (
    FINISHED,
    HORIZON,
    LAST_JOB,
    NEXT_JOB,
    PASSES,
    PROCESSORS,
    QUEUE_BEGIN,
    QUEUE_END,
    RUNNING,
    Cluster,
    Truth,
    advance,
    commit_starts,
    now,
    retract,
    start,
    started,
    waiting,
)
from bfenv.core.jobs import FOREVER, Jobs, Trace
from bfenv.core.kernel import kernel
from bfenv.core.passes import run_passes
from bfenv.core.policy import Policy

MET, WAITING = range(2)  # outages that a waiting job could meet, jobs that wait: Detour.counts


class Blockers(NamedTuple):
    """The outages as jobs of a trace."""

    job: np.ndarray  # (k,) int64 jobs, by begin
    begin: np.ndarray  # (k,) int64 seconds, ascending
    end: np.ndarray  # (k,) int64 seconds
    processors: np.ndarray  # (k,) int64


class Detour(NamedTuple):
    """What a pass around outages works with; only valid within it."""

    counts: np.ndarray  # (2,) int64: MET, WAITING
    room: np.ndarray  # (k,) int64 processors that jobs may hold when each outage to come begins
    left: np.ndarray  # (k,) int64, of these, what is left beside the jobs started in the pass
    queue: np.ndarray  # (n,) int64 jobs, all that wait
    hidden: np.ndarray  # (n,) bool, of these, what the policy does not see


def with_blockers(trace: Trace) -> tuple[Trace, Blockers]:
    """Return the trace with a job for each outage and without outages, and which jobs these are."""
    begin, end, processors = np.array(trace.outages, dtype=np.int64).reshape(-1, 3).T
    jobs, count, length = trace.jobs, len(begin), end - begin
    zeros = np.zeros(count, dtype=np.int64)
    added = Jobs(begin, processors, length, zeros - 1, zeros, zeros)
    order = np.argsort(np.concatenate([jobs.submit, begin]), kind="stable")
    joined = Jobs(*(np.concatenate(pair)[order] for pair in zip(jobs, added, strict=True)))
    runtime = np.concatenate([trace.runtime, length])[order]
    place = np.flatnonzero(order >= len(trace))
    by_begin = order[place] - len(trace)
    blockers = Blockers(place, begin[by_begin], end[by_begin], processors[by_begin])
    return Trace(joined, runtime, trace.processors, trace.name), blockers


def run_around(
    policy: Policy, cluster: Cluster, jobs: Jobs, truth: Truth, memory: Any, blockers: Blockers
) -> None:
    """Run all passes of a policy on a trace that `with_blockers` made.

    Compiled policies run by themselves while no waiting job could meet the next outage.
    """
    count, jobs_count = len(blockers.job), len(jobs.submit)
    detour = Detour(
        counts=np.zeros(2, dtype=np.int64),
        room=np.empty(count, dtype=np.int64),
        left=np.empty(count, dtype=np.int64),
        queue=np.empty(jobs_count, dtype=np.int64),
        hidden=np.empty(jobs_count, dtype=np.bool_),
    )
    coming, is_clear = 0, True  # the first outage that has not begun; no waiting job can meet it
    while True:
        while coming < count and cluster.start[blockers.job[coming]] < FOREVER:
            coming += 1
        if is_clear and policy.run is not None:
            cluster.state[HORIZON] = _horizon(cluster, jobs, blockers, coming)
            run_passes(policy, cluster, jobs, truth, memory)
            cluster.state[HORIZON] = FOREVER
        if not advance(cluster, jobs, truth):
            return
        if coming < count and blockers.begin[coming] == now(cluster):
            coming = _start_blockers(cluster, jobs, truth, blockers, coming)
        is_clear = _decide_around(policy, cluster, jobs, memory, blockers, coming, detour)


def _start_blockers(
    cluster: Cluster, jobs: Jobs, truth: Truth, blockers: Blockers, coming: int
) -> int:
    """Start the outages that begin now; return the next one."""
    while coming < len(blockers.job) and blockers.begin[coming] == now(cluster):
        start(cluster, jobs, blockers.job[coming])
        coming += 1
    commit_starts(cluster, jobs, truth)
    return coming


def _decide_around(
    policy: Policy,
    cluster: Cluster,
    jobs: Jobs,
    memory: Any,
    blockers: Blockers,
    coming: int,
    detour: Detour,
) -> bool:
    """Make one scheduling pass in which no job is started that would meet an outage.

    Return whether no waiting job could have met one.
    """
    if _hide(cluster, jobs, blockers, coming, detour) == 0:
        policy.decide(cluster, jobs, memory)
        return True
    while True:
        if policy.trials:
            # Their list of trials follows the queue from pass to pass, but not what is hidden in
            # it: with a gap between the numbers of the passes, they make it again.
            cluster.state[PASSES] += 2
        policy.decide(cluster, jobs, memory)
        if not _hide_too_many(cluster, jobs, blockers, coming, detour):
            cluster.state[PASSES] += policy.trials
            return False


@kernel
def _horizon(cluster, jobs, blockers, coming):
    """Return the instant before which no waiting job could meet an outage, in seconds.

    Jobs that come until then count. It may be in the past.
    """
    if coming == len(blockers.begin):
        return FOREVER
    longest = 0
    for job in waiting(cluster):
        if cluster.start[job] < 0:
            longest = max(longest, jobs.estimate[job])
    for job in cluster.running[: cluster.state[RUNNING]]:
        if cluster.trial_start[job] == cluster.start[job]:  # on trial, and soon back in the queue
            longest = max(longest, jobs.estimate[job])
    begin = blockers.begin[coming]
    for job in range(cluster.state[NEXT_JOB], cluster.state[LAST_JOB]):
        if jobs.submit[job] >= begin - longest:
            break
        if jobs.submit[job] + jobs.estimate[job] > begin:
            return jobs.submit[job]
        longest = max(longest, jobs.estimate[job])
    return begin - longest


@kernel
def _hide(cluster, jobs, blockers, coming, detour):
    """Hide the waiting jobs that alone leave an outage too little.

    Return how many outages a waiting job could meet: with none, nothing is hidden.
    """
    met = _find_room(cluster, jobs, blockers, coming, detour)
    if met == 0:
        return 0
    size = 0
    for job in waiting(cluster):
        detour.queue[size] = job
        detour.hidden[size] = False
        for i in range(met):
            if blockers.begin[coming + i] >= now(cluster) + jobs.estimate[job]:
                break
            if jobs.size[job] > detour.room[i]:
                detour.hidden[size] = True
                break
        size += 1
    detour.counts[MET] = met
    detour.counts[WAITING] = size
    _show(cluster, detour)
    return met


@kernel
def _find_room(cluster, jobs, blockers, coming, detour):
    """Find what jobs may hold when each outage begins; return how many a waiting job can meet.

    Running jobs only end, and an outage only begins, at one of these instants; so a job that
    leaves enough there leaves enough all the time.
    """
    state, longest, held = cluster.state, 0, 0
    for job in waiting(cluster):
        longest = max(longest, jobs.estimate[job])
    for i in range(state[RUNNING]):
        held += jobs.size[cluster.running[i]]
    ended, met = 0, 0
    for k in range(coming, len(blockers.begin)):
        begin, out = blockers.begin[k], 0
        if begin >= now(cluster) + longest:
            break
        while ended < state[RUNNING] and cluster.expected_end[ended] <= begin:
            held -= jobs.size[cluster.running[ended]]
            ended += 1
        for other in range(coming, len(blockers.begin)):
            if blockers.begin[other] > begin:
                break
            if blockers.end[other] > begin:
                out += blockers.processors[other]
        detour.room[met] = state[PROCESSORS] - held - out
        met += 1
    return met


@kernel
def _hide_too_many(cluster, jobs, blockers, coming, detour):
    """Put all jobs back into the queue, and tell if one was started that is too many.

    The first such job is hidden, and the starts of this pass are undone.
    """
    for i in range(detour.counts[WAITING]):
        cluster.queue[cluster.state[QUEUE_BEGIN] + i] = detour.queue[i]
        if detour.hidden[i]:
            cluster.start[detour.queue[i]] = -1
    cluster.state[QUEUE_END] = cluster.state[QUEUE_BEGIN] + detour.counts[WAITING]
    too_many = _first_too_many(cluster, jobs, blockers, coming, detour)
    if too_many < 0:
        return False
    place = np.searchsorted(detour.queue[: detour.counts[WAITING]], too_many)
    detour.hidden[place] = True
    retract(cluster, jobs)
    cluster.state[FINISHED] = 0  # the policy has learned of these already
    _show(cluster, detour)
    return True


@kernel
def _show(cluster, detour):
    """Leave in the queue what the policy may see."""
    state = cluster.state
    state[QUEUE_END] = state[QUEUE_BEGIN]
    for i in range(detour.counts[WAITING]):
        job = detour.queue[i]
        if detour.hidden[i]:
            cluster.start[job] = FOREVER  # policies that keep a list of their own drop it
        else:
            cluster.queue[state[QUEUE_END]] = job
            state[QUEUE_END] += 1


@kernel
def _first_too_many(cluster, jobs, blockers, coming, detour):
    """Return the first job started in this pass for which there is no room; -1 if there is none."""
    for i in range(detour.counts[MET]):
        detour.left[i] = detour.room[i]
    for job in started(cluster):
        for i in range(detour.counts[MET]):
            if blockers.begin[coming + i] >= cluster.kill_time[job]:
                break
            detour.left[i] -= jobs.size[job]
            if detour.left[i] < 0:
                return job
    return -1
