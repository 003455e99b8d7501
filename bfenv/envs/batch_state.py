"""BatchState: the arrays of N environments, and the traces and rules that they share.

What changes from step to step is a BatchState of arrays with N rows. What does not, the traces
that episodes are taken from, is TraceTables of arrays with K rows. A single environment is the
batch of one.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bfenv.baselines.age_guard import STATE as GUARD_STATE
from bfenv.baselines.age_guard import AgeGuard
from bfenv.core.cluster import STATE, Cluster
from bfenv.core.events import Truth
from bfenv.core.jobs import ESTIMATE, FOREVER, SIZE, Jobs, Trace
from bfenv.core.kernel import inlined
from bfenv.core.outages import with_outages
from bfenv.envs.features import LOG_LONGEST
from bfenv.knowledge.expression_program import columns_of as packed_columns
from bfenv.knowledge.expression_program import program_of
from bfenv.knowledge.groups import Groups
from bfenv.knowledge.priorities import ORDERS, new_ranking
from bfenv.knowledge.user_history import UserHistory, find_groups, new_user_history

# Rows of BatchState.per_job, .per_run and .heap: fields of Cluster and of Truth. The others are
# scratch, by place in the queue.
JOB_ROWS = (
    QUEUE_JOB,
    START,
    END,
    KILL_TIME,
    TRIAL_START,
    TRIAL_END,
    TAKEN,  # 1 for a job that gets a slot
    KEY,  # integers in the order that chooses jobs
) = range(8)
# Rows of BatchState.outages, see `bfenv.envs.outages`
OUTAGE_ROWS = (
    HIDDEN_IN,  # the last pass in which the job could not start because of an outage
    ROOM,  # processors that jobs may hold when each outage to come begins
    LEFT,  # of these, what is left beside the jobs with a reservation that may start now
) = range(3)
# The rows behind them, if an expression orders the window: the two versions of each job, the value
# of its expression, and its columns (`bfenv.knowledge.expression_program`), floats as their bits.
VERSIONS = len(JOB_ROWS)
VALUE = VERSIONS + 2
COLUMNS = VALUE + 1
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
    UNSTARTED,  # jobs of the episode not started or on trial; at 0 the episode has ended
    STEPS,  # actions in the episode
    ILLEGAL,  # illegal ones among them
    LAST_ILLEGAL,  # 1 if the last action was illegal
    FORCED,  # starts that the environment made because nothing else could happen
    OUTSIDE,  # actions at which jobs waited outside the window
    HEAD,  # the job chosen as the head in this pass; -1 for none
    LEGAL_STARTS,  # how many slots may start now
    LEGAL_TRIALS,  # how many slots may start now for a trial
    DUE,  # Truth.due
    PLAN_STEPS,  # Profile.steps of the guard's availability profile
    COMING,  # the first outage that has not begun: a job after the trace's jobs
    LAST_OUTAGE,  # one past the last
    MET,  # how many outages a waiting job could meet; without any, nothing is hidden
    HIDINGS,  # scheduling passes so far that had outages to come, see HIDDEN_IN
    OLDEST,  # if an outage can be met: the oldest job that may start beside it; -1 for none
    AGE_LIMIT,  # UserHistory.age_limit; noted when the window's expression is computed
    COUNTED_FREE,  # UserHistory.free
) = range(22)
# Columns of BatchState.sums. The first four are over the jobs of the episode that have started.
SUMS = (
    WAIT,  # seconds; with the jobs on trial
    BOUNDED_SLOWDOWN,  # from true runtimes; without the jobs on trial
    SHOWN_SLOWDOWN,  # from estimates until a job ends, from its runtime then
    LONGEST_WAIT,  # seconds
    BACKLOG,  # processor-seconds: size x estimate of the waiting jobs
    GUARD_LIMIT,  # seconds: the guard's limit on waits in this pass
    LAST_NOW,  # the totals at the last decision, and at the one before
    LAST_WAIT,
    LAST_SLOWDOWN,
    LAST_LONGEST,
    LAST_SUBMITTED,
    BEFORE_NOW,
    BEFORE_WAIT,
    BEFORE_SLOWDOWN,
    BEFORE_LONGEST,
    BEFORE_SUBMITTED,
) = range(16)
USER_SUMS = INVERSE, ACCURACY_SUM, LOG_RUNTIME = range(3)


class BatchState(NamedTuple):
    """The state of N environments."""

    cluster_state: np.ndarray  # (N, STATE) int64
    known: np.ndarray  # (N, 6, n + 1) int64, see Truth.known
    per_job: np.ndarray  # (N, len(JOB_ROWS) or more, n) int64
    per_run: np.ndarray  # (N, len(RUN_ROWS), m) int64
    heap: np.ndarray  # (N, len(HEAP_ROWS), h) int64
    counters: np.ndarray  # (N, len(COUNTERS)) int64
    sums: np.ndarray  # (N, len(SUMS)) float64
    slots: np.ndarray  # (N, window) int64: the job in each slot; -1 for none
    mask: np.ndarray  # (N, actions) int8, 1 for a legal action
    last_keys: np.ndarray  # (N, orders) int64: of the last job that each order of the window took
    plan: np.ndarray | None  # (N, 2, s) int64: time and free of a profile; None without need
    outages: np.ndarray | None  # (N, len(OUTAGE_ROWS), n) int64; None if no trace has any
    # Side by side, so that the compiler handles several slots with one instruction. An empty slot
    # has the size FOREVER: nothing takes it for one that fits.
    slot_requests: np.ndarray  # (N, len(SLOT_REQUESTS), window) int64: of the job in each slot
    slot_features: np.ndarray  # (N, len(SLOT_FEATURES), window) float32: what is seen of it
    # The fields of UserHistory
    user_ended: np.ndarray  # (N, users) int64
    user_sums: np.ndarray  # (N, len(USER_SUMS), users) float64
    user_recent: np.ndarray  # (N, users, 2) int64
    user_jobs: np.ndarray  # (N, 2, users) int64: queued, running; not kept
    by_estimate: np.ndarray  # (N, groups, 3) float64
    by_size: np.ndarray  # (N, groups, 2) float64
    # What the setting `guard` counts: fields of AgeGuard
    guard_state: np.ndarray  # (N, len(GUARD_STATE)) int64
    guard_begun: np.ndarray  # (N, m) int64
    guard_last_pass: np.ndarray  # (N, 1) int64
    guard_work: np.ndarray  # (N, n) int64; (N, 0) without a guard


class TraceTables(NamedTuple):
    """K traces, the shorter ones padded with zeros that no episode reaches."""

    requests: np.ndarray  # (K, 6, n) int64, see Trace.requests
    seen: np.ndarray  # (N, 6, n + 1) int64: a read-only view of BatchState.known, for `jobs_of`
    runtime: np.ndarray  # (K, n) int64 seconds
    processors: np.ndarray  # (K,) int64
    time_of_day: np.ndarray  # (K,) int64 seconds after midnight at time 0
    group: np.ndarray  # (K, n, 3) int64: UserHistory.group, by estimate and by size
    order_number: np.ndarray  # (K, n) float64: Ranking.number of the window's order; or (K, 0)
    features: np.ndarray  # (K, n, 2) float32: SHARE and LOG_ESTIMATE of each job


class EnvRules(NamedTuple):
    """Which jobs are in slots, which actions are legal, where time stops, and what is seen.

    None is for what is off: no code is compiled for it.
    """

    reservation_depth: int  # how many waiting jobs no start may delay; -1 all
    chosen_head: bool  # the agent may choose the head of a pass
    may_idle: bool  # the pass is legal unless the start of a job with a reservation is
    every_pass: bool  # stop at every scheduling pass, even where no start is legal
    guard_code: np.ndarray | None  # (1,) int64: AgeGuard.code of the setting `guard`
    guard_factor: np.ndarray | None  # (1,) float64
    trial_limit: int | None  # seconds, of trials that are actions
    first_trial: np.ndarray | None  # (2,) int64 s: trials with which starts begin, `takes_trial`
    oldest_slots: int  # slots of the oldest jobs, where jobs wait outside the window
    order_slots: int  # slots of the first jobs of each of `orders`
    orders: np.ndarray  # (k,) int64 codes of bfenv.knowledge.priorities
    order_weight: float | None  # Ranking.weight; None if there are none but those of "mixed"
    expression: np.ndarray | None  # (p,) int64: the order's, see `pack_program`
    users: bool | None  # True if some trace names users
    user_column: int | None  # first column of these features in the observation's "queue"
    priority_column: int | None
    start_column: int | None
    age_column: int | None
    trial_column: int | None
    pass_column: int | None  # of "cluster"


Value = Any  # of one environment a number, of N environments (N,) float64


class StepTotals(NamedTuple):
    """What rewards and infos are computed from, at a decision.

    Sums are over the submitted jobs of the episode; a waiting job counts with its wait so far.
    Until a job has ended, its estimate stands in for its runtime; when the last job of the episode
    has started, every job counts with its runtime.
    """

    before_now: Value  # seconds, at the last action
    before_wait: Value  # seconds, then; 0 at the first, so its reward covers all that came before
    before_slowdown: Value
    before_longest: Value
    before_submitted: Value
    now: Value  # seconds
    wait: Value  # seconds
    slowdown: Value  # bounded slowdowns
    longest: Value  # seconds, wait
    submitted: Value  # jobs of the episode
    unstarted: Value  # jobs of the episode
    steps: Value  # actions in the episode
    illegal_actions: Value  # among them
    last_illegal: Value  # 1 if the last action was illegal
    forced_starts: Value
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


def new_tables(traces: Sequence[Trace], order: str | None) -> TraceTables:
    """Copy the traces side by side; `order` is the window's order, if it has one.

    The outages of a trace follow its jobs, as jobs.
    """
    columns = [with_outages(trace) for trace in traces]
    jobs = max(len(runtime) for _, runtime in columns)
    requests = np.zeros((len(traces), len(Jobs._fields), jobs), dtype=np.int64)
    runtime = np.zeros((len(traces), jobs), dtype=np.int64)
    group = np.zeros((len(traces), jobs, 3), dtype=np.int64)
    numbers = []
    for k, trace in enumerate(traces):
        own = len(columns[k][1])
        requests[k, :, :own], runtime[k, :own] = columns[k]
        if (trace.jobs.user >= 0).any():
            history = new_user_history(trace.jobs)
            find_groups(history, trace.jobs)
            group[k, : len(trace)] = history.group
        ranking = new_ranking(ORDERS[order or "fcfs"], trace.jobs, np.random.default_rng(0))
        numbers.append(ranking.number)
    order_number = np.zeros((len(traces), max(map(len, numbers))))
    for k, number in enumerate(numbers):
        order_number[k, : len(number)] = number
    for table in (requests, runtime):  # read-only, as in `bfenv.core.events.new_cluster`
        table.flags.writeable = False
    time_of_day = np.array([trace.time_of_day for trace in traces])
    processors = np.array([trace.processors for trace in traces])
    size, estimate = requests[:, SIZE], requests[:, ESTIMATE]
    log_estimate = np.minimum(1.0, np.log1p(estimate) / LOG_LONGEST)
    features = np.stack([size / processors[:, None], log_estimate], axis=2).astype(np.float32)
    seen = requests[:0]  # until there is a state
    return TraceTables(
        requests, seen, runtime, processors, time_of_day, group, order_number, features
    )


def with_state(tables: TraceTables, state: BatchState) -> TraceTables:
    """Return the tables with the view of what is known in the environments of a state."""
    seen = state.known.view()
    seen.flags.writeable = False
    return tables._replace(seen=seen)


def new_state(
    traces: Sequence[Trace],
    groups: int,
    environments: int,
    window: int,
    actions: int,
    rules: EnvRules,
) -> BatchState:
    """Allocate the environments, each for any of the traces; mostly 112 bytes a job in each.

    An expression of the window needs 8 bytes a job for each of its rows, a guard 8 bytes, and
    outages 24.
    """
    counts = [len(trace) + len(trace.outages) for trace in traces]
    jobs = max(counts)
    running = max(min(count, t.processors) for count, t in zip(counts, traces, strict=True))
    later = max(int(np.count_nonzero(t.jobs.requested_start)) + len(t.outages) for t in traces)
    users = 1 + max(int(trace.jobs.user.max()) for trace in traces)
    rows = len(JOB_ROWS)
    if rules.expression is not None:
        rows = COLUMNS + int(program_of(rules.expression).columns[0])

    def zeros(*shape: int, dtype: type[np.generic] = np.int64) -> np.ndarray:
        return np.zeros((environments, *shape), dtype=dtype)

    state = BatchState(
        cluster_state=zeros(STATE),
        known=zeros(len(Jobs._fields), jobs + 1),
        per_job=zeros(rows, jobs),
        per_run=zeros(len(RUN_ROWS), running),
        heap=zeros(len(HEAP_ROWS), running + later),
        counters=zeros(len(COUNTERS)),
        sums=zeros(len(SUMS), dtype=np.float64),
        slots=zeros(window),
        mask=zeros(actions, dtype=np.int8),
        last_keys=zeros(len(rules.orders)),
        plan=None if rules.reservation_depth in (0, 1) else zeros(2, 2 + running + 2 * jobs),
        outages=zeros(len(OUTAGE_ROWS), jobs) if any(t.outages for t in traces) else None,
        slot_requests=zeros(len(SLOT_REQUESTS), window),
        slot_features=zeros(len(SLOT_FEATURES), window, dtype=np.float32),
        user_ended=zeros(users),
        user_sums=zeros(len(USER_SUMS), users, dtype=np.float64),
        user_recent=zeros(users, 2),
        user_jobs=zeros(2, users),
        by_estimate=zeros(groups, 3, dtype=np.float64),
        by_size=zeros(groups, 2, dtype=np.float64),
        guard_state=zeros(len(GUARD_STATE)),
        guard_begun=zeros(running),
        guard_last_pass=zeros(1),
        guard_work=zeros(0 if rules.guard_code is None else jobs),
    )
    state.per_job[:, START] = FOREVER  # not submitted
    state.per_job[:, [END, KILL_TIME, TRIAL_START, TRIAL_END]] = -1
    state.slots[:] = -1
    state.slot_requests[:, SLOT_SIZE] = FOREVER
    return state


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
    """Return the requests that are known in environment i, see Truth.known."""
    seen = tables.seen[i]
    return Jobs(seen[0], seen[1], seen[2], seen[3], seen[4], seen[5])


@inlined
def columns_of(state, rules, i):
    """Return what is kept of the window's expression in environment i."""
    rows = state.per_job[i]
    version = rows[VERSIONS:VALUE].reshape(rows.shape[1], 2)
    return packed_columns(rules.expression, rows[COLUMNS:].view(np.float64), version)


@inlined
def truth_of(state, tables, i):
    """Return what only the simulator knows of environment i."""
    k, heap, counters = state.counters[i, TRACE], state.heap[i], state.counters[i]
    return Truth(
        tables.runtime[k],
        tables.requests[k],
        state.known[i],
        heap[DUE_TIME],
        heap[DUE_JOB],
        counters[DUE : DUE + 1],
        None,
    )


@inlined
def guard_of(state, tables, rules, i):
    """Return what the setting `guard` counts in environment i."""
    cluster, truth = cluster_of(state, i), truth_of(state, tables, i)
    return AgeGuard(
        rules.guard_code,
        rules.guard_factor,
        state.guard_state[i],
        state.guard_begun[i],
        state.guard_last_pass[i],
        state.guard_work[i],
        truth.runtime,
        truth.requests,
        cluster,
        truth,
        cluster,
        truth,
    )


@inlined
def history_of(state, tables, i):
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
        tables.order_number[0, :0],  # none are drawn
    )
