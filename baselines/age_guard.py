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
from typing import NamedTuple

import numpy as np

import bfenv.core.cluster as c
import bfenv.core.events as ev
from bfenv.baselines.easy import decide as decide_by_easy
from bfenv.core.cluster import Cluster, finished, now, running, started, waiting
from bfenv.core.durations import DAY, HOUR, MINUTE
from bfenv.core.jobs import FOREVER, Jobs
from bfenv.core.kernel import kernel, shared_kernel
from bfenv.knowledge.following import new_from
from bfenv.knowledge.user_history import predict_runtime

PERIOD = 10 * MINUTE
CORRECTED_SHARE = 8  # what is not certain is corrected after this part of the time it covers
BACKLOG, SCALED_BACKLOG, CORRECTED_EASY = range(3)
# What limits are multiples of
GUARDS = {"corrected_easy": CORRECTED_EASY, "backlog": BACKLOG, "scaled_backlog": SCALED_BACKLOG}
# Indices into AgeGuard.state
STATE = (
    WAITING_WORK,  # processor-seconds
    LARGEST_WORK,  # the most so far
    LONGEST_WAIT,  # EASY's so far, seconds
    EXPECTED_WAIT,  # EASY's as expected, seconds
    EXPECTED_AT,  # when it was expected, seconds
    RUNTIMES,  # sum over the ended jobs, seconds
    ESTIMATES,  # the same
    BEGUN,  # number of jobs in `begun`
    CERTAIN_WAIT,  # EASY's longest in what is certain of its past, seconds
    CORRECTED_AT,  # the next instant at which the rest is corrected, seconds
    FIRST_OUTAGE,  # the first that was seen
    LAST_OUTAGE,  # one past the last
) = range(12)
ALLOWANCE = DAY  # added to the backlog
FLOOR = 6 * HOUR  # the least longest wait that counts


class AgeGuard(NamedTuple):
    """The limit, and what it is computed from."""

    code: np.ndarray  # (1,) int64, one of GUARDS
    factor: np.ndarray  # (1,) float64
    state: np.ndarray  # (12,) int64, see STATE
    # For a backlog only:
    begun: np.ndarray | None = None  # (m,) int64 jobs started in the last pass
    last_pass: np.ndarray | None = None  # (1,) int64 in which work was added, see `new_from`
    work: np.ndarray | None = None  # (n,) int64 processor-seconds of a waiting job; -1 before it
    # arrives
    # For EASY's longest wait only:
    runtime: np.ndarray | None = None  # (n,) int64 seconds, what `truth` and `certain_truth` read
    requests: np.ndarray | None = None  # (7, n) int64, the same of the jobs submitted so far
    machine: Cluster | None = None  # on which EASY runs
    truth: ev.Truth | None = None
    certain: Cluster | None = None  # on which EASY runs as far as its past is certain
    certain_truth: ev.Truth | None = None


def new_age_guard(
    jobs: Jobs, processors: int, scale: str = "corrected_easy", factor: float | None = None
) -> AgeGuard | None:
    """Make the guard of a run that has not begun; None, which is no guard, for a factor of None."""
    if factor is None:
        return None
    code, count = GUARDS[scale], len(jobs.submit)
    guard = AgeGuard(
        np.array([code]),
        np.array([factor]),
        np.zeros(len(STATE), dtype=np.int64),
    )
    if code != CORRECTED_EASY:
        return guard._replace(
            begun=np.empty(min(count, processors), dtype=np.int64),
            last_pass=np.zeros(1, dtype=np.int64),
            work=np.full(count, -1),
        )
    runtime = np.ones(count, dtype=np.int64)
    requests = np.zeros((len(jobs), count), dtype=np.int64)
    machine, truth = _new_machine(requests, runtime, processors)
    certain, certain_truth = _new_machine(requests, runtime, processors)
    return guard._replace(
        runtime=runtime,
        requests=requests,
        machine=machine,
        truth=truth,
        certain=certain,
        certain_truth=certain_truth,
    )


def _new_machine(
    requests: np.ndarray, runtime: np.ndarray, processors: int
) -> tuple[Cluster, ev.Truth]:
    """Return a machine to which jobs are submitted that are known already."""
    # Up to `processors` each: jobs, outages without notice, and those that end as these begin
    most = min(len(runtime), 3 * processors)
    read_only = requests.view(), runtime.view()
    for values in read_only:
        values.flags.writeable = False
    machine, truth = ev.allocate(*read_only, requests, most, most)
    ev.reset(machine, truth, processors, 0, 0)
    return machine, truth


@kernel
def count_runtimes(guard, cluster, jobs):
    """Add the jobs that ended to what the accuracy of all is computed from."""
    for job in finished(cluster):
        if job < cluster.state[c.NEXT_JOB]:  # not an outage
            guard.state[RUNTIMES] += cluster.end[job] - cluster.start[job]
            guard.state[ESTIMATES] += jobs.estimate[job]


@kernel
def predict(guard, history, jobs, job):
    """Return the predicted runtime (s); an estimate in its place counts times the accuracy of all.

    That accuracy is known where `count_runtimes` is called: not for "backlog".
    """
    prediction = predict_runtime(history, jobs, job)
    user = jobs.user[job]
    if (user < 0 or history.ended[user] < 2) and guard.state[ESTIMATES] > 0:
        prediction *= guard.state[RUNTIMES] / guard.state[ESTIMATES]
    return prediction


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
        if job >= cluster.state[c.NEXT_JOB]:
            if state[LAST_OUTAGE] == 0:
                state[FIRST_OUTAGE] = job
            state[FIRST_OUTAGE] = min(state[FIRST_OUTAGE], job)
            state[LAST_OUTAGE] = max(state[LAST_OUTAGE], job + 1)


@shared_kernel
def _correct(guard, history, cluster, jobs):
    """Let EASY run as far as its past is certain, and continue on the other machine from there."""
    state, certain, truth = guard.state, guard.certain, guard.certain_truth
    until = now(cluster)
    for job in running(certain):
        if job < cluster.state[c.NEXT_JOB]:  # not an outage
            guard.runtime[job] = _runtime(guard, history, cluster, jobs, job)
            if cluster.end[job] < 0:
                until = min(until, certain.start[job] + _time_run(cluster, job))
    ev.renew_ends(certain, truth)
    until = _run(guard, history, cluster, jobs, certain, truth, until, CERTAIN_WAIT)
    ev.copy_machine(guard.machine, guard.truth, certain, truth)
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
    if state[c.PASSES] == 0:
        state[c.FIRST_JOB] = state[c.NEXT_JOB] = state[c.LAST_JOB] = cluster.state[c.FIRST_JOB]
    while state[c.LAST_JOB] < cluster.state[c.NEXT_JOB]:
        _note_request(guard, jobs, state[c.LAST_JOB])
        state[c.LAST_JOB] += 1
    for outage in range(guard.state[FIRST_OUTAGE], guard.state[LAST_OUTAGE]):
        begin = cluster.start[outage]
        if machine.start[outage] == FOREVER and begin < until:
            state[c.HORIZON] = begin
            until = _run_jobs(guard, history, cluster, jobs, machine, truth, until, longest)
            if until <= begin:
                return until
            state[c.NOW] = begin
            _note_request(guard, jobs, outage)
            guard.runtime[outage] = jobs.estimate[outage]
            ev.begin_outage(machine, jobs, truth, outage)
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
    while ev.advance(machine, jobs, truth):
        decide_by_easy(machine, jobs, ())
        for job in started(machine):
            wait = now(machine) - jobs.submit[job]
            guard.state[longest] = max(guard.state[longest], wait)
            guard.runtime[job] = _runtime(guard, history, cluster, jobs, job)
            if longest == CERTAIN_WAIT and cluster.end[job] < 0:
                until = min(until, now(machine) + _time_run(cluster, job))
                machine.state[c.HORIZON] = min(machine.state[c.HORIZON], until)
    return until


@shared_kernel
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


@kernel
def update_age_guard(guard, history, cluster, jobs):
    """Return the limit (s) on the age of waiting jobs in this pass.

    Call it once per pass, after the history has learnt, and `note_starts` at the end of the pass.
    """
    limit = 0.0
    if guard.work is not None:
        limit = update_work(guard, history, cluster, jobs)
    if guard.machine is not None:
        follow_easy(guard, history, cluster, jobs)
        longest = max(FLOOR, guard.state[LONGEST_WAIT], guard.state[EXPECTED_WAIT])
        limit = guard.factor[0] * longest
    return limit


@kernel
def update_work(guard, history, cluster, jobs):
    """Do what `update_age_guard` does, for a guard by one of the backlogs.

    The work of the jobs that arrived is added; that of jobs that run, except on trial, is dropped.
    What has started in the last pass is looked at now, because starts may be undone after a pass.
    """
    for job in guard.begun[: guard.state[BEGUN]]:
        runs = 0 <= cluster.start[job] <= now(cluster)
        if runs and cluster.kill_time[job] - cluster.start[job] == jobs.estimate[job]:
            _drop_work(guard, job)
    guard.state[BEGUN] = 0
    for job in finished(cluster):
        _drop_work(guard, job)
    if guard.code[0] == SCALED_BACKLOG:
        count_runtimes(guard, cluster, jobs)
    first = new_from(cluster, guard.work, -1, guard.last_pass)
    for job in waiting(cluster)[first:]:
        if guard.work[job] < 0:
            guard.work[job] = jobs.size[job] * int(predict(guard, history, jobs, job))
            guard.state[WAITING_WORK] += guard.work[job]
    guard.state[LARGEST_WORK] = max(guard.state[LARGEST_WORK], guard.state[WAITING_WORK])
    backlog = guard.state[LARGEST_WORK] / cluster.state[c.PROCESSORS]
    return guard.factor[0] * (ALLOWANCE + backlog)


@kernel
def _drop_work(guard, job):
    guard.state[WAITING_WORK] -= max(guard.work[job], 0)
    guard.work[job] = 0


@kernel
def note_starts(guard, cluster):
    """Note the jobs started in this pass: they leave the backlog unless the start is undone."""
    if guard.work is not None:
        for job in started(cluster):
            guard.begun[guard.state[BEGUN]] = job
            guard.state[BEGUN] += 1
