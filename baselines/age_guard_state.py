"""What an age guard has counted, and what it knows of runtimes.

`bfenv.baselines.age_guard` says what for.
"""

from typing import NamedTuple

import numpy as np

from bfenv.core.cluster import NEXT_JOB, Cluster, finished
from bfenv.core.events import Truth, allocate, reset
from bfenv.core.jobs import Jobs
from bfenv.core.kernel import kernel
from bfenv.knowledge.user_history import predict_runtime

NONE, BACKLOG, SCALED_BACKLOG, CORRECTED_EASY = range(4)
# What limits are multiples of
GUARDS = {
    "corrected_easy": CORRECTED_EASY,
    "backlog": BACKLOG,
    "scaled_backlog": SCALED_BACKLOG,
}
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
    CERTAIN_WAIT,
    CORRECTED_AT,
    FIRST_OUTAGE,
    LAST_OUTAGE,
) = range(12)


class AgeGuard(NamedTuple):
    """The limit, and what it is computed from."""

    code: np.ndarray  # (1,) int64: NONE or one of GUARDS
    factor: np.ndarray  # (1,) float64
    state: np.ndarray  # (12,) int64: processor-seconds that wait, the most so far; EASY's longest
    # wait so far and as expected, and when it was expected, in seconds; sums over ended jobs in
    # seconds; number of jobs in `begun`; EASY's longest wait in what is certain of its past, and
    # the next instant at which the rest is corrected, in seconds; the first outage that was seen,
    # and one past the last
    begun: np.ndarray  # (m,) int64 jobs started in the last pass
    last_pass: np.ndarray  # (1,) int64 in which work was added, see `new_from`
    work: np.ndarray  # (n,) int64 processor-seconds of a waiting job; -1 before it arrives
    runtime: np.ndarray  # (n,) int64 seconds, what `truth` and `certain_truth` read
    requests: np.ndarray  # (6, n) int64, the same of the jobs submitted so far
    machine: Cluster  # on which EASY runs
    truth: Truth
    certain: Cluster  # on which EASY runs as far as its past is certain
    certain_truth: Truth


def new_age_guard(
    jobs: Jobs, processors: int, scale: str = "corrected_easy", factor: float | None = None
) -> AgeGuard:
    """Make the guard of a run that has not begun; a factor of None is no guard."""
    code = NONE if factor is None else GUARDS[scale]
    follows = code == CORRECTED_EASY
    count = len(jobs.submit)
    runtime = np.ones(count if follows else 1, dtype=np.int64)
    requests = np.zeros((len(jobs), len(runtime)), dtype=np.int64)
    return AgeGuard(
        np.array([code]),
        np.array([factor or 0.0]),
        np.zeros(len(STATE), dtype=np.int64),
        np.empty(min(count, processors), dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.full(count if code in (BACKLOG, SCALED_BACKLOG) else 0, -1),
        runtime,
        requests,
        *_new_machine(requests, runtime, processors),
        *_new_machine(requests, runtime, processors),
    )


def _new_machine(
    requests: np.ndarray, runtime: np.ndarray, processors: int
) -> tuple[Cluster, Truth]:
    """Return a machine to which jobs are submitted that are known already."""
    most = min(len(runtime), 2 * processors)  # twice, because outages come without notice
    read_only = requests.view(), runtime.view()
    for values in read_only:
        values.flags.writeable = False
    machine, truth = allocate(*read_only, requests, most, most)
    reset(machine, truth, processors, 0, 0)
    return machine, truth


@kernel
def count_runtimes(guard, cluster, jobs):
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
def predict(guard, history, jobs, job):
    """Return the predicted runtime (s); an estimate in its place counts times the accuracy of all.

    That accuracy is known where `count_runtimes` is called: not for "backlog".
    """
    prediction = predict_runtime(history, jobs, job)
    user = jobs.user[job]
    if (user < 0 or history.ended[user] < 2) and guard.state[ESTIMATES] > 0:
        prediction *= guard.state[RUNTIMES] / guard.state[ESTIMATES]
    return prediction
