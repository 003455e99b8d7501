"""The kernels of an episode: what an action does, and where time stops.

They work on the BatchState of N environments at once and drive the verbs of `bfenv.core.cluster`.
In all of them `cluster`, `jobs` and `truth` are those of environment i.
"""

from typing import Any

import numpy as np

import bfenv.envs.batch_state as at
from bfenv.core.cluster import NEXT_JOB, Cluster, finished, may_start, now, start, waiting
from bfenv.core.events import Truth, advance, commit_starts
from bfenv.core.jobs import FOREVER, Jobs
from bfenv.core.kernel import kernel
from bfenv.core.schedule import LEAST_WAIT, bounded_slowdown
from bfenv.envs.batch_state import BatchState, EnvRules, StepBuffers, TraceTables
from bfenv.envs.episode_source import EpisodeWindow
from bfenv.envs.observation import observe
from bfenv.envs.slots import may_any_start, write_mask, write_slots
from bfenv.envs.warm_up import ended_before
from bfenv.knowledge.user_history import learn_jobs

OPENED = -1  # STEPS of an environment that has not gone to its first decision yet
UNKNOWN = -1  # LEGAL_STARTS where slots and mask must be written
OVERDUE_FROM = 0.5  # share of EASY's longest wait after which a waiting job is overdue


def open_episode(
    state: BatchState, tables: TraceTables, rules: EnvRules, i: int, window: EpisodeWindow
) -> None:
    """Open an episode on a warm machine; the next `step` goes to its first decision."""
    state.per_job[i, [at.TAKEN, at.CHOSEN]] = 0  # of jobs that may now be to come
    learn_users(state, tables, rules, i, ended_before(at.cluster_of(state, i), window))
    columns = [at.FIRST, at.LAST, at.STEPS]
    state.counters[i, columns] = window.first, window.last, OPENED


def learn_users(
    state: BatchState, tables: TraceTables, rules: EnvRules, i: int, ended: np.ndarray
) -> None:
    """Let all that is known of users in environment i come from jobs that have ended."""
    if rules.user_column is not None:
        state.user_ended[i], state.user_sums[i], state.user_recent[i] = 0, 0, 0
        state.by_estimate[i], state.by_size[i] = 0, 0
        cluster, jobs = at.cluster_of(state, i), at.jobs_of(state, tables, i)
        learn_jobs(at.history_of(state, tables, i), cluster, jobs, ended)


@kernel
def step(state: Any, tables: Any, rules: Any, first: int, actions: Any, buffers: Any) -> None:
    """Act in the environments from `first` on, go on to their next decisions, and write these.

    In an environment that has just been opened, the action is not read. Python calls it with plain
    tuples of the fields of BatchState, TraceTables, EnvRules and StepBuffers: unpacking a
    NamedTuple costs as much as the step.

    Writes: all of the state of these environments, and their places in the buffers.
    """
    batch_state, batch_tables = BatchState(*state), TraceTables(*tables)
    batch_rules, outputs = EnvRules(*rules), StepBuffers(*buffers)
    # One environment after the other, because what it works on is then still in the cache
    for i in range(first, first + len(actions)):
        cluster, jobs = at.cluster_of(batch_state, i), at.jobs_of(batch_state, batch_tables, i)
        truth, counters = at.truth_of(batch_state, batch_tables, i), batch_state.counters[i]
        opened = counters[at.STEPS] == OPENED
        if opened:
            _begin_episode(batch_state, cluster, jobs, i)
        else:
            action = actions[i - first]
            _act(batch_state, batch_rules, cluster, jobs, truth, i, action)
        _run_on(batch_state, batch_tables, batch_rules, cluster, jobs, truth, i)
        observe(batch_state, batch_tables, batch_rules, cluster, jobs, i, outputs)
        write_totals(batch_state, batch_rules, cluster, jobs, i, outputs)
        if opened:  # the first reward covers all that came before
            for column in range(at.LAST_NOW + 1, at.LAST_OVERDUE + 1):
                batch_state.sums[i, column] = 0.0


@kernel
def _begin_episode(state: BatchState, cluster: Cluster, jobs: Jobs, i: int) -> None:
    """Forget the last episode of environment i.

    Writes: counters, sums, mask, slots, slot_requests.
    """
    counters = state.counters[i]
    counters[at.EPISODES] += 1
    counters[at.UNSTARTED] = counters[at.LAST] - counters[at.FIRST]
    counters[at.HEAD] = -1
    for column in (at.STEPS, at.ILLEGAL, at.LAST_ILLEGAL, at.FORCED, at.OUTSIDE, at.LEGAL_STARTS):
        counters[column] = 0
    state.sums[i, : at.REFERENCE_SLOWDOWN] = 0.0
    for job in waiting(cluster):
        state.sums[i, at.BACKLOG] += float(jobs.size[job]) * jobs.estimate[job]
    state.mask[i] = 0
    state.slots[i] = -1  # those of another trace
    state.slot_requests[i, at.SLOT_SIZE] = FOREVER


@kernel
def _act(
    state: BatchState,
    rules: EnvRules,
    cluster: Cluster,
    jobs: Jobs,
    truth: Truth,
    i: int,
    action: int,
) -> None:
    """Act in environment i: start a job, name a head, or pass.

    Writes: counters, sums, and the machine.
    """
    mask, counters, sums = state.mask[i], state.counters[i], state.sums[i]
    window = len(state.slots[i])
    illegal = action < 0 or action > window or mask[action] == 0
    counters[at.STEPS] += 1
    counters[at.LAST_ILLEGAL] = illegal
    counters[at.ILLEGAL] += illegal
    counters[at.OUTSIDE] += len(waiting(cluster)) > window
    for column in range(at.LAST_NOW, at.LAST_OVERDUE + 1):
        sums[column - at.LAST_NOW + at.BEFORE_NOW] = sums[column]
    if illegal or action == window:
        counters[at.LEGAL_STARTS] = 0
        return
    counters[at.LEGAL_STARTS] = UNKNOWN
    job = state.slots[i, action]
    if may_start(cluster, jobs, job):
        _start_job(state, rules, cluster, jobs, truth, i, job)
    else:
        counters[at.HEAD] = job


@kernel
def _start_job(
    state: BatchState,
    rules: EnvRules,
    cluster: Cluster,
    jobs: Jobs,
    truth: Truth,
    i: int,
    job: int,
) -> None:
    """Start a waiting job, and count it if it is one of the episode's.

    Writes: counters, sums, and the machine.
    """
    counters, sums = state.counters[i], state.sums[i]
    start(cluster, jobs, job)
    commit_starts(cluster, jobs, truth)
    sums[at.BACKLOG] -= float(jobs.size[job]) * jobs.estimate[job]
    if counters[at.FIRST] <= job < counters[at.LAST]:
        waited = now(cluster) - jobs.submit[job]
        counters[at.UNSTARTED] -= 1
        sums[at.WAIT] += waited
        sums[at.BOUNDED_SLOWDOWN] += bounded_slowdown(waited, truth.runtime[job], rules.tau)
        sums[at.SHOWN_SLOWDOWN] += bounded_slowdown(waited, jobs.estimate[job], rules.tau)
        sums[at.LONGEST_WAIT] = max(sums[at.LONGEST_WAIT], waited)


@kernel
def _run_on(
    state: BatchState,
    tables: TraceTables,
    rules: EnvRules,
    cluster: Cluster,
    jobs: Jobs,
    truth: Truth,
    i: int,
) -> None:
    """Let the clock run until a start is legal, unless one is already, or the episode has ended.

    Slots and mask are not written at passes where no start can be legal, and time runs on.
    Writes: slots and mask, counters, sums, what is known of users, and the machine.
    """
    counters, window = state.counters[i], len(state.slots[i])
    ran = False
    while True:
        over = counters[at.UNSTARTED] == 0
        if over or counters[at.LEGAL_STARTS] == UNKNOWN:
            if over or rules.every_pass or may_any_start(state, cluster, jobs, rules, i):
                write_slots(state, tables, cluster, jobs, rules, i)
                write_mask(state, cluster, jobs, rules, i)
            else:
                counters[at.LEGAL_STARTS] = 0
        if over:
            state.mask[i] = 0
            state.mask[i, window] = 1
        if over or counters[at.LEGAL_STARTS] > 0 or (ran and rules.every_pass):
            return
        counters[at.LEGAL_STARTS] = UNKNOWN
        arrived = cluster.state[NEXT_JOB]
        ran = advance(cluster, jobs, truth)
        if ran:
            _learn_of_pass(state, tables, rules, cluster, jobs, truth, i, arrived)
        else:
            # Nothing runs, arrives or is due: a pass would never end.
            _start_job(state, rules, cluster, jobs, truth, i, waiting(cluster)[0])
            counters[at.FORCED] += 1


@kernel
def _learn_of_pass(
    state: BatchState,
    tables: TraceTables,
    rules: EnvRules,
    cluster: Cluster,
    jobs: Jobs,
    truth: Truth,
    i: int,
    arrived: int,
) -> None:
    """Count what has ended, and the jobs that have arrived: those from `arrived` on.

    Writes: counters[HEAD], sums, and what is known of users.
    """
    counters, sums = state.counters[i], state.sums[i]
    counters[at.HEAD] = -1
    if rules.user_column is not None:
        learn_jobs(at.history_of(state, tables, i), cluster, jobs, finished(cluster))
    for job in finished(cluster):  # their runtimes take the place of their estimates
        if counters[at.FIRST] <= job < counters[at.LAST]:
            waited = cluster.start[job] - jobs.submit[job]
            by_estimate = bounded_slowdown(waited, jobs.estimate[job], rules.tau)
            by_runtime = bounded_slowdown(waited, truth.runtime[job], rules.tau)
            sums[at.SHOWN_SLOWDOWN] += by_runtime - by_estimate
    for job in range(arrived, cluster.state[NEXT_JOB]):
        sums[at.BACKLOG] += float(jobs.size[job]) * jobs.estimate[job]


@kernel
def write_totals(
    state: BatchState,
    rules: EnvRules,
    cluster: Cluster,
    jobs: Jobs,
    i: int,
    buffers: StepBuffers,
) -> None:
    """Write what rewards and infos are computed from.

    Writes: sums[LAST_...], and the totals and infos of environment i in the buffers.
    """
    counters, sums = state.counters[i], state.sums[i]
    wait, slowdown, longest = sums[at.WAIT], sums[at.SHOWN_SLOWDOWN], sums[at.LONGEST_WAIT]
    overdue, usual = 0.0, max(sums[at.REFERENCE_WAIT], float(LEAST_WAIT))
    for job in waiting(cluster):
        if counters[at.FIRST] <= job < counters[at.LAST]:
            waited = now(cluster) - jobs.submit[job]
            wait += waited
            slowdown += bounded_slowdown(waited, jobs.estimate[job], rules.tau)
            longest = max(longest, waited)
            if waited > OVERDUE_FROM * usual:
                excess = waited / usual - OVERDUE_FROM
                overdue += excess * excess
    if counters[at.UNSTARTED] == 0:
        slowdown = sums[at.BOUNDED_SLOWDOWN]
    submitted = min(cluster.state[NEXT_JOB], counters[at.LAST]) - counters[at.FIRST]
    sums[at.LAST_NOW] = now(cluster)
    sums[at.LAST_SUBMITTED] = submitted
    sums[at.LAST_WAIT] = wait
    sums[at.LAST_SLOWDOWN] = slowdown
    sums[at.LAST_LONGEST] = longest
    sums[at.LAST_OVERDUE] = overdue
    counts = counters[at.UNSTARTED], counters[at.STEPS], counters[at.ILLEGAL], counters[at.OUTSIDE]
    row = 0
    for column in range(at.BEFORE_NOW, at.LAST_OVERDUE + 1):
        buffers.totals[row, i] = sums[column]
        row += 1
    for count in counts:
        buffers.totals[row, i] = count
        row += 1
    buffers.illegal[i] = counters[at.LAST_ILLEGAL]
    duration = int(now(cluster) - sums[at.BEFORE_NOW]) if counters[at.STEPS] > 0 else 0  # s
    infos = now(cluster), duration, counters[at.ILLEGAL], counters[at.FORCED]
    for column in range(len(infos)):
        buffers.infos[column, i] = infos[column]
