"""Pivots, trials, and the starts that are promised to them: the claims.

What multiple-queue backfilling keeps from pass to pass, for the algorithm in
`bfenv.baselines.multiqueue.figure2` and by the choices explained there.
"""

from typing import NamedTuple

import numpy as np

from bfenv.core.cluster import (
    PASSES,
    finished,
    free,
    now,
    running,
    start,
    started,
    try_start,
    waiting,
    wake_at,
)
from bfenv.core.jobs import FOREVER, Jobs
from bfenv.core.kernel import kernel
from bfenv.core.profile import (
    Profile,
    anchor_before,
    anchor_point,
    begin_at,
    fits,
    new_profile,
    place,
    rebuild,
    release,
    reserve,
)

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
    busy: np.ndarray  # (k,) int64 processors in use of each partition, when one last started
    profile: Profile  # running jobs, reservations, claims
    untried: np.ndarray  # (n,) int64 jobs that wait for their trial, in order of arrival
    begun: np.ndarray  # (m,) int64 jobs started in the last pass
    state: np.ndarray  # (STATE,) int64, see the names below


# Places in Memory.state
(
    UNTRIED,  # number of jobs in `untried`
    PASS,  # number of the last pass
    BEGUN,  # number of jobs that it started
    SEEN,  # one past the last job of its queue
    LEFT,  # processors that it left free
    STAYED,  # jobs that it left waiting
    MOVED,  # 1: it moved a claim to an earlier time
    SETTLED,  # 1: no claim can be moved in this pass
    NEXT,  # seconds: no claim is planned before, though the first may be later
) = range(9)
STATE = 9


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
    profile = new_profile(min(count, processors), 2 * count)
    profile.time[0], profile.free[0] = 0, processors
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
        profile=profile,
        untried=np.empty(count, dtype=np.int64),
        begun=np.empty(min(count, processors), dtype=np.int64),
        state=np.zeros(STATE, dtype=np.int64),
    )


def records(memory: Memory) -> dict[str, np.ndarray]:
    """Per job: the start (s) promised to a requested start, -1 for others; processors obtained."""
    return {"reserved_start": memory.reserved_start, "borrowed": memory.borrowed}


# Who waits for what -------------------------------------------------------------------------


@kernel
def stage(cluster, memory, job):
    """Whether a job is to be tried first, stands in its queue, or neither."""
    if cluster.start[job] >= 0:
        return NEITHER
    if cluster.trial_start[job] >= 0:
        return QUEUED
    return memory.stage[job]


@kernel
def level_below(cluster, memory, level):
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
    """The first queued job of each partition; who was one loses the start promised to a pivot."""
    for p in range(len(memory.pivot)):
        pivot = -1
        for job in waiting(cluster):
            if memory.partition[job] != p or stage(cluster, memory, job) != QUEUED:
                continue
            if pivot < 0 or memory.urgency[job] > memory.urgency[pivot]:
                pivot = job
                if memory.urgency[job] == memory.levels[0] - 1:
                    break
        if memory.pivot[p] not in (pivot, -1):
            _drop(cluster, jobs, memory, memory.pivot[p])
        memory.pivot[p] = pivot


# From pass to pass --------------------------------------------------------------------------


@kernel
def update(cluster, jobs, memory):
    """Bring the plans up to now; the first places in queue and `untried` to be considered.

    The profile of the last pass lacks only what has ended since. Where no claim was moved in that
    pass and nothing has ended earlier than expected, no claim can be moved in this one. If besides
    none is due, and the processors free are those that pass left, a job refused then would be
    refused again, for time alone only shortens what is free from now on: new jobs are looked at.
    Plans that others have not followed are drawn anew, as they are where starts are requested.
    """
    state = memory.state
    state[SETTLED] = memory.levels[0] == 1 and not state[MOVED]
    state[MOVED] = 0
    anew, due = memory.asked[0] or not _followed(cluster, memory), 0
    if not anew:
        due = _let_time_pass(cluster, jobs, memory)
        anew = memory.profile.free[0] + due != free(cluster)
    if anew:
        _draw_anew(cluster, jobs, memory)
        return 0, 0
    new_trial = state[UNTRIED]
    new = _find_new(cluster, memory)
    if new != state[STAYED] or memory.levels[0] > 1:  # some may have come back from their trials
        _find_pivots(cluster, jobs, memory)
    elif state[SETTLED] and due == 0:
        return (new if state[LEFT] == free(cluster) else 0), new_trial
    return 0, 0


@kernel
def _let_time_pass(cluster, jobs, memory):
    """Give back what has ended early; the processors that claims are to take now."""
    begin_at(memory.profile, now(cluster))
    for job in finished(cluster):
        if cluster.kill_time[job] > now(cluster):
            release(memory.profile, jobs.size[job], now(cluster), cluster.kill_time[job])
            memory.state[SETTLED] = 0
    return _fall_due(cluster, jobs, memory) if memory.state[NEXT] <= now(cluster) else 0


@kernel
def _followed(cluster, memory):
    """Whether this is the next pass, and the jobs that were to start in the last one did."""
    state, last = memory.state, memory.profile.time[0]
    for job in memory.begun[: state[BEGUN]]:
        if cluster.start[job] != last and cluster.trial_start[job] != last:
            return False
    return cluster.state[PASSES] == state[PASS] + 1


@kernel
def _draw_anew(cluster, jobs, memory):
    """Draw the profile of what runs, of reservations and of the claims that still have room."""
    state = memory.state
    state[UNTRIED] = state[SEEN] = state[SETTLED] = 0
    _find_new(cluster, memory)
    _find_pivots(cluster, jobs, memory)
    rebuild(memory.profile, cluster, jobs)
    _honour_reservations(cluster, jobs, memory)
    _hold_claims(cluster, jobs, memory, memory.levels[0])


@kernel
def leave(cluster, memory):
    """Note how the pass leaves the machine, and ask to be woken for the promised requests."""
    state = memory.state
    state[PASS] = cluster.state[PASSES]
    state[BEGUN] = 0
    for job in started(cluster):
        memory.begun[state[BEGUN]] = job
        state[BEGUN] += 1
    state[LEFT] = free(cluster)
    state[STAYED] = len(waiting(cluster)) - state[BEGUN]
    if memory.asked[0]:
        for job in waiting(cluster):
            wake_at(cluster, memory.reserved_start[job])


@kernel
def _fall_due(cluster, jobs, memory):
    """The processors that claims are to take now; those whose time has passed are dropped."""
    due = 0
    memory.state[NEXT] = FOREVER
    for job in memory.untried[: memory.state[UNTRIED]]:
        due += _processors_due(cluster, jobs, memory, job)
    for job in memory.pivot:
        if job >= 0:
            due += _processors_due(cluster, jobs, memory, job)
    return due


@kernel
def _processors_due(cluster, jobs, memory, claim):
    if memory.planned[claim] < now(cluster):
        _drop(cluster, jobs, memory, claim)
        return 0
    memory.state[NEXT] = min(memory.state[NEXT], memory.planned[claim])
    return jobs.size[claim] if memory.planned[claim] == now(cluster) else 0


@kernel
def _drop(cluster, jobs, memory, claim):
    """Take back a promised start, if there is one."""
    if memory.planned[claim] >= 0:
        _take_out(cluster, jobs, memory, claim)
        memory.planned[claim] = -1
        memory.state[SETTLED] = 0


@kernel
def _find_new(cluster, memory):
    """The place in the queue where the jobs begin that came since the last pass."""
    queue, state = waiting(cluster), memory.state
    new = len(queue)
    while new > 0 and queue[new - 1] >= state[SEEN]:
        new -= 1
    for job in queue[new:]:
        if stage(cluster, memory, job) == TO_BE_TRIED:
            memory.untried[state[UNTRIED]] = job
            state[UNTRIED] += 1
        state[SEEN] = job + 1
    return new


# Promised starts ----------------------------------------------------------------------------


@kernel
def _honour_reservations(cluster, jobs, memory):
    """Section 2.2: promise new requests a start, and start the jobs whose time has come."""
    if not memory.asked[0]:
        return
    for job in waiting(cluster):
        if jobs.requested_start[job] == 0:
            continue
        size, estimate, begin = jobs.size[job], jobs.estimate[job], memory.reserved_start[job]
        # promised nothing yet, or what others have made impossible
        if begin < now(cluster) or not fits(memory.profile, size, estimate, begin):
            earliest = max(now(cluster), jobs.requested_start[job])
            begin = anchor_point(memory.profile, size, estimate, earliest)
            memory.reserved_start[job] = begin
        reserve(memory.profile, size, begin, begin + estimate)
        if begin == now(cluster):
            start_job(cluster, jobs, memory, job)


@kernel
def _hold_claims(cluster, jobs, memory, below):
    """Put the claims of lower urgency than `below` into the profile, or drop what has no room."""
    level = level_below(cluster, memory, below)
    while level >= 0:
        for job in waiting(cluster):
            if memory.planned[job] < 0 or memory.urgency[job] != level:
                continue
            begin, length = memory.planned[job], _length(cluster, jobs, memory, job)
            if begin >= now(cluster) and fits(memory.profile, jobs.size[job], length, begin):
                reserve(memory.profile, jobs.size[job], begin, begin + length)
            else:
                memory.planned[job] = -1
        level = level_below(cluster, memory, level)


@kernel
def plan(cluster, jobs, memory, job):
    """Line 3: the earliest start that delays no claim of equal or higher priority."""
    planned = memory.planned[job]
    if planned >= 0 and memory.state[SETTLED]:
        return
    if memory.urgency[job] > 0:
        for claim in waiting(cluster):
            if memory.planned[claim] >= 0 and memory.urgency[claim] < memory.urgency[job]:
                _take_out(cluster, jobs, memory, claim)
    size, length = jobs.size[job], _length(cluster, jobs, memory, job)
    if planned < 0:
        memory.planned[job] = place(memory.profile, size, length, now(cluster))
    else:
        begin = anchor_before(memory.profile, size, length, now(cluster), planned)
        if begin < planned:
            _take_out(cluster, jobs, memory, job)
            reserve(memory.profile, size, begin, begin + length)
            memory.planned[job] = begin
            memory.state[MOVED] = 1
    memory.state[NEXT] = min(memory.state[NEXT], memory.planned[job])
    _hold_claims(cluster, jobs, memory, memory.urgency[job])


@kernel
def _take_out(cluster, jobs, memory, claim):
    begin = memory.planned[claim]
    end = begin + _length(cluster, jobs, memory, claim)
    if end > now(cluster):
        release(memory.profile, jobs.size[claim], max(begin, now(cluster)), end)


@kernel
def _length(cluster, jobs, memory, job):
    """For how long (s) a waiting job holds its processors once it starts, at most."""
    if stage(cluster, memory, job) == TO_BE_TRIED:
        return min(memory.trial[0], jobs.estimate[job])
    return jobs.estimate[job]


# Starts -------------------------------------------------------------------------------------


@kernel
def start_job(cluster, jobs, memory, job):
    """Lines 6a.I-II and 7c.I-II: start a job, or its trial, on processors of its partition."""
    if stage(cluster, memory, job) == TO_BE_TRIED:
        try_start(cluster, jobs, job, memory.trial[0])
    else:
        start(cluster, jobs, job)
    memory.planned[job] = -1
    if len(memory.owned) > 1:
        memory.borrowed[job] = _obtain(cluster, jobs, memory, memory.partition[job])


@kernel
def _obtain(cluster, jobs, memory, p):
    """Let each partition own the processors in use of it; how many p, the last to start, lacked."""
    memory.busy[:] = 0
    for job in running(cluster):
        memory.busy[memory.partition[job]] += jobs.size[job]
    for q in range(len(memory.owned)):
        if q != p:
            _reassign(memory, q)
    return _reassign(memory, p)


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
