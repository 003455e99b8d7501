"""Episodes on the machine: what an action does, which are legal, where time stops (envs layer).

The kernels work on N environments of one trace at once, whose state is a Batch of arrays with N
rows; a single environment is the batch of one. They drive the verbs of `bfenv.core.cluster`.
"""

from typing import NamedTuple

import numpy as np

from bfenv.core.cluster import (
    CLOCK,
    FREE,
    NEXT_JOB,
    Cluster,
    Truth,
    advance,
    finished,
    may_start,
    now,
    settle,
    start,
    waiting,
)
from bfenv.core.jobs import FOREVER, Trace
from bfenv.core.kernel import kernel, view
from bfenv.core.profile import Profile, anchor_point, draw, fits, reserve, shadow
from bfenv.envs.observation import observe

# Places in Batch.counters
(
    FIRST,  # the episode's jobs are FIRST .. LAST - 1
    LAST,
    UNSTARTED,  # how many of them have not started; at 0 the episode has ended
    ILLEGAL,  # actions so far that were illegal
    FORCED,  # starts so far that the environment had to make, for nothing else could happen
) = range(5)
# Places in Batch.sums, over the episode's jobs that have started; and in `totals`
WAIT, BOUNDED_SLOWDOWN = range(2)
TAU = 10  # seconds, of the bounded slowdown


class Batch(NamedTuple):
    """The state of N environments."""

    clock: np.ndarray  # (N, CLOCK) int64
    per_job: np.ndarray  # (N, 6, n) int64: queue, start, end, kill, trial_start, trial_end
    per_run: np.ndarray  # (N, 4, m) int64: running, expected_end, started, finished
    heap: np.ndarray  # (N, 2, h) int64: due_time, due_job
    due: np.ndarray  # (N, 1) int64
    counters: np.ndarray  # (N, 5) int64, see the names above
    sums: np.ndarray  # (N, 2) float64, see the names above
    accuracy: np.ndarray  # (N, 2, users) float64: sum and count of runtime / estimate
    mask: np.ndarray  # (N, window + 1) int8, 1 for a legal action
    plan: np.ndarray  # (N, 2, s) int64: time and free of the guard's availability profile
    plan_steps: np.ndarray  # (N, 1) int64


class Rules(NamedTuple):
    """What does not change from episode to episode."""

    reservation_depth: int  # how many waiting jobs no start may delay; -1 all
    every_pass: bool  # stop at every scheduling pass, even where nothing may start
    time_of_day: int  # seconds after midnight at time 0


def new_batch(trace: Trace, environments: int, window: int) -> Batch:
    """Room for so many environments; memory is taken only as episodes touch it."""
    jobs, running = len(trace), min(len(trace), trace.processors)
    due = running + int(np.count_nonzero(trace.jobs.requested_start))
    users = int(trace.jobs.user.max()) + 1

    def room(*shape, dtype=np.int64):
        return np.empty((environments, *shape), dtype=dtype)

    batch = Batch(
        clock=room(CLOCK),
        per_job=room(6, jobs),
        per_run=room(4, running),
        heap=room(2, due),
        due=room(1),
        counters=room(5),
        sums=room(2, dtype=np.float64),
        accuracy=room(2, users, dtype=np.float64),
        mask=room(window + 1, dtype=np.int8),
        plan=room(2, 2 + running + 2 * jobs),
        plan_steps=room(1),
    )
    batch.per_job[:, 1] = FOREVER  # start: not submitted
    batch.per_job[:, 2:] = -1
    for array in (batch.clock, batch.counters, batch.sums, batch.mask, batch.due):
        array[:] = 0
    return batch


@view
def cluster_of(batch, i):
    """The machine of environment i."""
    return Cluster(
        batch.clock[i],
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


@view
def truth_of(batch, runtime, i):
    """What only the simulator knows of environment i."""
    return Truth(runtime, batch.heap[i, 0], batch.heap[i, 1], batch.due[i])


@kernel
def begin(batch, jobs, runtime, rules, i, opening, first, last):
    """Open the episode of jobs first .. last - 1 on a warm machine; go to the first decision.

    The machine has seen the jobs from `opening` on.
    """
    cluster, truth = cluster_of(batch, i), truth_of(batch, runtime, i)
    batch.counters[i, FIRST] = first
    batch.counters[i, LAST] = last
    batch.counters[i, UNSTARTED] = last - first
    batch.counters[i, ILLEGAL] = 0
    batch.counters[i, FORCED] = 0
    batch.sums[i] = 0.0
    batch.accuracy[i] = 0.0
    batch.mask[i] = 0
    for job in range(opening, min(first, cluster.clock[NEXT_JOB])):
        if cluster.end[job] >= 0:
            _remember(cluster, jobs, batch.accuracy[i], job)
    _run_on(batch, cluster, jobs, truth, rules, i)


@kernel
def step(batch, jobs, runtime, rules, actions):
    """Act in every environment and go on to its next decision point."""
    for i in range(len(actions)):
        cluster, truth = cluster_of(batch, i), truth_of(batch, runtime, i)
        mask = batch.mask[i]
        action = actions[i]
        if action < 0 or action >= len(mask) or mask[action] == 0:
            batch.counters[i, ILLEGAL] += 1
        elif action + 1 < len(mask):
            _start(batch, cluster, jobs, truth, i, waiting(cluster)[action])
            _write_mask(batch, cluster, jobs, rules, i)
            _run_on(batch, cluster, jobs, truth, rules, i)
        else:
            mask[:] = 0
            _run_on(batch, cluster, jobs, truth, rules, i)


@kernel
def step_and_look(batch, jobs, runtime, rules, actions, queue, profile, machine, totals):
    """`step` and `look` in one call, for a call from Python costs as much as either."""
    step(batch, jobs, runtime, rules, actions)
    look(batch, jobs, runtime, rules, queue, profile, machine, totals)


@kernel
def look(batch, jobs, runtime, rules, queue, profile, machine, totals):
    """Write the observations and the totals, sums over submitted jobs, of every environment."""
    for i in range(len(totals)):
        cluster = cluster_of(batch, i)
        observe(
            cluster, jobs, batch.accuracy[i], rules.time_of_day, queue[i], profile[i], machine[i]
        )
        totals[i, WAIT] = batch.sums[i, WAIT]
        totals[i, BOUNDED_SLOWDOWN] = batch.sums[i, BOUNDED_SLOWDOWN]
        for job in waiting(cluster):
            if batch.counters[i, FIRST] <= job < batch.counters[i, LAST]:
                waited = now(cluster) - jobs.submit[job]
                totals[i, WAIT] += waited
                totals[i, BOUNDED_SLOWDOWN] += _bounded_slowdown(waited, runtime[job])


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
                _remember(cluster, jobs, batch.accuracy[i], job)
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
    settle(cluster, jobs, truth)
    if batch.counters[i, FIRST] <= job < batch.counters[i, LAST]:
        waited = now(cluster) - jobs.submit[job]
        batch.counters[i, UNSTARTED] -= 1
        batch.sums[i, WAIT] += waited
        batch.sums[i, BOUNDED_SLOWDOWN] += _bounded_slowdown(waited, truth.runtime[job])


@kernel
def _remember(cluster, jobs, accuracy, job):
    user = jobs.user[job]
    if user >= 0:
        accuracy[0, user] += (cluster.end[job] - cluster.start[job]) / jobs.estimate[job]
        accuracy[1, user] += 1.0


@kernel
def _bounded_slowdown(waited, runtime):
    return max(1.0, (waited + runtime) / max(runtime, TAU))


@kernel
def _write_mask(batch, cluster, jobs, rules, i):
    """Which actions are legal: a start that delays none of the reservations, and the pass."""
    mask = batch.mask[i]
    line = waiting(cluster)
    window = len(mask) - 1
    mask[:] = 0
    mask[window] = 1
    if len(line) == 0 or cluster.clock[FREE] == 0:
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
    plan = Profile(batch.plan[i, 0], batch.plan[i, 1], batch.plan_steps[i])
    draw(plan, cluster, jobs)
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
