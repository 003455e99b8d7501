"""The kernels of an episode: what an action does, and where time stops.

They work on the BatchState of N environments at once and drive the verbs of `bfenv.core.cluster`.
"""

import bfenv.envs.batch_state as at
from bfenv.baselines.age_guard import ESTIMATES, RUNTIMES, note_start, update_work
from bfenv.baselines.easy_orders.order_pass import takes_trial
from bfenv.core.cluster import NEXT_JOB, finished, may_start, now, start, try_start, waiting
from bfenv.core.events import advance, commit_starts
from bfenv.core.jobs import FOREVER
from bfenv.core.kernel import kernel
from bfenv.core.outages import first_to_come
from bfenv.core.schedule import bounded_slowdown
from bfenv.envs.episode_source import EpisodeWindow
from bfenv.envs.legal_actions import may_any_start, write_mask
from bfenv.envs.observation import observe
from bfenv.envs.outages import begin_pass, look_ahead
from bfenv.envs.slots import write_slots
from bfenv.envs.warm_up import ended_before
from bfenv.knowledge.user_history import learn_jobs


@kernel
def start_job(state, tables, rules, cluster, jobs, truth, i, job):
    """Start a waiting job, and count it if it is one of the episode's."""
    counters, sums = state.counters[i], state.sums[i]
    start(cluster, jobs, job)
    commit_starts(cluster, jobs, truth)
    if rules.guard_code is not None:
        note_start(at.guard_of(state, tables, rules, i), job)
    sums[at.BACKLOG] -= float(jobs.size[job]) * jobs.estimate[job]
    if counters[at.FIRST] <= job < counters[at.LAST]:
        waited = now(cluster) - jobs.submit[job]
        counters[at.UNSTARTED] -= 1
        sums[at.WAIT] += waited
        sums[at.BOUNDED_SLOWDOWN] += bounded_slowdown(waited, truth.runtime[job])
        sums[at.SHOWN_SLOWDOWN] += bounded_slowdown(waited, jobs.estimate[job])
        sums[at.LONGEST_WAIT] = max(sums[at.LONGEST_WAIT], waited)


@kernel
def try_job(state, tables, rules, cluster, jobs, truth, i, job, limit):
    """Start a job for a trial; until that ends, it counts as if it had started."""
    sums = state.sums[i]
    try_start(cluster, jobs, job, limit)
    commit_starts(cluster, jobs, truth)
    if rules.guard_code is not None:
        note_start(at.guard_of(state, tables, rules, i), job)
    sums[at.BACKLOG] -= float(jobs.size[job]) * jobs.estimate[job]
    if state.counters[i, at.FIRST] <= job < state.counters[i, at.LAST]:
        waited = now(cluster) - jobs.submit[job]
        sums[at.WAIT] += waited
        sums[at.SHOWN_SLOWDOWN] += bounded_slowdown(waited, jobs.estimate[job])
        sums[at.LONGEST_WAIT] = max(sums[at.LONGEST_WAIT], waited)


@kernel
def end_trials(state, cluster, jobs, truth, i):
    """Settle the jobs that ended on trial, and let those that were killed wait as before."""
    counters, sums = state.counters[i], state.sums[i]
    for job in finished(cluster):
        on_trial = cluster.trial_start[job] >= 0 and cluster.trial_end[job] < 0
        if on_trial and counters[at.FIRST] <= job < counters[at.LAST]:
            counters[at.UNSTARTED] -= 1
            waited = cluster.start[job] - jobs.submit[job]
            sums[at.BOUNDED_SLOWDOWN] += bounded_slowdown(waited, truth.runtime[job])
    for job in waiting(cluster):
        if cluster.trial_end[job] == now(cluster):
            add_backlog(state, jobs, i, job)
            if counters[at.FIRST] <= job < counters[at.LAST]:
                waited = cluster.trial_start[job] - jobs.submit[job]
                sums[at.WAIT] -= waited
                sums[at.SHOWN_SLOWDOWN] -= bounded_slowdown(waited, jobs.estimate[job])


@kernel
def correct_slowdowns(state, cluster, jobs, truth, i):
    """Replace the estimates of the jobs that have just ended by their runtimes."""
    for job in finished(cluster):
        if state.counters[i, at.FIRST] <= job < state.counters[i, at.LAST]:
            waited = cluster.start[job] - jobs.submit[job]
            by_estimate = bounded_slowdown(waited, jobs.estimate[job])
            by_runtime = bounded_slowdown(waited, truth.runtime[job])
            state.sums[i, at.SHOWN_SLOWDOWN] += by_runtime - by_estimate


@kernel
def add_backlog(state, jobs, i, job):
    """Count a job that has come to wait."""
    state.sums[i, at.BACKLOG] += float(jobs.size[job]) * jobs.estimate[job]


@kernel
def write_outputs(state, tables, rules, cluster, jobs, i, buffers):
    """Write the observation, the totals and the infos of environment i into its place."""
    counters, sums = state.counters[i], state.sums[i]
    observe(state, tables, rules, cluster, jobs, i, buffers)
    wait, slowdown, longest = sums[at.WAIT], sums[at.SHOWN_SLOWDOWN], sums[at.LONGEST_WAIT]
    for job in waiting(cluster):
        if counters[at.FIRST] <= job < counters[at.LAST]:
            waited = now(cluster) - jobs.submit[job]
            wait += waited
            slowdown += bounded_slowdown(waited, jobs.estimate[job])
            longest = max(longest, waited)
    if counters[at.UNSTARTED] == 0:
        slowdown = sums[at.BOUNDED_SLOWDOWN]
    submitted = min(cluster.state[NEXT_JOB], counters[at.LAST]) - counters[at.FIRST]
    if counters[at.STEPS] > 0:
        sums[at.LAST_NOW] = now(cluster)
        sums[at.LAST_WAIT] = wait
        sums[at.LAST_SLOWDOWN] = slowdown
        sums[at.LAST_LONGEST] = longest
        sums[at.LAST_SUBMITTED] = submitted
    totals = at.StepTotals(
        before_now=sums[at.BEFORE_NOW],
        before_wait=sums[at.BEFORE_WAIT],
        before_slowdown=sums[at.BEFORE_SLOWDOWN],
        before_longest=sums[at.BEFORE_LONGEST],
        before_submitted=sums[at.BEFORE_SUBMITTED],
        now=float(now(cluster)),
        wait=wait,
        slowdown=slowdown,
        longest=float(longest),
        submitted=float(submitted),
        unstarted=float(counters[at.UNSTARTED]),
        steps=float(counters[at.STEPS]),
        illegal_actions=float(counters[at.ILLEGAL]),
        last_illegal=float(counters[at.LAST_ILLEGAL]),
        forced_starts=float(counters[at.FORCED]),
        outside=float(counters[at.OUTSIDE]),
    )
    for column in range(len(totals)):
        buffers.totals[column, i] = totals[column]
    buffers.illegal[i] = counters[at.LAST_ILLEGAL]
    duration = int(now(cluster) - sums[at.BEFORE_NOW]) if counters[at.STEPS] > 0 else 0  # s
    infos = now(cluster), duration, counters[at.ILLEGAL], counters[at.FORCED]
    for column in range(len(infos)):
        buffers.infos[column, i] = infos[column]


OPENED = -1  # STEPS of an environment that has not gone to its first decision yet
UNKNOWN = -1  # LEGAL_STARTS where slots and mask must be written


def open_episode(
    state: at.BatchState,
    tables: at.TraceTables,
    rules: at.EnvRules,
    i: int,
    window: EpisodeWindow,
    outages: range,
) -> None:
    """Open an episode on a warm machine; the next `step` goes to its first decision.

    `outages` are the numbers of the outages.
    """
    counters, cluster = state.counters[i], at.cluster_of(state, i)
    jobs = at.jobs_of(state, tables, i)
    if rules.users is not None:
        state.user_ended[i], state.user_sums[i], state.user_recent[i] = 0, 0, 0
        state.by_estimate[i], state.by_size[i] = 0, 0
        learn_jobs(at.history_of(state, tables, i), cluster, jobs, ended_before(cluster, window))
    if rules.expression is not None:  # what it made of these jobs in other episodes
        at.columns_of(state, rules, i).version[window.opening : window.end] = -1
    if rules.guard_code is not None:  # it knows those that have ended
        ended = ended_before(cluster, window)
        state.guard_work[i], state.guard_last_pass[i], state.guard_state[i] = -1, 0, 0
        state.guard_state[i, RUNTIMES] = (cluster.end[ended] - cluster.start[ended]).sum()
        state.guard_state[i, ESTIMATES] = jobs.estimate[ended].sum()
    counters[at.FIRST], counters[at.LAST], counters[at.STEPS] = window.first, window.last, OPENED
    counters[at.COMING] = counters[at.LAST_OUTAGE] = outages.stop
    if outages:
        counters[at.COMING] = first_to_come(cluster, outages.start, outages.stop)


@kernel
def step(state, tables, rules, first, actions, buffers):
    """Act in the environments from `first` on, go on to their next decisions, and write these.

    In an environment that has just been opened, the action is not read. Python calls it with plain
    tuples: unpacking a NamedTuple costs as much as the step.
    """
    batch_state, batch_tables = at.BatchState(*state), at.TraceTables(*tables)
    batch_rules, outputs = at.EnvRules(*rules), at.StepBuffers(*buffers)
    # One environment after the other, because what it works on is then still in the cache
    for i in range(first, first + len(actions)):
        cluster, jobs = at.cluster_of(batch_state, i), at.jobs_of(batch_state, batch_tables, i)
        truth, counters = at.truth_of(batch_state, batch_tables, i), batch_state.counters[i]
        opened = counters[at.STEPS] == OPENED
        if opened:
            _begin_episode(batch_state, cluster, jobs, i)
        else:
            _act(
                batch_state, batch_tables, batch_rules, cluster, jobs, truth, i, actions[i - first]
            )
        _run_on(batch_state, batch_tables, batch_rules, cluster, jobs, truth, i)
        if opened:  # the sums start at 0, so the first reward covers all that came before
            batch_state.sums[i, at.LAST_NOW] = now(cluster)
        write_outputs(batch_state, batch_tables, batch_rules, cluster, jobs, i, outputs)


@kernel
def _begin_episode(state, cluster, jobs, i):
    """Forget the last episode of environment i."""
    counters = state.counters[i]
    counters[at.EPISODES] += 1
    counters[at.UNSTARTED] = counters[at.LAST] - counters[at.FIRST]
    counters[at.HEAD] = -1
    for column in (
        at.STEPS, at.ILLEGAL, at.LAST_ILLEGAL, at.FORCED, at.OUTSIDE, at.LEGAL_STARTS,
        at.LEGAL_TRIALS, at.MET,
    ):  # fmt: skip
        counters[column] = 0
    state.sums[i] = 0.0
    for job in waiting(cluster):
        add_backlog(state, jobs, i, job)
    state.mask[i] = 0
    state.slots[i] = -1  # those of another trace
    state.slot_requests[i, at.SLOT_SIZE] = FOREVER


@kernel
def _act(state, tables, rules, cluster, jobs, truth, i, action):
    """Act in environment i."""
    mask, counters, sums = state.mask[i], state.counters[i], state.sums[i]
    window = len(state.slots[i])
    illegal = action < 0 or action >= len(mask) or mask[action] == 0
    counters[at.STEPS] += 1
    counters[at.LAST_ILLEGAL] = illegal
    counters[at.ILLEGAL] += illegal
    counters[at.OUTSIDE] += len(waiting(cluster)) > window
    sums[at.BEFORE_NOW] = sums[at.LAST_NOW]
    sums[at.BEFORE_WAIT] = sums[at.LAST_WAIT]
    sums[at.BEFORE_SLOWDOWN] = sums[at.LAST_SLOWDOWN]
    sums[at.BEFORE_LONGEST] = sums[at.LAST_LONGEST]
    sums[at.BEFORE_SUBMITTED] = sums[at.LAST_SUBMITTED]
    counters[at.LEGAL_STARTS] = UNKNOWN
    if illegal or action == window:
        counters[at.LEGAL_STARTS] = 0
        counters[at.LEGAL_TRIALS] = 0
        return
    job = state.slots[i, action if action < window else action - window - 1]
    if rules.trial_limit is not None and action > window:
        try_job(state, tables, rules, cluster, jobs, truth, i, job, rules.trial_limit)
        return
    if not may_start(cluster, jobs, job):
        counters[at.HEAD] = job
        return
    if rules.first_trial is not None and takes_trial(cluster, jobs, rules.first_trial, job):
        try_job(state, tables, rules, cluster, jobs, truth, i, job, rules.first_trial[0])
    else:
        start_job(state, tables, rules, cluster, jobs, truth, i, job)


@kernel
def _run_on(state, tables, rules, cluster, jobs, truth, i):
    """Let the clock run until a start is legal, unless one is already, or the episode has ended."""
    counters, history = state.counters[i], at.history_of(state, tables, i)
    ran = False
    while True:
        if counters[at.LEGAL_STARTS] == UNKNOWN or counters[at.UNSTARTED] == 0:
            _look(state, tables, cluster, jobs, rules, i)
        legal = counters[at.LEGAL_STARTS] + counters[at.LEGAL_TRIALS]
        if counters[at.UNSTARTED] == 0 or legal > 0 or (ran and rules.every_pass):
            return
        arrived = cluster.state[NEXT_JOB]
        counters[at.LEGAL_STARTS] = UNKNOWN
        ran = advance(cluster, jobs, truth)
        if ran:
            counters[at.HEAD] = -1
            if state.outages is not None and counters[at.COMING] < counters[at.LAST_OUTAGE]:
                begin_pass(state, cluster, jobs, truth, i)
            if rules.users is not None:
                learn_jobs(history, cluster, jobs, finished(cluster))
            if rules.guard_code is not None:
                guard = at.guard_of(state, tables, rules, i)
                state.sums[i, at.GUARD_LIMIT] = update_work(guard, history, cluster, jobs)
            correct_slowdowns(state, cluster, jobs, truth, i)
            if rules.trial_limit is not None or rules.first_trial is not None:
                end_trials(state, cluster, jobs, truth, i)
            for job in range(arrived, cluster.state[NEXT_JOB]):
                add_backlog(state, jobs, i, job)
        else:
            # Nothing runs, arrives or is due, and no outage is to come: a pass would never end.
            start_job(state, tables, rules, cluster, jobs, truth, i, waiting(cluster)[0])
            counters[at.FORCED] += 1


@kernel
def _look(state, tables, cluster, jobs, rules, i):
    """Choose the slots and write the mask, unless no start can be legal and time runs on."""
    over = state.counters[i, at.UNSTARTED] == 0
    if not (over or rules.every_pass or may_any_start(state, cluster, jobs, rules, i)):
        state.counters[i, at.LEGAL_STARTS] = 0
        state.counters[i, at.LEGAL_TRIALS] = 0
        return
    if state.outages is not None and state.counters[i, at.MET] > 0:
        look_ahead(state, cluster, jobs, rules, i)
    write_slots(state, tables, cluster, jobs, rules, i)
    if over:
        state.mask[i] = 0
        state.mask[i, len(state.slots[i])] = 1
    else:
        write_mask(state, cluster, jobs, rules, i)
