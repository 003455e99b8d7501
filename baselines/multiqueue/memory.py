"""What multiple-queue backfilling keeps from pass to pass, and what a waiting job waits for.

Lawson and Smirni 2002, section 2.1 and equation (1). The machine is divided into partitions, by
default one for each queue. Processors that are idle in one partition can move to another for a
start.
"""

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from bfenv.baselines.queue_order import QueueOrder, order_unless_none
from bfenv.baselines.reservations import NONE, Reservations, new_reservations
from bfenv.core.cluster import running, waiting
from bfenv.core.jobs import FOREVER, Jobs
from bfenv.core.kernel import inlined, kernel
from bfenv.knowledge.priorities import Order


class Partitions(NamedTuple):
    """The bounds between the queues, and the processors of each partition."""

    bounds: np.ndarray  # (q - 1,) int64 seconds, of equation (1)
    queue: np.ndarray  # (n,) int64, of each job; -1 where not looked at
    of_queue: np.ndarray  # (q,) int64 partition of each queue
    owned: np.ndarray  # (k,) int64 processors
    busy: np.ndarray  # (k,) int64 processors in use, when a job last started
    reassigned: np.ndarray  # (n,) int64 processors reassigned to its partition for a job's start


def new_partitions(
    jobs: Jobs, processors: int, bounds: tuple[int, ...], shares: tuple[float, ...]
) -> Partitions:
    """Divide the machine by shares; the processors left over belong to the first partitions.

    The queues are dealt out to the partitions in order, as evenly as possible; where there are more
    partitions than queues, the last ones have none and lend their processors to the others.
    """
    queues, count = len(bounds) + 1, len(shares)
    parts = [Fraction(share) for share in shares]
    owned = np.array([math.floor(processors * part / sum(parts)) for part in parts], dtype=np.int64)
    owned[: processors - owned.sum()] += 1
    of_queue = [queue if count >= queues else queue * count // queues for queue in range(queues)]
    return Partitions(
        bounds=np.array(bounds, dtype=np.int64),
        queue=np.full(len(jobs.submit), -1),
        of_queue=np.array(of_queue),
        owned=owned,
        busy=np.zeros(count, dtype=np.int64),
        reassigned=np.zeros(len(jobs.submit), dtype=np.int64),
    )


@kernel
def queue_of(partitions, jobs, job):
    """Return the queue of a job by equation (1), counted from 0."""
    if partitions.queue[job] < 0:
        below = np.searchsorted(partitions.bounds, jobs.estimate[job], side="right")
        partitions.queue[job] = below
    return partitions.queue[job]


@kernel
def partition_of(partitions, jobs, job):
    """Return the partition of a job's queue, counted from 0."""
    return partitions.of_queue[queue_of(partitions, jobs, job)]


@kernel
def reassign_processors(partitions, cluster, jobs, job):
    """Lines 6a.I and 7c.I: give the partition of a job just started the processors it lacks.

    Other partitions come first. They lack processors only where others have started jobs.
    """
    if len(partitions.owned) == 1:
        return
    partitions.busy[:] = 0
    for running_job in running(cluster):
        partitions.busy[partition_of(partitions, jobs, running_job)] += jobs.size[running_job]
    p = partition_of(partitions, jobs, job)
    for q in range(len(partitions.owned)):
        if q != p:
            _reassign(partitions, q)
    partitions.reassigned[job] = _reassign(partitions, p)


@kernel
def _reassign(partitions, p):
    """Give partition p the processors that it lacks for those in use, and return their number.

    They come from the partition with the most idle processors, then from the next.
    """
    owned, busy = partitions.owned, partitions.busy
    lacking = max(0, busy[p] - owned[p])
    missing = lacking
    while missing > 0:
        source = -1
        for q in range(len(owned)):
            idle_q = owned[q] - busy[q]
            if q != p and (source < 0 or idle_q > owned[source] - busy[source]):
                source = q
        moved = min(missing, owned[source] - busy[source])
        owned[source] -= moved
        owned[p] += moved
        missing -= moved
    return lacking


TO_BE_TRIED, QUEUED, NEITHER = range(3)  # stages of a job


class Memory(NamedTuple):
    """Partitions, promised starts, options, and how the last pass left all."""

    partitions: Partitions
    promises: Reservations  # the profile, and the promised starts of pivots and trials
    reserved_start: np.ndarray  # (n,) int64 seconds, promised to a requested start; NONE for none
    pivot: np.ndarray  # (q,) int64 job; NONE for none
    stage: np.ndarray  # (n,) int64, of each job when it is first seen
    trial_length: np.ndarray  # (1,) int64 seconds
    tried_above: np.ndarray  # (1,) int64 seconds: jobs with longer estimates are tried first
    any_requested: np.ndarray  # (1,) bool: some job of the trace has a requested start
    untried: np.ndarray  # (n,) int64 jobs that wait for their trial, in order of arrival
    begun: np.ndarray  # (m,) int64 jobs started in the last pass
    state: np.ndarray  # (STATE,) int64, see the names below
    order: QueueOrder | None  # of the jobs in a queue; None for the order of arrival
    restartable: QueueOrder | None  # values > 0 of jobs that may be killed and run again; None for
    # all jobs


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
    shares: tuple[float, ...] | None = None,
    order: Order | None = None,
    restartable: Order | None = None,
) -> Memory:
    """Return the options, the divided machine, and no promises."""
    count = len(jobs.submit)
    state = np.zeros(STATE, dtype=np.int64)
    state[[LOWEST, HIGHEST]] = FOREVER, NO_PRIORITY
    return Memory(
        partitions=new_partitions(jobs, processors, bounds, shares or (1,) * (len(bounds) + 1)),
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
        order=order_unless_none(order, jobs, generator),
        restartable=order_unless_none(restartable, jobs, generator),
    )


@inlined
def queue_in_order(cluster, memory):
    """Return the waiting jobs in the order of the queues, which `update` has sorted."""
    if memory.order is not None:
        ranking = memory.order.ranking
        return ranking.line[: ranking.length[0]]
    return waiting(cluster)


def records(memory: Memory) -> dict[str, np.ndarray]:
    """Return, per job, the start (s) promised to a requested start, and processors reassigned.

    Jobs without a requested start have -1 for the first.
    """
    return {"reserved_start": memory.reserved_start, "reassigned": memory.partitions.reassigned}


@kernel
def note_stage(jobs, memory, job):
    """Note whether a job that is first seen is to be tried, stands in its queue, or neither."""
    if jobs.requested_start[job] == 0:
        tried = memory.trial_length[0] > 0 and jobs.estimate[job] > memory.tried_above[0]
        tried = tried and jobs.restartable[job] == 1
        if memory.restartable is not None:
            tried = tried and memory.restartable.ranking.number[job] > 0
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
