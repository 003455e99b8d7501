"""Futures: run a policy forward from now on a copy of the machine, with sampled runtimes.

A `KnownMachine` is a copy that holds only what a scheduler may know: the running and the waiting
jobs, numbered 0 .. k - 1 in trace order. A future is that machine with a runtime for each job. The
policies drive it with the same `start` and `advance` as the machine itself.

A policy enters a future without a memory of earlier passes: what it has promised or planned is
forgotten. What it knows of users is not: a `UserHistory` in its memory, and the runtimes from which
EASY++ predicts, are filled from the run's own history (`recall`).
"""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numpy as np
from joblib import cpu_count

import bfenv.core.cluster as c
from bfenv.core.detour import run_around
from bfenv.core.durations import HOUR
from bfenv.core.errors import IllegalStartError, PolicyError
from bfenv.core.events import add_instant, advance, allocate, next_event, push, shown, submit
from bfenv.core.illegal_start import find_illegal_start
from bfenv.core.jobs import (
    ESTIMATE,
    FOREVER,
    REQUESTED_START,
    RESTARTABLE,
    SIZE,
    SUBMIT,
    USER,
    Jobs,
    Outage,
)
from bfenv.core.kernel import Code, kernel
from bfenv.core.policy import Policy, new_memory, plans_for
from bfenv.knowledge.groups import Groups
from bfenv.knowledge.predictor import Predictor
from bfenv.knowledge.user_history import UserHistory
from bfenv_site.futures.arrivals import Arrivals

FIRST_LOOK, LOOK_FURTHER = HOUR, 1.2  # a future first runs for an hour, then 1.2 times as far
T = TypeVar("T")


class KnownMachine(NamedTuple):
    """A machine at one instant, with the jobs that have been submitted and have not ended."""

    job: np.ndarray  # (k,) int64: numbers in the trace; -1, -2 and so on if not in it
    requests: np.ndarray  # (7, k) int64, see `Trace.requests`
    cluster: c.Cluster  # the machine, where they are numbered 0 .. k - 1


def known_machine(cluster: c.Cluster, jobs: Jobs) -> KnownMachine:
    """Copy what is known of a machine before the starts of a scheduling pass."""
    queue = c.waiting(cluster)
    queue = queue[cluster.start[queue] < 0]
    job = np.sort(np.concatenate([c.running(cluster), queue]))
    count, time = len(job), int(cluster.state[c.NOW])
    runs = len(c.running(cluster))
    most = max(runs, min(count, int(cluster.state[c.PROCESSORS])))
    state = np.zeros(c.STATE, dtype=np.int64)
    state[[c.NOW, c.FREE, c.PROCESSORS]] = cluster.state[[c.NOW, c.FREE, c.PROCESSORS]]
    # A job whose trial ends returns to the queue, so there is a place before it for each that runs.
    state[[c.QUEUE_BEGIN, c.QUEUE_END]] = runs, count
    state[c.RUNNING] = runs
    state[[c.NEXT_JOB, c.LAST_JOB]] = count
    state[c.HORIZON] = FOREVER
    state[c.WAKE] = time  # `advance` makes the first pass now
    state[c.OFFENDER] = -1
    state[c.PASSES] = 1  # a policy without a memory has missed a pass: it looks at all jobs
    copy = c.Cluster(
        state=state,
        queue=np.append(np.zeros(runs, dtype=np.int64), np.searchsorted(job, np.sort(queue))),
        running=_longer(np.searchsorted(job, c.running(cluster)), most - runs, 0),
        expected_end=_longer(c.expected_ends(cluster), most - runs, 0),
        started=np.zeros(most, dtype=np.int64),
        finished=np.zeros(most, dtype=np.int64),
        start=cluster.start[job],
        end=cluster.end[job],
        kill_time=cluster.kill_time[job],
        trial_start=cluster.trial_start[job],
        trial_end=cluster.trial_end[job],
    )
    return KnownMachine(job, _read_only(np.stack([column[job] for column in jobs])), copy)


def cluster_at(
    time: int, requests: np.ndarray, start: np.ndarray, end: np.ndarray, processors: int
) -> c.Cluster:
    """Make a machine on which jobs are known to have started and ended at these times.

    It need not be one that the policies of this package could have reached: if its jobs use more
    processors than there are, the number of free ones is negative until some end.

    Args:
        time: Now, in seconds.
        requests: (7, n) int64, of the jobs submitted by now, see `Trace.requests`.
        start, end: (n,) int64 seconds; -1 where a job has not started or ended by now.
        processors: Of the machine.
    """
    count, estimate = requests.shape[1], requests[ESTIMATE]
    kill_time = np.where(start >= 0, start + estimate, -1)
    run = np.flatnonzero((start >= 0) & (end < 0))
    kill_time[run] = np.maximum(kill_time[run], time + 1)  # it has outlived its limit
    run = run[np.lexsort((start[run], kill_time[run]))]
    queue = np.flatnonzero(start < 0)
    state = np.zeros(c.STATE, dtype=np.int64)
    state[[c.NOW, c.PROCESSORS]] = time, processors
    state[c.FREE] = processors - requests[SIZE, run].sum()
    state[c.QUEUE_END], state[c.RUNNING] = len(queue), len(run)
    state[[c.NEXT_JOB, c.LAST_JOB]] = count
    state[[c.HORIZON, c.WAKE]] = FOREVER
    state[c.OFFENDER] = -1
    none = np.zeros(len(run), dtype=np.int64)
    never = np.full(count, -1)
    return c.Cluster(
        state,
        queue,
        run,
        kill_time[run],
        none,
        none.copy(),
        start,
        end,
        kill_time,
        never,
        never.copy(),
    )


def with_waiting(machine: KnownMachine, requests: np.ndarray) -> KnownMachine:
    """Let jobs join the queue of a machine now: (7, c) int64 requests, in this order.

    They follow the machine's own jobs, and are numbered -1, -2 and so on.
    """
    count = requests.shape[1]
    job_count, old = len(machine.job), machine.cluster
    state = old.state.copy()
    state[c.QUEUE_END] += count
    state[[c.NEXT_JOB, c.LAST_JOB]] += count
    most = min(count, max(0, int(state[c.PROCESSORS]) - len(old.running)))
    queue = np.append(old.queue[: old.state[c.QUEUE_END]], job_count + np.arange(count))
    per_run = (_longer(column, most, 0) for column in old[2:6])
    per_job = (_longer(column, count, -1) for column in old[6:])
    table = _read_only(np.concatenate([machine.requests, requests], axis=1))
    job = np.append(machine.job, -1 - np.arange(count))
    return KnownMachine(job, table, c.Cluster(state, queue, *per_run, *per_job))


def run_futures(
    policy: Policy,
    machine: KnownMachine,
    runtime: np.ndarray,
    numbers: np.ndarray,
    *,
    arrivals: Arrivals | None = None,
    outages: tuple[Outage, ...] = (),
    users: UserHistory | None = None,
    seed: int = 0,
    threads: int | None = None,
) -> np.ndarray:
    """Run futures of a machine, and return when jobs start in each.

    A future ends soon after the last of these jobs has started. Each is run by the policy's own
    compiled loop, without the interpreter's lock, so that threads share the futures; which thread
    runs which makes no difference.

    Args:
        policy: The scheduler.
        machine: Where the futures begin, with the pass that comes now; it is not changed.
        runtime: (F, k) int64 seconds: the runtimes of the machine's jobs in each future.
        numbers: (a,) int64, of jobs of the machine.
        arrivals: The jobs to come; None for none.
        outages: The outages to come, which are announced; they begin after now.
        users: What is known of users, for policies that use it.
        seed: Of stochastic policies.
        threads: How many threads; None for one for each core. Policies in Python use one.

    Returns:
        (F, a) int64 seconds, FOREVER for a job that never starts. A trial that is killed is no
        start.

    Raises:
        IllegalStartError: If a start is illegal.
        PolicyError: If a job has a requested start time for which the policy does not plan.
    """
    if not plans_for(policy, Jobs(*machine.requests)):
        raise PolicyError(f"{policy.name} does not plan for requested start times")
    futures = len(runtime)
    starts = np.full((futures, len(numbers)), FOREVER)
    if threads is None:
        threads = cpu_count()
    threads = max(1, min(threads if policy.run is not None else 1, futures))
    rooms = [_Room(policy, machine, arrivals, outages) for _ in range(threads)]
    stopped = threading.Event()

    def work(i: int) -> None:
        for future in range(i, futures, threads):
            if stopped.is_set():
                return
            rooms[i].open(runtime[future], future)
            rooms[i].run(numbers, users, seed, starts[future])

    if threads == 1:
        work(0)
        return starts
    with ThreadPoolExecutor(threads) as pool:
        try:
            for done in [pool.submit(work, i) for i in range(threads)]:
                done.result()
        except BaseException:
            stopped.set()
            raise
    return starts


class _Room:
    """The arrays in which one thread runs its futures, one after the other."""

    def __init__(
        self,
        policy: Policy,
        machine: KnownMachine,
        arrivals: Arrivals | None,
        outages: tuple[Outage, ...],
    ) -> None:
        self._policy, self._machine = policy, machine
        job_count = len(machine.job)
        coming = job_count + (arrivals.most if arrivals else 0)
        count = coming + len(outages)
        self._outages = range(coming, count)
        self._requests = np.zeros((len(Jobs._fields), count), dtype=np.int64)
        self._requests[:, :job_count] = machine.requests
        if outages:
            begin, end, size = np.array(sorted(outages), dtype=np.int64).T
            none = np.zeros(len(begin), dtype=np.int64)
            self._requests[:, coming:] = begin, size, end - begin, none - 1, none, none, none + 1
        if arrivals is None:
            none = np.zeros((1, 0), dtype=np.int64)
            arrivals = Arrivals(self._requests, none[0], none[0], none, none, none)
        self._arrivals = arrivals
        users = max(machine.requests[USER].max(initial=-1), arrivals.requests[USER].max(initial=-1))
        asks = bool(machine.requests[REQUESTED_START].any())
        restartable = bool(machine.requests[RESTARTABLE].all())
        if arrivals.most:
            asks = asks or bool(arrivals.requests[REQUESTED_START].any())
            restartable = restartable and bool(arrivals.requests[RESTARTABLE].all())
        # The largest placeholders that any future of this machine needs.
        self._placeholder = np.array(
            [FOREVER, machine.cluster.state[c.PROCESSORS], 1, users, 0, int(asks), int(restartable)]
        )
        self._runtime = np.zeros(count, dtype=np.int64)
        tables = self._requests.view(), self._runtime.view()
        for table in tables:  # as a trace's are: kernels are compiled for either
            table.flags.writeable = False
        self._visible_requests = np.empty((len(Jobs._fields), count + 1), dtype=np.int64)
        events = count + len(outages) + (count if asks else 0)
        self.cluster, self.truth = allocate(*tables, self._visible_requests, max(count, 1), events)
        self.jobs = shown(self._visible_requests)
        self._code: dict[str, Code] = {}

    def _call(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call the machine code of a kernel, which is found once."""
        if name not in self._code:
            self._code[name] = Code(function)
        return self._code[name].call(*arguments)

    def open(self, runtime: np.ndarray, future: int) -> None:
        """Write the beginning of a future, given the runtimes of the machine's jobs."""
        self._call(
            "open",
            _open,
            self.cluster,
            self.truth,
            self._requests,
            self._runtime,
            self._placeholder,
            self._machine.cluster,
            runtime,
            self._arrivals,
            future,
            self._outages.start,
            self._outages.stop,
        )

    def run(
        self, numbers: np.ndarray, users: UserHistory | None, seed: int, starts: np.ndarray
    ) -> None:
        """Run the policy until the jobs have started, and write their starts."""
        policy, cluster, jobs, truth = self._policy, self.cluster, self.jobs, self.truth
        memory = new_memory(policy, jobs, int(cluster.state[c.PROCESSORS]), seed)
        if users is not None and memory != ():
            memory = recall(memory, users)
        state, ahead = cluster.state, float(FIRST_LOOK)
        now = int(self._machine.cluster.state[c.NOW])
        try:
            while True:
                state[c.HORIZON] = min(FOREVER // 2, now + int(ahead))
                if self._outages:
                    run_around(policy, cluster, jobs, truth, memory, self._outages, in_thread=False)
                elif policy.run is not None:
                    self._call("run", policy.run, cluster, jobs, truth, memory)
                else:
                    while advance(cluster, jobs, truth):
                        policy.decide(cluster, jobs, memory)
                all_started = self._call("note", _note_starts, cluster, numbers, starts)
                nothing_left = self._call("next", next_event, cluster, truth) == FOREVER
                if all_started or nothing_left or state[c.HORIZON] == FOREVER // 2:
                    return
                ahead *= LOOK_FURTHER
        except ValueError as error:
            illegal = find_illegal_start(cluster, Jobs(*self._requests), policy.name)
            if illegal is None:  # a fault of the policy's own code
                raise
            is_known = 0 <= illegal.job < len(self._machine.job)
            # as in the trace
            job = int(self._machine.job[illegal.job]) if is_known else illegal.job
            raise IllegalStartError(job, illegal.time, illegal.reason, policy.name) from error


@kernel
def _open(
    cluster,
    truth,
    requests,
    runtime,
    placeholder,
    machine,
    sampled,
    arrivals,
    future,
    first_outage,
    last_outage,
):
    """Write all of `cluster`, `truth`, `requests` and `runtime`: a future before its first pass."""
    job_count, count, rows = len(machine.start), len(runtime), len(placeholder)
    for i in range(len(machine.state)):
        cluster.state[i] = machine.state[i]
    for i in range(machine.state[c.QUEUE_END]):
        cluster.queue[i] = machine.queue[i]
    for i in range(machine.state[c.RUNNING]):
        cluster.running[i] = machine.running[i]
        cluster.expected_end[i] = machine.expected_end[i]
    for job in range(job_count):
        cluster.start[job], cluster.end[job] = machine.start[job], machine.end[job]
        cluster.kill_time[job] = machine.kill_time[job]
        cluster.trial_start[job] = machine.trial_start[job]
        cluster.trial_end[job] = machine.trial_end[job]
        runtime[job] = sampled[job]
        for row in range(rows):
            truth.known[row, job] = requests[row, job]
    job = job_count
    for day in range(arrivals.first.shape[1]):
        shift = arrivals.shift[future, day]
        for model in range(arrivals.first[future, day], arrivals.last[future, day]):
            for row in range(rows):
                requests[row, job] = arrivals.requests[row, model]
            requests[SUBMIT, job] += shift
            if requests[REQUESTED_START, job] > 0:
                requests[REQUESTED_START, job] += shift
            place = arrivals.place[model]
            ran = arrivals.runtime[model] if place < 0 else sampled[place]
            runtime[job] = min(ran, requests[ESTIMATE, job])
            job += 1
    cluster.state[c.LAST_JOB] = job
    for job in range(job_count, count + 1):
        for row in range(rows):
            truth.known[row, job] = placeholder[row]
        if job < count:
            cluster.start[job] = FOREVER
            cluster.end[job] = cluster.kill_time[job] = -1
            cluster.trial_start[job] = cluster.trial_end[job] = -1
    truth.event_count[0] = 0
    for i in range(machine.state[c.RUNNING]):
        job = machine.running[i]
        end = min(machine.start[job] + sampled[job], machine.kill_time[job])
        push(truth, max(end, machine.state[c.NOW] + 1), job)
    for i in range(machine.state[c.QUEUE_BEGIN], machine.state[c.QUEUE_END]):
        job = machine.queue[i]
        if requests[REQUESTED_START, job] > machine.state[c.NOW]:
            push(truth, requests[REQUESTED_START, job], ~job)
    for job in range(first_outage, last_outage):
        runtime[job] = requests[ESTIMATE, job]
        submit(truth, job)
        add_instant(truth, requests[SUBMIT, job], job)


@kernel
def _note_starts(cluster, numbers, starts):
    """Write the starts of jobs, FOREVER where there is none yet; tell whether all have started."""
    everyone = True
    for i in range(len(numbers)):
        job = numbers[i]
        start = cluster.start[job]
        on_trial = cluster.trial_start[job] == start and cluster.trial_end[job] < 0
        is_over = cluster.end[job] >= 0
        if start < 0 or (on_trial and not is_over):
            start = FOREVER
        starts[i] = start
        everyone = everyone and start < FOREVER
    return everyone


def recall(memory: T, users: UserHistory) -> T:
    """Return a policy's memory with the history of users in it, wherever it has a place for one."""
    if isinstance(memory, UserHistory):
        groups = Groups(*(part.copy() for part in users.groups))
        group = memory.group  # the jobs have other numbers here
        return UserHistory(groups, group, *(part.copy() for part in users[2:]))  # type: ignore[return-value]
    if isinstance(memory, Predictor):
        recent = memory.recent
        recent[:] = users.recent[: len(recent)]
        return memory
    if isinstance(memory, tuple) and hasattr(memory, "_replace"):
        parts = {
            name: recall(value, users)
            for name, value in zip(memory._fields, memory, strict=True)  # type: ignore[attr-defined]
            if isinstance(value, tuple)
        }
        return memory._replace(**parts) if parts else memory
    return memory


def _read_only(requests: np.ndarray) -> np.ndarray:
    """Freeze a table, as a trace's is: kernels are compiled for either."""
    requests.flags.writeable = False
    return requests


def _longer(values: np.ndarray, room: int, value: int) -> np.ndarray:
    return np.concatenate([values, np.full(room, value, dtype=np.int64)])
