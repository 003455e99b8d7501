"""BatchState: the arrays of N environments, and the traces and rules that they share.

What changes from step to step is a BatchState of arrays with N rows. What does not, the traces
that episodes are taken from, is TraceTables of arrays with K rows. A single environment is the
batch of one.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bfenv.core.cluster import STATE, Cluster
from bfenv.core.events import Truth
from bfenv.core.jobs import ESTIMATE, FOREVER, SIZE, Jobs, Trace
from bfenv.core.kernel import inlined
from bfenv.envs.features import LOG_LONGEST
from bfenv.knowledge.groups import Groups
from bfenv.knowledge.user_history import UserHistory, find_groups, new_user_history

# Rows of BatchState.per_job, .per_run and .heap: fields of Cluster and of Truth. The last two of
# per_job are used while slots are chosen.
JOB_ROWS = (
    QUEUE_JOB,
    START,
    END,
    KILL_TIME,
    TRIAL_START,  # -1, as no job has a trial here
    TRIAL_END,
    TAKEN,  # by place in the queue: 1 for a job that gets a slot
    CHOSEN,  # the jobs that get one
) = range(8)
# Rows of BatchState.slot_requests and .slot_features
SLOT_REQUESTS = SLOT_SIZE, SLOT_ESTIMATE, SLOT_SUBMIT, SLOT_REQUESTED_START, SLOT_FLAGS = range(5)
SLOT_FEATURES = SHARE, LOG_ESTIMATE, LOG_WAIT, LOG_EXPANSION = range(4)
RUN_ROWS = RUNNING_JOB, EXPECTED_END, STARTED_JOB, FINISHED_JOB = range(4)
HEAP_ROWS = DUE_TIME, DUE_JOB = range(2)
# Columns of BatchState.counters
COUNTERS = (
    EPISODES,  # opened so far
    TRACE,  # index of the trace that the episode is taken from
    FIRST,  # the episode's jobs are FIRST .. LAST - 1
    LAST,
    UNSTARTED,  # jobs of the episode not started; at 0 the episode has ended
    STEPS,  # actions in the episode
    ILLEGAL,  # illegal ones among them
    LAST_ILLEGAL,  # 1 if the last action was illegal
    FORCED,  # starts that the environment made because nothing else could happen
    OUTSIDE,  # actions at which jobs waited outside the window
    HEAD,  # the job chosen as the head in this pass; -1 for none
    LEGAL_STARTS,  # how many slots may start now
    DUE,  # Truth.event_count, which has two columns
    STOP,
    AGE_LIMIT,  # UserHistory.age_limit
    COUNTED_FREE,  # UserHistory.free
) = range(16)
# Columns of BatchState.sums. The first four are over the jobs of the episode that have started. The
# last two are set before an episode begins, which resets all others.
SUMS = (
    WAIT,  # seconds
    BOUNDED_SLOWDOWN,  # from true runtimes
    SHOWN_SLOWDOWN,  # from estimates until a job ends, from its runtime then
    LONGEST_WAIT,  # seconds
    BACKLOG,  # processor-seconds: size x estimate of the waiting jobs
    BEFORE_NOW,  # the totals at the last decision but one, and at the last, as in StepTotals
    BEFORE_SUBMITTED,
    BEFORE_WAIT,
    BEFORE_SLOWDOWN,
    BEFORE_LONGEST,
    BEFORE_OVERDUE,
    LAST_NOW,
    LAST_SUBMITTED,
    LAST_WAIT,
    LAST_SLOWDOWN,
    LAST_LONGEST,
    LAST_OVERDUE,
    REFERENCE_SLOWDOWN,  # sum of bounded slowdowns under EASY, see ReferenceTotals
    REFERENCE_WAIT,  # seconds: longest wait under EASY
) = range(19)
USER_SUMS = INVERSE, ACCURACY_SUM, LOG_RUNTIME = range(3)


class BatchState(NamedTuple):
    """The state of N environments: each field is an array whose first axis is the environment.

    n is the number of jobs of the longest trace, m how many can run at a time, h how many events
    can lie ahead, u the number of users.

    | field | shape | type | holds | written by |
    |---|---|---|---|---|
    | cluster_state | (N, STATE) | int64 | `Cluster.state` | `start`, `advance` |
    | known | (N, 7, n + 1) | int64 | `Truth.known`: requests submitted so far | `advance` |
    | per_job | (N, JOB_ROWS, n) | int64 | columns of Cluster by job | `start`, `advance` |
    | per_run | (N, RUN_ROWS, m) | int64 | columns of Cluster by running job | `start`, `advance` |
    | heap | (N, HEAP_ROWS, h) | int64 | events to come: the true ends | `start`, `advance` |
    | counters | (N, COUNTERS) | int64 | integers of the episode | `episode` |
    | sums | (N, SUMS) | float64 | sums over the episode's jobs, and EASY's | `episode`, batch.py |
    | slots | (N, window) | int64 | the job in each slot; -1 for none | `write_slots` |
    | mask | (N, window + 1) | int8 | 1 for a legal action | `write_mask` |
    | slot_requests | (N, SLOT_REQUESTS, window) | int64 | requests of these jobs | `write_slots` |
    | slot_features | (N, SLOT_FEATURES, window) | float32 | what is seen of them | `observe` |
    | value | (N, n) | float64 | scratch: jobs by an order of the window | `write_slots` |
    | best | (N, window) | int64 | scratch: the first jobs of that order | `write_slots` |
    | user_ended | (N, u) | int64 | `UserHistory`, this and the next five | `learn_jobs` |
    | user_sums | (N, USER_SUMS, u) | float64 | | `learn_jobs` |
    | user_recent | (N, u, 2) | int64 | | `learn_jobs` |
    | user_jobs | (N, 2, u) | int64 | queued and running jobs | `observe` |
    | by_estimate | (N, groups, 3) | float64 | | `learn_jobs` |
    | by_size | (N, groups, 2) | float64 | | `learn_jobs` |

    Columns of slots lie side by side, so that the compiler handles several slots with one
    instruction. An empty slot has the size FOREVER: nothing takes it for one that fits.
    """

    cluster_state: np.ndarray
    known: np.ndarray
    per_job: np.ndarray
    per_run: np.ndarray
    heap: np.ndarray
    counters: np.ndarray
    sums: np.ndarray
    slots: np.ndarray
    mask: np.ndarray
    slot_requests: np.ndarray
    slot_features: np.ndarray
    value: np.ndarray
    best: np.ndarray
    user_ended: np.ndarray
    user_sums: np.ndarray
    user_recent: np.ndarray
    user_jobs: np.ndarray
    by_estimate: np.ndarray
    by_size: np.ndarray


class TraceTables(NamedTuple):
    """K traces, the shorter ones padded with zeros that no episode reaches."""

    requests: np.ndarray  # (K, 7, n) int64, see Trace.requests
    seen: np.ndarray  # (N, 7, n + 1) int64: a read-only view of BatchState.known, for `jobs_of`
    runtime: np.ndarray  # (K, n) int64 seconds
    processors: np.ndarray  # (K,) int64
    time_of_day: np.ndarray  # (K,) int64 seconds after midnight at time 0
    group: np.ndarray  # (K, n, 3) int64: UserHistory.group, by estimate and by size
    features: np.ndarray  # (K, n, 2) float32: SHARE and LOG_ESTIMATE of each job


class EnvRules(NamedTuple):
    """Which jobs are in slots, which actions are legal, where time stops, and what is seen.

    None is for what is off: no code is compiled for it. One compiled step serves every idling rule,
    so the column of the pass is -1 instead.
    """

    oldest_is_head: bool  # no start may delay the oldest waiting job
    chosen_head: bool  # the agent may choose the head of a pass
    may_idle: bool  # the pass is legal unless the start of a job with a reservation is
    every_pass: bool  # stop at every scheduling pass, even where no start is legal
    tau: int  # seconds, bound of the slowdowns
    oldest_slots: int  # slots of the oldest jobs, where jobs wait outside the window
    order_slots: int  # slots of the first jobs of each of `orders`
    orders: np.ndarray  # (k,) int64 codes of bfenv.knowledge.priorities
    user_column: int | None  # first column of these features in the observation's "queue"
    priority_column: int | None
    start_column: int | None
    pass_column: int  # of "cluster"; -1 without one


Value = Any  # of one environment a number, of N environments (N,) float64


class StepTotals(NamedTuple):
    """What rewards and infos are computed from, at a decision.

    Sums are over the submitted jobs of the episode; a waiting job counts with its wait so far.
    Until a job has ended, its estimate stands in for its runtime; when the last job of the episode
    has started, every job counts with its runtime.
    """

    before_now: Value  # seconds, at the last action
    before_submitted: Value  # jobs of the episode, at the last action
    before_wait: Value  # seconds; 0 at the first action, so its reward covers all before it
    before_slowdown: Value
    before_longest: Value
    before_overdue: Value
    now: Value  # seconds
    submitted: Value  # jobs of the episode
    wait: Value  # seconds
    slowdown: Value  # bounded slowdowns
    longest: Value  # seconds, wait
    overdue: Value  # see `bfenv.envs.reward.Totals`
    unstarted: Value  # jobs of the episode
    steps: Value  # actions in the episode
    illegal_actions: Value  # among them
    outside: Value  # actions at which jobs waited outside the window


INFOS = "now", "dt", "illegal_actions", "forced_starts"  # integers of the infos


class StepBuffers(NamedTuple):
    """What a step writes: the observations of N environments, their totals and infos."""

    queue: np.ndarray  # (N, window, job features) float32
    profile: np.ndarray  # (N, len(PROFILE)) float32
    cluster: np.ndarray  # (N, cluster features) float32
    infos: np.ndarray  # (len(INFOS), N) int64
    illegal: np.ndarray  # (N,) bool: whether the last action was illegal
    totals: np.ndarray  # (len(StepTotals._fields), N) float64


def new_tables(traces: Sequence[Trace]) -> TraceTables:
    """Copy the traces side by side."""
    jobs = max(map(len, traces))
    requests = np.zeros((len(traces), len(Jobs._fields), jobs), dtype=np.int64)
    runtime = np.zeros((len(traces), jobs), dtype=np.int64)
    group = np.zeros((len(traces), jobs, 3), dtype=np.int64)
    for k, trace in enumerate(traces):
        requests[k, :, : len(trace)], runtime[k, : len(trace)] = trace.requests, trace.runtime
        if (trace.jobs.user >= 0).any():
            history = new_user_history(trace.jobs)
            find_groups(history, trace.jobs)
            group[k, : len(trace)] = history.group
    for table in (requests, runtime):  # read-only, as in `bfenv.core.events.new_cluster`
        table.flags.writeable = False
    time_of_day = np.array([trace.time_of_day for trace in traces])
    processors = np.array([trace.processors for trace in traces])
    size, estimate = requests[:, SIZE], requests[:, ESTIMATE]
    log_estimate = np.minimum(1.0, np.log1p(estimate) / LOG_LONGEST)
    features = np.stack([size / processors[:, None], log_estimate], axis=2).astype(np.float32)
    seen = requests[:0]  # until there is a state
    return TraceTables(requests, seen, runtime, processors, time_of_day, group, features)


def with_state(tables: TraceTables, state: BatchState) -> TraceTables:
    """Return the tables with the view of what is known in the environments of a state."""
    seen = state.known.view()
    seen.flags.writeable = False
    return tables._replace(seen=seen)


def new_state(
    traces: Sequence[Trace], groups: int, environments: int, window: int, rules: EnvRules
) -> BatchState:
    """Allocate the environments, each for any of the traces; mostly 120 bytes a job in each.

    An order of the window needs 8 bytes a job more.
    """
    jobs = max(map(len, traces))
    running = max(min(len(trace), trace.processors) for trace in traces)
    later = max(int(np.count_nonzero(trace.jobs.requested_start)) for trace in traces)
    users = 1 + max(int(trace.jobs.user.max()) for trace in traces)
    has_order = len(rules.orders) > 0

    def zeros(*shape: int, dtype: type[np.generic] = np.int64) -> np.ndarray:
        return np.zeros((environments, *shape), dtype=dtype)

    state = BatchState(
        cluster_state=zeros(STATE),
        known=zeros(len(Jobs._fields), jobs + 1),
        per_job=zeros(len(JOB_ROWS), jobs),
        per_run=zeros(len(RUN_ROWS), running),
        heap=zeros(len(HEAP_ROWS), running + later),
        counters=zeros(len(COUNTERS)),
        sums=zeros(len(SUMS), dtype=np.float64),
        slots=zeros(window),
        mask=zeros(window + 1, dtype=np.int8),
        slot_requests=zeros(len(SLOT_REQUESTS), window),
        slot_features=zeros(len(SLOT_FEATURES), window, dtype=np.float32),
        value=zeros(jobs if has_order else 0, dtype=np.float64),
        best=zeros(window if has_order else 0),
        user_ended=zeros(users),
        user_sums=zeros(len(USER_SUMS), users, dtype=np.float64),
        user_recent=zeros(users, 2),
        user_jobs=zeros(2, users),
        by_estimate=zeros(groups, 3, dtype=np.float64),
        by_size=zeros(groups, 2, dtype=np.float64),
    )
    state.counters[:, STOP] = FOREVER
    state.per_job[:, START] = FOREVER  # not submitted
    state.per_job[:, [END, KILL_TIME, TRIAL_START, TRIAL_END]] = -1
    state.slots[:] = -1
    state.slot_requests[:, SLOT_SIZE] = FOREVER
    state.slot_requests[:, SLOT_ESTIMATE] = 1  # waits are divided by it, in empty slots as well
    return state


class _Memory:
    """The memory of a row, as numpy asks for it; the array that holds it is kept alive."""

    def __init__(self, row: np.ndarray) -> None:
        self.__array_interface__ = row.__array_interface__
        self._row = row


def detach_row(array: np.ndarray, i: int) -> np.ndarray:
    """Return row i of an array, as a view whose bases have no other row.

    Other environments of a batch may be later in the same trace. What is handed out of one must not
    lead to them.

    Returns:
        (1, ...) of the array's type; as writeable as the array is.
    """
    row = array[i : i + 1]
    return row if len(array) == 1 else np.asarray(_Memory(row))


@inlined
def cluster_of(state: BatchState, i: int) -> Cluster:
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
def jobs_of(state: BatchState, tables: TraceTables, i: int) -> Jobs:
    """Return the requests that are known in environment i, see Truth.known."""
    seen = tables.seen[i]
    return Jobs(seen[0], seen[1], seen[2], seen[3], seen[4], seen[5], seen[6])


def detach_environment(
    state: BatchState, tables: TraceTables, i: int
) -> tuple[Cluster, Jobs, np.ndarray]:
    """Return what policies are handed of environment i, see `detach_row`.

    Returns:
        tuple:
        * `cluster` (Cluster): Its machine.
        * `jobs` (Jobs): What is known of the jobs; one more than the longest trace has.
        * `slots` (np.ndarray): (window,) int64.
    """
    slots = detach_row(state.slots, i)
    handed = state._replace(
        cluster_state=detach_row(state.cluster_state, i),
        per_job=detach_row(state.per_job, i),
        per_run=detach_row(state.per_run, i),
    )
    handed_tables = tables._replace(seen=detach_row(tables.seen, i))
    return cluster_of(handed, 0), jobs_of(handed, handed_tables, 0), slots[0]


@inlined
def truth_of(state: BatchState, tables: TraceTables, i: int) -> Truth:
    """Return what only the simulator knows of environment i."""
    k, heap, counters = state.counters[i, TRACE], state.heap[i], state.counters[i]
    return Truth(
        tables.runtime[k],
        tables.requests[k],
        state.known[i],
        heap[DUE_TIME],
        heap[DUE_JOB],
        counters[DUE : STOP + 1],
        None,
    )


@inlined
def history_of(state: BatchState, tables: TraceTables, i: int) -> UserHistory:
    """Return what is known of the users in environment i."""
    group = tables.group[state.counters[i, TRACE]]
    return UserHistory(
        Groups(group[0], group),  # no table, as all jobs are in groups
        group,
        state.user_ended[i],
        state.user_sums[i, INVERSE],
        state.user_sums[i, ACCURACY_SUM],
        state.user_sums[i, LOG_RUNTIME],
        state.user_recent[i],
        state.by_estimate[i],
        state.by_size[i],
        state.user_jobs[i, 0],
        state.user_jobs[i, 1],
        state.counters[i, AGE_LIMIT : AGE_LIMIT + 1],
        state.counters[i, COUNTED_FREE : COUNTED_FREE + 1],
        state.sums[i, :0],  # no backlog is counted
        state.sums[i, :0],  # no random numbers are drawn
    )
