"""A machine whose processors are out of service at known times.

The simulator treats an outage as a job that no user submitted: it takes its processors at its begin
and gives them back at its end. Its number follows the trace's jobs, and it never waits.
All outages are announced long before, as maintenance is: their requests are known from the start
and follow the requests of the jobs. So no job starts that could still be
running, by its estimate, when its processors go out of service, and an outage kills no job.
`bfenv.core.detour` runs policies by this rule.
"""

import numpy as np

import bfenv.core.events as ev
from bfenv.core.cluster import PASSES, PROCESSORS, RUNNING, Cluster, now, waiting
from bfenv.core.jobs import FOREVER, SUBMIT, Jobs, Trace
from bfenv.core.kernel import kernel


def outages_of(trace: Trace) -> range:
    """Return the numbers of the jobs that `with_outages` adds to the trace."""
    return range(len(trace), len(trace) + len(trace.outages))


def with_outages(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """Return the requests and the runtimes of a trace's jobs, and behind them those of its outages.

    An outage is submitted when it begins, its size is the processors that it takes, and its
    estimate and runtime are its length. Outages are in the order in which they begin. Without any,
    these are the arrays of the trace itself.

    Returns (7, n) int64 requests, and (n,) int64 runtimes in seconds.
    """
    if not trace.outages:
        return trace.requests, trace.runtime
    begin, end, processors = np.array(sorted(trace.outages), dtype=np.int64).T
    none = np.zeros(len(begin), dtype=np.int64)
    added = Jobs(begin, processors, end - begin, none - 1, none, none, none + 1)
    requests = np.concatenate([trace.requests, np.stack(added)], axis=1)
    runtime = np.concatenate([trace.runtime, end - begin])
    for table in (requests, runtime):  # as a trace's are: kernels are compiled for either
        table.flags.writeable = False
    return requests, runtime


def new_machine(trace: Trace, *, event_order: str = "standard") -> tuple[Cluster, Jobs, ev.Truth]:
    """Make an empty machine, before the first arrival of a trace that may have outages.

    Returns as `new_cluster`; the outages are among the requests. They need the standard event
    order.
    """
    if not trace.outages:
        return ev.new_cluster(trace, event_order=event_order)
    requests, runtime = with_outages(trace)
    most = min(len(runtime), trace.processors)
    events = most + len(trace.outages) + int(np.count_nonzero(trace.jobs.requested_start))
    placeholders = ev.unknown_jobs(requests, trace.processors)
    cluster, truth = ev.allocate(requests, runtime, placeholders, most, events)
    ev.reset(cluster, truth, trace.processors, 0, len(trace))
    outages = outages_of(trace)
    announce_outages(cluster, truth, outages.start, outages.stop)
    return cluster, ev.shown(placeholders), truth


@kernel
def announce_outages(cluster, truth, first, last):
    """Announce the outages, the jobs first .. last - 1, on a machine that has just been reset."""
    for job in range(first, last):
        ev.submit(truth, job)
        cluster.start[job] = FOREVER
        cluster.end[job] = -1
        ev.add_instant(truth, truth.requests[SUBMIT, job], job)


@kernel
def first_to_come(cluster, coming, last):
    """Return the first outage from `coming` on that has not begun; `last` if all have."""
    while coming < last and cluster.start[coming] < FOREVER:
        coming += 1
    return coming


@kernel
def start_outages(cluster, jobs, truth, coming, last):
    """Begin the outages of this instant; return the first one to come.

    A policy that follows the machine from pass to pass did not start them: to it, they are starts
    of another policy, which decided in an earlier pass.
    """
    if coming < last and jobs.submit[coming] == now(cluster):
        cluster.state[PASSES] += 1
    while coming < last and jobs.submit[coming] == now(cluster):
        ev.begin_outage(cluster, jobs, truth, coming)
        coming += 1
    return coming


@kernel
def out_of_service(jobs, coming, last, time):
    """Return how many processors the outages to come, coming .. last - 1, take at a later time."""
    out = 0
    for outage in range(coming, last):
        if jobs.submit[outage] > time:
            break
        if jobs.submit[outage] + jobs.estimate[outage] > time:
            out += jobs.size[outage]
    return out


@kernel
def find_room(cluster, jobs, coming, last, room):
    """Find what jobs may hold when each outage begins; return how many a waiting job can meet.

    Running jobs only end, and an outage only begins, at one of these instants; so a job that
    leaves enough there leaves enough all the time.

    `room[i]` becomes that of outage `coming + i`, in processors.
    """
    state, longest, held = cluster.state, 0, 0
    for job in waiting(cluster):
        longest = max(longest, jobs.estimate[job])
    for i in range(state[RUNNING]):
        held += jobs.size[cluster.running[i]]
    ended, met = 0, 0
    for outage in range(coming, last):
        begin = jobs.submit[outage]
        if begin >= now(cluster) + longest:
            break
        while ended < state[RUNNING] and cluster.expected_end[ended] <= begin:
            held -= jobs.size[cluster.running[ended]]
            ended += 1
        room[met] = state[PROCESSORS] - held - out_of_service(jobs, coming, last, begin)
        met += 1
    return met


@kernel
def has_room(jobs, coming, met, room, size, end):
    """Tell whether a job that holds `size` processors until `end` leaves each outage enough."""
    for i in range(met):
        if jobs.submit[coming + i] >= end:
            break
        if size > room[i]:
            return False
    return True


@kernel
def take_room(jobs, coming, met, room, size, end):
    """Take what a job holds that starts now out of the room that is left."""
    for i in range(met):
        if jobs.submit[coming + i] >= end:
            break
        room[i] -= size
