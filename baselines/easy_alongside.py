"""EASY alongside a run, on a second machine: how long its jobs wait there.

The guard by EASY's longest wait uses it; `bfenv.baselines.age_guard` says what the runtimes are.

A second machine holds EASY as far as its past is certain: up to the first
instant at which a job could end whose runtime is not known. From there, EASY runs up to now by what
is known now; this is repeated once the time it covers has grown by CORRECTED_SHARE.
"""

import math

from bfenv.baselines.age_guard_state import (
    CERTAIN_WAIT,
    CORRECTED_AT,
    EXPECTED_AT,
    EXPECTED_WAIT,
    FIRST_OUTAGE,
    LAST_OUTAGE,
    LONGEST_WAIT,
    count_runtimes,
    predict,
)
from bfenv.baselines.easy import decide as decide_by_easy
from bfenv.core.cluster import (
    FIRST_JOB,
    HORIZON,
    LAST_JOB,
    NEXT_JOB,
    NOW,
    PASSES,
    PROCESSORS,
    now,
    running,
    started,
    waiting,
)
from bfenv.core.durations import MINUTE
from bfenv.core.events import advance, begin_outage
from bfenv.core.jobs import FOREVER
from bfenv.core.kernel import kernel
from bfenv.core.machine_copy import copy_machine, renew_ends

PERIOD = 10 * MINUTE
CORRECTED_SHARE = 8  # what is not certain is corrected after this part of the time it covers


@kernel
def follow_easy(guard, history, cluster, jobs):
    """Let EASY run on its own machine up to now; note its longest wait, so far and expected."""
    state, machine = guard.state, guard.machine
    count_runtimes(guard, cluster, jobs)
    _note_outages(guard, cluster)
    if now(cluster) >= state[CORRECTED_AT]:
        _correct(guard, history, cluster, jobs)
    _run(guard, history, cluster, jobs, machine, guard.truth, now(cluster) + 1, LONGEST_WAIT)
    if len(waiting(machine)) > 0:  # the others came later
        wait = now(cluster) - jobs.submit[waiting(machine)[0]]
        state[LONGEST_WAIT] = max(state[LONGEST_WAIT], wait)
    if now(cluster) >= state[EXPECTED_AT] + PERIOD:
        state[EXPECTED_AT] = now(cluster)
        state[EXPECTED_WAIT] = _expected_wait(guard, history, cluster, jobs)


@kernel
def _note_outages(guard, cluster):
    """Note the outages that have begun: their numbers are consecutive, in the order of begins."""
    state = guard.state
    for job in running(cluster):
        if job >= cluster.state[NEXT_JOB]:
            if state[LAST_OUTAGE] == 0:
                state[FIRST_OUTAGE] = job
            state[FIRST_OUTAGE] = min(state[FIRST_OUTAGE], job)
            state[LAST_OUTAGE] = max(state[LAST_OUTAGE], job + 1)


@kernel
def _correct(guard, history, cluster, jobs):
    """Let EASY run as far as its past is certain, and continue on the other machine from there."""
    state, certain, truth = guard.state, guard.certain, guard.certain_truth
    until = now(cluster)
    for job in running(certain):
        if job < cluster.state[NEXT_JOB]:  # not an outage
            guard.runtime[job] = _runtime(guard, history, cluster, jobs, job)
            if cluster.end[job] < 0:
                until = min(until, certain.start[job] + _time_run(cluster, job))
    renew_ends(certain, truth)
    until = _run(guard, history, cluster, jobs, certain, truth, until, CERTAIN_WAIT)
    copy_machine(guard.machine, guard.truth, certain, truth)
    for outage in range(state[FIRST_OUTAGE], state[LAST_OUTAGE]):
        guard.machine.start[outage] = certain.start[outage]
    state[LONGEST_WAIT] = state[CERTAIN_WAIT]
    state[CORRECTED_AT] = now(cluster) + max(PERIOD, (now(cluster) - until) // CORRECTED_SHARE)


@kernel
def _run(guard, history, cluster, jobs, machine, truth, until, longest):
    """Run EASY before `until` (s), and note the longest wait in state[longest].

    For CERTAIN_WAIT, it stops where a job could end whose runtime is not known. Return where.
    """
    state = machine.state
    if state[PASSES] == 0:
        state[FIRST_JOB] = state[NEXT_JOB] = state[LAST_JOB] = cluster.state[FIRST_JOB]
    while state[LAST_JOB] < cluster.state[NEXT_JOB]:
        _note_request(guard, jobs, state[LAST_JOB])
        state[LAST_JOB] += 1
    for outage in range(guard.state[FIRST_OUTAGE], guard.state[LAST_OUTAGE]):
        begin = cluster.start[outage]
        if machine.start[outage] == FOREVER and begin < until:
            state[HORIZON] = begin
            until = _run_jobs(guard, history, cluster, jobs, machine, truth, until, longest)
            if until <= begin:
                return until
            state[NOW] = begin
            _note_request(guard, jobs, outage)
            guard.runtime[outage] = jobs.estimate[outage]
            begin_outage(machine, jobs, truth, outage)
    state[HORIZON] = until
    return _run_jobs(guard, history, cluster, jobs, machine, truth, until, longest)


@kernel
def _note_request(guard, jobs, job):
    """Note the request of a job that has been submitted, or of an outage that has begun."""
    for row, column in enumerate(jobs):
        guard.requests[row, job] = column[job]


@kernel
def _run_jobs(guard, history, cluster, jobs, machine, truth, until, longest):
    """Do what `_run` does, before state[HORIZON], while no outage begins."""
    while advance(machine, jobs, truth):
        decide_by_easy(machine, jobs, ())
        for job in started(machine):
            wait = now(machine) - jobs.submit[job]
            guard.state[longest] = max(guard.state[longest], wait)
            guard.runtime[job] = _runtime(guard, history, cluster, jobs, job)
            if longest == CERTAIN_WAIT and cluster.end[job] < 0:
                until = min(until, now(machine) + _time_run(cluster, job))
                machine.state[HORIZON] = min(machine.state[HORIZON], until)
    return until


@kernel
def _expected_wait(guard, history, cluster, jobs):
    """Return the longest wait (s) of EASY's waiting jobs, if no processor were ever idle."""
    machine = guard.machine
    work = 0
    for job in running(machine):
        left = machine.start[job] + guard.runtime[job] - now(cluster)
        work += jobs.size[job] * max(0, left)
    longest = 0
    for job in waiting(machine):
        wait = now(cluster) - jobs.submit[job] + work // cluster.state[PROCESSORS]
        longest = max(longest, wait)
        work += jobs.size[job] * _runtime(guard, history, cluster, jobs, job)
    return longest


@kernel
def _runtime(guard, history, cluster, jobs, job):
    """Return the runtime (s) of a job that EASY starts: the true one if it is known."""
    if cluster.end[job] >= 0:
        return cluster.end[job] - cluster.start[job]
    runtime = predict(guard, history, jobs, job)
    time_run = _time_run(cluster, job)
    if time_run >= runtime:
        runtime = max(time_run + 1.0, math.sqrt(time_run * float(jobs.estimate[job])))
    return max(1, int(runtime))


@kernel
def _time_run(cluster, job):
    """Return for how long (s) a job that has not ended has run at a stretch, at least."""
    trial = cluster.trial_end[job] - cluster.trial_start[job]
    if cluster.start[job] < 0:
        return max(0, trial)
    return max(now(cluster) - cluster.start[job], trial)
