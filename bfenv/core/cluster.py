"""The machine and its waiting queue: what a scheduler sees, and the verb `start`.

Semantics (stated here once; every other module builds on `start` and on `advance` of
`bfenv.core.events`):

* Time is whole seconds. At each distinct instant all completions come first, then all arrivals,
  then one scheduling pass. Ties are broken by job index, which is trace order.
* Instants are submit times, ends of jobs, requested start times of jobs that wait for them, and
  the wake-up time that the policy requested in its last pass (`wake_at`).
* A job started at `now` is expected to end at `now + estimate` and ends at `now + runtime`. No
  runtime in a trace exceeds its estimate, so a job is killed at its estimate at the latest.
* A job may start if it waits, fits on the free processors, and its requested start time has come.
* `try_start` gives a job a trial of limited length, once. If it has not ended by then, it is
  killed and waits again, in its old place in the queue, as if it had never run.
* With `event_order="pyss"`, as in the simulator pyss, each event has a separate scheduling pass.
  At an instant arrivals come first, then completions in the order of their starts. A running
  job whose expected end is `now` already counts as gone before its completion is processed.

A policy receives `Cluster` and `Jobs`, whose entries for jobs to come are placeholders. The true
requests and runtimes are in `bfenv.core.events.Truth`, which only `advance` receives.

All state is arrays in NamedTuples, so that it can be compiled, cached, copied and pickled. The
integers are in `Cluster.state`; a small function reads each one that policies need. In all of them,
`cluster` (Cluster) is the machine and `jobs` (Jobs) are the requests, as `decide` receives them.
"""

from typing import NamedTuple

import numpy as np

from bfenv.core.jobs import FOREVER
from bfenv.core.kernel import inlined, kernel
from bfenv.core.lazy_exports import hint_at_scheduling

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
    HIDDEN,  # which jobs an outage hid from the policy in its last pass, see `bfenv.core.detour`
) = range(18)
STATE = 18  # integers in Cluster.state


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


# What a policy asks -------------------------------------------------------------------------


@inlined
def now(cluster):
    """Return the clock, in seconds since the trace began."""
    return cluster.state[NOW]


@inlined
def free(cluster):
    """Return the number of processors that no job runs on; it falls with each start of a pass."""
    return cluster.state[FREE]


@inlined
def waiting(cluster):
    """Return the queue.

    Returns:
        np.ndarray: (k,) int64 indices of jobs, in order of submission. The queue still holds the
        jobs started in this pass.
    """
    return cluster.queue[cluster.state[QUEUE_BEGIN] : cluster.state[QUEUE_END]]


@inlined
def running(cluster):
    """Return the running jobs.

    Returns:
        np.ndarray: (k,) int64 indices of jobs, by expected end; ties are in the order of the
        starts.
    """
    return cluster.running[: cluster.state[RUNNING]]


@inlined
def expected_ends(cluster):
    """Return when the running jobs end by their estimates: (k,) int64 seconds, as `running`."""
    return cluster.expected_end[: cluster.state[RUNNING]]


@inlined
def finished(cluster):
    """Return the jobs that ended at this instant.

    Returns:
        np.ndarray: (k,) int64 indices of jobs. Their runtimes are now known: end - start.
    """
    return cluster.finished[: cluster.state[FINISHED]]


@inlined
def started(cluster):
    """Return the jobs started in this pass, (k,) int64 indices in the order of their starts."""
    return cluster.started[: cluster.state[STARTED]]


@inlined
def one_event_at_a_time(cluster):
    """Return whether each completion and each arrival has a separate pass (event order "pyss")."""
    return cluster.state[ONE_EVENT] == 1


@inlined
def may_start(cluster, jobs, job):
    """Return whether `start` would accept a submitted job: it waits, fits, and may start by now.

    Args:
        job (int): Index of a job that has been submitted.

    Examples:
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


@inlined
def shadow(cluster, jobs, head):
    """Compute shadow time and extra nodes of a waiting job that cannot start now.

    Shmueli 2003, sections 3.2.1 and 3.3.1.

    Args:
        head (int): Index of the job.

    Returns:
        tuple:
        * `time` (int): The earliest second, by estimates, at which the job fits and may start.
        * `extra` (int): Processors free then beyond the job's need; all jobs expected to end at
          that time count.
    """
    requested_start, need = jobs.requested_start[head], jobs.size[head]
    available = free(cluster)
    runs = running(cluster)
    ends = expected_ends(cluster)
    time = max(now(cluster), requested_start)
    for i in range(len(runs)):
        if available >= need and ends[i] > time:
            break
        available += jobs.size[runs[i]]
        time = max(time, ends[i])
    return time, available - need


# What a policy does -------------------------------------------------------------------------


@kernel
def start(cluster, jobs, job):
    """Start a waiting job now.

    Args:
        job (int): Index of the job.

    Raises:
        ValueError: If the job does not wait, does not fit, or asks to start later. A policy that
            does not catch it makes `simulate` raise IllegalStartError, which names the cause.
    """
    check_start(cluster, jobs, job)
    enter_machine(cluster, jobs, job, jobs.estimate[job])


@kernel
def try_start(cluster, jobs, job, limit):
    """Start a waiting job now for a trial, after which it is killed and waits again.

    A job whose trial ends at this instant may go on instead: it runs as if it had not been killed.

    Args:
        job (int): Index of the job.
        limit (int): Longest time of the trial, in seconds; for a job that goes on, from now. A
            limit that is not below the estimate makes it an ordinary start.

    Raises:
        ValueError: As `start` does, and if the job has had a trial before now, the limit is below
            1, or it is below the estimate of a job that is not restartable.
    """
    check_start(cluster, jobs, job)
    goes_on = cluster.trial_start[job] >= 0
    if limit < 1 or (goes_on and cluster.trial_end[job] != cluster.state[NOW]):
        cluster.state[OFFENDER] = job
        raise ValueError("has had its trial, or a trial of no length")
    if limit < jobs.estimate[job] and jobs.restartable[job] == 0:
        cluster.state[OFFENDER] = job
        raise ValueError("is not restartable")
    ran = cluster.state[NOW] - cluster.trial_start[job] if goes_on else 0
    enter_machine(cluster, jobs, job, min(limit, jobs.estimate[job] - ran))
    if goes_on:
        cluster.start[job] -= ran
        cluster.trial_end[job] = -1
    elif limit < jobs.estimate[job]:
        cluster.trial_start[job] = cluster.state[NOW]


@kernel
def wake_at(cluster, time):
    """Ask for a scheduling pass at a later time.

    Args:
        time (int): In seconds. Of the requests of a pass the earliest counts; a time that is not
            after `now` is ignored.
    """
    if time > cluster.state[NOW]:
        cluster.state[WAKE] = min(cluster.state[WAKE], time)


@kernel
def check_start(cluster, jobs, job):
    """Raise ValueError, and note the job as the offender, if it may not start now."""
    if job < 0 or job >= cluster.state[NEXT_JOB]:
        cluster.state[OFFENDER] = job - (job < 0)  # without a branch, which would slow `start`
        raise ValueError("has not been submitted")
    if not may_start(cluster, jobs, job):
        cluster.state[OFFENDER] = job
        raise ValueError("does not wait, does not fit, or asked to start later")


@kernel
def enter_machine(cluster, jobs, job, limit):
    """Give a job processors for `limit` seconds, without a check of whether it may start."""
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
        leave_machine(cluster, jobs, job)
        if cluster.start[job] < state[NOW]:  # a trial that was to go on
            cluster.trial_end[job] = state[NOW]
        elif cluster.trial_end[job] < 0:
            cluster.trial_start[job] = -1
        cluster.start[job] = -1
    state[WAKE] = FOREVER


@kernel
def leave_machine(cluster, jobs, job):
    """Take back the processors of a running job."""
    state = cluster.state
    state[FREE] += jobs.size[job]
    i, last = 0, state[RUNNING]
    while i < last:  # bisection
        middle = (i + last) >> 1
        if cluster.expected_end[middle] < cluster.kill_time[job]:
            i = middle + 1
        else:
            last = middle
    while cluster.running[i] != job:
        i += 1
    state[RUNNING] -= 1
    while i < state[RUNNING]:
        cluster.running[i] = cluster.running[i + 1]
        cluster.expected_end[i] = cluster.expected_end[i + 1]
        i += 1


__getattr__ = hint_at_scheduling(__name__)
