"""Multiple-queue backfilling with priorities, reservations and speculative execution (baselines).

Lawson and Smirni 2002, Figure 2 and sections 2.1 and 2.2. Jobs wait in one queue per class of
estimates, each queue with a partition of the machine and with a pivot, its first job, which is
promised a start. The line numbers in the comments are those of Figure 2. Choices made where the
paper is silent or at odds with itself:

* Lines 7a and 7b, as printed, look at the pivot of the job's own partition alone. A pivot of
  another partition could then be delayed without end, although section 2.1 promises that a job as
  large as the machine does not starve: on the CTC log the longest wait becomes 1886 h, and the
  mean slowdown 23.2, worse than the 21.5 of a single queue, against Figure 3. Here no start under
  line 7 delays any pivot. It follows that partitions decide whose processors a job runs on, and
  not whether it starts: lines 7a to 7c together say that there is room beside all pivots.
* Processors move only for a start, and only as many as the partition lacks: from the partition
  with the most idle ones (of two, the one with the smaller estimates), then from the next. What
  an equal division of the machine leaves over belongs to the first partitions.
* A promised start is kept. It moves to an earlier time at the pivot's turn in a pass (line 3), and
  is lost when an earlier job comes back from its trial, or one of higher priority arrives, and is
  the pivot from then on.
* A trial is planned like a pivot: the earliest possible time is the earliest that delays no pivot
  and no trial of equal or higher priority. It is promised, kept, and not delayed by others. Trials
  and pivots are called claims here. In each pass the trials of one priority are planned before the
  queued jobs of that priority.
* A claim ignores those of lower priority. Such a one that is in the way loses its promised start;
  it gets another at its turn, which is later in the same pass.
* A job with a requested start is in no queue and has no trial. On arrival it is promised the
  earliest time, from the requested one on, with room for its whole estimate beside the running
  jobs and the reservations before it (section 2.2). Claims in its way are planned anew. It starts
  at the promised time, whatever ends early; promised later than requested, it counts as missed.
* An estimate of 1000 s exactly is of partition 2 by equation (1) and not tried by section 2.1.

Figure 3 prints a smaller mean slowdown than with a single queue for all jobs and for each class of
jobs, but for the long ones of SDSC. Of the twelve signs for the KTH, CTC and SDSC-SP2 logs ten come
out so: not those of KTH's middle class (44.8 against 41.5) and of CTC's long one (17.1 against
14.1). With promises made anew in each pass no gain is left (KTH: 76.0, and 75.2 with one queue);
with trials that delay pivots KTH's middle class gains, but the jobs of CTC as a whole lose.
"""

from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from bfenv.core.cluster import advance, free, now, running, start, try_start, waiting, wake_at
from bfenv.core.errors import PolicyError
from bfenv.core.jobs import Jobs
from bfenv.core.kernel import kernel
from bfenv.core.policy import Policy
from bfenv.core.profile import (
    Profile,
    anchor_before,
    anchor_point,
    draw,
    fits,
    new_profile,
    release,
    reserve,
)

BOUNDS = (1000, 10_000)  # seconds, equation (1)
TRIAL = 180  # seconds, section 2.1
LONG = 1000  # seconds, section 2.1
TO_BE_TRIED, QUEUED, NEITHER = range(3)  # stages of a job


class Memory(NamedTuple):
    """What the policy keeps: plans, partitions, and its options."""

    partition: np.ndarray  # (n,) int64, of each job by equation (1), counted from 0
    stage: np.ndarray  # (n,) int64, of each job on arrival
    trial: np.ndarray  # (1,) int64 seconds, the length of a trial
    asked: np.ndarray  # (1,) bool: some job of the trace has a requested start
    urgency: np.ndarray  # (n,) int64 rank of the job's priority, 0 the lowest of the trace
    levels: np.ndarray  # (1,) int64 number of different priorities
    planned: np.ndarray  # (n,) int64 seconds, promised start of a claim; -1 for none
    reserved_start: np.ndarray  # (n,) int64 seconds, promised to a requested start; -1 for none
    borrowed: np.ndarray  # (n,) int64 processors that its partition obtained for the job's start
    pivot: np.ndarray  # (k,) int64 job; -1 for none
    owned: np.ndarray  # (k,) int64 processors of each partition
    busy: np.ndarray  # (k,) int64 processors in use of each partition
    profile: Profile  # running jobs, reservations, claims


@kernel
def decide(cluster, jobs, memory):
    """One pass of Figure 2: jobs of high priority in order of arrival, then those of low."""
    draw(memory.profile, cluster, jobs)
    _count_processors(cluster, jobs, memory)
    _honour_reservations(cluster, jobs, memory)
    _find_pivots(cluster, jobs, memory)
    above_all = memory.levels[0]
    _hold_claims(cluster, jobs, memory, above_all)
    level = _level_below(cluster, memory, above_all)
    while level >= 0:
        for job in waiting(cluster):
            if memory.urgency[job] == level and _stage(cluster, memory, job) == TO_BE_TRIED:
                _consider_trial(cluster, jobs, memory, job)
        for job in waiting(cluster):
            if memory.urgency[job] == level and _stage(cluster, memory, job) == QUEUED:
                _consider(cluster, jobs, memory, job)
        level = _level_below(cluster, memory, level)
    if memory.asked[0]:
        for job in waiting(cluster):
            wake_at(cluster, memory.reserved_start[job])


@kernel
def run(cluster, jobs, truth, memory):
    """The event loop with this policy in it."""
    while advance(cluster, jobs, truth):
        decide(cluster, jobs, memory)


@kernel
def _consider_trial(cluster, jobs, memory, job):
    """Plan a trial, and start it if its time has come."""
    _plan(cluster, jobs, memory, job)
    if memory.planned[job] == now(cluster):
        _start(cluster, jobs, memory, job)


@kernel
def _consider(cluster, jobs, memory, job):
    """The loop of Figure 2 for one queued job."""
    p = memory.partition[job]  # line 1
    if memory.pivot[p] < 0:  # line 2
        memory.pivot[p] = job
    if job == memory.pivot[p]:  # line 6
        _plan(cluster, jobs, memory, job)  # line 3
        if memory.planned[job] == now(cluster):  # line 6a
            _start(cluster, jobs, memory, job)
            memory.pivot[p] = -1
    elif _has_room_now(cluster, jobs, memory, job):  # lines 4, 5, 7
        reserve(memory.profile, jobs.size[job], now(cluster), now(cluster) + jobs.estimate[job])
        _start(cluster, jobs, memory, job)


@kernel
def _has_room_now(cluster, jobs, memory, job):
    """Lines 7a to 7c: enough idle processors, and no claim or reservation delayed."""
    return jobs.size[job] <= free(cluster) and fits(
        memory.profile, jobs.size[job], jobs.estimate[job], now(cluster)
    )


# Who waits for what -------------------------------------------------------------------------


@kernel
def _stage(cluster, memory, job):
    """Whether a job is to be tried first, stands in its queue, or neither."""
    if cluster.start[job] >= 0:
        return NEITHER
    if cluster.trial_start[job] >= 0:
        return QUEUED
    return memory.stage[job]


@kernel
def _level_below(cluster, memory, level):
    """The highest urgency below `level` among the jobs in the cluster's queue; -1 for none."""
    highest = -1
    if level > 0:
        for job in waiting(cluster):
            if highest < memory.urgency[job] < level:
                highest = memory.urgency[job]
                if highest == level - 1:
                    break
    return highest


@kernel
def _find_pivots(cluster, jobs, memory):
    """The first queued job of each partition; others lose the start promised to them as pivots."""
    memory.pivot[:] = -1
    for job in waiting(cluster):
        if _stage(cluster, memory, job) != QUEUED:
            continue
        p = memory.partition[job]
        second = job
        if memory.pivot[p] < 0 or memory.urgency[job] > memory.urgency[memory.pivot[p]]:
            second = memory.pivot[p]
            memory.pivot[p] = job
        if second >= 0:
            memory.planned[second] = -1


# Promised starts ----------------------------------------------------------------------------


@kernel
def _honour_reservations(cluster, jobs, memory):
    """Section 2.2: promise new requests a start, and start the jobs whose time has come."""
    if not memory.asked[0]:
        return
    for job in waiting(cluster):
        if jobs.requested_start[job] == 0:
            continue
        size, estimate = jobs.size[job], jobs.estimate[job]
        if memory.reserved_start[job] < 0:
            earliest = max(now(cluster), jobs.requested_start[job])
            memory.reserved_start[job] = anchor_point(memory.profile, size, estimate, earliest)
        begin = memory.reserved_start[job]
        reserve(memory.profile, size, begin, begin + estimate)
        if begin == now(cluster):
            _start(cluster, jobs, memory, job)


@kernel
def _hold_claims(cluster, jobs, memory, below):
    """Put the claims of lower urgency than `below` into the profile, or drop what has no room."""
    level = _level_below(cluster, memory, below)
    while level >= 0:
        for job in waiting(cluster):
            if memory.planned[job] < 0 or memory.urgency[job] != level:
                continue
            begin, length = memory.planned[job], _length(cluster, jobs, memory, job)
            if begin >= now(cluster) and fits(memory.profile, jobs.size[job], length, begin):
                reserve(memory.profile, jobs.size[job], begin, begin + length)
            else:
                memory.planned[job] = -1
        level = _level_below(cluster, memory, level)


@kernel
def _plan(cluster, jobs, memory, job):
    """Line 3: the earliest start that delays no claim of equal or higher priority."""
    if memory.urgency[job] > 0:
        for claim in waiting(cluster):
            if memory.planned[claim] >= 0 and memory.urgency[claim] < memory.urgency[job]:
                _take_out(cluster, jobs, memory, claim)
    size, length = jobs.size[job], _length(cluster, jobs, memory, job)
    planned = memory.planned[job]
    if planned >= 0:
        begin = anchor_before(memory.profile, size, length, now(cluster), planned)
    else:
        begin = anchor_point(memory.profile, size, length, now(cluster))
    if begin != planned:
        if planned >= 0:
            _take_out(cluster, jobs, memory, job)
        reserve(memory.profile, size, begin, begin + length)
        memory.planned[job] = begin
    _hold_claims(cluster, jobs, memory, memory.urgency[job])


@kernel
def _take_out(cluster, jobs, memory, claim):
    begin, length = memory.planned[claim], _length(cluster, jobs, memory, claim)
    release(memory.profile, jobs.size[claim], begin, begin + length)


@kernel
def _length(cluster, jobs, memory, job):
    """For how long (s) a waiting job holds its processors once it starts, at most."""
    if _stage(cluster, memory, job) == TO_BE_TRIED:
        return min(memory.trial[0], jobs.estimate[job])
    return jobs.estimate[job]


# Starts -------------------------------------------------------------------------------------


@kernel
def _start(cluster, jobs, memory, job):
    """Lines 6a.I-II and 7c.I-II: start a job, or its trial, on processors of its partition."""
    if _stage(cluster, memory, job) == TO_BE_TRIED:
        try_start(cluster, jobs, job, memory.trial[0])
    else:
        start(cluster, jobs, job)
    memory.planned[job] = -1
    p = memory.partition[job]
    memory.busy[p] += jobs.size[job]
    memory.borrowed[job] = _reassign(memory, p)


@kernel
def _reassign(memory, p):
    """Give partition p the processors that it lacks for those in use, and return how many."""
    lacking = max(0, memory.busy[p] - memory.owned[p])
    missing = lacking
    while missing > 0:
        lender = -1
        for q in range(len(memory.owned)):
            idle = memory.owned[q] - memory.busy[q]
            if q != p and (lender < 0 or idle > memory.owned[lender] - memory.busy[lender]):
                lender = q
        moved = min(missing, memory.owned[lender] - memory.busy[lender])
        memory.owned[lender] -= moved
        memory.owned[p] += moved
        missing -= moved
    return lacking


@kernel
def _count_processors(cluster, jobs, memory):
    """Count those in use in each partition, where each must own as many."""
    memory.busy[:] = 0
    for job in running(cluster):
        memory.busy[memory.partition[job]] += jobs.size[job]
    for p in range(len(memory.owned)):
        _reassign(memory, p)


# The policies -------------------------------------------------------------------------------


def new_memory(
    jobs: Jobs,
    processors: int,
    generator: np.random.Generator,
    *,
    bounds: tuple[int, ...],
    speculation: int,
    suspect: int,
) -> Memory:
    """The options, an equally divided machine, and no plans."""
    count, queues = len(jobs.submit), len(bounds) + 1
    owned = np.full(queues, processors // queues, dtype=np.int64)
    owned[: processors % queues] += 1
    priorities, urgency = np.unique(jobs.priority, return_inverse=True)
    asked = jobs.requested_start > 0
    suspected = (speculation > 0) & (jobs.estimate > suspect)
    stage = np.where(asked, NEITHER, np.where(suspected, TO_BE_TRIED, QUEUED))
    return Memory(
        partition=np.searchsorted(bounds, jobs.estimate, side="right").astype(np.int64),
        stage=stage.astype(np.int64),
        trial=np.array([speculation]),
        asked=np.array([asked.any()]),
        urgency=urgency.astype(np.int64),
        levels=np.array([len(priorities)]),
        planned=np.full(count, -1, dtype=np.int64),
        reserved_start=np.full(count, -1, dtype=np.int64),
        borrowed=np.zeros(count, dtype=np.int64),
        pivot=np.full(queues, -1, dtype=np.int64),
        owned=owned,
        busy=np.zeros(queues, dtype=np.int64),
        profile=new_profile(min(count, processors), 2 * count),
    )


def records(memory: Memory) -> dict[str, np.ndarray]:
    """Per job: the start (s) promised to a requested start, -1 for others; processors obtained."""
    return {"reserved_start": memory.reserved_start, "borrowed": memory.borrowed}


def with_queues(
    plain: str, bounds: tuple[int, ...], speculation: int, suspect: int, **fields: str
) -> Policy:
    """Figure 2 with one queue more than bounds; `plain` names the published policy.

    Raises PolicyError when speculation or suspect is no whole number of seconds.
    """
    for option, value in {"speculation": speculation, "suspect": suspect}.items():
        if type(value) is not int or value < 0:
            raise PolicyError(f"{plain}: {option} is a number of seconds, not {value!r}")
    options = {"bounds": bounds, "speculation": speculation, "suspect": suspect}
    published = {"bounds": bounds and BOUNDS, "speculation": TRIAL, "suspect": LONG}
    changed = [f"{o}={value}" for o, value in options.items() if value != published[o]]
    return Policy(
        name=f"{plain}({', '.join(changed)})" if changed else plain,
        decide=decide,
        run=run,
        memory=partial(new_memory, **options),
        records=records,
        stateful=True,
        trials=speculation > 0,
        requested_starts=True,
        **fields,
    )


def multiqueue(
    bounds: tuple[int, ...] = BOUNDS, speculation: int = TRIAL, suspect: int = LONG
) -> Policy:
    """Multiple-queue backfilling.

    `bounds`: estimates (s) at which the next queue begins, ascending; `speculation`: length (s) of
    a trial, 0 for none; `suspect`: jobs with estimates above it (s) are tried first.

    Raises PolicyError on an option out of range.
    """
    tidy = isinstance(bounds, tuple) and all(type(bound) is int for bound in bounds)
    if not tidy or not bounds or any(a >= b for a, b in pairwise((0, *bounds))):
        raise PolicyError(f"multiqueue: bounds are ascending positive integers, not {bounds!r}")
    return with_queues(
        "multiqueue",
        bounds,
        speculation,
        suspect,
        summary="a queue and a pivot for each class of estimates, after a trial of long jobs",
        source="Lawson and Smirni 2002, Figure 2",
    )


MULTIQUEUE = multiqueue()
