"""The machine and its waiting queue: what a scheduler sees, and the verbs `start` and `advance`.

Semantics (stated here once; every other module builds on these two verbs):

* Time is whole seconds. At each distinct instant all completions come first, then all arrivals,
  then one scheduling pass. Ties are broken by job index, which is trace order.
* Instants are submit times, ends of jobs, requested start times of jobs that wait for them, and
  the wake-up time that the policy requested in its last pass (`wake_at`).
* A job started at `now` is expected to end at `now + estimate` and ends at `now + runtime`. No
  runtime in a trace exceeds its estimate, so a job is killed at its estimate at the latest.
* A job may start if it waits, fits on the free processors, and its requested start time has come.
* `try_start` gives a job a trial of limited length, once. If it has not ended by then, it is
  killed and waits again, in its old place in the queue, as if it had never run.
* With `event_order="pyss"` (that of the simulator pyss) each event has a scheduling pass of its
  own. At an instant arrivals come first, then completions in the order of their starts. A running
  job whose expected end is `now` already counts as gone before its completion is processed.

A policy receives `Cluster` and `Jobs`. True runtimes, and so the ends of running jobs, are in
`Truth`, which only `advance` receives: a policy cannot peek.

All state is arrays in NamedTuples, so that it can be compiled, cached, copied and pickled. The
integers are in `Cluster.state`; a small function reads each of those that policies need.
"""

from typing import NamedTuple

import numpy as np

from bfenv.core.arguments import check_choice
from bfenv.core.event_heap import EventHeap, is_due, new_event_heap, pop, push
from bfenv.core.jobs import FOREVER, Trace, check_no_outages
from bfenv.core.kernel import inlined, kernel

EVENT_ORDERS = ("standard", "pyss")
# Indices into Cluster.state
(
    NOW,  # seconds
    FREE,  # processors
    PROCESSORS,
    QUEUE_BEGIN,  # the waiting jobs are queue[QUEUE_BEGIN:QUEUE_END]
    QUEUE_END,
    RUNNING,  # number of running jobs
    STARTED,  # number of jobs started in this pass
    FINISHED,  # number of jobs that ended at this instant
    NEXT_JOB,  # next to be submitted
    LAST_JOB,  # one past the last job to be submitted
    HORIZON,  # `advance` stops before this instant
    WAKE,  # instant of the next wake-up
    PASSES,  # scheduling passes so far
    ONE_EVENT,  # 1: one event at a time
    OFFENDER,  # job of this pass's illegal start (a negative one less 1); -1 for none
    STARTS,  # starts so far, counted only if one event comes at a time
    FIRST_JOB,  # the first job to be submitted
) = range(17)
STATE = 17  # integers in Cluster.state
JOB_BITS = 2**32 - 1  # the part of an event's entry that is the job, see Truth


class Cluster(NamedTuple):
    """All that a scheduler may see of a machine that runs at most m of n jobs at a time."""

    state: np.ndarray  # (STATE,) int64, see the names above
    queue: np.ndarray  # (n,) int64 jobs; those waiting stand between QUEUE_BEGIN and QUEUE_END
    running: np.ndarray  # (m,) int64 jobs by expected end, RUNNING of them
    expected_end: np.ndarray  # (m,) int64 seconds, of the jobs in `running`, ascending
    started: np.ndarray  # (m,) int64 jobs in the order of their starts, STARTED of them
    finished: np.ndarray  # (m,) int64 jobs in index order, FINISHED of them
    start: np.ndarray  # (n,) int64 seconds; FOREVER until submitted, then -1 until started
    end: np.ndarray  # (n,) int64 seconds; -1 until ended
    kill_time: np.ndarray  # (n,) int64 seconds: the latest end of a started job
    trial_start: np.ndarray  # (n,) int64 seconds; -1 without a trial
    trial_end: np.ndarray  # (n,) int64 seconds; -1 unless killed at the end of its trial


class Truth(NamedTuple):
    """What only the simulator knows; only `advance` and the metrics receive it.

    Its last three fields are an EventHeap. The entry of a job's end is (number of its start << 32)
    | job, that of a requested start time is ~job. Nested, the heap would cost 8 % of the time of a
    policy that is called from Python.
    """

    runtime: np.ndarray  # (n,) int64 seconds
    event_time: np.ndarray  # (h,) int64 seconds
    event_entry: np.ndarray  # (h,) int64
    event_count: np.ndarray  # (1,) int64


def new_cluster(trace: Trace, *, event_order: str = "standard") -> tuple[Cluster, Truth]:
    """Make an empty machine, before the first arrival of the trace.

    Parameters
    ----------
    trace
        The jobs that will be submitted, and the size of the machine.
    event_order
        "standard", or "pyss" for one event at a time.

    Raises
    ------
    BfenvError
        If there is no such event order, or the trace has outages: see `bfenv.core.outages`.
    """
    check_choice("event_order", event_order, EVENT_ORDERS)
    check_no_outages(trace)
    most = min(len(trace), trace.processors)
    # One event at a time, a job may start before those whose processors it takes have ended.
    events = most if event_order == "standard" else len(trace)
    events += int(np.count_nonzero(trace.jobs.requested_start))
    cluster, truth = allocate(trace.runtime, most, events)
    reset(cluster, truth, trace.processors, 0, len(trace))
    cluster.state[ONE_EVENT] = event_order == "pyss"
    return cluster, truth


def allocate(runtime: np.ndarray, most: int, events: int) -> tuple[Cluster, Truth]:
    """Allocate a machine on which no job has been submitted; `reset` gives it processors.

    Parameters
    ----------
    runtime
        (n,) int64 seconds, of all jobs; is used, not copied.
    most
        How many of them may run at a time.
    events
        How many ends of jobs and requested start times may lie ahead at a time.
    """
    jobs = len(runtime)
    cluster = Cluster(
        state=np.zeros(STATE, dtype=np.int64),
        queue=np.empty(jobs, dtype=np.int64),
        running=np.empty(most, dtype=np.int64),
        expected_end=np.empty(most, dtype=np.int64),
        started=np.empty(most, dtype=np.int64),
        finished=np.empty(most, dtype=np.int64),
        start=np.full(jobs, FOREVER, dtype=np.int64),
        end=np.full(jobs, -1, dtype=np.int64),
        kill_time=np.full(jobs, -1, dtype=np.int64),
        trial_start=np.full(jobs, -1, dtype=np.int64),
        trial_end=np.full(jobs, -1, dtype=np.int64),
    )
    return cluster, Truth(runtime, *new_event_heap(events))


@kernel
def reset(cluster, truth, processors, first_job, last_job):
    """Clear the machine in place; jobs first_job .. last_job - 1 are still to be submitted.

    Nothing of an earlier run remains: it would reveal the runtimes of jobs to come.
    """
    for job in range(cluster.state[FIRST_JOB], cluster.state[NEXT_JOB]):
        cluster.start[job] = FOREVER
        cluster.end[job] = -1
        cluster.kill_time[job] = -1
        cluster.trial_start[job] = -1
        cluster.trial_end[job] = -1
    one_event = cluster.state[ONE_EVENT]
    cluster.state[:] = 0
    cluster.state[PROCESSORS] = processors
    cluster.state[FREE] = processors
    cluster.state[FIRST_JOB] = first_job
    cluster.state[NEXT_JOB] = first_job
    cluster.state[LAST_JOB] = last_job
    cluster.state[HORIZON] = FOREVER
    cluster.state[WAKE] = FOREVER
    cluster.state[OFFENDER] = -1
    cluster.state[ONE_EVENT] = one_event
    truth.event_count[0] = 0


# What a policy asks -------------------------------------------------------------------------


@inlined
def now(cluster):
    """Return the clock.

    Parameters
    ----------
    cluster : Cluster
        The machine, as `decide` receives it.

    Returns
    -------
    int
        Seconds since the trace began.
    """
    return cluster.state[NOW]


@inlined
def free(cluster):
    """Return the number of processors that no job runs on.

    Parameters
    ----------
    cluster : Cluster
        The machine, as `decide` receives it.

    Returns
    -------
    int
        It falls with each start of a pass.
    """
    return cluster.state[FREE]


@inlined
def waiting(cluster):
    """Return the queue.

    Parameters
    ----------
    cluster : Cluster
        The machine, as `decide` receives it.

    Returns
    -------
    np.ndarray
        (k,) int64 indices of jobs, in order of submission. The queue still holds the jobs started
        in this pass.
    """
    return cluster.queue[cluster.state[QUEUE_BEGIN] : cluster.state[QUEUE_END]]


@inlined
def running(cluster):
    """Return the running jobs.

    Parameters
    ----------
    cluster : Cluster
        The machine, as `decide` receives it.

    Returns
    -------
    np.ndarray
        (k,) int64 indices of jobs, by expected end; ties are in the order of the starts.
    """
    return cluster.running[: cluster.state[RUNNING]]


@inlined
def expected_ends(cluster):
    """Return when the running jobs end by their estimates.

    Parameters
    ----------
    cluster : Cluster
        The machine, as `decide` receives it.

    Returns
    -------
    np.ndarray
        (k,) int64 seconds, in the order of `running`.
    """
    return cluster.expected_end[: cluster.state[RUNNING]]


@inlined
def finished(cluster):
    """Return the jobs that ended at this instant.

    Parameters
    ----------
    cluster : Cluster
        The machine, as `decide` receives it.

    Returns
    -------
    np.ndarray
        (k,) int64 indices of jobs. Their runtimes are now known: end - start.
    """
    return cluster.finished[: cluster.state[FINISHED]]


@inlined
def started(cluster):
    """Return the jobs started in this pass.

    Parameters
    ----------
    cluster : Cluster
        The machine, as `decide` receives it.

    Returns
    -------
    np.ndarray
        (k,) int64 indices of jobs, in the order of their starts.
    """
    return cluster.started[: cluster.state[STARTED]]


@inlined
def one_event_at_a_time(cluster):
    """Tell whether each completion and each arrival has a pass of its own (event order "pyss").

    Parameters
    ----------
    cluster : Cluster
        The machine, as `decide` receives it.

    Returns
    -------
    bool
        False in the standard event order.
    """
    return cluster.state[ONE_EVENT] == 1


@inlined
def may_start(cluster, jobs, job):
    """Tell whether `start` would accept a submitted job: it waits, fits, and may start by now.

    Parameters
    ----------
    cluster : Cluster
        The machine, as `decide` receives it.
    jobs : Jobs
        Requests of all jobs.
    job : int
        Index of a job that has been submitted.

    Returns
    -------
    bool
        True if so.

    Examples
    --------
    Start every job that fits, in order of submission:

    >>> import bfenv
    >>> from bfenv.core import may_start, start, waiting
    >>> def first_fit(cluster, jobs):
    ...     for job in waiting(cluster):
    ...         if may_start(cluster, jobs, job):
    ...             start(cluster, jobs, job)
    >>> trace = bfenv.make_trace(
    ...     submit=[0, 1, 2], size=[3, 4, 1], runtime=[60, 60, 90], processors=4
    ... )
    >>> bfenv.simulate(trace, first_fit).start
    array([ 0, 92,  2])
    """
    return (
        cluster.start[job] < 0
        and jobs.size[job] <= cluster.state[FREE]
        and jobs.requested_start[job] <= cluster.state[NOW]
    )


# What a policy does -------------------------------------------------------------------------


@kernel
def start(cluster, jobs, job):
    """Start a waiting job now.

    Parameters
    ----------
    cluster : Cluster
        The machine, as `decide` receives it.
    jobs : Jobs
        Requests of all jobs.
    job : int
        Index of the job.

    Raises
    ------
    ValueError
        If the job does not wait, does not fit, or asks to start later. A policy that does not catch
        it makes `simulate` raise IllegalStartError, which names the cause.
    """
    _check_submitted(cluster, job)
    _launch(cluster, jobs, job, jobs.estimate[job])


@kernel
def try_start(cluster, jobs, job, limit):
    """Start a waiting job now for a trial, after which it is killed and waits again.

    Parameters
    ----------
    cluster : Cluster
        The machine, as `decide` receives it.
    jobs : Jobs
        Requests of all jobs.
    job : int
        Index of the job.
    limit : int
        Longest time of the trial, in seconds. A limit that is not below the estimate makes it an
        ordinary start.

    Raises
    ------
    ValueError
        As `start` does, and if the job has had a trial or the limit is below 1.
    """
    _check_submitted(cluster, job)
    if cluster.trial_start[job] >= 0 or limit < 1:
        cluster.state[OFFENDER] = job
        raise ValueError("has had its trial, or a trial of no length")
    if limit < jobs.estimate[job]:
        cluster.trial_start[job] = cluster.state[NOW]
    _launch(cluster, jobs, job, min(limit, jobs.estimate[job]))


@kernel
def wake_at(cluster, time):
    """Ask for a scheduling pass at a later time.

    Parameters
    ----------
    cluster : Cluster
        The machine, as `decide` receives it.
    time : int
        In seconds. Of the requests of a pass the earliest counts; a time that is not after `now` is
        ignored.
    """
    if time > cluster.state[NOW]:
        cluster.state[WAKE] = min(cluster.state[WAKE], time)


@kernel
def _check_submitted(cluster, job):
    if job < 0 or job >= cluster.state[NEXT_JOB]:
        cluster.state[OFFENDER] = job - (job < 0)  # without a branch, which would slow `start`
        raise ValueError("has not been submitted")


@kernel
def _launch(cluster, jobs, job, limit):
    state = cluster.state
    if not may_start(cluster, jobs, job):
        state[OFFENDER] = job
        raise ValueError("does not wait, does not fit, or asked to start later")
    _place(cluster, jobs, job, limit)


@kernel
def _place(cluster, jobs, job, limit):
    """Put a job on the machine."""
    state = cluster.state
    kill_time = state[NOW] + limit
    cluster.start[job] = state[NOW]
    cluster.kill_time[job] = kill_time
    state[FREE] -= jobs.size[job]
    cluster.started[state[STARTED]] = job
    state[STARTED] += 1
    i = state[RUNNING]
    while i > 0 and cluster.expected_end[i - 1] > kill_time:
        cluster.expected_end[i] = cluster.expected_end[i - 1]
        cluster.running[i] = cluster.running[i - 1]
        i -= 1
    cluster.expected_end[i] = kill_time
    cluster.running[i] = job
    state[RUNNING] += 1


@kernel
def retract(cluster, jobs):
    """Undo the starts of this pass and its `wake_at`; call it before the next `advance`."""
    state = cluster.state
    while state[STARTED] > 0:
        state[STARTED] -= 1
        job = cluster.started[state[STARTED]]
        _leave_machine(cluster, jobs, job)
        cluster.start[job] = -1
        if cluster.trial_end[job] < 0:
            cluster.trial_start[job] = -1
    state[WAKE] = FOREVER


# What the simulator does --------------------------------------------------------------------


@inlined
def _events(truth):
    return EventHeap(truth.event_time, truth.event_entry, truth.event_count)


@kernel
def advance(cluster, jobs, truth):
    """Go on to the next scheduling pass.

    Parameters
    ----------
    cluster : Cluster
        The machine; its clock moves, jobs end and arrive.
    jobs : Jobs
        Requests of all jobs.
    truth : Truth
        Runtimes and future events, which no policy is given.

    Returns
    -------
    bool
        False if no event is left before state[HORIZON]; the clock then stays where it is.
    """
    commit_starts(cluster, jobs, truth)
    state = cluster.state
    time = next_event(cluster, jobs, truth)
    if time >= state[HORIZON]:
        return False
    state[NOW] = time
    state[WAKE] = FOREVER
    state[FINISHED] = 0
    state[OFFENDER] = -1
    state[PASSES] += 1
    if state[ONE_EVENT]:
        _one_event(cluster, jobs, truth)
    else:
        while is_due(_events(truth), time):
            _handle_event(cluster, jobs, truth)
        while state[NEXT_JOB] < state[LAST_JOB] and jobs.submit[state[NEXT_JOB]] == time:
            _arrive(cluster, jobs, truth)
    return True


@kernel
def next_event(cluster, jobs, truth):
    """Return the instant of the next scheduling pass, in seconds; FOREVER if there is none."""
    state = cluster.state
    time = state[WAKE]
    if state[NEXT_JOB] < state[LAST_JOB]:
        time = min(time, jobs.submit[state[NEXT_JOB]])
    if truth.event_count[0] > 0:
        time = min(time, truth.event_time[0])
    return time


@kernel
def commit_starts(cluster, jobs, truth):
    """Take the jobs started in this pass out of the queue and schedule their ends."""
    state = cluster.state
    if state[STARTED] == 0:
        return
    last = 0
    for job in started(cluster):
        last = max(last, job)
        limit = cluster.kill_time[job] - cluster.start[job]
        state[STARTS] += state[ONE_EVENT]
        entry = (state[STARTS] << 32) | job
        push(_events(truth), cluster.start[job] + min(truth.runtime[job], limit), entry)
    state[STARTED] = 0
    # The queue is ascending, so bisection finds the last started job. The jobs before it that
    # still wait move up, those behind it stay.
    i = state[QUEUE_BEGIN] + np.searchsorted(waiting(cluster), last)
    target = i
    while i >= state[QUEUE_BEGIN]:
        job = cluster.queue[i]
        if cluster.start[job] < 0:
            cluster.queue[target] = job
            target -= 1
        i -= 1
    state[QUEUE_BEGIN] = target + 1


@kernel
def announce(truth, time, job):
    """Schedule a pass for a job at a later time, in seconds, at which no job ends."""
    push(_events(truth), time, ~job)


@kernel
def occupy(cluster, jobs, truth, job):
    """Start a job that was never submitted, even if it does not fit: `free` may become negative.

    The job does not wait before its start. When it ends, it is among `finished`.
    """
    state = cluster.state
    cluster.start[job] = -1
    cluster.queue[state[QUEUE_END]] = job
    state[QUEUE_END] += 1
    _place(cluster, jobs, job, jobs.estimate[job])
    commit_starts(cluster, jobs, truth)


@kernel
def _one_event(cluster, jobs, truth):
    state = cluster.state
    while state[RUNNING] > 0 and cluster.expected_end[0] <= state[NOW]:
        _leave_machine(cluster, jobs, cluster.running[0])
    if state[NEXT_JOB] < state[LAST_JOB] and jobs.submit[state[NEXT_JOB]] == state[NOW]:
        _arrive(cluster, jobs, truth)
    elif is_due(_events(truth), state[NOW]):
        _handle_event(cluster, jobs, truth)


@kernel
def _arrive(cluster, jobs, truth):
    state = cluster.state
    job = state[NEXT_JOB]
    state[NEXT_JOB] += 1
    cluster.start[job] = -1
    cluster.end[job] = -1
    cluster.trial_start[job] = -1
    cluster.trial_end[job] = -1
    cluster.queue[state[QUEUE_END]] = job
    state[QUEUE_END] += 1
    if jobs.requested_start[job] > state[NOW]:
        announce(truth, jobs.requested_start[job], job)


@kernel
def _handle_event(cluster, jobs, truth):
    """Process the first event: a job ends, its trial ends, or its requested start has come."""
    entry = pop(_events(truth))
    if entry < 0:
        return
    job = entry & JOB_BITS
    state = cluster.state
    if not (state[ONE_EVENT] and cluster.kill_time[job] <= state[NOW]):  # else gone already
        _leave_machine(cluster, jobs, job)
    if state[NOW] - cluster.start[job] < truth.runtime[job]:
        _requeue(cluster, job)
    else:
        cluster.end[job] = state[NOW]
        cluster.finished[state[FINISHED]] = job
        state[FINISHED] += 1


@kernel
def _leave_machine(cluster, jobs, job):
    state = cluster.state
    state[FREE] += jobs.size[job]
    i = np.searchsorted(expected_ends(cluster), cluster.kill_time[job])
    while cluster.running[i] != job:
        i += 1
    state[RUNNING] -= 1
    while i < state[RUNNING]:
        cluster.running[i] = cluster.running[i + 1]
        cluster.expected_end[i] = cluster.expected_end[i + 1]
        i += 1


@kernel
def _requeue(cluster, job):
    """Put a job back into its old place; the jobs before it move down by one."""
    state = cluster.state
    cluster.trial_end[job] = state[NOW]
    cluster.start[job] = -1
    state[QUEUE_BEGIN] -= 1
    i = state[QUEUE_BEGIN]
    while i + 1 < state[QUEUE_END] and cluster.queue[i + 1] < job:
        cluster.queue[i] = cluster.queue[i + 1]
        i += 1
    cluster.queue[i] = job
