"""The kernels of an episode: what an action does, and where time stops.

They work on the BatchState of N environments at once and drive the verbs of `bfenv.core.cluster`.
"""

from bfenv.core.cluster import (
    NEXT_JOB,
    advance,
    commit_starts,
    finished,
    now,
    start,
    waiting,
)
from bfenv.core.kernel import kernel
from bfenv.core.schedule import bounded_slowdown
from bfenv.envs.batch_state import (
    BEFORE_BOUNDED_SLOWDOWN,
    BEFORE_NOW,
    BEFORE_WAIT,
    BOUNDED_SLOWDOWN,
    EPISODES,
    FIRST,
    FORCED,
    ILLEGAL,
    LAST,
    LAST_BOUNDED_SLOWDOWN,
    LAST_ILLEGAL,
    LAST_NOW,
    LAST_WAIT,
    STEPS,
    TRACE,
    UNSTARTED,
    WAIT,
    BatchState,
    GuardRules,
    StepBuffers,
    StepTotals,
    TraceTables,
    cluster_of,
    jobs_of,
    truth_of,
)
from bfenv.envs.legal_actions import write_mask
from bfenv.envs.observation import observe, record_accuracy


@kernel
def begin_episode(state, tables, rules, i, opening, first, last):
    """Open the episode of jobs first .. last - 1 on a warm machine; go to the first decision.

    The machine of environment i has run the jobs from `opening` on.
    """
    cluster = cluster_of(state, i)
    jobs = jobs_of(state, tables, i)
    truth = truth_of(state, tables, i)
    counters, sums = state.counters[i], state.sums[i]
    counters[EPISODES] += 1
    counters[FIRST] = first
    counters[LAST] = last
    counters[UNSTARTED] = last - first
    counters[STEPS] = 0
    counters[ILLEGAL] = 0
    counters[LAST_ILLEGAL] = 0
    counters[FORCED] = 0
    sums[:] = 0.0
    state.accuracy[i] = 0.0
    state.mask[i] = 0
    for job in range(opening, min(first, cluster.state[NEXT_JOB])):
        if cluster.end[job] >= 0:
            record_accuracy(cluster, jobs, state.accuracy[i], job)
    _run_on(state, cluster, jobs, truth, rules, i)
    # The sums start at 0, so the first reward covers all that came before the first decision.
    sums[LAST_NOW] = now(cluster)


@kernel
def step(state, tables, rules, actions):
    """Act in every environment, and go on to its next decision point."""
    for i in range(len(actions)):
        mask, counters, sums, action = state.mask[i], state.counters[i], state.sums[i], actions[i]
        counters[STEPS] += 1
        counters[LAST_ILLEGAL] = action < 0 or action >= len(mask) or mask[action] == 0
        if counters[LAST_ILLEGAL]:
            counters[ILLEGAL] += 1
            continue
        sums[BEFORE_NOW] = sums[LAST_NOW]
        sums[BEFORE_WAIT] = sums[LAST_WAIT]
        sums[BEFORE_BOUNDED_SLOWDOWN] = sums[LAST_BOUNDED_SLOWDOWN]
        cluster, jobs = cluster_of(state, i), jobs_of(state, tables, i)
        truth = truth_of(state, tables, i)
        if action + 1 < len(mask):
            _start(state, cluster, jobs, truth, i, waiting(cluster)[action])
            write_mask(state, cluster, jobs, rules, i)
        else:
            mask[:] = 0
        _run_on(state, cluster, jobs, truth, rules, i)


@kernel
def step_and_write(state, tables, rules, actions, buffers):
    """Call `step`, then `write_outputs` for every environment.

    Python calls it with plain tuples: unpacking a NamedTuple costs as much as the step.
    """
    batch_state, batch_tables = BatchState(*state), TraceTables(*tables)
    outputs = StepBuffers(*buffers)
    step(batch_state, batch_tables, GuardRules(*rules), actions)
    for i in range(len(actions)):
        write_outputs(batch_state, batch_tables, i, outputs)


@kernel
def write_outputs(state, tables, i, buffers):
    """Write the observation and the totals of environment i into its row of the buffers."""
    cluster, jobs = cluster_of(state, i), jobs_of(state, tables, i)
    counters, sums = state.counters[i], state.sums[i]
    time_of_day = tables.time_of_day[counters[TRACE]]
    queue, profile, cluster_features = buffers.queue[i], buffers.profile[i], buffers.cluster[i]
    observe(cluster, jobs, state.accuracy[i], time_of_day, queue, profile, cluster_features)
    wait, slowdown = sums[WAIT], sums[BOUNDED_SLOWDOWN]
    for job in waiting(cluster):
        if counters[FIRST] <= job < counters[LAST]:
            waited = now(cluster) - jobs.submit[job]
            wait += waited
            slowdown += bounded_slowdown(waited, tables.runtime[counters[TRACE], job])
    if counters[STEPS] > counters[ILLEGAL]:
        sums[LAST_NOW] = now(cluster)
        sums[LAST_WAIT] = wait
        sums[LAST_BOUNDED_SLOWDOWN] = slowdown
    totals = StepTotals(
        before_now=sums[BEFORE_NOW],
        before_wait=sums[BEFORE_WAIT],
        before_bounded_slowdown=sums[BEFORE_BOUNDED_SLOWDOWN],
        now=float(now(cluster)),
        wait=wait,
        bounded_slowdown=slowdown,
        unstarted=float(counters[UNSTARTED]),
        steps=float(counters[STEPS]),
        illegal_actions=float(counters[ILLEGAL]),
        last_illegal=float(counters[LAST_ILLEGAL]),
        forced_starts=float(counters[FORCED]),
    )
    for column in range(len(totals)):
        buffers.totals[i, column] = totals[column]


@kernel
def _run_on(state, cluster, jobs, truth, rules, i):
    """Let the clock run until a start is legal, unless one is already, or the episode has ended."""
    mask = state.mask[i]
    while state.counters[i, UNSTARTED] > 0:
        for slot in range(len(mask) - 1):
            if mask[slot]:
                return
        if advance(cluster, jobs, truth):
            for job in finished(cluster):
                record_accuracy(cluster, jobs, state.accuracy[i], job)
            write_mask(state, cluster, jobs, rules, i)
            if rules.every_pass:
                return
        else:
            # Nothing runs, arrives or is due: a pass here would never end.
            _start(state, cluster, jobs, truth, i, waiting(cluster)[0])
            state.counters[i, FORCED] += 1
            write_mask(state, cluster, jobs, rules, i)
    mask[:] = 0
    mask[len(mask) - 1] = 1


@kernel
def _start(state, cluster, jobs, truth, i, job):
    start(cluster, jobs, job)
    commit_starts(cluster, jobs, truth)
    if state.counters[i, FIRST] <= job < state.counters[i, LAST]:
        waited = now(cluster) - jobs.submit[job]
        state.counters[i, UNSTARTED] -= 1
        state.sums[i, WAIT] += waited
        state.sums[i, BOUNDED_SLOWDOWN] += bounded_slowdown(waited, truth.runtime[job])
