"""Simulation of a machine whose processors are out of service at known times.

An outage is a job that nobody submits: at its begin it takes its processors, at its end it gives
them back. All outages are announced long before, like maintenance: no job starts that could still
run, by its estimate, when its processors go out of service. So an outage kills no job.

The policy decides as always. In each pass it sees only the waiting jobs that, taken alone, end in
time or leave the outage enough processors. If the jobs that it starts together leave too few, the
first that is too many is hidden as well, the starts are undone, and it decides again.
"""

from typing import Any, NamedTuple

import numpy as np

from bfenv.core.cluster import (
    FINISHED,
    HORIZON,
    PROCESSORS,
    QUEUE_BEGIN,
    QUEUE_END,
    Cluster,
    Truth,
    advance,
    commit_starts,
    expected_ends,
    now,
    retract,
    running,
    start,
    started,
    waiting,
)
from bfenv.core.jobs import FOREVER, Jobs, Trace
from bfenv.core.policy import Policy


class Blockers(NamedTuple):
    """The outages as jobs of a trace."""

    job: np.ndarray  # (k,) int64 jobs, by begin
    begin: np.ndarray  # (k,) int64 seconds, ascending
    end: np.ndarray  # (k,) int64 seconds
    processors: np.ndarray  # (k,) int64
    longest: int  # seconds, the longest estimate of a real job


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
    longest = int(jobs.estimate.max())
    blockers = Blockers(place, begin[by_begin], end[by_begin], processors[by_begin], longest)
    return Trace(joined, runtime, trace.processors, trace.name), blockers


def run_around(
    policy: Policy, cluster: Cluster, jobs: Jobs, truth: Truth, memory: Any, blockers: Blockers
) -> None:
    """Run all passes of a policy on a trace that `with_blockers` made.

    Compiled policies run by themselves up to the first job that could meet the next outage.
    """
    next_outage = 0
    while True:
        while (
            next_outage < len(blockers.job) and cluster.start[blockers.job[next_outage]] < FOREVER
        ):
            next_outage += 1  # it has begun
        if policy.run is not None:
            is_last = next_outage == len(blockers.begin)
            horizon = FOREVER if is_last else blockers.begin[next_outage] - blockers.longest
            cluster.state[HORIZON] = horizon
            policy.run(cluster, jobs, truth, memory)
            cluster.state[HORIZON] = FOREVER
        if not advance(cluster, jobs, truth):
            return
        _start_blockers(cluster, jobs, truth, blockers)
        _decide_around(policy, cluster, jobs, memory, blockers)


def _start_blockers(cluster: Cluster, jobs: Jobs, truth: Truth, blockers: Blockers) -> None:
    due = blockers.job[blockers.begin == now(cluster)]
    for job in due:
        start(cluster, jobs, job)
    if len(due):
        commit_starts(cluster, jobs, truth)


def _decide_around(
    policy: Policy, cluster: Cluster, jobs: Jobs, memory: Any, blockers: Blockers
) -> None:
    """Make one scheduling pass in which no job is started that would meet an outage."""
    state, queue = cluster.state, waiting(cluster).copy()
    if not len(queue):
        policy.decide(cluster, jobs, memory)
        return
    begin, room = _room(cluster, jobs, blockers)
    visible = _fits(jobs, queue, now(cluster), begin, room)
    while True:
        first, shown, hidden = state[QUEUE_BEGIN], queue[visible], queue[~visible]
        cluster.queue[first : first + len(shown)] = shown
        state[QUEUE_END] = first + len(shown)
        cluster.start[hidden] = FOREVER  # policies that keep a list of their own drop them
        policy.decide(cluster, jobs, memory)
        cluster.start[hidden] = -1
        cluster.queue[first : first + len(queue)] = queue
        state[QUEUE_END] = first + len(queue)
        too_many = _first_too_many(cluster, jobs, begin, room)
        if too_many < 0:
            return
        visible &= queue != too_many
        retract(cluster, jobs)
        state[FINISHED] = 0  # the policy has learned of these already


def _room(cluster: Cluster, jobs: Jobs, blockers: Blockers) -> tuple[np.ndarray, np.ndarray]:
    """Return the begins of the outages to come, and the processors that jobs may hold then.

    Running jobs only end, and an outage only begins, at one of these instants; so a job that
    leaves enough there leaves enough all the time.
    """
    to_come = blockers.begin > now(cluster)
    begin, end = blockers.begin[to_come], blockers.end[to_come]
    processors = blockers.processors[to_come]
    ends, sizes = expected_ends(cluster), jobs.size[running(cluster)]
    total = cluster.state[PROCESSORS]
    room = [
        total - sizes[ends > instant].sum() - processors[(begin <= instant) & (end > instant)].sum()
        for instant in begin
    ]
    return begin, np.array(room, dtype=np.int64)


def _fits(
    jobs: Jobs, queue: np.ndarray, time: int, begin: np.ndarray, room: np.ndarray
) -> np.ndarray:
    """Return which waiting jobs, started now, leave each outage its processors: (q,) bool."""
    least = np.minimum.accumulate(np.concatenate([[FOREVER], room]))
    met = np.searchsorted(begin, time + jobs.estimate[queue])  # outages that begin before its end
    fits: np.ndarray = jobs.size[queue] <= least[met]
    return fits


def _first_too_many(cluster: Cluster, jobs: Jobs, begin: np.ndarray, room: np.ndarray) -> int:
    """Return the first job started in this pass for which there is no room; -1 if there is none."""
    left = room.copy()
    for job in started(cluster):
        met = begin < cluster.kill_time[job]
        left[met] -= jobs.size[job]
        if (left[met] < 0).any():
            return int(job)
    return -1
