"""What has changed since the last pass, and what therefore need not be considered again.

Lawson and Smirni 2002, line 3 of Figure 2 and section 2.2. The profile holds the running jobs, the
reservations, and every pivot or trial with a promised start.
"""

import bfenv.baselines.multiqueue.memory as at
from bfenv.baselines.queue_order import learn_ends, score, sort
from bfenv.baselines.reservations import NONE, bring_up_to_now, move_up
from bfenv.core.cluster import PASSES, free, now, started, waiting, wake_at
from bfenv.core.jobs import FOREVER
from bfenv.core.kernel import kernel, shared_kernel
from bfenv.core.profile import anchor_point, fits, place, rebuild, reserve


@shared_kernel
def take(profile, size, begin, end):
    """Do what `reserve` does; a size below 0 gives processors back.

    All callers share one copy of the code. Of `reserve`, the compiler would make 20.
    """
    reserve(profile, size, begin, end)


@shared_kernel
def promise(cluster, jobs, memory, job):
    """Line 3: return the earliest start (s) that delays no promise of equal or higher priority.

    A start promised before is kept, or moves to an earlier time. Promises of lower priority that
    are in the way are lost.
    """
    promised_start, priority = memory.promises.planned_start, jobs.priority
    if promised_start[job] != NONE and memory.state[at.SETTLED]:
        return promised_start[job]
    if priority[job] > memory.state[at.LOWEST]:
        for rival in waiting(cluster):
            if promised_start[rival] != NONE and priority[rival] < priority[job]:
                _take_out(cluster, jobs, memory, rival)
    size, length = jobs.size[job], at.length_of(cluster, jobs, memory, job)
    if promised_start[job] == NONE:
        promised_start[job] = place(memory.promises.profile, size, length, now(cluster))
    elif move_up(memory.promises, job, size, length, now(cluster)):
        memory.state[at.GAINED] = 1
    memory.state[at.NEXT_PROMISE] = min(memory.state[at.NEXT_PROMISE], promised_start[job])
    put_back(cluster, jobs, memory, priority[job])
    return promised_start[job]


@kernel
def put_back(cluster, jobs, memory, above):
    """Put promises of priorities below `above` into the profile; drop those without room."""
    profile, promised_start = memory.promises.profile, memory.promises.planned_start
    priority = at.next_priority(cluster, jobs, memory, above)
    while priority > at.NO_PRIORITY:
        for job in waiting(cluster):
            if promised_start[job] == NONE or jobs.priority[job] != priority:
                continue
            begin, length = promised_start[job], at.length_of(cluster, jobs, memory, job)
            if begin >= now(cluster) and fits(profile, jobs.size[job], length, begin):
                take(profile, jobs.size[job], begin, begin + length)
            else:
                promised_start[job] = NONE
        priority = at.next_priority(cluster, jobs, memory, priority)


@kernel
def withdraw(cluster, jobs, memory, job):
    """Take a promised start back, if there is one."""
    if memory.promises.planned_start[job] != NONE:
        _take_out(cluster, jobs, memory, job)
        memory.promises.planned_start[job] = NONE
        memory.state[at.GAINED] = 1


@kernel
def _take_out(cluster, jobs, memory, job):
    """Release what the profile holds, from now on, for a promised start."""
    begin = memory.promises.planned_start[job]
    end = begin + at.length_of(cluster, jobs, memory, job)
    if end > now(cluster):
        take(memory.promises.profile, -jobs.size[job], max(begin, now(cluster)), end)


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
        take(profile, size, begin, begin + estimate)


@kernel
def update(cluster, jobs, memory):
    """Bring promises and pivots up to now; return the first positions to be considered.

    They are in the queue and in `untried`. The profile of the last pass lacks only what has
    ended since. It is made from scratch where others have not followed it or a promise was missed,
    and always where starts are requested.
    """
    state = memory.state
    if memory.order is not None:
        learn_ends(memory.order, cluster, jobs)
        sort(memory.order, cluster, jobs)
    if memory.restartable is not None:
        learn_ends(memory.restartable, cluster, jobs)
    kept, due = not memory.any_requested[0] and _followed(cluster, memory), 0
    if kept:
        due = _let_time_pass(cluster, jobs, memory)
        any_missed = state[at.NEXT_PROMISE] < now(cluster)
        kept = memory.promises.profile.free[0] + due == free(cluster) and not any_missed
    if not kept:
        _start_over(cluster, jobs, memory)
        return skip_unchanged(cluster, memory, 0, 0, 0)
    first_new_trial = state[at.UNTRIED]
    first_new_job = _find_new(cluster, jobs, memory)
    is_sorted = memory.order is not None
    if is_sorted or first_new_job != state[at.LEFT_WAITING] or state[at.LOWEST] < state[at.HIGHEST]:
        _find_pivots(cluster, jobs, memory)
    return skip_unchanged(cluster, memory, first_new_job, first_new_trial, due)


@kernel
def skip_unchanged(cluster, memory, first_new_job, first_new_trial, due):
    """Return the first positions in the queue and in `untried` that this pass must consider.

    The shortcut: where all jobs so far have one priority and no room was gained since the last pass
    began, by an early end, a lost promise or one that moved up, no promised start can move up in
    this pass (SETTLED). If besides none is due and no job has come back from its trial, only new
    trials are planned. If besides the free processors are those that the last pass left, a job
    refused then would be refused again, because time alone only shortens what is free from now on:
    only new jobs are considered. In another order than that of arrival there is no shortcut, as a
    new job may come first.
    """
    state = memory.state
    state[at.SETTLED] = (
        state[at.LOWEST] >= state[at.HIGHEST] and not state[at.GAINED] and memory.order is None
    )
    state[at.GAINED] = 0
    if not state[at.SETTLED] or due > 0 or first_new_job != state[at.LEFT_WAITING]:
        return 0, 0
    return (first_new_job if state[at.LEFT_FREE] == free(cluster) else 0), first_new_trial


@kernel
def remember(cluster, memory):
    """Note how the pass leaves the machine, and ask to be woken for the reservations."""
    state = memory.state
    state[at.LAST_PASS] = cluster.state[PASSES]
    state[at.BEGUN] = 0
    for job in started(cluster):
        memory.begun[state[at.BEGUN]] = job
        state[at.BEGUN] += 1
    state[at.LEFT_FREE] = free(cluster)
    state[at.LEFT_WAITING] = len(waiting(cluster)) - state[at.BEGUN]
    if memory.any_requested[0]:
        for job in waiting(cluster):
            wake_at(cluster, memory.reserved_start[job])


@kernel
def _followed(cluster, memory):
    """Return whether this is the next pass, and the last one's starts really were made."""
    state, last_time = memory.state, memory.promises.profile.time[0]
    for job in memory.begun[: state[at.BEGUN]]:
        if cluster.start[job] != last_time and cluster.trial_start[job] != last_time:
            return False
    return cluster.state[PASSES] == state[at.LAST_PASS] + 1


@kernel
def _let_time_pass(cluster, jobs, memory):
    """Release what has ended early; return the processors that promised starts take now."""
    if bring_up_to_now(memory.promises, cluster, jobs):
        memory.state[at.GAINED] = 1
    if memory.state[at.NEXT_PROMISE] > now(cluster):
        return 0
    due = 0
    memory.state[at.NEXT_PROMISE] = FOREVER
    for job in memory.untried[: memory.state[at.UNTRIED]]:
        due += _processors_due(cluster, jobs, memory, job)
    for job in memory.pivot:
        if job != NONE:
            due += _processors_due(cluster, jobs, memory, job)
    return due


@kernel
def _processors_due(cluster, jobs, memory, job):
    """Return the processors that a pivot or trial takes now, and note its promised start."""
    promised_start = memory.promises.planned_start[job]
    memory.state[at.NEXT_PROMISE] = min(memory.state[at.NEXT_PROMISE], promised_start)
    return jobs.size[job] if promised_start == now(cluster) else 0


@kernel
def _start_over(cluster, jobs, memory):
    """Make the profile of what runs, of reservations, and of the promises that still have room."""
    state = memory.state
    state[at.UNTRIED] = state[at.SEEN] = 0
    _find_new(cluster, jobs, memory)
    _find_pivots(cluster, jobs, memory)
    rebuild(memory.promises.profile, cluster, jobs)
    if memory.any_requested[0]:
        reserve_requested(cluster, jobs, memory)
    put_back(cluster, jobs, memory, FOREVER)
    state[at.GAINED] = 1


@kernel
def _find_new(cluster, jobs, memory):
    """Return the position in the queue of the first job that came since the last pass."""
    queue, state = waiting(cluster), memory.state
    first_new = len(queue)
    while first_new > 0 and queue[first_new - 1] >= state[at.SEEN]:
        first_new -= 1
    if memory.restartable is not None:
        if first_new < len(queue):
            flags = memory.restartable
            score(flags, flags.scores, flags.history, cluster, jobs)
    for job in queue[first_new:]:
        at.note_stage(jobs, memory, job)
        if at.stage_of(cluster, memory, job) == at.TO_BE_TRIED:
            memory.untried[state[at.UNTRIED]] = job
            state[at.UNTRIED] += 1
        state[at.LOWEST] = min(state[at.LOWEST], jobs.priority[job])
        state[at.HIGHEST] = max(state[at.HIGHEST], jobs.priority[job])
        state[at.SEEN] = job + 1
    return first_new


@kernel
def _find_pivots(cluster, jobs, memory):
    """Make the first job of each queue its pivot; one that was loses its promise."""
    for p in range(len(memory.pivot)):
        pivot_p = NONE
        for job in at.queue_in_order(cluster, memory):
            if (
                at.queue_of(memory.partitions, jobs, job) != p
                or at.stage_of(cluster, memory, job) != at.QUEUED
            ):
                continue
            if pivot_p == NONE or jobs.priority[job] > jobs.priority[pivot_p]:
                pivot_p = job
                if jobs.priority[job] == memory.state[at.HIGHEST]:
                    break
        if memory.pivot[p] not in (pivot_p, NONE):
            withdraw(cluster, jobs, memory, memory.pivot[p])
        memory.pivot[p] = pivot_p
