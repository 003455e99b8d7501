"""Futures: run a policy forward from now on a copy of the machine, with sampled runtimes.

A `KnownMachine` is a copy that holds only what a scheduler may know: the running and the waiting
jobs, numbered 0 .. k - 1 in trace order. A future is that machine with a runtime for each job. The
policies drive it with the same `start` and `advance` as the machine itself.

A policy enters a future without a memory of earlier passes: what it has promised or planned is
forgotten. What it knows of users is not: a `UserHistory` in its memory, and the runtimes from which
EASY++ predicts, are filled from the run's own history (`recall`).
"""

from typing import Any, NamedTuple, TypeVar

import numpy as np

from bfenv.core.cluster import (
    FIRST_JOB,
    FREE,
    HORIZON,
    LAST_JOB,
    NEXT_JOB,
    NOW,
    OFFENDER,
    ONE_EVENT,
    PROCESSORS,
    QUEUE_BEGIN,
    QUEUE_END,
    RUNNING,
    STATE,
    WAKE,
    Cluster,
    expected_ends,
    running,
    started,
    waiting,
)
from bfenv.core.durations import DAY
from bfenv.core.errors import IllegalStartError
from bfenv.core.events import Truth, advance, shown, unknown_jobs
from bfenv.core.illegal_start import find_illegal_start
from bfenv.core.jobs import FOREVER, REQUESTED_START, SUBMIT, Jobs
from bfenv.core.policy import Policy
from bfenv.knowledge.groups import Groups
from bfenv.knowledge.predictor import Predictor
from bfenv.knowledge.user_history import UserHistory

T = TypeVar("T")


class KnownMachine(NamedTuple):
    """A machine at one instant, with the jobs that have been submitted and have not ended."""

    job: np.ndarray  # (k,) int64: their numbers in the trace; of an arrival, that of its model
    requests: np.ndarray  # (6, k) int64, see `Trace.requests`
    cluster: Cluster  # the machine, where they are numbered 0 .. k - 1

    @property
    def known(self) -> np.ndarray:
        """What a policy knows of the jobs now, a new (6, k + 1) int64, see Truth.known."""
        known = unknown_jobs(self.requests, int(self.cluster.state[PROCESSORS]))
        submitted = self.cluster.state[NEXT_JOB]
        known[:, :submitted] = self.requests[:, :submitted]
        return known

    @property
    def jobs(self) -> Jobs:
        """What a policy sees of the jobs now."""
        return shown(self.known)


class Start(NamedTuple):
    """A start that a policy decides."""

    job: int
    limit: int  # seconds; below the estimate it is a trial


def known_machine(cluster: Cluster, jobs: Jobs) -> KnownMachine:
    """Copy what is known of a machine before the starts of a scheduling pass."""
    queue = waiting(cluster)
    queue = queue[cluster.start[queue] < 0]
    job = np.sort(np.concatenate([running(cluster), queue]))
    count, time = len(job), int(cluster.state[NOW])
    most = min(count, int(cluster.state[PROCESSORS]))
    state = np.zeros(STATE, dtype=np.int64)
    state[[NOW, FREE, PROCESSORS]] = cluster.state[[NOW, FREE, PROCESSORS]]
    # A job whose trial ends returns to the queue, so there is a place before it for each that runs.
    begin = len(running(cluster))
    state[[QUEUE_BEGIN, QUEUE_END]] = begin, count
    state[RUNNING] = len(running(cluster))
    state[[NEXT_JOB, LAST_JOB]] = count
    state[HORIZON] = FOREVER
    state[WAKE] = time  # `advance` makes the first pass now
    state[OFFENDER] = -1
    copy = Cluster(
        state=state,
        queue=np.append(np.zeros(begin, dtype=np.int64), np.searchsorted(job, np.sort(queue))),
        running=_padded(np.searchsorted(job, running(cluster)), most),
        expected_end=_padded(expected_ends(cluster), most),
        started=np.zeros(most, dtype=np.int64),
        finished=np.zeros(most, dtype=np.int64),
        start=cluster.start[job],
        end=cluster.end[job],
        kill_time=cluster.kill_time[job],
        trial_start=cluster.trial_start[job],
        trial_end=cluster.trial_end[job],
    )
    return KnownMachine(job, _read_only(np.stack([column[job] for column in jobs])), copy)


def with_arrivals(
    machine: KnownMachine,
    cluster: Cluster,
    jobs: Jobs,
    generator: np.random.Generator,
    span: int,
) -> KnownMachine:
    """Let jobs arrive in the next `span` seconds as they did from this time of day on once before.

    A day of the past is drawn at random; the machine is returned as it is if there is none yet.

    Parameters
    ----------
    machine
        What is known.
    cluster, jobs
        The machine and the requests that it was made of.
    generator
        Random numbers.
    span
        Seconds.
    """
    time = int(cluster.state[NOW])
    first, next_job = cluster.state[[FIRST_JOB, NEXT_JOB]].tolist()
    submit = jobs.submit[first:next_job]
    least = -(-span // DAY)  # days: what is copied has happened
    most = (time - int(submit[0])) // DAY
    if most < least:
        return machine
    shift = DAY * int(generator.integers(least, most + 1))
    begin, end = np.searchsorted(submit, [time - shift, time - shift + span], side="right")
    model = np.arange(first + begin, first + end)
    if not len(model):
        return machine
    known, count = len(machine.job), len(model)
    arrivals = np.stack([column[model] for column in jobs])
    arrivals[SUBMIT] += shift
    arrivals[REQUESTED_START] += np.where(arrivals[REQUESTED_START] > 0, shift, 0)
    all_requests = np.concatenate([machine.requests, arrivals], axis=1)
    copy = machine.cluster
    state = copy.state.copy()
    state[LAST_JOB] = known + count
    room = min(known + count, int(state[PROCESSORS])) - len(copy.running)
    per_run = (_longer(column, room, 0) for column in copy[2:6])
    none = (FOREVER, -1, -1, -1, -1)  # start, end, kill_time, trial_start, trial_end
    per_job = (_longer(column, count, value) for column, value in zip(copy[6:], none, strict=True))
    longer = Cluster(state, _longer(copy.queue, count, 0), *per_run, *per_job)
    return KnownMachine(np.concatenate([machine.job, model]), _read_only(all_requests), longer)


def first_starts(
    policy: Policy, machine: KnownMachine, memory: Any
) -> tuple[tuple[Start, ...], int]:
    """Return what a policy starts now, in trace numbers, and the wake-up that it asks for.

    The wake-up is an instant in seconds, FOREVER for none.

    Raises
    ------
    IllegalStartError
        If a start is illegal.
    """
    cluster = _copy(machine.cluster)
    cluster.state[WAKE] = FOREVER
    jobs = machine.jobs
    _call(policy, machine, cluster, lambda: policy.decide(cluster, jobs, memory))
    time = int(cluster.state[NOW])
    numbers = started(cluster).tolist()
    starts = (Start(int(machine.job[n]), int(cluster.kill_time[n]) - time) for n in numbers)
    return tuple(starts), int(cluster.state[WAKE])


def new_future(machine: KnownMachine, runtime: np.ndarray) -> Truth:
    """Return the truth of a future in which the jobs have these runtimes, (k,) int64 seconds."""
    cluster, requests = machine.cluster, machine.requests
    times, entries = future_events(cluster, Jobs(*requests), runtime)
    capacity = len(cluster.running) + int(np.count_nonzero(requests[REQUESTED_START]))
    runtime = np.ascontiguousarray(runtime)
    runtime.flags.writeable = False
    count = np.array([len(times)])
    events = _padded(times, capacity), _padded(entries, capacity), count
    one_event = True if cluster.state[ONE_EVENT] else None
    return Truth(runtime, requests, machine.known, *events, one_event)


def run_future(
    policy: Policy,
    machine: KnownMachine,
    future: Truth,
    memory: Any,
    horizon: int | None = None,
) -> Cluster:
    """Return the machine after the policy has run it, from the pass now to the last end.

    Parameters
    ----------
    policy
        The scheduler.
    machine
        Where it begins; it is not changed.
    future
        As `new_future` returns it; it is not changed.
    memory
        Of the policy, made for `machine.jobs`; it is used up.
    horizon
        Seconds from now, beyond which time does not run; None for no end.

    Raises
    ------
    IllegalStartError
        If a start is illegal.
    """
    cluster = _copy(machine.cluster)
    if horizon is not None:
        cluster.state[HORIZON] = min(FOREVER, int(cluster.state[NOW]) + horizon + 1)
    copied = {name: getattr(future, name).copy() for name in Truth._fields[2:6]}
    truth = future._replace(**copied)
    jobs = shown(truth.known)

    def run() -> None:
        if policy.run is not None:
            policy.run(cluster, jobs, truth, memory)
            return
        while advance(cluster, jobs, truth):
            policy.decide(cluster, jobs, memory)

    _call(policy, machine, cluster, run)
    return cluster


def recall(memory: T, machine: KnownMachine, users: UserHistory) -> T:
    """Return a policy's memory with the history of users in it, wherever it has a place for one."""
    if isinstance(memory, UserHistory):
        groups = Groups(*(part.copy() for part in users.groups))
        own = memory.group  # the jobs have other numbers here
        return UserHistory(groups, own, *(part.copy() for part in users[2:]))  # type: ignore[return-value]
    if isinstance(memory, Predictor):
        recent = memory.recent
        recent[:] = users.recent[: len(recent)]
        return memory
    if isinstance(memory, tuple) and hasattr(memory, "_replace"):
        found = {
            name: recall(value, machine, users)
            for name, value in zip(memory._fields, memory, strict=True)  # type: ignore[attr-defined]
            if isinstance(value, tuple)
        }
        return memory._replace(**found) if found else memory
    return memory


def _call(policy: Policy, machine: KnownMachine, cluster: Cluster, call: Any) -> None:
    """Call a policy, and name an illegal start that it makes."""
    try:
        call()
    except ValueError as error:
        illegal = find_illegal_start(cluster, Jobs(*machine.requests), policy.name)
        if illegal is None:  # a fault of the policy's own code
            raise
        known = 0 <= illegal.job < len(machine.job)
        job = int(machine.job[illegal.job]) if known else illegal.job
        raise IllegalStartError(job, illegal.time, illegal.reason, policy.name) from error


def future_events(cluster: Cluster, jobs: Jobs, runtime: np.ndarray) -> tuple[Any, Any]:
    """Return the events to come if jobs have these runtimes, before the starts of a pass.

    Parameters
    ----------
    cluster, jobs
        The machine and the requests.
    runtime
        (n,) int64 seconds, by job.

    Returns
    -------
    tuple of np.ndarray
        Times and entries, (e,) int64 each, in the order of `bfenv.core.events.Truth`: a heap.
    """
    run, queue, time = running(cluster), waiting(cluster), cluster.state[NOW]
    later = queue[jobs.requested_start[queue] > time]
    end = np.minimum(cluster.start[run] + runtime[run], cluster.kill_time[run])
    events = np.concatenate([end, jobs.requested_start[later]])
    entries = np.concatenate([run, ~later])
    order = np.lexsort((entries, events))
    return events[order], entries[order]


def _copy(cluster: Cluster) -> Cluster:
    return Cluster(*(column.copy() for column in cluster))


def _read_only(requests: np.ndarray) -> np.ndarray:
    """Freeze a table, as a trace's is: kernels are compiled for either."""
    requests.flags.writeable = False
    return requests


def _padded(values: np.ndarray, length: int) -> np.ndarray:
    return _longer(values, length - len(values), 0)


def _longer(values: np.ndarray, room: int, value: int) -> np.ndarray:
    return np.concatenate([values, np.full(room, value, dtype=np.int64)])
