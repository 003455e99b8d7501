"""The age guard: jobs that have waited longer than a limit come first, the oldest first.

An order that looks at more than the time waited can starve jobs. The guard bounds that. Its limit
is a multiple of one of three things:

* "easy": the longest wait of EASY on the same jobs, so far or as expected, whichever is larger.
  EASY runs alongside on a machine of its own. There a job runs for its true runtime if it has ended
  in the real schedule by the time that EASY starts it, and else for its predicted runtime; for a
  user of whom fewer than two jobs have ended, that is the estimate times the accuracy of all. The
  expected waits are those of the jobs that wait there: each is taken to start when the jobs before
  it could have run on a machine that is never idle. They are computed again after PERIOD. At least
  FLOOR is counted.
* "backlog": one day plus the largest backlog so far. The backlog is the sum of size x predicted
  runtime over the waiting jobs, divided by the processors of the machine. A job on trial counts as
  waiting. It only grows.
* "scaled_backlog": the same, but where the estimate stands in for a prediction, it counts times the
  accuracy of all, as in "easy". Else a new user who submits many jobs loosens the limit for good.

Predictions are those of `bfenv.baselines.user_history`. Nothing here depends on the runtime of a
job that has not ended.
"""

from typing import NamedTuple

import numpy as np

from bfenv.baselines.easy import decide as decide_by_easy
from bfenv.baselines.following import new_from
from bfenv.baselines.user_history import predict_runtime
from bfenv.core.cluster import (
    FIRST_JOB,
    HORIZON,
    LAST_JOB,
    NEXT_JOB,
    NOW,
    PASSES,
    PROCESSORS,
    Cluster,
    finished,
    now,
    running,
    started,
    waiting,
)
from bfenv.core.durations import DAY, HOUR, MINUTE
from bfenv.core.events import Truth, advance, allocate, occupy, reset
from bfenv.core.jobs import FOREVER, Jobs
from bfenv.core.kernel import kernel

NONE, BACKLOG, SCALED_BACKLOG, EASY = range(4)
# What limits are multiples of
GUARDS = {"easy": EASY, "backlog": BACKLOG, "scaled_backlog": SCALED_BACKLOG}
ALLOWANCE = DAY  # added to the backlog
PERIOD = 10 * MINUTE
FLOOR = 6 * HOUR  # the least longest wait that counts
# Indices into AgeGuard.state
STATE = (
    WAITING_WORK,
    LARGEST_WORK,
    LONGEST_WAIT,
    EXPECTED_WAIT,
    EXPECTED_AT,
    RUNTIMES,
    ESTIMATES,
    BEGUN,
) = range(8)


class AgeGuard(NamedTuple):
    """The limit, and what it is computed from."""

    code: np.ndarray  # (1,) int64: NONE or one of GUARDS
    factor: np.ndarray  # (1,) float64
    state: np.ndarray  # (8,) int64: processor-seconds that wait, the most so far; EASY's longest
    # wait so far and as expected, and when it was expected, in seconds; sums over ended jobs in
    # seconds; number of jobs in `begun`
    begun: np.ndarray  # (m,) int64 jobs started in the last pass
    last_pass: np.ndarray  # (1,) int64 in which work was added, see `new_from`
    work: np.ndarray  # (n,) int64 processor-seconds of a waiting job; -1 before it arrives
    runtime: np.ndarray  # (n,) int64 seconds, what `truth` reads
    machine: Cluster  # on which EASY runs
    truth: Truth


def new_age_guard(
    jobs: Jobs, processors: int, scale: str = "easy", factor: float | None = None
) -> AgeGuard:
    """Make the guard of a run that has not begun; a factor of None is no guard."""
    code = NONE if factor is None else GUARDS[scale]
    runtime = (jobs.estimate if code == EASY else np.ones(1, dtype=np.int64)).copy()
    read_only = runtime.view()
    read_only.flags.writeable = False
    most = min(len(runtime), 2 * processors)  # twice, because outages come without notice
    machine, truth = allocate(read_only, most, most)
    reset(machine, truth, processors, 0, len(runtime))
    return AgeGuard(
        code=np.array([code]),
        factor=np.array([factor or 0.0]),
        state=np.zeros(len(STATE), dtype=np.int64),
        begun=np.empty(min(len(jobs.submit), processors), dtype=np.int64),
        last_pass=np.zeros(1, dtype=np.int64),
        work=np.full(len(jobs.submit) if code in (BACKLOG, SCALED_BACKLOG) else 0, -1),
        runtime=runtime,
        machine=machine,
        truth=truth,
    )


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
    if guard.code[0] == EASY:
        _follow_easy(guard, history, cluster, jobs)
        return guard.factor[0] * max(FLOOR, guard.state[LONGEST_WAIT], guard.state[EXPECTED_WAIT])
    return np.inf


@kernel
def update_work(guard, history, cluster, jobs):
    """Do what `update_age_guard` does, for a guard by one of the backlogs."""
    _count_work(guard, history, cluster, jobs)
    return limit_by_backlog(
        guard.factor[0], ALLOWANCE, guard.state[LARGEST_WORK], cluster.state[PROCESSORS]
    )


@kernel
def _counts_work(guard):
    return guard.code[0] == BACKLOG or guard.code[0] == SCALED_BACKLOG


@kernel
def _count_work(guard, history, cluster, jobs):
    """Add the work of the jobs that arrived; drop that of jobs that run, but for those on trial.

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
        _count_runtimes(guard, cluster, jobs)
    first = new_from(cluster, guard.work, -1, guard.last_pass)
    for job in waiting(cluster)[first:]:
        if guard.work[job] < 0:
            guard.work[job] = jobs.size[job] * int(_prediction(guard, history, jobs, job))
            guard.state[WAITING_WORK] += guard.work[job]
    guard.state[LARGEST_WORK] = max(guard.state[LARGEST_WORK], guard.state[WAITING_WORK])


@kernel
def _drop_work(guard, job):
    guard.state[WAITING_WORK] -= max(guard.work[job], 0)
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
    guard.begun[guard.state[BEGUN]] = job
    guard.state[BEGUN] += 1


@kernel
def _count_runtimes(guard, cluster, jobs):
    """Add the jobs that ended to what the accuracy of all is computed from."""
    for job in finished(cluster):
        if job < cluster.state[NEXT_JOB]:  # not an outage
            count_runtime(guard, cluster, jobs, job)


@kernel
def count_runtime(guard, cluster, jobs, job):
    """Add a job that has ended to what the accuracy of all is computed from."""
    guard.state[RUNTIMES] += cluster.end[job] - cluster.start[job]
    guard.state[ESTIMATES] += jobs.estimate[job]


@kernel
def _follow_easy(guard, history, cluster, jobs):
    """Let EASY run on its own machine up to now; note its longest wait."""
    machine = guard.machine
    _count_runtimes(guard, cluster, jobs)
    if machine.state[PASSES] == 0:
        machine.state[FIRST_JOB] = machine.state[NEXT_JOB] = cluster.state[FIRST_JOB]
    machine.state[LAST_JOB] = cluster.state[NEXT_JOB]
    longest = guard.state[LONGEST_WAIT]
    for outage in running(cluster):
        if outage >= cluster.state[NEXT_JOB] and machine.start[outage] == FOREVER:
            machine.state[HORIZON] = cluster.start[outage]
            longest = _run_easy(guard, history, cluster, jobs, longest)
            machine.state[NOW] = cluster.start[outage]
            occupy(machine, jobs, guard.truth, outage)
    machine.state[HORIZON] = now(cluster) + 1
    longest = _run_easy(guard, history, cluster, jobs, longest)
    if len(waiting(machine)) > 0:  # the others came later
        longest = max(longest, now(cluster) - jobs.submit[waiting(machine)[0]])
    guard.state[LONGEST_WAIT] = longest
    if now(cluster) >= guard.state[EXPECTED_AT] + PERIOD:
        guard.state[EXPECTED_AT] = now(cluster)
        guard.state[EXPECTED_WAIT] = _expected_wait(guard, history, cluster, jobs)


@kernel
def _run_easy(guard, history, cluster, jobs, longest):
    """Run EASY up to the horizon of its machine; return the longest wait (s) so far."""
    machine = guard.machine
    while advance(machine, jobs, guard.truth):
        decide_by_easy(machine, jobs, ())
        for job in started(machine):
            longest = max(longest, now(machine) - jobs.submit[job])
            guard.runtime[job] = max(1, _runtime(guard, history, cluster, jobs, job))
    return longest


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
        work += jobs.size[job] * max(1, _runtime(guard, history, cluster, jobs, job))
    return longest


@kernel
def _runtime(guard, history, cluster, jobs, job):
    """Return the runtime (s) of a job that EASY starts: the true one if it is known."""
    if cluster.end[job] >= 0:
        return cluster.end[job] - cluster.start[job]
    return int(_prediction(guard, history, jobs, job))


@kernel
def _prediction(guard, history, jobs, job):
    """Return the predicted runtime (s); an estimate in its place counts times the accuracy of all.

    That accuracy is known where `_count_runtimes` is called: not for "backlog".
    """
    prediction = predict_runtime(history, jobs, job)
    user = jobs.user[job]
    if (user < 0 or history.ended[user] < 2) and guard.state[ESTIMATES] > 0:
        prediction *= guard.state[RUNTIMES] / guard.state[ESTIMATES]
    return prediction
