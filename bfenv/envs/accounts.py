"""The sums over the jobs of an episode: what starts, trials and ends of jobs change in them."""

from bfenv.baselines.age_guard import note_start
from bfenv.core.cluster import finished, now, start, try_start, waiting
from bfenv.core.events import commit_starts
from bfenv.core.kernel import kernel
from bfenv.core.schedule import bounded_slowdown
from bfenv.envs.batch_state import (
    BACKLOG,
    BOUNDED_SLOWDOWN,
    FIRST,
    LAST,
    LONGEST_WAIT,
    SHOWN_SLOWDOWN,
    UNSTARTED,
    WAIT,
    guard_of,
)


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
