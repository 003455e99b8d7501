"""The machine and its waiting queue: what a scheduler sees, and the verbs `start` and `advance`.

Semantics (every other module builds on these two verbs and restates nothing):

* Time is whole seconds. At each distinct instant come first all completions, then all arrivals,
  then one scheduling pass. Ties are broken by job index, which is trace order.
* Instants are submit times, ends of jobs, requested start times of jobs that wait for them, and
  the wake-up time a policy asked for in its last pass (`wake_at`).
* A job started at `now` is expected to end at `now + estimate` and does end at `now + runtime`;
  a trace holds no runtime above the estimate, so it is killed there at the latest.
* `try_start` gives a job a trial of limited length, once. If it has not ended by then it is killed
  and waits again, in its old place in the queue, as if it had never run.
* With `one_event_at_a_time` (the event order of the simulator pyss) an instant is not one pass:
  arrivals come first, then completions in the order of their starts, each followed by a pass of
  its own, and a running job whose expected end is `now` already counts as gone before its
  completion is processed.

A policy is given `Cluster` and `Jobs`. What only the simulator may know, true runtimes and so the
ends of running jobs, is in `Truth`, which only `advance` takes: a policy cannot peek.

All state is arrays in NamedTuples, so that it can be compiled, cached, copied and pickled; the
integers are in `Cluster.state`, each read through the small function of its name.
"""

from typing import NamedTuple

import numpy as np

from bfenv.core.jobs import FOREVER, Trace
from bfenv.core.kernel import inlined, kernel

# Places in Cluster.state
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
    HORIZON,  # `advance` goes no further than before this instant
    WAKE,  # instant of the next wake-up
    PASSES,  # scheduling passes so far
    ONE_EVENT,  # 1: one event at a time
    OFFENDER,  # job of an illegal start; -1 as long as there was none
    STARTS,  # starts so far, counted if one event comes at a time
    FIRST_JOB,  # the first job to be submitted
) = range(17)
STATE = 17
JOB = 2**32 - 1  # the bits of an entry in the heap that are the job; above them, the start's number


class Cluster(NamedTuple):
    """All that a scheduler may see of the machine."""

    state: np.ndarray  # (STATE,) int64, see the names above
    queue: np.ndarray  # (n,) int64 jobs; those waiting stand between QUEUE_BEGIN and QUEUE_END
    running: np.ndarray  # (m,) int64 jobs by expected end, RUNNING of them
    expected_end: np.ndarray  # (m,) int64 seconds, of the jobs in `running`, ascending
    started: np.ndarray  # (m,) int64 jobs in the order of their starts, STARTED of them
    finished: np.ndarray  # (m,) int64 jobs in index order, FINISHED of them
    start: np.ndarray  # (n,) int64 seconds; FOREVER until submitted, then -1 until started
    end: np.ndarray  # (n,) int64 seconds; -1 until ended
    kill_time: np.ndarray  # (n,) int64 seconds: by when a started job ends at the latest
    trial_start: np.ndarray  # (n,) int64 seconds; -1 without a trial
    trial_end: np.ndarray  # (n,) int64 seconds; -1 unless killed at the end of its trial


class Truth(NamedTuple):
    """What the simulator alone knows; only `advance` and the metrics are given it."""

    runtime: np.ndarray  # (n,) int64 seconds
    due_time: np.ndarray  # (h,) int64 seconds: binary heap by (time, due_job), smallest first
    due_job: np.ndarray  # (h,) int64: job that ends, see JOB; or ~job whose requested start it is
    due: np.ndarray  # (1,) int64 entries in the heap


def new_cluster(trace: Trace, *, event_order: str = "standard") -> tuple[Cluster, Truth]:
    """An empty machine before the first arrival of the trace.

    Raises ValueError on an event order other than "standard" and "pyss".
    """
    if event_order not in ("standard", "pyss"):
        raise ValueError(f"event_order is 'standard' or 'pyss', not {event_order!r}")
    jobs, count = len(trace), min(len(trace), trace.processors)
    # One event at a time, a job may start before those it takes the processors of have ended.
    due = count if event_order == "standard" else jobs
    due += int(np.count_nonzero(trace.jobs.requested_start))
    per_job = [np.full(jobs, FOREVER if place == 1 else -1, dtype=np.int64) for place in range(6)]
    cluster = Cluster(
        np.zeros(STATE, dtype=np.int64),
        per_job[0],
        *(np.empty(count, dtype=np.int64) for _ in range(4)),
        *per_job[1:],
    )
    truth = Truth(
        trace.runtime,
        np.empty(due, dtype=np.int64),
        np.empty(due, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )
    reset(cluster, truth, trace.processors, 0, jobs)
    cluster.state[ONE_EVENT] = event_order == "pyss"
    return cluster, truth


@kernel
def reset(cluster, truth, processors, first_job, last_job):
    """Clear the machine in place; jobs first_job .. last_job - 1 are still to be submitted.

    Nothing of what the machine ran before stays: it would tell the runtimes of jobs to come.
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
    truth.due[0] = 0


# What a policy asks -------------------------------------------------------------------------


@inlined
def now(cluster):
    """The clock, in seconds."""
    return cluster.state[NOW]


@inlined
def free(cluster):
    """Processors that no job runs on."""
    return cluster.state[FREE]


@inlined
def waiting(cluster):
    """The queue, in order of submission; jobs started in this very pass still stand in it."""
    return cluster.queue[cluster.state[QUEUE_BEGIN] : cluster.state[QUEUE_END]]


@inlined
def running(cluster):
    """The running jobs by expected end; those of one expected end in the order of their starts."""
    return cluster.running[: cluster.state[RUNNING]]


@inlined
def expected_ends(cluster):
    """The expected ends, in seconds, of the jobs `running` gives, in the same order."""
    return cluster.expected_end[: cluster.state[RUNNING]]


@inlined
def finished(cluster):
    """The jobs that ended at this instant; their true runtimes are now known: end - start."""
    return cluster.finished[: cluster.state[FINISHED]]


@inlined
def started(cluster):
    """The jobs started in this pass, in that order."""
    return cluster.started[: cluster.state[STARTED]]


@inlined
def one_event_at_a_time(cluster):
    """Whether each completion and each arrival has a pass of its own (event order "pyss")."""
    return cluster.state[ONE_EVENT] == 1


@inlined
def may_start(cluster, jobs, job):
    """Whether a waiting job fits on the machine and its requested start time has come."""
    return (
        cluster.start[job] < 0
        and jobs.size[job] <= cluster.state[FREE]
        and jobs.requested_start[job] <= cluster.state[NOW]
    )


# What a policy does -------------------------------------------------------------------------


@kernel
def start(cluster, jobs, job):
    """Start a waiting job now.

    Raises ValueError when it does not wait, does not fit, or asked to start later.
    """
    _check_submitted(cluster, job)
    _launch(cluster, jobs, job, jobs.estimate[job])


@kernel
def try_start(cluster, jobs, job, limit):
    """Start a waiting job now for `limit` seconds at most; see the module's semantics.

    Raises ValueError as `start` does, and when the job has had a trial or limit is not positive.
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
    """Ask for a scheduling pass at `time`; of several wishes in one pass the earliest counts."""
    if time > cluster.state[NOW]:
        cluster.state[WAKE] = min(cluster.state[WAKE], time)


@kernel
def _check_submitted(cluster, job):
    if job < 0 or job >= cluster.state[NEXT_JOB]:
        cluster.state[OFFENDER] = max(job, 0)
        raise ValueError("has not been submitted")


@kernel
def _launch(cluster, jobs, job, limit):
    state = cluster.state
    if not may_start(cluster, jobs, job):
        state[OFFENDER] = job
        raise ValueError("does not wait, does not fit, or asked to start later")
    kill_time = state[NOW] + limit
    cluster.start[job] = state[NOW]
    cluster.kill_time[job] = kill_time
    state[FREE] -= jobs.size[job]
    cluster.started[state[STARTED]] = job
    state[STARTED] += 1
    place = state[RUNNING]
    while place > 0 and cluster.expected_end[place - 1] > kill_time:
        cluster.expected_end[place] = cluster.expected_end[place - 1]
        cluster.running[place] = cluster.running[place - 1]
        place -= 1
    cluster.expected_end[place] = kill_time
    cluster.running[place] = job
    state[RUNNING] += 1


@kernel
def retract(cluster, jobs):
    """Undo the starts of this pass and its wish to be woken, as long as the clock stands still."""
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


@kernel
def advance(cluster, jobs, truth):
    """Go on to the next scheduling pass; False, with the clock where it was, when there is none.

    There is none when no event is left, or none before state[HORIZON].
    """
    commit_starts(cluster, jobs, truth)
    state = cluster.state
    time = next_event(cluster, jobs, truth)
    if time >= state[HORIZON]:
        return False
    state[NOW] = time
    state[WAKE] = FOREVER
    state[FINISHED] = 0
    state[PASSES] += 1
    if state[ONE_EVENT]:
        _one_event(cluster, jobs, truth)
    else:
        while truth.due[0] > 0 and truth.due_time[0] == time:
            _handle_event(cluster, jobs, truth)
        while state[NEXT_JOB] < state[LAST_JOB] and jobs.submit[state[NEXT_JOB]] == time:
            _arrive(cluster, jobs, truth)
    return True


@kernel
def next_event(cluster, jobs, truth):
    """The instant of the next scheduling pass; FOREVER when nothing is left to happen."""
    state = cluster.state
    time = state[WAKE]
    if state[NEXT_JOB] < state[LAST_JOB]:
        time = min(time, jobs.submit[state[NEXT_JOB]])
    if truth.due[0] > 0:
        time = min(time, truth.due_time[0])
    return time


@kernel
def commit_starts(cluster, jobs, truth):
    """Take the jobs started in this pass out of the queue and decide, in secret, their ends."""
    state = cluster.state
    if state[STARTED] == 0:
        return
    last = 0
    for job in started(cluster):
        last = max(last, job)
        limit = cluster.kill_time[job] - cluster.start[job]
        state[STARTS] += state[ONE_EVENT]
        entry = (state[STARTS] << 32) | job
        _push(truth, cluster.start[job] + min(truth.runtime[job], limit), entry)
    state[STARTED] = 0
    # The queue is ascending, so the last started job is found by bisection; the jobs before it
    # that still wait move up, and those behind it stay.
    place = state[QUEUE_BEGIN] + np.searchsorted(waiting(cluster), last)
    kept = place
    while place >= state[QUEUE_BEGIN]:
        job = cluster.queue[place]
        if cluster.start[job] < 0:
            cluster.queue[kept] = job
            kept -= 1
        place -= 1
    state[QUEUE_BEGIN] = kept + 1


@kernel
def _one_event(cluster, jobs, truth):
    state = cluster.state
    while state[RUNNING] > 0 and cluster.expected_end[0] <= state[NOW]:
        _leave_machine(cluster, jobs, cluster.running[0])
    if state[NEXT_JOB] < state[LAST_JOB] and jobs.submit[state[NEXT_JOB]] == state[NOW]:
        _arrive(cluster, jobs, truth)
    elif truth.due[0] > 0 and truth.due_time[0] == state[NOW]:
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
        _push(truth, jobs.requested_start[job], ~job)


@kernel
def _handle_event(cluster, jobs, truth):
    """The first entry of the heap: a job ends, its trial ends, or its requested start has come."""
    entry = _pop(truth)
    if entry < 0:
        return
    job = entry & JOB
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
    place = np.searchsorted(expected_ends(cluster), cluster.kill_time[job])
    while cluster.running[place] != job:
        place += 1
    state[RUNNING] -= 1
    while place < state[RUNNING]:
        cluster.running[place] = cluster.running[place + 1]
        cluster.expected_end[place] = cluster.expected_end[place + 1]
        place += 1


@kernel
def _requeue(cluster, job):
    """Back to its old place: the jobs before it move down by one, where there is room."""
    state = cluster.state
    cluster.trial_end[job] = state[NOW]
    cluster.start[job] = -1
    state[QUEUE_BEGIN] -= 1
    place = state[QUEUE_BEGIN]
    while place + 1 < state[QUEUE_END] and cluster.queue[place + 1] < job:
        cluster.queue[place] = cluster.queue[place + 1]
        place += 1
    cluster.queue[place] = job


@kernel
def _push(truth, time, job):
    """Insert into the binary heap."""
    place = truth.due[0]
    truth.due[0] += 1
    while place > 0:
        parent = (place - 1) >> 1
        if not _before(time, job, truth.due_time[parent], truth.due_job[parent]):
            break
        truth.due_time[place] = truth.due_time[parent]
        truth.due_job[place] = truth.due_job[parent]
        place = parent
    truth.due_time[place] = time
    truth.due_job[place] = job


@kernel
def _pop(truth):
    """Remove the smallest entry of the binary heap and return its job."""
    smallest = truth.due_job[0]
    truth.due[0] -= 1
    count = truth.due[0]
    time, job = truth.due_time[count], truth.due_job[count]
    place = 0
    while 2 * place + 1 < count:
        child = 2 * place + 1
        if child + 1 < count and _before(
            truth.due_time[child + 1],
            truth.due_job[child + 1],
            truth.due_time[child],
            truth.due_job[child],
        ):
            child += 1
        if not _before(truth.due_time[child], truth.due_job[child], time, job):
            break
        truth.due_time[place] = truth.due_time[child]
        truth.due_job[place] = truth.due_job[child]
        place = child
    truth.due_time[place] = time
    truth.due_job[place] = job
    return smallest


@kernel
def _before(time, job, other_time, other_job):
    return time < other_time or (time == other_time and job < other_job)
