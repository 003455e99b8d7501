"""Episodes on the machine: what an action does, which are legal, where time stops.

The kernels work on N environments at once. What changes is a Batch of arrays with N rows, what does
not, the traces the episodes are taken from, is Tables of arrays with K rows; a single environment
is the batch of one. They drive the verbs of `bfenv.core.cluster`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bfenv.core.cluster import (
    FREE,
    NEXT_JOB,
    STATE,
    Cluster,
    Truth,
    advance,
    commit_starts,
    finished,
    may_start,
    now,
    start,
    waiting,
)
from bfenv.core.jobs import FOREVER, Jobs, Trace
from bfenv.core.kernel import inlined, kernel
from bfenv.core.profile import Profile, anchor_point, fits, rebuild, reserve, shadow
from bfenv.core.schedule import bounded_slowdown
from bfenv.envs.observation import observe, remember

# Places in Batch.counters
(
    EPISODES,  # opened so far
    TRACE,  # which of the traces the episode is taken from
    FIRST,  # the episode's jobs are FIRST .. LAST - 1
    LAST,
    UNSTARTED,  # how many of them have not started; at 0 the episode has ended
    STEPS,  # actions so far
    ILLEGAL,  # of them illegal
    OFFENCE,  # 1 if the last action was
    FORCED,  # starts so far that the environment had to make, for nothing else could happen
    DUE,  # Truth.event_count
    PLAN_STEPS,  # Profile.steps of the guard's plan
) = range(11)
COUNTERS = 11
# Places in Batch.sums: over the episode's jobs that have started; and what was reported, for the
# rewards, at the last decision and at the one before
(
    WAIT,
    BOUNDED_SLOWDOWN,
    LAST_NOW,
    LAST_WAIT,
    LAST_BOUNDED_SLOWDOWN,
    BEFORE_NOW,
    BEFORE_WAIT,
    BEFORE_BOUNDED_SLOWDOWN,
) = range(8)
SUMS = 8


class Batch(NamedTuple):
    """The state of N environments."""

    cluster_state: np.ndarray  # (N, STATE) int64
    per_job: np.ndarray  # (N, 6, n) int64: queue, start, end, kill_time, trial_start, trial_end
    per_run: np.ndarray  # (N, 4, m) int64: running, expected_end, started, finished
    heap: np.ndarray  # (N, 2, h) int64: event_time, event_entry
    counters: np.ndarray  # (N, COUNTERS) int64, see the names above
    sums: np.ndarray  # (N, SUMS) float64, see the names above
    accuracy: np.ndarray  # (N, 2, users) float64: sum and count of runtime / estimate
    mask: np.ndarray  # (N, window + 1) int8, 1 for a legal action
    plan: np.ndarray  # (N, 2, s) int64: time and free of the guard's availability profile


class Tables(NamedTuple):
    """The K traces, the shorter ones filled up with zeros that no episode reaches."""

    requests: np.ndarray  # (K, 6, n) int64, the fields of Jobs
    runtime: np.ndarray  # (K, n) int64 seconds
    time_of_day: np.ndarray  # (K,) int64 seconds after midnight at time 0


class Rules(NamedTuple):
    """What does not change from episode to episode."""

    reservation_depth: int  # how many waiting jobs no start may delay; -1 all
    every_pass: bool  # stop at every scheduling pass, even where nothing may start


class Report(NamedTuple):
    """By what an environment is judged, at a decision; of several, arrays.

    Sums are over the submitted jobs of the episode; one that waits counts with its wait so far.
    """

    before_now: float  # seconds, at the last legal action
    before_wait: float  # seconds, then; 0 at the first, whose reward tells of all before it
    before_bounded_slowdown: float
    now: float  # seconds
    wait: float  # seconds
    bounded_slowdown: float
    unstarted: float  # jobs of the episode
    steps: float  # actions so far
    illegal: float  # of them
    offence: float  # 1 if the last one was
    forced: float  # starts so far


class View(NamedTuple):
    """Room for what the agents are shown, and the reports by which they are judged."""

    queue: np.ndarray  # (N, window, len(QUEUE)) float32
    profile: np.ndarray  # (N, len(PROFILE)) float32
    cluster: np.ndarray  # (N, len(CLUSTER)) float32
    reports: np.ndarray  # (N, len(Report._fields)) float64, see Report


def new_tables(traces: Sequence[Trace]) -> Tables:
    """The traces side by side, copied."""
    jobs = max(map(len, traces))
    requests = np.zeros((len(traces), len(Jobs._fields), jobs), dtype=np.int64)
    runtime = np.zeros((len(traces), jobs), dtype=np.int64)
    for k, trace in enumerate(traces):
        requests[k, :, : len(trace)] = trace.jobs
        runtime[k, : len(trace)] = trace.runtime
    for table in (requests, runtime):  # as those of a trace are, and kernels compiled for
        table.flags.writeable = False
    return Tables(requests, runtime, np.array([trace.time_of_day for trace in traces]))


def new_batch(traces: Sequence[Trace], environments: int, window: int) -> Batch:
    """Room for so many environments on any of the traces; mostly 48 bytes a job in each."""
    jobs = max(map(len, traces))
    running = max(min(len(trace), trace.processors) for trace in traces)
    wishes = max(int(np.count_nonzero(trace.jobs.requested_start)) for trace in traces)
    users = max(int(trace.jobs.user.max()) for trace in traces) + 1

    def room(*shape, dtype=np.int64):
        return np.zeros((environments, *shape), dtype=dtype)

    batch = Batch(
        cluster_state=room(STATE),
        per_job=room(6, jobs),
        per_run=room(4, running),
        heap=room(2, running + wishes),
        counters=room(COUNTERS),
        sums=room(SUMS, dtype=np.float64),
        accuracy=room(2, users, dtype=np.float64),
        mask=room(window + 1, dtype=np.int8),
        plan=room(2, 2 + running + 2 * jobs),
    )
    batch.per_job[:, 1] = FOREVER  # start: not submitted
    batch.per_job[:, 2:] = -1
    return batch


@inlined
def cluster_of(batch, i):
    """The machine of environment i."""
    return Cluster(
        batch.cluster_state[i],
        batch.per_job[i, 0],
        batch.per_run[i, 0],
        batch.per_run[i, 1],
        batch.per_run[i, 2],
        batch.per_run[i, 3],
        batch.per_job[i, 1],
        batch.per_job[i, 2],
        batch.per_job[i, 3],
        batch.per_job[i, 4],
        batch.per_job[i, 5],
    )


@inlined
def jobs_of(batch, tables, i):
    """The requests of the trace that environment i runs."""
    requests = tables.requests[batch.counters[i, TRACE]]
    return Jobs(requests[0], requests[1], requests[2], requests[3], requests[4], requests[5])


@inlined
def truth_of(batch, tables, i):
    """What only the simulator knows of environment i."""
    runtime = tables.runtime[batch.counters[i, TRACE]]
    return Truth(runtime, batch.heap[i, 0], batch.heap[i, 1], batch.counters[i, DUE : DUE + 1])


@kernel
def begin(batch, tables, rules, i, opening, first, last):
    """Open the episode of jobs first .. last - 1 on a warm machine; go to the first decision.

    The machine has seen the jobs from `opening` on.
    """
    cluster, jobs, truth = (
        cluster_of(batch, i),
        jobs_of(batch, tables, i),
        truth_of(batch, tables, i),
    )
    counters, sums = batch.counters[i], batch.sums[i]
    counters[EPISODES] += 1
    counters[FIRST] = first
    counters[LAST] = last
    counters[UNSTARTED] = last - first
    counters[STEPS] = 0
    counters[ILLEGAL] = 0
    counters[OFFENCE] = 0
    counters[FORCED] = 0
    sums[:] = 0.0
    batch.accuracy[i] = 0.0
    batch.mask[i] = 0
    for job in range(opening, min(first, cluster.state[NEXT_JOB])):
        if cluster.end[job] >= 0:
            remember(cluster, jobs, batch.accuracy[i], job)
    _run_on(batch, cluster, jobs, truth, rules, i)
    # What came before the first decision is in the first reward, so that nothing is missing.
    sums[LAST_NOW] = now(cluster)


@kernel
def step(batch, tables, rules, actions):
    """Act in every environment and go on to its next decision point."""
    for i in range(len(actions)):
        mask, counters, action = batch.mask[i], batch.counters[i], actions[i]
        counters[STEPS] += 1
        counters[OFFENCE] = action < 0 or action >= len(mask) or mask[action] == 0
        if counters[OFFENCE]:
            counters[ILLEGAL] += 1
            continue
        for place in range(3):
            batch.sums[i, BEFORE_NOW + place] = batch.sums[i, LAST_NOW + place]
        cluster, jobs = cluster_of(batch, i), jobs_of(batch, tables, i)
        truth = truth_of(batch, tables, i)
        if action + 1 < len(mask):
            _start(batch, cluster, jobs, truth, i, waiting(cluster)[action])
            _write_mask(batch, cluster, jobs, rules, i)
        else:
            mask[:] = 0
        _run_on(batch, cluster, jobs, truth, rules, i)


@kernel
def step_and_look(batch, tables, rules, actions, view):
    """`step`, and then `look` at every environment.

    Called from Python, with plain tuples: taking a NamedTuple apart costs as much as the step.
    """
    state, shown = (Batch(*batch), Tables(*tables)), View(*view)
    step(state[0], state[1], Rules(*rules), actions)
    for i in range(len(actions)):
        look(state[0], state[1], i, shown)


@kernel
def look(batch, tables, i, view):
    """Write the observation and the report of environment i into its row of the view."""
    cluster, jobs = cluster_of(batch, i), jobs_of(batch, tables, i)
    counters, sums, report = batch.counters[i], batch.sums[i], view.reports[i]
    k = counters[TRACE]
    parts = view.queue[i], view.profile[i], view.cluster[i]
    observe(cluster, jobs, batch.accuracy[i], tables.time_of_day[k], parts[0], parts[1], parts[2])
    wait, slowdown = sums[WAIT], sums[BOUNDED_SLOWDOWN]
    for job in waiting(cluster):
        if counters[FIRST] <= job < counters[LAST]:
            waited = now(cluster) - jobs.submit[job]
            wait += waited
            slowdown += bounded_slowdown(waited, tables.runtime[k, job])
    if counters[STEPS] > counters[ILLEGAL]:
        sums[LAST_NOW] = now(cluster)
        sums[LAST_WAIT] = wait
        sums[LAST_BOUNDED_SLOWDOWN] = slowdown
    for place in range(3):
        report[place] = sums[BEFORE_NOW + place]
    report[3] = now(cluster)
    report[4] = wait
    report[5] = slowdown
    report[6] = counters[UNSTARTED]
    for place in range(4):  # STEPS, ILLEGAL, OFFENCE, FORCED
        report[7 + place] = counters[STEPS + place]


@kernel
def _run_on(batch, cluster, jobs, truth, rules, i):
    """Let the clock run until a start is legal, unless one is already, or the episode has ended."""
    mask = batch.mask[i]
    while batch.counters[i, UNSTARTED] > 0:
        for slot in range(len(mask) - 1):
            if mask[slot]:
                return
        if advance(cluster, jobs, truth):
            for job in finished(cluster):
                remember(cluster, jobs, batch.accuracy[i], job)
            _write_mask(batch, cluster, jobs, rules, i)
            if rules.every_pass:
                return
        else:
            # Nothing runs, arrives or is due: to pass here would be to wait for ever.
            _start(batch, cluster, jobs, truth, i, waiting(cluster)[0])
            batch.counters[i, FORCED] += 1
            _write_mask(batch, cluster, jobs, rules, i)
    mask[:] = 0
    mask[len(mask) - 1] = 1


@kernel
def _start(batch, cluster, jobs, truth, i, job):
    start(cluster, jobs, job)
    commit_starts(cluster, jobs, truth)
    if batch.counters[i, FIRST] <= job < batch.counters[i, LAST]:
        waited = now(cluster) - jobs.submit[job]
        batch.counters[i, UNSTARTED] -= 1
        batch.sums[i, WAIT] += waited
        batch.sums[i, BOUNDED_SLOWDOWN] += bounded_slowdown(waited, truth.runtime[job])


@kernel
def _write_mask(batch, cluster, jobs, rules, i):
    """Which actions are legal: a start that delays none of the reservations, and the pass."""
    mask = batch.mask[i]
    line = waiting(cluster)
    window = len(mask) - 1
    mask[:] = 0
    mask[window] = 1
    if len(line) == 0 or cluster.state[FREE] == 0:
        return
    seen = min(window, len(line))
    if rules.reservation_depth == 0:
        for slot in range(seen):
            mask[slot] = may_start(cluster, jobs, line[slot])
    elif rules.reservation_depth == 1:
        shadow_time, extra_nodes = shadow(cluster, jobs, line[0])
        mask[0] = may_start(cluster, jobs, line[0])
        for slot in range(1, seen):
            job = line[slot]
            mask[slot] = may_start(cluster, jobs, job) and (
                now(cluster) + jobs.estimate[job] <= shadow_time or jobs.size[job] <= extra_nodes
            )
    else:
        _write_mask_by_plan(batch, cluster, jobs, rules, i)


@kernel
def _write_mask_by_plan(batch, cluster, jobs, rules, i):
    """The first jobs of the queue get reservations one by one; a start must respect them."""
    mask = batch.mask[i]
    line = waiting(cluster)
    window = len(mask) - 1
    steps = batch.counters[i, PLAN_STEPS : PLAN_STEPS + 1]
    plan = Profile(batch.plan[i, 0], batch.plan[i, 1], steps)
    rebuild(plan, cluster, jobs)
    depth = rules.reservation_depth if rules.reservation_depth >= 0 else len(line)
    for slot in range(min(depth, len(line))):
        job = line[slot]
        earliest = max(now(cluster), jobs.requested_start[job])
        anchor = anchor_point(plan, jobs.size[job], jobs.estimate[job], earliest)
        reserve(plan, jobs.size[job], anchor, anchor + jobs.estimate[job])
        if slot < window:
            mask[slot] = anchor == now(cluster)
    for slot in range(depth, min(window, len(line))):
        job = line[slot]
        mask[slot] = may_start(cluster, jobs, job) and fits(
            plan, jobs.size[job], jobs.estimate[job], now(cluster)
        )
