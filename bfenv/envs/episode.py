"""The kernels of an episode: what an action does, and where time stops.

They work on the BatchState of N environments at once and drive the verbs of `bfenv.core.cluster`.
"""

from bfenv.baselines.age_guard import note_start, update_work
from bfenv.baselines.age_guard_state import ESTIMATES, RUNTIMES
from bfenv.baselines.easy_pass import takes_trial
from bfenv.core.cluster import NEXT_JOB, finished, may_start, now, start, try_start, waiting
from bfenv.core.events import advance, commit_starts
from bfenv.core.jobs import FOREVER
from bfenv.core.kernel import kernel
from bfenv.core.outages import first_to_come
from bfenv.core.schedule import bounded_slowdown
from bfenv.envs.batch_state import (
    BACKLOG,
    BEFORE_LONGEST,
    BEFORE_NOW,
    BEFORE_SLOWDOWN,
    BEFORE_SUBMITTED,
    BEFORE_WAIT,
    BOUNDED_SLOWDOWN,
    COMING,
    EPISODES,
    FIRST,
    FORCED,
    GUARD_LIMIT,
    HEAD,
    ILLEGAL,
    LAST,
    LAST_ILLEGAL,
    LAST_LONGEST,
    LAST_NOW,
    LAST_OUTAGE,
    LAST_SLOWDOWN,
    LAST_SUBMITTED,
    LAST_WAIT,
    LEGAL_STARTS,
    LEGAL_TRIALS,
    LONGEST_WAIT,
    MET,
    OUTSIDE,
    SHOWN_SLOWDOWN,
    SLOT_SIZE,
    STEPS,
    UNSTARTED,
    WAIT,
    BatchState,
    EnvRules,
    StepBuffers,
    StepTotals,
    TraceTables,
    cluster_of,
    columns_of,
    guard_of,
    history_of,
    jobs_of,
    truth_of,
)
from bfenv.envs.episode_source import EpisodeWindow
from bfenv.envs.legal_actions import may_any_start, write_mask
from bfenv.envs.observation import observe
from bfenv.envs.outages import begin_pass, look_ahead
from bfenv.envs.slots import write_slots
from bfenv.envs.warm_up import ended_before
from bfenv.knowledge.user_history import learn, learn_jobs


@kernel
def start_job(state, tables, rules, cluster, jobs, truth, i, job):
    """Start a waiting job, and count it if it is one of the episode's."""
    counters, sums = state.counters[i], state.sums[i]
    start(cluster, jobs, job)
    commit_starts(cluster, jobs, truth)
    if rules.guard_code is not None:
        note_start(guard_of(state, tables, rules, i), job)
    sums[BACKLOG] -= float(jobs.size[job]) * jobs.estimate[job]
    if counters[FIRST] <= job < counters[LAST]:
        waited = now(cluster) - jobs.submit[job]
        counters[UNSTARTED] -= 1
        sums[WAIT] += waited
        sums[BOUNDED_SLOWDOWN] += bounded_slowdown(waited, truth.runtime[job])
        sums[SHOWN_SLOWDOWN] += bounded_slowdown(waited, jobs.estimate[job])
        sums[LONGEST_WAIT] = max(sums[LONGEST_WAIT], waited)


@kernel
def try_job(state, tables, rules, cluster, jobs, truth, i, job, limit):
    """Start a job for a trial; until that ends, it counts as if it had started."""
    sums = state.sums[i]
    try_start(cluster, jobs, job, limit)
    commit_starts(cluster, jobs, truth)
    if rules.guard_code is not None:
        note_start(guard_of(state, tables, rules, i), job)
    sums[BACKLOG] -= float(jobs.size[job]) * jobs.estimate[job]
    if state.counters[i, FIRST] <= job < state.counters[i, LAST]:
        waited = now(cluster) - jobs.submit[job]
        sums[WAIT] += waited
        sums[SHOWN_SLOWDOWN] += bounded_slowdown(waited, jobs.estimate[job])
        sums[LONGEST_WAIT] = max(sums[LONGEST_WAIT], waited)


@kernel
def end_trials(state, cluster, jobs, truth, i):
    """Settle the jobs that ended on trial, and let those that were killed wait as before."""
    counters, sums = state.counters[i], state.sums[i]
    for job in finished(cluster):
        on_trial = cluster.trial_start[job] >= 0 and cluster.trial_end[job] < 0
        if on_trial and counters[FIRST] <= job < counters[LAST]:
            counters[UNSTARTED] -= 1
            waited = cluster.start[job] - jobs.submit[job]
            sums[BOUNDED_SLOWDOWN] += bounded_slowdown(waited, truth.runtime[job])
    for job in waiting(cluster):
        if cluster.trial_end[job] == now(cluster):
            add_backlog(state, jobs, i, job)
            if counters[FIRST] <= job < counters[LAST]:
                waited = cluster.trial_start[job] - jobs.submit[job]
                sums[WAIT] -= waited
                sums[SHOWN_SLOWDOWN] -= bounded_slowdown(waited, jobs.estimate[job])


@kernel
def correct_slowdowns(state, cluster, jobs, truth, i):
    """Replace the estimates of the jobs that have just ended by their runtimes."""
    for job in finished(cluster):
        if state.counters[i, FIRST] <= job < state.counters[i, LAST]:
            waited = cluster.start[job] - jobs.submit[job]
            by_estimate = bounded_slowdown(waited, jobs.estimate[job])
            by_runtime = bounded_slowdown(waited, truth.runtime[job])
            state.sums[i, SHOWN_SLOWDOWN] += by_runtime - by_estimate


@kernel
def add_backlog(state, jobs, i, job):
    """Count a job that has come to wait."""
    state.sums[i, BACKLOG] += float(jobs.size[job]) * jobs.estimate[job]


@kernel
def write_outputs(state, tables, rules, cluster, jobs, i, buffers):
    """Write the observation, the totals and the infos of environment i into its place."""
    counters, sums = state.counters[i], state.sums[i]
    observe(state, tables, rules, cluster, jobs, i, buffers)
    wait, slowdown, longest = sums[WAIT], sums[SHOWN_SLOWDOWN], sums[LONGEST_WAIT]
    for job in waiting(cluster):
        if counters[FIRST] <= job < counters[LAST]:
            waited = now(cluster) - jobs.submit[job]
            wait += waited
            slowdown += bounded_slowdown(waited, jobs.estimate[job])
            longest = max(longest, waited)
    if counters[UNSTARTED] == 0:
        slowdown = sums[BOUNDED_SLOWDOWN]
    submitted = min(cluster.state[NEXT_JOB], counters[LAST]) - counters[FIRST]
    if counters[STEPS] > 0:
        sums[LAST_NOW] = now(cluster)
        sums[LAST_WAIT] = wait
        sums[LAST_SLOWDOWN] = slowdown
        sums[LAST_LONGEST] = longest
        sums[LAST_SUBMITTED] = submitted
    totals = StepTotals(
        before_now=sums[BEFORE_NOW],
        before_wait=sums[BEFORE_WAIT],
        before_slowdown=sums[BEFORE_SLOWDOWN],
        before_longest=sums[BEFORE_LONGEST],
        before_submitted=sums[BEFORE_SUBMITTED],
        now=float(now(cluster)),
        wait=wait,
        slowdown=slowdown,
        longest=float(longest),
        submitted=float(submitted),
        unstarted=float(counters[UNSTARTED]),
        steps=float(counters[STEPS]),
        illegal_actions=float(counters[ILLEGAL]),
        last_illegal=float(counters[LAST_ILLEGAL]),
        forced_starts=float(counters[FORCED]),
        outside=float(counters[OUTSIDE]),
    )
    for column in range(len(totals)):
        buffers.totals[column, i] = totals[column]
    buffers.illegal[i] = counters[LAST_ILLEGAL]
    duration = int(now(cluster) - sums[BEFORE_NOW]) if counters[STEPS] > 0 else 0  # s
    infos = now(cluster), duration, counters[ILLEGAL], counters[FORCED]
    for column in range(len(infos)):
        buffers.infos[column, i] = infos[column]


OPENED = -1  # STEPS of an environment that has not gone to its first decision yet
UNKNOWN = -1  # LEGAL_STARTS where slots and mask must be written


def open_episode(
    state: BatchState,
    tables: TraceTables,
    rules: EnvRules,
    i: int,
    window: EpisodeWindow,
    outages: range,
) -> None:
    """Open an episode on a warm machine; the next `step` goes to its first decision.

    `outages` are the numbers of the outages.
    """
    counters, cluster = state.counters[i], cluster_of(state, i)
    jobs = jobs_of(state, tables, i)
    if rules.users is not None:
        state.user_ended[i], state.user_sums[i], state.user_recent[i] = 0, 0, 0
        state.by_estimate[i], state.by_size[i] = 0, 0
        learn_jobs(history_of(state, tables, i), cluster, jobs, ended_before(cluster, window))
    if rules.expression is not None:  # what it made of these jobs in other episodes
        columns_of(state, rules, i).version[window.opening : window.end] = -1
    if rules.guard_code is not None:  # it knows those that have ended
        ended = ended_before(cluster, window)
        state.guard_work[i], state.guard_last_pass[i], state.guard_state[i] = -1, 0, 0
        state.guard_state[i, RUNTIMES] = (cluster.end[ended] - cluster.start[ended]).sum()
        state.guard_state[i, ESTIMATES] = jobs.estimate[ended].sum()
    counters[FIRST], counters[LAST], counters[STEPS] = window.first, window.last, OPENED
    counters[COMING] = counters[LAST_OUTAGE] = outages.stop
    if outages:
        counters[COMING] = first_to_come(cluster, outages.start, outages.stop)


@kernel
def step(state, tables, rules, first, actions, buffers):
    """Act in the environments from `first` on, go on to their next decisions, and write these.

    In an environment that has just been opened, the action is not read. Python calls it with plain
    tuples: unpacking a NamedTuple costs as much as the step.
    """
    batch_state, batch_tables = BatchState(*state), TraceTables(*tables)
    batch_rules, outputs = EnvRules(*rules), StepBuffers(*buffers)
    # One environment after the other, because what it works on is then still in the cache
    for i in range(first, first + len(actions)):
        cluster, jobs = cluster_of(batch_state, i), jobs_of(batch_state, batch_tables, i)
        truth, counters = truth_of(batch_state, batch_tables, i), batch_state.counters[i]
        opened = counters[STEPS] == OPENED
        if opened:
            _begin_episode(batch_state, cluster, jobs, i)
        else:
            _act(
                batch_state, batch_tables, batch_rules, cluster, jobs, truth, i, actions[i - first]
            )
        _run_on(batch_state, batch_tables, batch_rules, cluster, jobs, truth, i)
        if opened:  # the sums start at 0, so the first reward covers all that came before
            batch_state.sums[i, LAST_NOW] = now(cluster)
        write_outputs(batch_state, batch_tables, batch_rules, cluster, jobs, i, outputs)


@kernel
def _begin_episode(state, cluster, jobs, i):
    """Forget the last episode of environment i."""
    counters = state.counters[i]
    counters[EPISODES] += 1
    counters[UNSTARTED] = counters[LAST] - counters[FIRST]
    counters[HEAD] = -1
    for column in (
        STEPS, ILLEGAL, LAST_ILLEGAL, FORCED, OUTSIDE, LEGAL_STARTS, LEGAL_TRIALS, MET,
    ):  # fmt: skip
        counters[column] = 0
    state.sums[i] = 0.0
    for job in waiting(cluster):
        add_backlog(state, jobs, i, job)
    state.mask[i] = 0
    state.slots[i] = -1  # those of another trace
    state.slot_requests[i, SLOT_SIZE] = FOREVER


@kernel
def _act(state, tables, rules, cluster, jobs, truth, i, action):
    """Act in environment i."""
    mask, counters, sums = state.mask[i], state.counters[i], state.sums[i]
    window = len(state.slots[i])
    illegal = action < 0 or action >= len(mask) or mask[action] == 0
    counters[STEPS] += 1
    counters[LAST_ILLEGAL] = illegal
    counters[ILLEGAL] += illegal
    counters[OUTSIDE] += len(waiting(cluster)) > window
    sums[BEFORE_NOW] = sums[LAST_NOW]
    sums[BEFORE_WAIT] = sums[LAST_WAIT]
    sums[BEFORE_SLOWDOWN] = sums[LAST_SLOWDOWN]
    sums[BEFORE_LONGEST] = sums[LAST_LONGEST]
    sums[BEFORE_SUBMITTED] = sums[LAST_SUBMITTED]
    counters[LEGAL_STARTS] = UNKNOWN
    if illegal or action == window:
        counters[LEGAL_STARTS] = 0
        counters[LEGAL_TRIALS] = 0
        return
    job = state.slots[i, action if action < window else action - window - 1]
    if rules.trial_limit is not None and action > window:
        try_job(state, tables, rules, cluster, jobs, truth, i, job, rules.trial_limit)
        return
    if not may_start(cluster, jobs, job):
        counters[HEAD] = job
        return
    if rules.first_trial is not None and takes_trial(cluster, jobs, rules.first_trial, job):
        try_job(state, tables, rules, cluster, jobs, truth, i, job, rules.first_trial[0])
    else:
        start_job(state, tables, rules, cluster, jobs, truth, i, job)


@kernel
def _run_on(state, tables, rules, cluster, jobs, truth, i):
    """Let the clock run until a start is legal, unless one is already, or the episode has ended."""
    counters, history = state.counters[i], history_of(state, tables, i)
    ran = False
    while True:
        if counters[LEGAL_STARTS] == UNKNOWN or counters[UNSTARTED] == 0:
            _look(state, tables, cluster, jobs, rules, i)
        legal = counters[LEGAL_STARTS] + counters[LEGAL_TRIALS]
        if counters[UNSTARTED] == 0 or legal > 0 or (ran and rules.every_pass):
            return
        arrived = cluster.state[NEXT_JOB]
        counters[LEGAL_STARTS] = UNKNOWN
        ran = advance(cluster, jobs, truth)
        if ran:
            counters[HEAD] = -1
            if state.outages is not None and counters[COMING] < counters[LAST_OUTAGE]:
                begin_pass(state, cluster, jobs, truth, i)
            if rules.users is not None:
                learn(history, cluster, jobs)
            if rules.guard_code is not None:
                guard = guard_of(state, tables, rules, i)
                state.sums[i, GUARD_LIMIT] = update_work(guard, history, cluster, jobs)
            correct_slowdowns(state, cluster, jobs, truth, i)
            if rules.trial_limit is not None or rules.first_trial is not None:
                end_trials(state, cluster, jobs, truth, i)
            for job in range(arrived, cluster.state[NEXT_JOB]):
                add_backlog(state, jobs, i, job)
        else:
            # Nothing runs, arrives or is due, and no outage is to come: a pass would never end.
            start_job(state, tables, rules, cluster, jobs, truth, i, waiting(cluster)[0])
            counters[FORCED] += 1


@kernel
def _look(state, tables, cluster, jobs, rules, i):
    """Choose the slots and write the mask, unless no start can be legal and time runs on."""
    over = state.counters[i, UNSTARTED] == 0
    if not (over or rules.every_pass or may_any_start(state, cluster, jobs, rules, i)):
        state.counters[i, LEGAL_STARTS] = 0
        state.counters[i, LEGAL_TRIALS] = 0
        return
    if state.outages is not None and state.counters[i, MET] > 0:
        look_ahead(state, cluster, jobs, rules, i)
    write_slots(state, tables, cluster, jobs, rules, i)
    if over:
        state.mask[i] = 0
        state.mask[i, len(state.slots[i])] = 1
    else:
        write_mask(state, cluster, jobs, rules, i)
