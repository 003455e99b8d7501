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
  of these jobs on, see `bfenv.baselines.easy_alongside`.
* "backlog": one day plus the largest backlog so far. The backlog is the sum of size x predicted
  runtime over the waiting jobs, divided by the processors of the machine. A job on trial counts as
  waiting. It only grows.
* "scaled_backlog": the same, but where the estimate stands in for a prediction, it counts times the
  accuracy of all, too. Else a new user who submits many jobs loosens the limit for good.

Predictions come from `bfenv.knowledge.user_history`. Nothing here depends on the runtime of a
job that has not ended.
"""

import numpy as np

from bfenv.baselines.age_guard_state import (
    BACKLOG,
    BEGUN,
    CORRECTED_EASY,
    EXPECTED_WAIT,
    LARGEST_WORK,
    LONGEST_WAIT,
    SCALED_BACKLOG,
    WAITING_WORK,
    count_runtimes,
    predict,
)
from bfenv.baselines.easy_alongside import follow_easy
from bfenv.core.cluster import PROCESSORS, finished, now, started, waiting
from bfenv.core.durations import DAY, HOUR
from bfenv.core.kernel import kernel
from bfenv.knowledge.following import new_from

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
    if guard.code[0] == CORRECTED_EASY:
        follow_easy(guard, history, cluster, jobs)
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
    """Add the work of the jobs that arrived; drop the work of jobs that run, except on trial.

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
