"""A machine whose processors are out of service at known times.

The simulator treats an outage as a job that no user submitted: it takes its processors at its begin
and gives them back at its end. Its number is behind those of the trace's jobs, and it never waits.
All outages are announced long before, as maintenance is. So no job starts that could still be
running, by its estimate, when its processors go out of service, and an outage kills no job.

The policy decides as always. In each pass it sees only the waiting jobs that, taken alone, end in
time or leave the outage enough processors. If the jobs that it starts together leave too few, the
first that is too many is hidden as well, the starts are undone, and it decides again.
"""

from typing import Any, NamedTuple

import numpy as np

from bfenv.core.cluster import (
    FINISHED,
    HORIZON,
    LAST_JOB,
    NEXT_JOB,
    PASSES,
    PROCESSORS,
    QUEUE_BEGIN,
    QUEUE_END,
    RUNNING,
    Cluster,
    Truth,
    advance,
    allocate,
    announce,
    now,
    occupy,
    reset,
    retract,
    started,
    waiting,
)
from bfenv.core.jobs import FOREVER, Jobs, Trace
from bfenv.core.kernel import kernel
from bfenv.core.passes import run_passes
from bfenv.core.policy import Policy

MET, WAITING = range(2)  # outages that a waiting job could meet, jobs that wait: Detour.counts


class Detour(NamedTuple):
    """What a pass around outages works with; only valid within it."""

    counts: np.ndarray  # (2,) int64: MET, WAITING
    room: np.ndarray  # (k,) int64 processors that jobs may hold when each outage to come begins
    left: np.ndarray  # (k,) int64, of these, what is left beside the jobs started in the pass
    queue: np.ndarray  # (n,) int64 jobs, all that wait
    hidden: np.ndarray  # (n,) bool, of these, what the policy does not see


def new_detour(jobs: Jobs, outages: range) -> Detour:
    """Allocate what passes around outages work with."""
    return Detour(
        counts=np.zeros(2, dtype=np.int64),
        room=np.empty(len(outages), dtype=np.int64),
        left=np.empty(len(outages), dtype=np.int64),
        queue=np.empty(len(jobs.submit), dtype=np.int64),
        hidden=np.empty(len(jobs.submit), dtype=np.bool_),
    )


def outages_of(trace: Trace) -> range:
    """Return the numbers of the jobs that `with_outages` adds to those of the trace."""
    return range(len(trace), len(trace) + len(trace.outages))


def with_outages(trace: Trace) -> tuple[Jobs, np.ndarray]:
    """Return the requests and the runtimes of a trace's jobs, and behind them those of its outages.

    An outage is submitted when it begins, its size is the processors that it takes, and its
    estimate and runtime are its length. Outages are in the order in which they begin. Without any,
    these are the arrays of the trace itself.
    """
    if not trace.outages:
        return trace.jobs, trace.runtime
    begin, end, processors = np.array(sorted(trace.outages), dtype=np.int64).T
    none = np.zeros(len(begin), dtype=np.int64)
    added = Jobs(begin, processors, end - begin, none - 1, none, none)
    jobs = Jobs(*(np.concatenate(pair) for pair in zip(trace.jobs, added, strict=True)))
    runtime = np.concatenate([trace.runtime, end - begin])
    for column in (*jobs, runtime):  # as a trace's are: kernels are compiled for either
        column.flags.writeable = False
    return jobs, runtime


def new_machine(trace: Trace) -> tuple[Cluster, Truth, Jobs]:
    """Make an empty machine, before the first arrival of a trace that may have outages.

    Returns
    -------
    tuple
        The machine, what only the simulator knows, and the requests, with those of outages.
    """
    jobs, runtime = with_outages(trace)
    most = min(len(runtime), trace.processors)
    events = most + len(trace.outages) + int(np.count_nonzero(jobs.requested_start))
    cluster, truth = allocate(runtime, most, events)
    reset(cluster, truth, trace.processors, 0, len(trace))
    outages = outages_of(trace)
    announce_outages(cluster, truth, jobs, outages.start, outages.stop, 0)
    return cluster, truth, jobs


def run_around(
    policy: Policy,
    cluster: Cluster,
    jobs: Jobs,
    truth: Truth,
    memory: Any,
    outages: range,
    *,
    in_thread: bool = True,
) -> None:
    """Run all passes of a policy around outages, up to the horizon of the machine.

    Compiled policies run by themselves while no waiting job could meet the next outage.

    Parameters
    ----------
    policy, memory
        The scheduler.
    cluster, truth
        The machine, on which the outages have been announced.
    jobs
        Requests, with those of outages: see `with_outages`.
    outages
        The jobs that stand for outages.
    in_thread
        Whether compiled policies run in another thread, such that Ctrl-C ends them; see
        `run_passes`.
    """
    detour, horizon = new_detour(jobs, outages), int(cluster.state[HORIZON])
    coming, last = outages.start, outages.stop  # the first outage that has not begun
    is_clear = True  # no waiting job can meet it
    while True:
        coming = first_to_come(cluster, coming, last)
        if is_clear and policy.run is not None:
            cluster.state[HORIZON] = min(horizon, _horizon(cluster, jobs, coming, last))
            if in_thread:
                run_passes(policy, cluster, jobs, truth, memory)
            else:
                policy.run(cluster, jobs, truth, memory)
            cluster.state[HORIZON] = horizon
        if not advance(cluster, jobs, truth):
            return
        if coming < last and jobs.submit[coming] == now(cluster):
            coming = start_outages(cluster, jobs, truth, coming, last)
        is_clear = decide_around(
            policy.decide, policy.trials, cluster, jobs, memory, coming, last, detour
        )


def decide_around(
    decide: Any,
    trials: bool,
    cluster: Cluster,
    jobs: Jobs,
    memory: Any,
    coming: int,
    last: int,
    detour: Detour,
) -> bool:
    """Make one scheduling pass in which no job is started that would meet an outage.

    Return whether no waiting job could have met one. `decide` and `trials` are those of the policy;
    with trials, the pass gets a higher number.
    """
    if _hide(cluster, jobs, coming, last, detour) == 0:
        decide(cluster, jobs, memory)
        return True
    while True:
        if trials:
            # Their list of trials follows the queue from pass to pass, but not what is hidden in
            # it: with a gap between the numbers of the passes, they make it again.
            cluster.state[PASSES] += 2
        decide(cluster, jobs, memory)
        if not _hide_too_many(cluster, jobs, coming, detour):
            cluster.state[PASSES] += trials
            return False


@kernel
def announce_outages(cluster, truth, jobs, first, last, opening):
    """Announce the outages, the jobs first .. last - 1, on a machine that has just been reset.

    The first ones are left out, as far as they are over by the time `opening`, in seconds.
    """
    over = True
    for job in range(first, last):
        begin, end = jobs.submit[job], jobs.submit[job] + jobs.estimate[job]
        over = over and end <= opening
        cluster.start[job] = begin if over else FOREVER
        cluster.end[job] = end if over else -1
        if not over:
            announce(truth, begin, job)


@kernel
def first_to_come(cluster, coming, last):
    """Return the first outage from `coming` on that has not begun; `last` if all have."""
    while coming < last and cluster.start[coming] < FOREVER:
        coming += 1
    return coming


@kernel
def start_outages(cluster, jobs, truth, coming, last):
    """Begin the outages of this instant; return the first one to come."""
    while coming < last and jobs.submit[coming] == now(cluster):
        occupy(cluster, jobs, truth, coming)
        coming += 1
    return coming


@kernel
def _horizon(cluster, jobs, coming, last):
    """Return the instant before which no waiting job could meet an outage, in seconds.

    Jobs that come until then count. It may be in the past.
    """
    if coming == last:
        return FOREVER
    longest = 0
    for job in waiting(cluster):
        if cluster.start[job] < 0:
            longest = max(longest, jobs.estimate[job])
    for job in cluster.running[: cluster.state[RUNNING]]:
        if cluster.trial_start[job] == cluster.start[job]:  # on trial, and soon back in the queue
            longest = max(longest, jobs.estimate[job])
    begin = jobs.submit[coming]
    for job in range(cluster.state[NEXT_JOB], cluster.state[LAST_JOB]):
        if jobs.submit[job] >= begin - longest:
            break
        if jobs.submit[job] + jobs.estimate[job] > begin:
            return jobs.submit[job]
        longest = max(longest, jobs.estimate[job])
    return begin - longest


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


@kernel
def _hide(cluster, jobs, coming, last, detour):
    """Hide the waiting jobs that alone leave an outage too little.

    Return how many outages a waiting job could meet: with none, nothing is hidden.
    """
    met = find_room(cluster, jobs, coming, last, detour.room)
    if met == 0:
        return 0
    size = 0
    for job in waiting(cluster):
        end = now(cluster) + jobs.estimate[job]
        detour.queue[size] = job
        detour.hidden[size] = not has_room(jobs, coming, met, detour.room, jobs.size[job], end)
        size += 1
    detour.counts[MET] = met
    detour.counts[WAITING] = size
    _show(cluster, detour)
    return met


@kernel
def _hide_too_many(cluster, jobs, coming, detour):
    """Put all jobs back into the queue, and tell if one was started that is too many.

    The first such job is hidden, and the starts of this pass are undone.
    """
    for i in range(detour.counts[WAITING]):
        cluster.queue[cluster.state[QUEUE_BEGIN] + i] = detour.queue[i]
        if detour.hidden[i]:
            cluster.start[detour.queue[i]] = -1
    cluster.state[QUEUE_END] = cluster.state[QUEUE_BEGIN] + detour.counts[WAITING]
    too_many = _first_too_many(cluster, jobs, coming, detour)
    if too_many < 0:
        return False
    place = np.searchsorted(detour.queue[: detour.counts[WAITING]], too_many)
    detour.hidden[place] = True
    retract(cluster, jobs)
    cluster.state[FINISHED] = 0  # the policy has learned of these already
    _show(cluster, detour)
    return True


@kernel
def _show(cluster, detour):
    """Leave in the queue what the policy may see."""
    state = cluster.state
    state[QUEUE_END] = state[QUEUE_BEGIN]
    for i in range(detour.counts[WAITING]):
        job = detour.queue[i]
        if detour.hidden[i]:
            cluster.start[job] = FOREVER  # policies that keep a list of their own drop it
        else:
            cluster.queue[state[QUEUE_END]] = job
            state[QUEUE_END] += 1


@kernel
def _first_too_many(cluster, jobs, coming, detour):
    """Return the first job started in this pass for which there is no room; -1 if there is none."""
    met = detour.counts[MET]
    for i in range(met):
        detour.left[i] = detour.room[i]
    for job in started(cluster):
        size, end = jobs.size[job], cluster.kill_time[job]
        if not has_room(jobs, coming, met, detour.left, size, end):
            return job
        take_room(jobs, coming, met, detour.left, size, end)
    return -1
