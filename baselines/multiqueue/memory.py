"""What multiple-queue backfilling keeps from pass to pass, and what a waiting job waits for."""

from typing import NamedTuple

import numpy as np

from bfenv.baselines.multiqueue.partitions import Partitions, new_partitions
from bfenv.baselines.reservations import NONE, Reservations, new_reservations
from bfenv.core.cluster import waiting
from bfenv.core.jobs import FOREVER, Jobs
from bfenv.core.kernel import kernel

TO_BE_TRIED, QUEUED, NEITHER = range(3)  # stages of a job


class Memory(NamedTuple):
    """Partitions, promised starts, options, and how the last pass left all."""

    partitions: Partitions
    promises: Reservations  # the profile, and the promised starts of pivots and trials
    reserved_start: np.ndarray  # (n,) int64 seconds, promised to a requested start; NONE for none
    pivot: np.ndarray  # (k,) int64 job; NONE for none
    stage: np.ndarray  # (n,) int64, of each job when it is first seen
    trial_length: np.ndarray  # (1,) int64 seconds
    tried_above: np.ndarray  # (1,) int64 seconds: jobs with longer estimates are tried first
    any_requested: np.ndarray  # (1,) bool: some job of the trace has a requested start
    untried: np.ndarray  # (n,) int64 jobs that wait for their trial, in order of arrival
    begun: np.ndarray  # (m,) int64 jobs started in the last pass
    state: np.ndarray  # (STATE,) int64, see the names below


# Places in Memory.state
(
    UNTRIED,  # number of jobs in `untried`
    LAST_PASS,  # number of the last pass
    BEGUN,  # number of jobs that it started
    SEEN,  # one past the last job of its queue
    LEFT_FREE,  # processors that it left free
    LEFT_WAITING,  # jobs that it left waiting
    GAINED,  # 1: room was gained since the last pass began, so a promised start may move up
    SETTLED,  # 1: no promised start can move up in this pass
    NEXT_PROMISE,  # seconds: no promised start is before, though the first may be later
    LOWEST,  # priority of the jobs seen so far
    HIGHEST,  # priority of the jobs seen so far
) = range(11)
STATE = 11
NO_PRIORITY = -FOREVER  # below any


def new_memory(
    jobs: Jobs,
    processors: int,
    generator: np.random.Generator | None,
    *,
    bounds: tuple[int, ...],
    speculation: int,
    tried_above: int,
) -> Memory:
    """Return the options, an equally divided machine, and no promises."""
    count = len(jobs.submit)
    state = np.zeros(STATE, dtype=np.int64)
    state[[LOWEST, HIGHEST]] = FOREVER, NO_PRIORITY
    return Memory(
        partitions=new_partitions(jobs, processors, bounds),
        promises=new_reservations(jobs, processors),
        reserved_start=np.full(count, NONE, dtype=np.int64),
        pivot=np.full(len(bounds) + 1, NONE, dtype=np.int64),
        stage=np.full(count, NEITHER),
        trial_length=np.array([speculation]),
        tried_above=np.array([tried_above]),
        any_requested=np.array([jobs.requested_start.any()]),
        untried=np.empty(count, dtype=np.int64),
        begun=np.empty(min(count, processors), dtype=np.int64),
        state=state,
    )


def records(memory: Memory) -> dict[str, np.ndarray]:
    """Return, per job, the start (s) promised to a requested start, and processors reassigned.

    Jobs without a requested start have -1 for the first.
    """
    return {
        "reserved_start": memory.reserved_start,
        "reassigned": memory.partitions.reassigned,
    }


@kernel
def note_stage(jobs, memory, job):
    """Note whether a job that is first seen is to be tried, stands in its queue, or neither."""
    if jobs.requested_start[job] == 0:
        tried = memory.trial_length[0] > 0 and jobs.estimate[job] > memory.tried_above[0]
        memory.stage[job] = TO_BE_TRIED if tried else QUEUED


@kernel
def stage_of(cluster, memory, job):
    """Return whether a job is to be tried first, stands in its queue, or neither."""
    if cluster.start[job] >= 0:
        return NEITHER
    if cluster.trial_start[job] >= 0:
        return QUEUED
    return memory.stage[job]


@kernel
def length_of(cluster, jobs, memory, job):
    """Return for how long (s) a waiting job holds its processors once it starts, at most."""
    if stage_of(cluster, memory, job) == TO_BE_TRIED:
        return min(memory.trial_length[0], jobs.estimate[job])
    return jobs.estimate[job]


@kernel
def next_priority(cluster, jobs, memory, above):
    """Return the highest priority below `above` among the waiting jobs, or NO_PRIORITY."""
    highest = NO_PRIORITY
    if above > memory.state[LOWEST]:
        for job in waiting(cluster):
            if highest < jobs.priority[job] < above:
                highest = jobs.priority[job]
                if highest >= min(above - 1, memory.state[HIGHEST]):
                    break
    return highest
