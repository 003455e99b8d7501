"""Other readings of Lawson and Smirni's Figure 2, kept to show what they would change.

`bfenv.baselines.multiqueue.figure2` has the reading that counts; here are two that its page argues
against. Both follow it but for the named difference.
"""

from dataclasses import replace

from bfenv.baselines.multiqueue import figure2
from bfenv.baselines.multiqueue.changes import remember, update
from bfenv.baselines.multiqueue.figure2 import (
    MULTIQUEUE,
    _consider,
    _delays_no_pivot,
    _execute_speculatively,
    _is_pivot,
    _start,
)
from bfenv.baselines.multiqueue.memory import QUEUED, SETTLED, next_priority, stage_of
from bfenv.baselines.reservations import NONE
from bfenv.core.cluster import free, now, running, waiting
from bfenv.core.events import advance
from bfenv.core.kernel import kernel
from bfenv.core.profile import fits, rebuild, release, reserve


@kernel
def _drop_promises(cluster, jobs, memory):
    """Forget every promised start; what runs stays in the profile."""
    for job in waiting(cluster):
        memory.promises.planned_start[job] = NONE
    rebuild(memory.promises.profile, cluster, jobs)
    memory.state[SETTLED] = 0


@kernel
def decide_anew(cluster, jobs, memory):
    """One pass of Figure 2 in which no promise of an earlier pass counts."""
    update(cluster, jobs, memory)
    _drop_promises(cluster, jobs, memory)
    figure2.consider_from(cluster, jobs, memory, 0, 0)
    remember(cluster, memory)


@kernel
def run_anew(cluster, jobs, truth, memory):
    """The event loop with new promises in each pass."""
    while advance(cluster, jobs, truth):
        decide_anew(cluster, jobs, memory)


@kernel
def _idle(cluster, jobs, memory, p):
    """Line 4: return the idle processors of a partition."""
    busy = 0
    for job in running(cluster):
        if memory.partitions.partition[job] == p:
            busy += jobs.size[job]
    return memory.partitions.owned[p] - busy


@kernel
def _set_pivots_aside(jobs, memory, p, time, aside):
    """Release or reserve the promised starts of all pivots but p's; drop those without room."""
    planned_start, profile = memory.promises.planned_start, memory.promises.profile
    for q in range(len(memory.pivot)):
        job = memory.pivot[q]
        if q == p or job == NONE or planned_start[job] == NONE:
            continue
        size, begin = jobs.size[job], planned_start[job]
        end = begin + jobs.estimate[job]
        if aside:
            release(profile, size, begin, end)
        elif begin >= time and fits(profile, size, jobs.estimate[job], begin):
            reserve(profile, size, begin, end)
        else:
            planned_start[job] = NONE


@kernel
def _backfills_beside_own_pivot(cluster, jobs, memory, job):
    """Lines 7a and 7b as printed; start the job if they let it, whatever other pivots lose."""
    p, time = memory.partitions.partition[job], now(cluster)
    if jobs.size[job] > free(cluster) or jobs.size[job] > _idle(cluster, jobs, memory, p):
        return False
    profile = memory.promises.profile
    _set_pivots_aside(jobs, memory, p, time, True)
    fitting = fits(profile, jobs.size[job], jobs.estimate[job], time)
    if fitting:
        reserve(profile, jobs.size[job], time, time + jobs.estimate[job])
    _set_pivots_aside(jobs, memory, p, time, False)
    return fitting


@kernel
def decide_beside_own_pivot(cluster, jobs, memory):
    """One pass of Figure 2 with lines 7a and 7b as printed, for jobs of one priority."""
    update(cluster, jobs, memory)
    memory.state[SETTLED] = 0
    rank = next_priority(cluster, memory, memory.priorities[0])
    while rank >= 0:
        _execute_speculatively(cluster, jobs, memory, rank, 0)
        for job in waiting(cluster):
            if memory.priority_rank[job] != rank or stage_of(cluster, memory, job) != QUEUED:
                continue
            if _is_pivot(memory, job):
                _consider(cluster, jobs, memory, job)
            elif jobs.size[job] <= free(cluster):
                if _delays_no_pivot(cluster, jobs, memory, job):
                    _consider(cluster, jobs, memory, job)
                elif _backfills_beside_own_pivot(cluster, jobs, memory, job):
                    _start(cluster, jobs, memory, job)
        rank = next_priority(cluster, memory, rank)
    remember(cluster, memory)


@kernel
def run_beside_own_pivot(cluster, jobs, truth, memory):
    """The event loop with lines 7a and 7b as printed."""
    while advance(cluster, jobs, truth):
        decide_beside_own_pivot(cluster, jobs, memory)


new_promises = replace(
    MULTIQUEUE,
    name="bfenv.reproduce.readings:new_promises",
    decide=decide_anew,
    run=run_anew,
    summary="multiqueue with new promises in each pass",
    requested_starts=False,
)
own_pivot_only = replace(
    MULTIQUEUE,
    name="bfenv.reproduce.readings:own_pivot_only",
    decide=decide_beside_own_pivot,
    run=run_beside_own_pivot,
    summary="multiqueue with lines 7a and 7b of Figure 2 as printed",
    requested_starts=False,
)
