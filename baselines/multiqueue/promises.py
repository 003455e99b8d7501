"""Promised starts: of pivots and trials, which may move, and of reservations, which never do.

Lawson and Smirni 2002, line 3 of Figure 2 and section 2.2. The profile holds the running jobs, the
reservations, and every pivot or trial with a promised start.
"""

from bfenv.baselines.multiqueue.memory import (
    GAINED,
    LOWEST,
    NEXT_PROMISE,
    NO_PRIORITY,
    SETTLED,
    length_of,
    next_priority,
)
from bfenv.baselines.reservations import NONE, move_up
from bfenv.core.cluster import now, waiting
from bfenv.core.kernel import kernel
from bfenv.core.profile import anchor_point, fits, place, release, reserve


@kernel
def promise(cluster, jobs, memory, job):
    """Line 3: return the earliest start (s) that delays no promise of equal or higher priority.

    A start promised before is kept, or moves to an earlier time. Promises of lower priority that
    are in the way are lost.
    """
    promised_start, priority = memory.promises.planned_start, jobs.priority
    if promised_start[job] != NONE and memory.state[SETTLED]:
        return promised_start[job]
    if priority[job] > memory.state[LOWEST]:
        for other in waiting(cluster):
            if promised_start[other] != NONE and priority[other] < priority[job]:
                _take_out(cluster, jobs, memory, other)
    size, length = jobs.size[job], length_of(cluster, jobs, memory, job)
    if promised_start[job] == NONE:
        promised_start[job] = place(memory.promises.profile, size, length, now(cluster))
    elif move_up(memory.promises, job, size, length, now(cluster)):
        memory.state[GAINED] = 1
    memory.state[NEXT_PROMISE] = min(memory.state[NEXT_PROMISE], promised_start[job])
    put_back(cluster, jobs, memory, priority[job])
    return promised_start[job]


@kernel
def put_back(cluster, jobs, memory, above):
    """Put promises of priorities below `above` into the profile; drop those without room."""
    profile, promised_start = memory.promises.profile, memory.promises.planned_start
    priority = next_priority(cluster, jobs, memory, above)
    while priority > NO_PRIORITY:
        for job in waiting(cluster):
            if promised_start[job] == NONE or jobs.priority[job] != priority:
                continue
            begin, length = promised_start[job], length_of(cluster, jobs, memory, job)
            if begin >= now(cluster) and fits(profile, jobs.size[job], length, begin):
                reserve(profile, jobs.size[job], begin, begin + length)
            else:
                promised_start[job] = NONE
        priority = next_priority(cluster, jobs, memory, priority)


@kernel
def withdraw(cluster, jobs, memory, job):
    """Take a promised start back, if there is one."""
    if memory.promises.planned_start[job] != NONE:
        _take_out(cluster, jobs, memory, job)
        memory.promises.planned_start[job] = NONE
        memory.state[GAINED] = 1


@kernel
def _take_out(cluster, jobs, memory, job):
    """Release what the profile holds, from now on, for a promised start."""
    begin = memory.promises.planned_start[job]
    end = begin + length_of(cluster, jobs, memory, job)
    if end > now(cluster):
        release(memory.promises.profile, jobs.size[job], max(begin, now(cluster)), end)


@kernel
def reserve_requested(cluster, jobs, memory):
    """Section 2.2: reserve the earliest time from the requested start on, and keep it."""
    profile = memory.promises.profile
    for job in waiting(cluster):
        if jobs.requested_start[job] == 0:
            continue
        size, estimate, begin = jobs.size[job], jobs.estimate[job], memory.reserved_start[job]
        # no reservation yet, or one that others have made impossible
        if begin < now(cluster) or not fits(profile, size, estimate, begin):
            earliest = max(now(cluster), jobs.requested_start[job])
            begin = anchor_point(profile, size, estimate, earliest)
            memory.reserved_start[job] = begin
        reserve(profile, size, begin, begin + estimate)
