"""Slurm's scheduler (22.05): the main scheduler at each event, and the backfill in cycles.

The rules were read in the manual pages and in SchedMD's source, and checked against decisions of a
real slurmctld; see docs/policies/slurm.md for what is modelled, what is not, and the numbers.

* The main scheduler goes through the queue by priority at each submission and end. The
  first job that does not fit blocks all behind it. It looks at default_queue_depth + 1 jobs; where
  that cuts it short, it looks at all of them sched_interval later.
* The backfill has a cycle each bf_interval, as long as jobs wait. A cycle makes a new map of time
  (`bfenv_site.slurm.future`). For each job in order it finds the first time from which enough
  nodes are neither reserved for its whole limit nor in use by running jobs' limits. A job that can
  start now starts; another one has these very nodes reserved, from its start on.
* A reservation holds particular nodes, idle ones too: a job that fits by count may have to wait.
* The table that holds the map has a size. A cycle ends when there is no room for a reservation.

Choices where the simulation differs from the daemon: the first cycle is at the first event, later
ones are whole intervals after it, and after a time with no job waiting the first cycle is at the
next event, but a full interval after the last one. A cycle in which no job can start any more is
cut short, and one before which nothing has changed is left out: neither would start any job, and no
reservation outlives its cycle.
"""

from typing import NamedTuple

import numpy as np

import bfenv_site.slurm.future as ft
import bfenv_site.slurm.parameters as par
import bfenv_site.slurm.priority as pri
from bfenv.core.cluster import free, may_start, now, start, started, waiting, wake_at
from bfenv.core.events import advance
from bfenv.core.jobs import FOREVER
from bfenv.core.kernel import kernel
from bfenv.knowledge.priorities import Ranking, rank
from bfenv_site.slurm.nodes import (
    Nodes,
    follow,
    hold_picked,
    look_at_now,
    pick,
    size_of_wanted,
    usable_now,
)

CHECK_EVERY = 4  # jobs that are planned
MINUTE = 60  # seconds

LAST_CYCLE, FULL_DUE, ANY_WAITING = range(3)  # Slurm.clock
PARTITION, ASSOCIATION, ACCOUNT = range(3)  # rows of what a log says of a job beside its request


class Slurm(NamedTuple):
    """What the scheduler remembers from pass to pass."""

    nodes: Nodes
    future: ft.Future
    ranking: Ranking
    priority: pri.Priority
    settings: np.ndarray  # (s,) int64, in the order of PARAMETERS
    clock: np.ndarray  # (3,) int64: when the last cycle was due, and when the main scheduler will
    # look at all jobs, in seconds; whether jobs waited after the last pass
    candidates: np.ndarray  # (n,) int64 jobs that a cycle may look at, in their order
    cycles: np.ndarray  # (2,) bool: there is a backfill, not only the main scheduler; and a cycle
    # goes on when no job can start any more, to plan all of them
    planned: np.ndarray  # (n,) int64 seconds: when the last cycle would start each job
    parts: np.ndarray  # (p, w) int64 bitmaps of the nodes of each partition
    left: np.ndarray  # (w,) int64 bitmap of the nodes of partitions in which no job is blocked
    whole: np.ndarray  # (p,) bool: no other job is on the nodes of the partition's jobs
    blocked: np.ndarray  # (p,) bool: a job of the partition did not fit
    reserved: np.ndarray  # (p,) int64 jobs of each partition with a reservation
    tried: np.ndarray  # (u, 1 + p) int64 jobs that a cycle looks at: of all users, of none, and of
    # each; in all partitions, and in each
    columns: np.ndarray  # (3, n) int64, of jobs submitted so far: PARTITION, ASSOCIATION, ACCOUNT


@kernel
def decide(cluster, jobs, memory):
    """One pass: the main scheduler, and the backfill if a cycle is due."""
    follow(memory.nodes, cluster, jobs)
    priority, interval = memory.priority, memory.settings[par.INTERVAL]
    association = memory.columns[ASSOCIATION]
    is_anew = pri.follow_usage(priority, cluster, jobs, association)
    is_due = memory.cycles[0] and _is_cycle_due(cluster, memory)
    left = len(waiting(cluster))
    if is_anew:
        memory.ranking.dynamic[0] = True  # until the jobs are next brought into order
    if free(cluster) > 0 and left > 0:
        count = order_queue(cluster, jobs, memory)
        schedule(cluster, jobs, memory, count)
        if is_due:
            backfill(cluster, jobs, memory, count)
        left -= len(started(cluster))
    memory.clock[ANY_WAITING] = left > 0
    if left > 0 and memory.cycles[0] and (not is_due or len(started(cluster)) > 0):
        wake_at(cluster, memory.clock[LAST_CYCLE] + interval)
    elif left > 0 and free(cluster) > 0 and priority.number[pri.IS_ON] != 0.0:
        # The next cycle after the priorities have changed
        tick = priority.clock[pri.LAST_TICK] + int(priority.number[pri.PERIOD])
        if memory.cycles[0]:
            tick += (memory.clock[LAST_CYCLE] - tick) % interval
        wake_at(cluster, tick)


@kernel
def run(cluster, jobs, truth, memory):
    """The event loop with this policy in it."""
    while advance(cluster, jobs, truth):
        decide(cluster, jobs, memory)


@kernel
def _is_cycle_due(cluster, memory):
    """Tell whether the backfill has a cycle now, and move its clock on."""
    last, interval = memory.clock[LAST_CYCLE], memory.settings[par.INTERVAL]
    if memory.clock[ANY_WAITING]:  # the cycles went on: in those left out nothing had changed
        last += (now(cluster) - last) // interval * interval
    elif now(cluster) >= last + interval:
        last = now(cluster)
    memory.clock[LAST_CYCLE] = last
    return last == now(cluster)


@kernel
def order_queue(cluster, jobs, memory):
    """Bring the waiting jobs into order; return their number, of `ranking.line`."""
    ranking, columns = memory.ranking, memory.columns
    for job in waiting(cluster):
        if ranking.dynamic[0] or not ranking.listed[job]:
            ranking.number[job] = pri.score_of(
                memory.priority, jobs, job, columns[PARTITION, job], columns[ASSOCIATION, job]
            )
    count = rank(ranking, cluster, jobs)
    ranking.dynamic[0] = False
    return count


@kernel
def schedule(cluster, jobs, memory, count):
    """The main scheduler: start jobs in order; one that does not fit blocks its partition."""
    settings, clock, looked = memory.settings, memory.clock, 0
    depth = settings[par.QUEUE_DEPTH] + 1
    if now(cluster) >= clock[FULL_DUE]:
        clock[FULL_DUE] = FOREVER
        depth = count
    for word in range(len(memory.left)):
        memory.left[word] = -1
    for part in range(len(memory.blocked)):
        memory.blocked[part] = False
    blocked = 0
    for job in memory.ranking.line[:count]:
        if jobs.requested_start[job] > now(cluster):
            continue
        if looked == depth:
            clock[FULL_DUE] = min(clock[FULL_DUE], now(cluster) + settings[par.SCHED_INTERVAL])
            wake_at(cluster, clock[FULL_DUE])
            return
        looked += 1
        part = memory.columns[PARTITION, job]
        if memory.blocked[part]:
            continue
        memory.nodes.is_whole[0] = memory.whole[part]
        for word in range(len(memory.left)):
            memory.nodes.wanted[word] = memory.left[word] & memory.parts[part, word]
        if may_start(cluster, jobs, job) and usable_now(memory.nodes) >= jobs.size[job]:
            start_on_nodes(cluster, jobs, memory, job)
            continue
        if age_of(cluster, jobs, job) < settings[par.MIN_AGE]:
            continue
        memory.blocked[part] = True
        blocked += 1
        if blocked == len(memory.blocked):
            return
        for word in range(len(memory.left)):
            memory.left[word] &= ~memory.parts[part, word]


@kernel
def start_on_nodes(cluster, jobs, memory, job):
    """Start a job on the best nodes of `wanted`."""
    look_at_now(memory.nodes)
    pick(memory.nodes, jobs.size[job])
    hold_picked(memory.nodes, job)
    start(cluster, jobs, job)


@kernel
def backfill(cluster, jobs, memory, count):
    """A cycle of the backfill; it ends when no job behind can start."""
    nodes, future, settings, line = memory.nodes, memory.future, memory.settings, memory.candidates
    count = _list_candidates(cluster, jobs, memory, count)
    window = now(cluster) + settings[par.WINDOW] * MINUTE
    ft.begin_map(future, nodes, now(cluster), window)
    for part in range(len(memory.reserved)):
        memory.reserved[part] = 0
    begun, tests, most = 0, 0, settings[par.JOBS_RESERVED]
    most_records = settings[par.TABLE_SIZE] or settings[par.MAX_JOB_TEST]
    for position in range(count):
        if tests == settings[par.MAX_JOB_TEST]:
            return
        if position % CHECK_EVERY == 0 and not memory.cycles[1]:
            while count > position and not fits_now(cluster, jobs, memory, line[count - 1]):
                count -= 1
        if position >= count:
            return
        job = line[position]
        part = memory.columns[PARTITION, job]
        if fits_now(cluster, jobs, memory, job):
            start_on_nodes(cluster, jobs, memory, job)
            begun, tests = begun + 1, tests + 1
            if begun == settings[par.MAX_JOB_START]:
                return
        elif age_of(cluster, jobs, job) < settings[par.MIN_AGE] or (
            0 < most <= memory.reserved[part]
        ):
            tests += is_tested_now(cluster, jobs, memory, job)
        else:
            begin, is_tested = plan(cluster, jobs, memory, job, window)
            tests += is_tested
            if begin <= window:
                memory.planned[job] = begin
                if future.counts[ft.RECORDS] >= most_records:
                    return
                unit = settings[par.RESOLUTION]
                end = (begin + jobs.estimate[job]) // unit * unit
                first = max(begin // unit * unit, now(cluster))
                ft.reserve_nodes(future, nodes, first, max(end, first + unit))
                memory.reserved[part] += 1


@kernel
def plan_all(cluster, jobs, memory):
    """Make one pass with a cycle of the backfill in it that plans all jobs, into `planned`."""
    follow(memory.nodes, cluster, jobs)  # gives nodes to running jobs whose nodes are unknown
    memory.cycles[1] = True
    for job in waiting(cluster):
        memory.planned[job] = FOREVER
    count = order_queue(cluster, jobs, memory)
    schedule(cluster, jobs, memory, count)
    if memory.cycles[0]:
        backfill(cluster, jobs, memory, count)
    for job in started(cluster):
        memory.planned[job] = now(cluster)


@kernel
def _list_candidates(cluster, jobs, memory, count):
    """Write the jobs that a cycle may look at into `candidates`; return their number."""
    listed, settings, tried = 0, memory.settings, memory.tried
    of_user, of_part = settings[par.MAX_JOB_USER], settings[par.MAX_JOB_PART]
    limited = of_user + of_part + settings[par.MAX_JOB_USER_PART] > 0
    if limited:
        for user in range(tried.shape[0]):
            for part in range(tried.shape[1]):
                tried[user, part] = 0
    for job in memory.ranking.line[:count]:
        if cluster.start[job] < 0 and jobs.requested_start[job] <= now(cluster):
            if limited:
                user, part = jobs.user[job] + 2, memory.columns[PARTITION, job] + 1
                if (
                    0 < of_user <= tried[user, 0]
                    or 0 < of_part <= tried[0, part]
                    or 0 < settings[par.MAX_JOB_USER_PART] <= tried[user, part]
                ):
                    continue
                tried[user, 0] += 1
                tried[0, part] += 1
                tried[user, part] += 1
            memory.candidates[listed] = job
            listed += 1
    return listed


@kernel
def age_of(cluster, jobs, job):
    """Return for how long a job could have started by its request, in seconds."""
    return now(cluster) - max(jobs.submit[job], jobs.requested_start[job])


@kernel
def fits_now(cluster, jobs, memory, job):
    """Tell whether a job can start beside the reservations; `wanted` is then where."""
    size, limit = jobs.size[job], jobs.estimate[job]
    if not may_start(cluster, jobs, job):
        return False
    part = memory.columns[PARTITION, job]
    memory.nodes.is_whole[0] = memory.whole[part]
    within = memory.parts[part]
    if ft.find_open(memory.future, memory.nodes, within, size, now(cluster), limit, 0) >= 0:
        return False
    return usable_now(memory.nodes) >= size


@kernel
def is_tested_now(cluster, jobs, memory, job):
    """Tell whether a job that can get no reservation reaches Slurm's test, for a start now."""
    size, limit = jobs.size[job], jobs.estimate[job]
    within = memory.parts[memory.columns[PARTITION, job]]
    last = ft.find_open(memory.future, memory.nodes, within, size, now(cluster), limit, 0)
    return last < 0 and size_of_wanted(memory.nodes) >= size


@kernel
def plan(cluster, jobs, memory, job, window):
    """Find when a job could start that cannot now, in seconds; `mask` is then on which nodes.

    FOREVER if Slurm gives up on it; a start after `window` gets no reservation. Also return
    whether the job reached Slurm's test: at some time that was tried, the map left it enough nodes.
    Only such jobs count towards bf_max_job_test.
    """
    nodes, future = memory.nodes, memory.future
    size, limit, unit = jobs.size[job], jobs.estimate[job], memory.settings[par.RESOLUTION]
    part, begin, place = memory.columns[PARTITION, job], now(cluster), 0
    within = memory.parts[part]
    nodes.is_whole[0] = memory.whole[part]
    is_tested = False
    while place >= 0:
        last = ft.find_open(future, nodes, within, size, begin, limit, place)
        following = ft.next_place(future, within, place, begin + limit)
        if last >= 0:  # all tries up to this piece fail
            while 0 <= following <= last:
                end = future.begin[future.order[following]] + limit
                following = ft.next_place(future, within, following, end)
        elif size_of_wanted(nodes) >= size:
            is_tested = True
            possible = max(begin, ft.could_start(nodes, cluster, size))
            if possible == FOREVER and following < 0:
                return FOREVER, True
            if following < 0 or possible <= future.begin[future.order[following]]:
                pick(nodes, size)
                first = possible // unit * unit
                if possible > window or ft.is_open(
                    future, nodes, first, (possible + limit) // unit * unit
                ):
                    return possible, True
                if possible > begin:  # the time of its end is reserved: try from its start on
                    begin = possible
                    while future.end[future.order[place]] <= begin:
                        place += 1
                        if place == future.counts[ft.PIECES]:
                            return FOREVER, True
                    continue
        place = following
        if place >= 0:
            begin = future.begin[future.order[place]]
    return FOREVER, is_tested
