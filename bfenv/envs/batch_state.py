"""BatchState: the arrays of N environments, and the traces and rules that they share.

What changes from step to step is a BatchState of arrays with N rows. What does not, the traces
that episodes are taken from, is TraceTables of arrays with K rows. A single environment is the
batch of one.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bfenv.core.cluster import STATE, Cluster, Truth
from bfenv.core.jobs import FOREVER, Jobs, Trace
from bfenv.core.kernel import inlined
from bfenv.envs.observation import CLUSTER, PROFILE, QUEUE

# Rows of BatchState.per_job, .per_run and .heap: fields of Cluster and of Truth
JOB_ROWS = QUEUE_JOB, START, END, KILL_TIME, TRIAL_START, TRIAL_END = range(6)
RUN_ROWS = RUNNING_JOB, EXPECTED_END, STARTED_JOB, FINISHED_JOB = range(4)
HEAP_ROWS = DUE_TIME, DUE_JOB = range(2)
# Columns of BatchState.counters
COUNTERS = (
    EPISODES,  # opened so far
    TRACE,  # index of the trace that the episode is taken from
    FIRST,  # the episode's jobs are FIRST .. LAST - 1
    LAST,
    UNSTARTED,  # jobs of the episode that have not started; at 0 the episode has ended
    STEPS,  # actions in the episode
    ILLEGAL,  # illegal ones among them
    LAST_ILLEGAL,  # 1 if the last action was illegal
    FORCED,  # starts that the environment made because nothing else could happen
    DUE,  # Truth.due
    PLAN_STEPS,  # Profile.steps of the guard's availability profile
) = range(11)
# Columns of BatchState.sums: over the jobs of the episode that have started, then what the rewards
# need: the totals at the last decision and at the one before
SUMS = (
    WAIT,
    BOUNDED_SLOWDOWN,
    LAST_NOW,
    LAST_WAIT,
    LAST_BOUNDED_SLOWDOWN,
    BEFORE_NOW,
    BEFORE_WAIT,
    BEFORE_BOUNDED_SLOWDOWN,
) = range(8)


class BatchState(NamedTuple):
    """The state of N environments."""

    cluster_state: np.ndarray  # (N, STATE) int64
    per_job: np.ndarray  # (N, len(JOB_ROWS), n) int64
    per_run: np.ndarray  # (N, len(RUN_ROWS), m) int64
    heap: np.ndarray  # (N, len(HEAP_ROWS), h) int64
    counters: np.ndarray  # (N, len(COUNTERS)) int64
    sums: np.ndarray  # (N, len(SUMS)) float64
    accuracy: np.ndarray  # (N, 2, users) float64: sum and count of runtime / estimate
    mask: np.ndarray  # (N, window + 1) int8, 1 for a legal action
    plan: np.ndarray  # (N, 2, s) int64: time and free of the guard's availability profile


class TraceTables(NamedTuple):
    """K traces, the shorter ones padded with zeros that no episode reaches."""

    requests: np.ndarray  # (K, len(Jobs._fields), n) int64, the fields of Jobs in their order
    runtime: np.ndarray  # (K, n) int64 seconds
    time_of_day: np.ndarray  # (K,) int64 seconds after midnight at time 0


class GuardRules(NamedTuple):
    """Which starts are legal, and where time stops."""

    reservation_depth: int  # how many waiting jobs no start may delay; -1 all
    every_pass: bool  # stop at every scheduling pass, even where no start is legal


Value = Any  # of one environment a number, of N environments (N,) float64


class StepTotals(NamedTuple):
    """What rewards and infos are computed from, at a decision.

    Sums are over the submitted jobs of the episode; a waiting job counts with its wait so far.
    """

    before_now: Value  # seconds, at the last legal action
    before_wait: Value  # seconds, then; 0 at the first, so its reward covers all that came before
    before_bounded_slowdown: Value
    now: Value  # seconds
    wait: Value  # seconds
    bounded_slowdown: Value
    unstarted: Value  # jobs of the episode
    steps: Value  # actions in the episode
    illegal_actions: Value  # among them
    last_illegal: Value  # 1 if the last action was illegal
    forced_starts: Value


class StepBuffers(NamedTuple):
    """What a step writes: the observations of N environments, and their totals."""

    queue: np.ndarray  # (N, window, len(QUEUE)) float32
    profile: np.ndarray  # (N, len(PROFILE)) float32
    cluster: np.ndarray  # (N, len(CLUSTER)) float32
    totals: np.ndarray  # (N, len(StepTotals._fields)) float64


def new_tables(traces: Sequence[Trace]) -> TraceTables:
    """Copy the traces side by side."""
    jobs = max(map(len, traces))
    requests = np.zeros((len(traces), len(Jobs._fields), jobs), dtype=np.int64)
    runtime = np.zeros((len(traces), jobs), dtype=np.int64)
    for k, trace in enumerate(traces):
        requests[k, :, : len(trace)] = trace.jobs
        runtime[k, : len(trace)] = trace.runtime
    for table in (requests, runtime):  # read-only like a trace's arrays: kernels are typed by it
        table.flags.writeable = False
    return TraceTables(requests, runtime, np.array([trace.time_of_day for trace in traces]))


def new_state(traces: Sequence[Trace], environments: int, window: int) -> BatchState:
    """Allocate the environments, each for any of the traces; mostly 48 bytes a job in each."""
    jobs = max(map(len, traces))
    running = max(min(len(trace), trace.processors) for trace in traces)
    requested_starts = max(int(np.count_nonzero(t.jobs.requested_start)) for t in traces)
    users = max(int(trace.jobs.user.max()) for trace in traces) + 1

    def zeros(*shape: int, dtype: type[np.generic] = np.int64) -> np.ndarray:
        return np.zeros((environments, *shape), dtype=dtype)

    state = BatchState(
        cluster_state=zeros(STATE),
        per_job=zeros(len(JOB_ROWS), jobs),
        per_run=zeros(len(RUN_ROWS), running),
        heap=zeros(len(HEAP_ROWS), running + requested_starts),
        counters=zeros(len(COUNTERS)),
        sums=zeros(len(SUMS), dtype=np.float64),
        accuracy=zeros(2, users, dtype=np.float64),
        mask=zeros(window + 1, dtype=np.int8),
        plan=zeros(2, 2 + running + 2 * jobs),
    )
    state.per_job[:, START] = FOREVER  # not submitted
    state.per_job[:, [END, KILL_TIME, TRIAL_START, TRIAL_END]] = -1
    return state


def new_buffers(environments: int, window: int) -> StepBuffers:
    """Allocate what a step writes."""
    return StepBuffers(
        np.empty((environments, window, len(QUEUE)), dtype=np.float32),
        np.empty((environments, len(PROFILE)), dtype=np.float32),
        np.empty((environments, len(CLUSTER)), dtype=np.float32),
        np.empty((environments, len(StepTotals._fields))),
    )


@inlined
def cluster_of(state, i):
    """Return the machine of environment i."""
    return Cluster(
        state.cluster_state[i],
        state.per_job[i, QUEUE_JOB],
        state.per_run[i, RUNNING_JOB],
        state.per_run[i, EXPECTED_END],
        state.per_run[i, STARTED_JOB],
        state.per_run[i, FINISHED_JOB],
        state.per_job[i, START],
        state.per_job[i, END],
        state.per_job[i, KILL_TIME],
        state.per_job[i, TRIAL_START],
        state.per_job[i, TRIAL_END],
    )


@inlined
def jobs_of(state, tables, i):
    """Return the requests of the trace that environment i runs."""
    requests = tables.requests[state.counters[i, TRACE]]
    return Jobs(requests[0], requests[1], requests[2], requests[3], requests[4], requests[5])


@inlined
def truth_of(state, tables, i):
    """Return what only the simulator knows of environment i."""
    runtime = tables.runtime[state.counters[i, TRACE]]
    heap, counters = state.heap[i], state.counters[i]
    return Truth(runtime, heap[DUE_TIME], heap[DUE_JOB], counters[DUE : DUE + 1])
