"""Slurm's scheduler (22.05): the main scheduler at each event, and the backfill in cycles.

The rules were read in the manual pages and in SchedMD's source, and checked against decisions of a
real slurmctld; see docs/policies/slurm.md for what is modelled, what is not, and the numbers.

* The main scheduler goes through the queue by priority at each submission and end. The
  first job that does not fit blocks all behind it. It looks at default_queue_depth + 1 jobs; where
  that cuts it short, it looks at all of them sched_interval later.
* The backfill has a cycle each bf_interval, as long as jobs wait. A cycle makes a new map of time
  (`bfenv.baselines.slurm.future`). For each job in order it finds the first time from which enough
  nodes are neither reserved for its whole limit nor in use by running jobs' limits. A job that can
  start now starts; another one has these very nodes reserved, from its start on.
* A reservation holds particular nodes, idle ones too: a job that fits by count may have to wait.

Choices where the simulation differs from the daemon: the first cycle is at the first event, later
ones are whole intervals after it, and after a time with no job waiting the first cycle is at the
next event, but a full interval after the last one. A cycle in which no job can start any more is
cut short, and one before which nothing has changed is left out: neither would start any job, and no
reservation outlives its cycle.
"""

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from bfenv.baselines.policy_names import expression
from bfenv.baselines.slurm.future import (
    PIECES,
    Future,
    begin_map,
    could_start,
    find_open,
    is_open,
    new_future,
    reserve_nodes,
)
from bfenv.baselines.slurm.nodes import (
    Nodes,
    follow,
    hold_picked,
    look_at_now,
    new_nodes,
    pick,
    usable_now,
    want_all,
)
from bfenv.baselines.slurm.parameters import (
    INTERVAL,
    JOBS_RESERVED,
    MAX_JOB_START,
    MAX_JOB_TEST,
    PARAMETERS,
    QUEUE_DEPTH,
    RESOLUTION,
    SCHED_INTERVAL,
    WINDOW,
    read_parameters,
    warn_of_unmodelled,
)
from bfenv.core.arguments import check_integer
from bfenv.core.cluster import free, may_start, now, start, started, waiting, wake_at
from bfenv.core.errors import PolicyError
from bfenv.core.events import advance
from bfenv.core.jobs import FOREVER, Jobs
from bfenv.core.kernel import kernel
from bfenv.core.policy import Policy
from bfenv.knowledge.priorities import EXPRESSION, Order, Ranking, new_ranking, rank

CHECK_EVERY = 4  # jobs that are planned
MINUTE = 60  # seconds
LONG_AGO = -(10**9)  # seconds
ORDER = Order("slurm", EXPRESSION, "highest priority", "", "slurm.conf")

LAST_CYCLE, FULL_DUE, ANY_WAITING = range(3)  # Slurm.clock


class Slurm(NamedTuple):
    """What the scheduler remembers from pass to pass."""

    nodes: Nodes
    future: Future
    ranking: Ranking
    settings: np.ndarray  # (s,) int64, in the order of PARAMETERS
    clock: np.ndarray  # (3,) int64: when the last cycle was due, and when the main scheduler will
    # look at all jobs, in seconds; whether jobs waited after the last pass
    tested: np.ndarray  # (n,) int64 jobs that a cycle looks at


@kernel
def decide(cluster, jobs, memory):
    """One pass: the main scheduler, and the backfill if a cycle is due."""
    follow(memory.nodes, cluster, jobs)
    is_due = _is_cycle_due(cluster, memory)
    left = len(waiting(cluster))
    if free(cluster) > 0 and left > 0:
        count = order_queue(cluster, jobs, memory)
        schedule(cluster, jobs, memory, count)
        if is_due:
            backfill(cluster, jobs, memory, count)
        left -= len(started(cluster))
    memory.clock[ANY_WAITING] = left > 0
    if left > 0 and (not is_due or len(started(cluster)) > 0):
        wake_at(cluster, memory.clock[LAST_CYCLE] + memory.settings[INTERVAL])


@kernel
def run(cluster, jobs, truth, memory):
    """The event loop with this policy in it."""
    while advance(cluster, jobs, truth):
        decide(cluster, jobs, memory)


@kernel
def _is_cycle_due(cluster, memory):
    """Tell whether the backfill has a cycle now, and move its clock on."""
    last, interval = memory.clock[LAST_CYCLE], memory.settings[INTERVAL]
    if memory.clock[ANY_WAITING]:  # the cycles went on: in those left out nothing had changed
        last += (now(cluster) - last) // interval * interval
    elif now(cluster) >= last + interval:
        last = now(cluster)
    memory.clock[LAST_CYCLE] = last
    return last == now(cluster)


@kernel
def order_queue(cluster, jobs, memory):
    """Bring the waiting jobs into order; return their number, of `ranking.line`."""
    for job in waiting(cluster):
        memory.ranking.number[job] = job - jobs.priority[job]
    return rank(memory.ranking, cluster, jobs)


@kernel
def schedule(cluster, jobs, memory, count):
    """The main scheduler: start jobs in order until one does not fit."""
    settings, clock, looked = memory.settings, memory.clock, 0
    depth = settings[QUEUE_DEPTH] + 1
    if now(cluster) >= clock[FULL_DUE]:
        clock[FULL_DUE] = FOREVER
        depth = count
    for job in memory.ranking.line[:count]:
        if jobs.requested_start[job] > now(cluster):
            continue
        if looked == depth:
            clock[FULL_DUE] = min(clock[FULL_DUE], now(cluster) + settings[SCHED_INTERVAL])
            wake_at(cluster, clock[FULL_DUE])
            return
        want_all(memory.nodes)
        if not has_nodes(cluster, jobs, memory, job):
            return
        start_on_nodes(cluster, jobs, memory, job)
        looked += 1


@kernel
def has_nodes(cluster, jobs, memory, job):
    """Tell whether a job can start now on nodes of `wanted`."""
    return may_start(cluster, jobs, job) and usable_now(memory.nodes) >= jobs.size[job]


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
    nodes, future, settings, line = memory.nodes, memory.future, memory.settings, memory.tested
    count = _list_tested(cluster, jobs, memory, count)
    window = now(cluster) + settings[WINDOW] * MINUTE
    begin_map(future, nodes, now(cluster), window)
    begun, reserved = 0, 0
    for position in range(count):
        if position % CHECK_EVERY == 0:
            while count > position and not fits_now(cluster, jobs, memory, line[count - 1]):
                count -= 1
        if position >= count:
            return
        job = line[position]
        if fits_now(cluster, jobs, memory, job):
            start_on_nodes(cluster, jobs, memory, job)
            begun += 1
            if begun == settings[MAX_JOB_START]:
                return
        elif settings[JOBS_RESERVED] == 0 or reserved < settings[JOBS_RESERVED]:
            begin = plan(cluster, jobs, memory, job, window)
            if begin <= window:
                unit = settings[RESOLUTION]
                end = begin + jobs.estimate[job]
                reserve_nodes(future, nodes, begin // unit * unit, end // unit * unit)
                reserved += 1


@kernel
def _list_tested(cluster, jobs, memory, count):
    """Write the jobs that a cycle looks at into `tested`; return their number."""
    tested = 0
    for job in memory.ranking.line[:count]:
        if tested == memory.settings[MAX_JOB_TEST]:
            break
        if cluster.start[job] < 0 and jobs.requested_start[job] <= now(cluster):
            memory.tested[tested] = job
            tested += 1
    return tested


@kernel
def fits_now(cluster, jobs, memory, job):
    """Tell whether a job can start beside the reservations; `wanted` is then where."""
    size, limit = jobs.size[job], jobs.estimate[job]
    if not may_start(cluster, jobs, job):
        return False
    if find_open(memory.future, memory.nodes, size, now(cluster), limit, 0) >= 0:
        return False
    return usable_now(memory.nodes) >= size


@kernel
def plan(cluster, jobs, memory, job, window):
    """Find when a job could start that cannot now, in seconds; `mask` is then on which nodes.

    A start after `window` gets no reservation.
    """
    nodes, future = memory.nodes, memory.future
    size, limit, unit = jobs.size[job], jobs.estimate[job], memory.settings[RESOLUTION]
    begin, place = now(cluster), 0
    while place < future.counts[PIECES]:
        last = find_open(future, nodes, size, begin, limit, place)
        if last < 0:
            later = future.end[future.order[place]]
            is_last = place + 1 == future.counts[PIECES]
            possible = max(begin, could_start(nodes, cluster, size))
            if possible > window and is_last:
                return FOREVER
            if possible <= later or is_last:
                pick(nodes, size)
                first = possible // unit * unit
                if possible > window or is_open(
                    future, nodes, first, (possible + limit) // unit * unit
                ):
                    return possible
                if possible > begin:  # the time of its end is reserved: try from its start on
                    begin = possible
                    while place < future.counts[PIECES] and (
                        future.end[future.order[place]] <= begin
                    ):
                        place += 1
                    continue
            last = place
        place = last + 1
        if place < future.counts[PIECES]:
            begin = future.begin[future.order[place]]
    return FOREVER


def new_memory(
    jobs: Jobs,
    processors: int,
    generator: np.random.Generator,
    *,
    settings: Mapping[str, int],
    cores_per_node: int,
) -> Slurm:
    """Return the memory of a machine of equal nodes; the last one may be smaller."""
    sizes = np.full(-(-processors // cores_per_node), cores_per_node, dtype=np.int64)
    sizes[-1] -= sizes.sum() - processors
    count = len(jobs.submit)
    nodes = new_nodes(jobs, sizes)
    return Slurm(
        nodes,
        new_future(nodes, min(count, settings["bf_max_job_test"])),
        new_ranking(ORDER, jobs, generator),
        settings=np.array([settings[name] for name in PARAMETERS], dtype=np.int64),
        clock=np.array([LONG_AGO, FOREVER, 0], dtype=np.int64),
        tested=np.empty(count, dtype=np.int64),
    )


def slurm(parameters: str = "", *, cores_per_node: int = 1) -> Policy:
    """Make a policy that decides as Slurm's scheduler does with these parameters.

    Parameters
    ----------
    parameters
        SchedulerParameters of slurm.conf, as in "bf_max_job_test=50,bf_window=2880".
    cores_per_node
        Processors of a node. Jobs share nodes, but a reservation takes whole nodes.

    Raises
    ------
    PolicyError
        If Slurm has no such setting, or a value is out of range.

    Examples
    --------
    >>> import bfenv
    >>> trace = bfenv.make_trace(
    ...     submit=[0, 1, 2], size=[3, 4, 1], runtime=[60, 60, 20], processors=4
    ... )
    >>> bfenv.simulate(trace, "slurm").start
    array([ 0, 60, 30])
    """
    cores_per_node = check_integer("cores_per_node", cores_per_node, 1, error=PolicyError)
    settings, unmodelled = read_parameters(parameters)
    warn_of_unmodelled(unmodelled, "SchedulerParameters")
    options = {"parameters": parameters, "cores_per_node": cores_per_node}
    return Policy(
        name=expression(slurm, options),
        decide=decide,
        run=run,
        memory=partial(new_memory, settings=settings, cores_per_node=cores_per_node),
        summary="what Slurm's main scheduler and its backfill start, on named nodes",
        source="slurm.conf(5) and SchedMD's source, 22.05",
        stateful=True,
        requested_starts=True,
    )


SLURM = slurm()
POLICIES = (SLURM,)
FAMILIES = (slurm,)
