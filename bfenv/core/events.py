"""What only the simulator knows and does: true runtimes, and `advance`, which moves the clock.

`bfenv.core.cluster` states the semantics.
"""

from typing import NamedTuple

import numpy as np

import bfenv.core.cluster as c
from bfenv.core.arguments import check_choice
from bfenv.core.cluster import Cluster, enter_machine, leave_machine, running, waiting
from bfenv.core.jobs import (
    FOREVER,
    REQUESTED_START,
    RESTARTABLE,
    SUBMIT,
    USER,
    Jobs,
    Trace,
    check_no_outages,
)
from bfenv.core.kernel import inlined, kernel
from bfenv.core.lazy_exports import hint_at_scheduling

EVENT_ORDERS = ("standard", "pyss")
ROWS = len(Jobs._fields)  # of tables of requests
STOP = 1  # of Truth.event_count
JOB_BITS = 2**32 - 1  # the part of an event's entry that is the job, see Truth


class Truth(NamedTuple):
    """What only the simulator knows; only `advance` and the metrics receive it.

    The three fields before the last are a binary heap of event_count[0] events, ordered by time
    and, at the same time, by entry. The first is at index 0; the children of event i are 2 * i + 1
    and 2 * i + 2. The entry of a job's end is (number of its start << 32) | job, that of a
    requested start time is ~job. A tuple of their own would cost 8 % of the time of a policy that
    is called from Python.
    """

    runtime: np.ndarray  # (n,) int64 seconds
    requests: np.ndarray  # (7, n) int64, of all jobs, see `Trace.requests`
    known: np.ndarray  # (7, n + 1) int64, of the jobs submitted so far; see `unknown_jobs`
    event_time: np.ndarray  # (h,) int64 seconds
    event_entry: np.ndarray  # (h,) int64, what happens then
    event_count: np.ndarray  # (2,) int64: events, and the instant before which `advance` stops
    one_event: bool | None = None  # True if one event comes at a time


def new_cluster(trace: Trace, *, event_order: str = "standard") -> tuple[Cluster, Jobs, Truth]:
    """Make an empty machine, before the first arrival of the trace.

    * `trace`: the jobs that will be submitted, and the size of the machine.
    * `event_order`: "standard", or "pyss" for one event at a time.

    Returns the machine; the requests, placeholders until `advance` submits the jobs; and what only
    the simulator knows. Raises BfenvError if there is no such event order, or the trace has
    outages: see `bfenv.core.outages`.
    """
    check_choice("event_order", event_order, EVENT_ORDERS)
    check_no_outages(trace)
    most = min(len(trace), trace.processors)
    # One event at a time, a job may start before those whose processors it takes have ended.
    events = most if event_order == "standard" else len(trace)
    events += int(np.count_nonzero(trace.jobs.requested_start))
    placeholders = unknown_jobs(trace.requests, trace.processors)
    cluster, truth = allocate(trace.requests, trace.runtime, placeholders, most, events)
    reset(cluster, truth, trace.processors, 0, len(trace))
    if event_order == "pyss":
        cluster.state[c.ONE_EVENT], truth = 1, truth._replace(one_event=True)
    return cluster, shown(placeholders), truth


def unknown_jobs(requests: np.ndarray, processors: int) -> np.ndarray:
    """Return what is known before the first job is submitted: placeholders, (7, n + 1) int64.

    A placeholder tells how many users there will be, whether any job has a requested start time,
    and whether all are restartable. Beyond that, all jobs are equal: submit time FOREVER, the whole
    machine, an estimate of 1 s. The last column is no job's: `reset` copies placeholders from it.
    """
    any_requested = int(requests[REQUESTED_START].any())
    restartable = int(requests[RESTARTABLE].all())
    users = int(requests[USER].max(initial=-1))
    placeholders = np.empty((len(requests), requests.shape[1] + 1), dtype=np.int64)
    placeholders.T[:] = FOREVER, processors, 1, users, 0, any_requested, restartable
    return placeholders


def shown(known: np.ndarray) -> Jobs:
    """Return the policies' view of the known requests: read-only, without the last column."""
    columns = known[:, :-1]
    columns.flags.writeable = False
    return Jobs(*columns)


def allocate(
    requests: np.ndarray, runtime: np.ndarray, known: np.ndarray, most: int, events: int
) -> tuple[Cluster, Truth]:
    """Allocate a machine on which no job has been submitted; `reset` gives it processors.

    * `requests`, `runtime`, `known`: as in Truth; they are used, not copied.
    * `most`: how many jobs may run at a time.
    * `events`: how many ends of jobs and requested start times may lie ahead at a time.
    """
    jobs = len(runtime)
    cluster = Cluster(
        state=np.zeros(c.STATE, dtype=np.int64),
        queue=np.zeros(jobs, dtype=np.int64),
        running=np.zeros(most, dtype=np.int64),
        expected_end=np.zeros(most, dtype=np.int64),
        started=np.zeros(most, dtype=np.int64),
        finished=np.zeros(most, dtype=np.int64),
        start=np.full(jobs, FOREVER, dtype=np.int64),
        end=np.full(jobs, -1, dtype=np.int64),
        kill_time=np.full(jobs, -1, dtype=np.int64),
        trial_start=np.full(jobs, -1, dtype=np.int64),
        trial_end=np.full(jobs, -1, dtype=np.int64),
    )
    truth = Truth(
        runtime,
        requests,
        known,
        event_time=np.empty(events, dtype=np.int64),
        event_entry=np.empty(events, dtype=np.int64),
        event_count=np.array([0, FOREVER]),
    )
    return cluster, truth


def reset(cluster: Cluster, truth: Truth, processors: int, first_job: int, last_job: int) -> None:
    """Clear the machine in place; jobs first_job .. last_job - 1 are still to be submitted.

    Nothing of an earlier run remains: it would reveal requests and runtimes of jobs to come.
    """
    state = cluster.state
    seen = slice(state[c.FIRST_JOB], state[c.NEXT_JOB])
    truth.known[:, seen] = truth.known[:, -1:]
    cluster.start[seen] = FOREVER
    for column in (cluster.end, cluster.kill_time, cluster.trial_start, cluster.trial_end):
        column[seen] = -1
    cluster.queue[: seen.stop - seen.start] = 0
    for column in (cluster.running, cluster.expected_end, cluster.started, cluster.finished):
        column[:] = 0
    one_event = state[c.ONE_EVENT]
    state[:] = 0
    state[[c.PROCESSORS, c.FREE]] = processors
    state[[c.FIRST_JOB, c.NEXT_JOB]] = first_job
    state[c.LAST_JOB] = last_job
    state[[c.HORIZON, c.WAKE]] = FOREVER
    state[c.OFFENDER] = -1
    state[c.ONE_EVENT] = one_event
    truth.event_count[0] = 0
    truth.event_count[STOP] = FOREVER


@kernel
def advance(cluster, jobs, truth):
    """Go on to the next scheduling pass.

    Args:
        cluster (Cluster): The machine; its clock moves, jobs end and arrive.
        jobs (Jobs): The requests. As a job arrives, its request replaces the placeholder.
        truth (Truth): Runtimes, requests to come and future events, which no policy is given.

    Returns:
        bool: False if no event is left before state[HORIZON], or before an instant that jobs to
        come determine and only the simulator knows; the clock then stays where it is.
    """
    commit_starts(cluster, jobs, truth)
    state = cluster.state
    time = next_event(cluster, truth)
    if time >= state[c.HORIZON] or time >= truth.event_count[STOP]:
        return False
    state[c.NOW] = time
    state[c.WAKE] = FOREVER
    state[c.FINISHED] = 0
    state[c.OFFENDER] = -1
    state[c.PASSES] += 1
    if truth.one_event is not None:
        _one_event(cluster, jobs, truth)
    else:
        while truth.event_count[0] > 0 and truth.event_time[0] == time:
            _handle_event(cluster, jobs, truth)
        while _next_arrival(cluster, truth) == time:
            _arrive(cluster, truth)
    return True


@kernel
def next_event(cluster, truth):
    """Return the instant of the next scheduling pass, in seconds; FOREVER if there is none."""
    state = cluster.state
    time = min(state[c.WAKE], _next_arrival(cluster, truth))
    if truth.event_count[0] > 0:
        time = min(time, truth.event_time[0])
    return time


@inlined
def _next_arrival(cluster, truth):
    job = cluster.state[c.NEXT_JOB]
    return truth.requests[SUBMIT, job] if job < cluster.state[c.LAST_JOB] else FOREVER


@inlined
def submit(truth, job):
    """Let the scheduler know the request of a job."""
    for row in range(ROWS):
        truth.known[row, job] = truth.requests[row, job]


@kernel
def commit_starts(cluster, jobs, truth):
    """Take the jobs started in this pass out of the queue and schedule their ends."""
    state = cluster.state
    count = state[c.STARTED]
    if count == 0:
        return
    last = 0
    for job in cluster.started[:count]:
        last = max(last, job)
        if truth.one_event is not None:
            state[c.STARTS] += 1
        entry = (state[c.STARTS] << 32) | job
        end = min(cluster.start[job] + truth.runtime[job], cluster.kill_time[job])
        push(truth, end, entry)
    state[c.STARTED] = 0
    i = state[c.QUEUE_BEGIN]
    # The jobs before the last started one that still wait move up, those behind it stay.
    if count == 1:  # most often
        moved = cluster.queue[i]
        while moved != last:
            i += 1
            moved, cluster.queue[i] = cluster.queue[i], moved
        state[c.QUEUE_BEGIN] += 1
        return
    while cluster.queue[i] != last:
        i += 1
    target = i
    while i >= state[c.QUEUE_BEGIN]:
        job = cluster.queue[i]
        if cluster.start[job] < 0:
            cluster.queue[target] = job
            target -= 1
        i -= 1
    state[c.QUEUE_BEGIN] = target + 1


@kernel
def push(truth, time, entry):
    """Add an event."""
    i = truth.event_count[0]
    truth.event_count[0] += 1
    while i > 0:
        parent = (i - 1) >> 1
        above = truth.event_time[parent]
        if above < time or (above == time and truth.event_entry[parent] <= entry):
            break
        truth.event_time[i] = truth.event_time[parent]
        truth.event_entry[i] = truth.event_entry[parent]
        i = parent
    truth.event_time[i] = time
    truth.event_entry[i] = entry


@kernel
def pop(truth):
    """Remove the first event and return its entry; the heap must not be empty."""
    first = truth.event_entry[0]
    truth.event_count[0] -= 1
    length = truth.event_count[0]
    # The last one is placed again, from the top
    time, entry = truth.event_time[length], truth.event_entry[length]
    i = 0
    while 2 * i + 1 < length:
        child = 2 * i + 1
        if child + 1 < length:
            left, right = truth.event_time[child], truth.event_time[child + 1]
            child += right < left or (
                right == left and truth.event_entry[child + 1] < truth.event_entry[child]
            )
        if time < truth.event_time[child] or (
            time == truth.event_time[child] and entry <= truth.event_entry[child]
        ):
            break
        truth.event_time[i] = truth.event_time[child]
        truth.event_entry[i] = truth.event_entry[child]
        i = child
    truth.event_time[i] = time
    truth.event_entry[i] = entry
    return first


@inlined
def add_instant(truth, time, job):
    """Schedule a pass for a job at a later time, in seconds, at which no job ends."""
    push(truth, time, ~job)


@kernel
def begin_outage(cluster, jobs, truth, job):
    """Start a job that was never submitted, even if it does not fit: `free` may become negative.

    The job does not wait before its start. When it ends, it is among `finished`.
    """
    state = cluster.state
    cluster.queue[state[c.QUEUE_END]] = job
    state[c.QUEUE_END] += 1
    enter_machine(cluster, jobs, job, jobs.estimate[job])
    commit_starts(cluster, jobs, truth)


@kernel
def _one_event(cluster, jobs, truth):
    state = cluster.state
    while state[c.RUNNING] > 0 and cluster.expected_end[0] <= state[c.NOW]:
        leave_machine(cluster, jobs, cluster.running[0])
    if _next_arrival(cluster, truth) == state[c.NOW]:
        _arrive(cluster, truth)
    elif truth.event_count[0] > 0 and truth.event_time[0] == state[c.NOW]:
        _handle_event(cluster, jobs, truth)


@kernel
def _arrive(cluster, truth):
    state = cluster.state
    job = state[c.NEXT_JOB]
    submit(truth, job)
    state[c.NEXT_JOB] += 1
    cluster.start[job] = -1
    cluster.end[job] = -1
    cluster.trial_start[job] = -1
    cluster.trial_end[job] = -1
    cluster.queue[state[c.QUEUE_END]] = job
    state[c.QUEUE_END] += 1
    if truth.requests[REQUESTED_START, job] > state[c.NOW]:
        add_instant(truth, truth.requests[REQUESTED_START, job], job)


@kernel
def _handle_event(cluster, jobs, truth):
    """Process the first event: a job ends, its trial ends, or its requested start has come."""
    entry = pop(truth)
    if entry < 0:
        return
    job = entry & JOB_BITS
    state = cluster.state
    # One event at a time, a job that was expected to end by now is gone already.
    if truth.one_event is None or cluster.kill_time[job] > state[c.NOW]:
        leave_machine(cluster, jobs, job)
    if state[c.NOW] - cluster.start[job] < truth.runtime[job]:
        _requeue(cluster, job)
    else:
        cluster.end[job] = state[c.NOW]
        cluster.finished[state[c.FINISHED]] = job
        state[c.FINISHED] += 1


@kernel
def _requeue(cluster, job):
    """Put a job back into its old place; the jobs before it move down by one."""
    state = cluster.state
    cluster.trial_end[job] = state[c.NOW]
    cluster.start[job] = -1
    state[c.QUEUE_BEGIN] -= 1
    i = state[c.QUEUE_BEGIN]
    while i + 1 < state[c.QUEUE_END] and cluster.queue[i + 1] < job:
        cluster.queue[i] = cluster.queue[i + 1]
        i += 1
    cluster.queue[i] = job


@kernel
def copy_machine(target, target_truth, cluster, truth):
    """Copy a machine between two passes, all of whose starts are committed.

    Only what is known of waiting and running jobs is copied. So the target must have submitted
    no fewer jobs; those to come are submitted to it again.
    """
    state = cluster.state
    _copy(target.queue, cluster.queue, state[c.QUEUE_BEGIN], state[c.QUEUE_END])
    _copy(target.running, cluster.running, 0, len(running(cluster)))
    _copy(target.expected_end, cluster.expected_end, 0, len(running(cluster)))
    _copy(target.state, state, 0, len(state))
    for job in running(cluster):
        _copy_job(target, cluster, job)
    for job in waiting(cluster):
        _copy_job(target, cluster, job)
    count = truth.event_count[0]
    _copy(target_truth.event_time, truth.event_time, 0, count)
    _copy(target_truth.event_entry, truth.event_entry, 0, count)
    target_truth.event_count[0] = count


@kernel
def _copy(target, source, begin, end):
    for i in range(begin, end):
        target[i] = source[i]


@kernel
def _copy_job(target, cluster, job):
    target.start[job] = cluster.start[job]
    target.kill_time[job] = cluster.kill_time[job]
    target.trial_start[job] = cluster.trial_start[job]
    target.trial_end[job] = cluster.trial_end[job]


@kernel
def renew_ends(cluster, truth):
    """Let the running jobs end by `truth.runtime`, which has changed since they started.

    They must still be running by it.
    """
    count = truth.event_count[0]
    truth.event_count[0] = 0
    for i in range(count):  # what is pushed takes the place of what has been read
        time, entry = truth.event_time[i], truth.event_entry[i]
        if entry >= 0:
            job = entry & JOB_BITS
            time = min(cluster.start[job] + truth.runtime[job], cluster.kill_time[job])
        push(truth, time, entry)


__getattr__ = hint_at_scheduling(__name__)
