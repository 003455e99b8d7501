"""The age guard: jobs that have waited longer than a limit come first, the oldest first.

An order that looks at more than the time waited can starve jobs. The guard bounds that. Its limit
is a multiple of one of three things:

* "corrected_easy": the longest wait of EASY on the same jobs, so far or as expected, whichever is
  larger. EASY runs alongside on a second machine. There a job runs for its true runtime if it has
  ended in the real schedule by the time that EASY starts it, and else for its predicted runtime;
  for a user of whom fewer than two jobs have ended, it is the estimate times the accuracy of all. A
  job that has run for longer than predicted, or had a trial that was longer, counts with the
  geometric mean of that time and its estimate. The expected waits are of the jobs that wait there:
  each is taken to start when the jobs before it could have run on a machine that is never idle.
  They are computed again every ten minutes. At least FLOOR is counted. EASY's past is corrected
  where it rested on predictions, once the runtimes are known: EASY then runs again from the first
  of these jobs on.
* "backlog": one day plus the largest backlog so far. The backlog is the sum of size x predicted
  runtime over the waiting jobs, divided by the processors of the machine. A job on trial counts as
  waiting. It only grows.
* "scaled_backlog": the same, but where the estimate stands in for a prediction, it counts times the
  accuracy of all, too. Else a new user who submits many jobs loosens the limit for good.

Predictions come from `bfenv.knowledge.user_history`. Nothing here depends on the runtime of a
job that has not ended.

The second machine holds EASY as far as its past is certain: up to the first instant at which a job
could end whose runtime is not known. From there, EASY runs up to now by what is known now; this is
repeated once the time it covers has grown by CORRECTED_SHARE.
"""

import math

import numpy as np

import bfenv.baselines.age_guard_state as at
import bfenv.core.cluster as c
from bfenv.baselines.age_guard_state import count_runtimes, predict
from bfenv.baselines.easy import decide as decide_by_easy
from bfenv.core.cluster import finished, now, running, started, waiting
from bfenv.core.durations import DAY, HOUR, MINUTE
from bfenv.core.events import advance, begin_outage, copy_machine, renew_ends
from bfenv.core.jobs import FOREVER
from bfenv.core.kernel import kernel
from bfenv.knowledge.following import new_from

PERIOD = 10 * MINUTE
CORRECTED_SHARE = 8  # what is not certain is corrected after this part of the time it covers


@kernel
def follow_easy(guard, history, cluster, jobs):
    """Let EASY run on its own machine up to now; note its longest wait, so far and expected."""
    state, machine = guard.state, guard.machine
    count_runtimes(guard, cluster, jobs)
    _note_outages(guard, cluster)
    if now(cluster) >= state[at.CORRECTED_AT]:
        _correct(guard, history, cluster, jobs)
    _run(guard, history, cluster, jobs, machine, guard.truth, now(cluster) + 1, at.LONGEST_WAIT)
    if len(waiting(machine)) > 0:  # the others came later
        wait = now(cluster) - jobs.submit[waiting(machine)[0]]
        state[at.LONGEST_WAIT] = max(state[at.LONGEST_WAIT], wait)
    if now(cluster) >= state[at.EXPECTED_AT] + PERIOD:
        state[at.EXPECTED_AT] = now(cluster)
        state[at.EXPECTED_WAIT] = _expected_wait(guard, history, cluster, jobs)


@kernel
def _note_outages(guard, cluster):
    """Note the outages that have begun: their numbers are consecutive, in the order of begins."""
    state = guard.state
    for job in running(cluster):
        if job >= cluster.state[c.NEXT_JOB]:
            if state[at.LAST_OUTAGE] == 0:
                state[at.FIRST_OUTAGE] = job
            state[at.FIRST_OUTAGE] = min(state[at.FIRST_OUTAGE], job)
            state[at.LAST_OUTAGE] = max(state[at.LAST_OUTAGE], job + 1)


@kernel
def _correct(guard, history, cluster, jobs):
    """Let EASY run as far as its past is certain, and continue on the other machine from there."""
    state, certain, truth = guard.state, guard.certain, guard.certain_truth
    until = now(cluster)
    for job in running(certain):
        if job < cluster.state[c.NEXT_JOB]:  # not an outage
            guard.runtime[job] = _runtime(guard, history, cluster, jobs, job)
            if cluster.end[job] < 0:
                until = min(until, certain.start[job] + _time_run(cluster, job))
    renew_ends(certain, truth)
    until = _run(guard, history, cluster, jobs, certain, truth, until, at.CERTAIN_WAIT)
    copy_machine(guard.machine, guard.truth, certain, truth)
    for outage in range(state[at.FIRST_OUTAGE], state[at.LAST_OUTAGE]):
        guard.machine.start[outage] = certain.start[outage]
    state[at.LONGEST_WAIT] = state[at.CERTAIN_WAIT]
    state[at.CORRECTED_AT] = now(cluster) + max(PERIOD, (now(cluster) - until) // CORRECTED_SHARE)


@kernel
def _run(guard, history, cluster, jobs, machine, truth, until, longest):
    """Run EASY before `until` (s), and note the longest wait in state[longest].

    For CERTAIN_WAIT, it stops where a job could end whose runtime is not known. Return where.
    """
    state = machine.state
    if state[c.PASSES] == 0:
        state[c.FIRST_JOB] = state[c.NEXT_JOB] = state[c.LAST_JOB] = cluster.state[c.FIRST_JOB]
    while state[c.LAST_JOB] < cluster.state[c.NEXT_JOB]:
        _note_request(guard, jobs, state[c.LAST_JOB])
        state[c.LAST_JOB] += 1
    for outage in range(guard.state[at.FIRST_OUTAGE], guard.state[at.LAST_OUTAGE]):
        begin = cluster.start[outage]
        if machine.start[outage] == FOREVER and begin < until:
            state[c.HORIZON] = begin
            until = _run_jobs(guard, history, cluster, jobs, machine, truth, until, longest)
            if until <= begin:
                return until
            state[c.NOW] = begin
            _note_request(guard, jobs, outage)
            guard.runtime[outage] = jobs.estimate[outage]
            begin_outage(machine, jobs, truth, outage)
    state[c.HORIZON] = until
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
            if longest == at.CERTAIN_WAIT and cluster.end[job] < 0:
                until = min(until, now(machine) + _time_run(cluster, job))
                machine.state[c.HORIZON] = min(machine.state[c.HORIZON], until)
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
        wait = now(cluster) - jobs.submit[job] + work // cluster.state[c.PROCESSORS]
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


ALLOWANCE = DAY  # added to the backlog
FLOOR = 6 * HOUR  # the least longest wait that counts


@kernel
def limit_by_backlog(factor, allowance, largest_work, processors):
    """Return the limit (s) of a guard by backlog, from the largest work (processor-s) so far."""
    return factor * (allowance + largest_work / processors)


@kernel
def update_age_guard(guard, history, cluster, jobs):
    """Return the limit (s) on the age of waiting jobs in this pass.

    Call it once per pass, after the history has learnt, and `note_starts` at the end of the pass.
    """
    if _counts_work(guard):
        return update_work(guard, history, cluster, jobs)
    if guard.code[0] == at.CORRECTED_EASY:
        follow_easy(guard, history, cluster, jobs)
        return guard.factor[0] * max(
            FLOOR, guard.state[at.LONGEST_WAIT], guard.state[at.EXPECTED_WAIT]
        )
    return np.inf


@kernel
def update_work(guard, history, cluster, jobs):
    """Do what `update_age_guard` does, for a guard by one of the backlogs."""
    _count_work(guard, history, cluster, jobs)
    return limit_by_backlog(
        guard.factor[0], ALLOWANCE, guard.state[at.LARGEST_WORK], cluster.state[c.PROCESSORS]
    )


@kernel
def _counts_work(guard):
    return guard.code[0] == at.BACKLOG or guard.code[0] == at.SCALED_BACKLOG


@kernel
def _count_work(guard, history, cluster, jobs):
    """Add the work of the jobs that arrived; drop the work of jobs that run, except on trial.

    What has started in the last pass is looked at now, because starts may be undone after a pass.
    """
    for job in guard.begun[: guard.state[at.BEGUN]]:
        runs = 0 <= cluster.start[job] <= now(cluster)
        if runs and cluster.kill_time[job] - cluster.start[job] == jobs.estimate[job]:
            _drop_work(guard, job)
    guard.state[at.BEGUN] = 0
    for job in finished(cluster):
        _drop_work(guard, job)
    if guard.code[0] == at.SCALED_BACKLOG:
        count_runtimes(guard, cluster, jobs)
    first = new_from(cluster, guard.work, -1, guard.last_pass)
    for job in waiting(cluster)[first:]:
        if guard.work[job] < 0:
            guard.work[job] = jobs.size[job] * int(predict(guard, history, jobs, job))
            guard.state[at.WAITING_WORK] += guard.work[job]
    guard.state[at.LARGEST_WORK] = max(guard.state[at.LARGEST_WORK], guard.state[at.WAITING_WORK])


@kernel
def _drop_work(guard, job):
    guard.state[at.WAITING_WORK] -= max(guard.work[job], 0)
    guard.work[job] = 0


@kernel
def note_starts(guard, cluster):
    """Note the jobs started in this pass: they leave the backlog unless the start is undone."""
    if _counts_work(guard):
        for job in started(cluster):
            note_start(guard, job)


@kernel
def note_start(guard, job):
    """Note a job that starts in this pass, for a guard by one of the backlogs."""
    guard.begun[guard.state[at.BEGUN]] = job
    guard.state[at.BEGUN] += 1
