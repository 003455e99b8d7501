"""Other readings of a paper, kept to show what they would change; its page argues against them.

`bfenv.baselines.multiqueue.figure2` has the reading of Lawson and Smirni's Figure 2 that counts.
Two others follow it except for the named difference.
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
from bfenv.baselines.multiqueue.memory import (
    NO_PRIORITY,
    QUEUED,
    SETTLED,
    next_priority,
    partition_of,
    stage_of,
)
from bfenv.baselines.reservations import NONE
from bfenv.core.cluster import free, now, running, waiting
from bfenv.core.events import advance
from bfenv.core.jobs import FOREVER
from bfenv.core.kernel import kernel
from bfenv.core.profile import fits, rebuild, release, reserve

# Lawson and Smirni's Figure 2 --------------------------------------------------------------------


@kernel
def decide_promising(cluster, jobs, memory):
    """One pass of Figure 2 in which no promise of an earlier pass counts."""
    update(cluster, jobs, memory)
    for job in waiting(cluster):  # forget every promised start; what runs stays in the profile
        memory.promises.planned_start[job] = NONE
    rebuild(memory.promises.profile, cluster, jobs)
    memory.state[SETTLED] = 0
    figure2.consider_from(cluster, jobs, memory, 0, 0)
    remember(cluster, memory)


@kernel
def run_promising(cluster, jobs, truth, memory):
    """The event loop with new promises in each pass."""
    while advance(cluster, jobs, truth):
        decide_promising(cluster, jobs, memory)


@kernel
def _idle(cluster, jobs, memory, p):
    """Line 4: return the idle processors of a partition."""
    busy = 0
    for job in running(cluster):
        if partition_of(memory.partitions, jobs, job) == p:
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
    p, time = partition_of(memory.partitions, jobs, job), now(cluster)
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
    priority = next_priority(cluster, jobs, memory, FOREVER)
    while priority > NO_PRIORITY:
        _execute_speculatively(cluster, jobs, memory, priority, 0)
        for job in waiting(cluster):
            if jobs.priority[job] != priority or stage_of(cluster, memory, job) != QUEUED:
                continue
            if _is_pivot(jobs, memory, job):
                _consider(cluster, jobs, memory, job)
            elif jobs.size[job] <= free(cluster):
                if _delays_no_pivot(cluster, jobs, memory, job):
                    _consider(cluster, jobs, memory, job)
                elif _backfills_beside_own_pivot(cluster, jobs, memory, job):
                    _start(cluster, jobs, memory, job)
        priority = next_priority(cluster, jobs, memory, priority)
    remember(cluster, memory)


@kernel
def run_beside_own_pivot(cluster, jobs, truth, memory):
    """The event loop with lines 7a and 7b as printed."""
    while advance(cluster, jobs, truth):
        decide_beside_own_pivot(cluster, jobs, memory)


new_promises = replace(
    MULTIQUEUE,
    name="reproductions.readings:new_promises",
    decide=decide_promising,
    run=run_promising,
    summary="multiqueue with new promises in each pass",
    requested_starts=False,
)
own_pivot_only = replace(
    MULTIQUEUE,
    name="reproductions.readings:own_pivot_only",
    decide=decide_beside_own_pivot,
    run=run_beside_own_pivot,
    summary="multiqueue with lines 7a and 7b of Figure 2 as printed",
    requested_starts=False,
)
