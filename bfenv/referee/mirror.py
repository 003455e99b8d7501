"""The mirror: the machine in a player's process, built from messages alone.

It is a `Cluster` of the same engine. Its future is empty: jobs are written into it when they are
submitted, and a runtime when its job ends.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bfenv.core.cluster import (
    LAST_JOB,
    STARTED,
    WAKE,
    Cluster,
    advance,
    commit_starts,
    may_start,
    new_cluster,
    start,
    try_start,
    wake_at,
)
from bfenv.core.event_heap import EventHeap, push
from bfenv.core.jobs import FOREVER, Jobs, Trace

SOMETIME = FOREVER // 8  # seconds, submit time of jobs that are not known yet


class Mirror:
    """A machine that follows messages.

    Parameters
    ----------
    processors
        Of the machine.
    jobs
        How many jobs there may be; more are never submitted.
    users
        One more than the largest number of a user may be.
    requested_starts
        Whether jobs may have requested start times.
    """

    def __init__(self, processors: int, jobs: int, users: int, requested_starts: bool) -> None:
        # Policies make their memory from these: no array of theirs is then too short.
        request = (SOMETIME, processors, 1, users - 1, 0, int(requested_starts))
        self._columns = same_jobs(jobs, request)
        self._runtime = np.ones(jobs, dtype=np.int64)
        views = Jobs(*(column.view() for column in self._columns))
        trace = Trace(views, self._runtime.view(), processors)
        self.jobs = trace.jobs  # read-only, as policies always get them
        self.cluster, self._truth = new_cluster(trace)
        self._events = EventHeap(*self._truth[1:])
        self._runtime[:] = FOREVER  # until a job ends
        self.cluster.state[LAST_JOB] = 0

    def follow(
        self,
        now: int,
        submitted: Sequence[Sequence[int]],
        ended: Sequence[int],
        killed: Sequence[int],
    ) -> None:
        """Go on to the scheduling pass at `now`, in seconds.

        Parameters
        ----------
        now
            The clock.
        submitted
            [job, submit, size, estimate, user, priority, requested_start] of each new job.
        ended, killed
            The jobs that have ended now, and those whose trial has.
        """
        cluster, runtime = self.cluster, self._runtime
        if cluster.state[STARTED]:
            commit_starts(cluster, self.jobs, self._truth)
        self._events.length[0] = 0  # what is to come is not known here
        for job in ended:
            runtime[job] = now - cluster.start[job]
            push(self._events, now, job)
        for job in killed:
            push(self._events, now, job)
        for job, *request in submitted:
            for column, value in zip(self._columns, request, strict=True):
                column[job] = value
        cluster.state[LAST_JOB] += len(submitted)
        cluster.state[WAKE] = now
        advance(cluster, self.jobs, self._truth)

    def reply(self) -> dict[str, Any]:
        """Return what the policy has done in this pass, as a message."""
        return starts_of(self.cluster, self.jobs)


def same_jobs(count: int, request: Sequence[int]) -> Jobs:
    """Return jobs that all have one request, in the order of the columns."""
    return Jobs(*(np.full(count, value, dtype=np.int64) for value in request))


def starts_of(cluster: Cluster, jobs: Jobs) -> dict[str, Any]:
    """Return the starts of this pass, in their order, and the wake-up that it asks for."""
    reply: dict[str, Any] = {}
    count = int(cluster.state[STARTED])
    if count:
        order = cluster.started[:count]
        limits = cluster.kill_time[order] - cluster.start[order]
        whole = limits == jobs.estimate[order]
        rows = zip(order.tolist(), limits.tolist(), whole.tolist(), strict=True)
        reply["start"] = [job if is_whole else [job, limit] for job, limit, is_whole in rows]
    if cluster.state[WAKE] != FOREVER:
        reply["wake"] = int(cluster.state[WAKE])
    return reply


def warm_mirror() -> None:
    """Compile what a player needs, or load its compiled code: a player cannot keep any."""
    mirror = Mirror(1, 4, 1, False)
    cluster, jobs = mirror.cluster, mirror.jobs
    mirror.follow(0, [[0, 0, 1, 9, -1, 0, 0], [1, 0, 1, 9, -1, 0, 0]], [], [])
    wake_at(cluster, 5)
    try_start(cluster, jobs, 0, 5)
    mirror.follow(5, [], [], [0])
    start(cluster, jobs, 1)
    mirror.follow(14, [], [1], [])
    may_start(cluster, jobs, 0)
