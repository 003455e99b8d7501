"""The kernels of an episode: what an action does, and where time stops.

They work on the BatchState of N environments at once and drive the verbs of `bfenv.core.cluster`.
"""

from bfenv.baselines.age_guard import update_work
from bfenv.baselines.age_guard_state import NONE as NO_GUARD
from bfenv.baselines.age_guard_state import count_runtime
from bfenv.baselines.easy import decide as decide_by_easy
from bfenv.baselines.easy_pass import takes_trial
from bfenv.core.cluster import NEXT_JOB, may_start, now, waiting
from bfenv.core.events import advance
from bfenv.core.jobs import FOREVER
from bfenv.core.kernel import kernel
from bfenv.core.outages import first_to_come
from bfenv.envs.accounts import (
    add_backlog,
    correct_slowdowns,
    end_trials,
    start_job,
    try_job,
)
from bfenv.envs.batch_state import (
    BEFORE_LONGEST,
    BEFORE_NOW,
    BEFORE_SLOWDOWN,
    BEFORE_SUBMITTED,
    BEFORE_WAIT,
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
    MET,
    OUTSIDE,
    SLOT_SIZE,
    STEPS,
    TRACE,
    UNSTARTED,
    BatchState,
    EnvRules,
    StepBuffers,
    TraceTables,
    cluster_of,
    guard_of,
    history_of,
    jobs_of,
    truth_of,
)
from bfenv.envs.legal_actions import may_any_start, write_mask
from bfenv.envs.outages import begin_pass, look_ahead
from bfenv.envs.outputs import write_outputs
from bfenv.envs.slots import forget_values, write_slots
from bfenv.envs.warm_up import begin_warm_up, end_warm_up
from bfenv.knowledge.user_history import learn, learn_job

UNKNOWN = -1  # LEGAL_STARTS where slots and mask must be written


@kernel
def open_episode(state, tables, rules, i, window, outages, is_warm, ended, buffers):
    """Open an episode, go to its first decision, and write what is seen there.

    Python calls it with plain tuples, `window` being an EpisodeWindow, and `outages` the first and
    one past the last job that is an outage. If the machine is warm already, `ended`
    (k,) int64 are the jobs that have ended on it, in the order of their ends. If it is not, EASY
    schedules the jobs before the episode; there must then be no outages.
    """
    batch_state, batch_tables = BatchState(*state), TraceTables(*tables)
    batch_rules, outputs = EnvRules(*rules), StepBuffers(*buffers)
    k, opening, first, last, end = window
    batch_state.counters[i, TRACE] = k
    cluster, jobs = cluster_of(batch_state, i), jobs_of(batch_state, batch_tables, i)
    history, counters = history_of(batch_state, batch_tables, i), batch_state.counters[i]
    _forget_users(batch_state, i)
    forget_values(batch_state, batch_rules, i, opening, end)
    if not is_warm:
        truth = truth_of(batch_state, batch_tables, i)
        begin_warm_up(cluster, truth, batch_tables.processors[k], opening, first)
        while advance(cluster, jobs, truth):
            learn(history, cluster, jobs)
            decide_by_easy(cluster, jobs, 0)
        end_warm_up(cluster, end)
    for job in ended:
        learn_job(history, cluster, jobs, job)
    if batch_rules.guard_code[0] != NO_GUARD:
        _begin_guard(batch_state, batch_tables, batch_rules, cluster, jobs, i, opening, first)
    counters[COMING] = first_to_come(cluster, outages[0], outages[1])
    counters[LAST_OUTAGE] = outages[1]
    counters[MET] = 0
    _begin_episode(batch_state, batch_tables, batch_rules, cluster, jobs, i, first, last)
    write_outputs(batch_state, batch_tables, batch_rules, i, outputs)


@kernel
def _begin_guard(state, tables, rules, cluster, jobs, i, opening, first):
    """Forget what the guard has counted; of the warm-up's jobs it knows those that have ended."""
    guard = guard_of(state, tables, rules, i)
    guard.state[:] = 0
    guard.last_pass[:] = 0
    guard.work[:] = -1
    for job in range(opening, first):
        if cluster.end[job] >= 0:
            count_runtime(guard, cluster, jobs, job)


@kernel
def _begin_episode(state, tables, rules, cluster, jobs, i, first, last):
    """Begin the episode of jobs first .. last - 1 on a warm machine; go to the first decision."""
    counters, sums = state.counters[i], state.sums[i]
    counters[EPISODES] += 1
    counters[FIRST] = first
    counters[LAST] = last
    counters[UNSTARTED] = last - first
    counters[STEPS] = 0
    counters[ILLEGAL] = 0
    counters[LAST_ILLEGAL] = 0
    counters[FORCED] = 0
    counters[OUTSIDE] = 0
    counters[HEAD] = -1
    counters[LEGAL_STARTS] = 0
    counters[LEGAL_TRIALS] = 0
    sums[:] = 0.0
    for job in waiting(cluster):
        add_backlog(state, jobs, i, job)
    state.mask[i] = 0
    state.slots[i] = -1  # those of another trace
    state.slot_requests[i, SLOT_SIZE] = FOREVER
    _run_on(state, tables, cluster, jobs, rules, i)
    # The sums start at 0, so the first reward covers all that came before the first decision.
    sums[LAST_NOW] = now(cluster)


@kernel
def step(state, tables, rules, actions, buffers):
    """Act in every environment, go on to its next decision, and write what is seen there.

    Python calls it with plain tuples: unpacking a NamedTuple costs as much as the step.
    """
    batch_state, batch_tables = BatchState(*state), TraceTables(*tables)
    batch_rules, outputs = EnvRules(*rules), StepBuffers(*buffers)
    # One environment after the other, because what it works on is then still in the cache
    for i in range(len(actions)):
        _act(batch_state, batch_tables, batch_rules, i, actions[i])
        write_outputs(batch_state, batch_tables, batch_rules, i, outputs)


@kernel
def _act(state, tables, rules, i, action):
    """Act in environment i, and go on to its next decision point."""
    mask, counters, sums = state.mask[i], state.counters[i], state.sums[i]
    window = len(state.slots[i])
    illegal = action < 0 or action >= len(mask) or mask[action] == 0
    cluster, jobs = cluster_of(state, i), jobs_of(state, tables, i)
    counters[STEPS] += 1
    counters[LAST_ILLEGAL] = illegal
    counters[ILLEGAL] += illegal
    counters[OUTSIDE] += len(waiting(cluster)) > window
    sums[BEFORE_NOW] = sums[LAST_NOW]
    sums[BEFORE_WAIT] = sums[LAST_WAIT]
    sums[BEFORE_SLOWDOWN] = sums[LAST_SLOWDOWN]
    sums[BEFORE_LONGEST] = sums[LAST_LONGEST]
    sums[BEFORE_SUBMITTED] = sums[LAST_SUBMITTED]
    if illegal or action == window:
        counters[LEGAL_STARTS] = 0
        counters[LEGAL_TRIALS] = 0
    elif action > window:
        job = state.slots[i, action - window - 1]
        try_job(state, tables, rules, cluster, jobs, i, job, rules.trial_limit)
        counters[LEGAL_STARTS] = UNKNOWN
    elif may_start(cluster, jobs, state.slots[i, action]):
        job = state.slots[i, action]
        if takes_trial(cluster, jobs, rules.first_trial, job):
            try_job(state, tables, rules, cluster, jobs, i, job, rules.first_trial[0])
        else:
            start_job(state, tables, rules, cluster, jobs, i, job)
        counters[LEGAL_STARTS] = UNKNOWN
    else:
        counters[HEAD] = state.slots[i, action]
        counters[LEGAL_STARTS] = UNKNOWN
    _run_on(state, tables, cluster, jobs, rules, i)


@kernel
def _run_on(state, tables, cluster, jobs, rules, i):
    """Let the clock run until a start is legal, unless one is already, or the episode has ended."""
    mask, counters = state.mask[i], state.counters[i]
    truth, history = truth_of(state, tables, i), history_of(state, tables, i)
    ran = False
    while counters[UNSTARTED] > 0:
        if counters[LEGAL_STARTS] == UNKNOWN:
            _look(state, tables, cluster, jobs, rules, i)
        legal = counters[LEGAL_STARTS] + counters[LEGAL_TRIALS]
        if legal > 0 or (ran and rules.every_pass):
            return
        arrived = cluster.state[NEXT_JOB]
        counters[LEGAL_STARTS] = UNKNOWN
        ran = advance(cluster, jobs, truth)
        if ran:
            counters[HEAD] = -1
            if counters[COMING] < counters[LAST_OUTAGE]:
                begin_pass(state, cluster, jobs, truth, i)
            learn(history, cluster, jobs)
            if rules.guard_code[0] != NO_GUARD:
                guard = guard_of(state, tables, rules, i)
                state.sums[i, GUARD_LIMIT] = update_work(guard, history, cluster, jobs)
            correct_slowdowns(state, cluster, jobs, truth, i)
            if rules.trial_limit > 0 or rules.first_trial[0] > 0:
                end_trials(state, cluster, jobs, truth, i)
            for job in range(arrived, cluster.state[NEXT_JOB]):
                add_backlog(state, jobs, i, job)
        else:
            # Nothing runs, arrives or is due, and no outage is to come: a pass would never end.
            start_job(state, tables, rules, cluster, jobs, i, waiting(cluster)[0])
            counters[FORCED] += 1
    if counters[MET] > 0:
        look_ahead(state, cluster, jobs, rules, i)
    write_slots(state, tables, cluster, jobs, rules, i)
    mask[:] = 0
    mask[len(state.slots[i])] = 1


@kernel
def _look(state, tables, cluster, jobs, rules, i):
    """Choose the slots and write the mask, unless no start can be legal and time runs on."""
    if not rules.every_pass and not may_any_start(state, cluster, jobs, rules, i):
        state.counters[i, LEGAL_STARTS] = 0
        state.counters[i, LEGAL_TRIALS] = 0
        return
    if state.counters[i, MET] > 0:
        look_ahead(state, cluster, jobs, rules, i)
    write_slots(state, tables, cluster, jobs, rules, i)
    write_mask(state, cluster, jobs, rules, i)


@kernel
def _forget_users(state, i):
    state.user_ended[i] = 0
    state.user_sums[i] = 0.0
    state.user_recent[i] = 0
    state.by_estimate[i] = 0.0
    state.by_size[i] = 0.0
