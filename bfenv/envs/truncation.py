"""What a truncated episode is charged for the jobs that it has not started."""

import numpy as np

import bfenv.envs.batch_state as at
from bfenv.core.cluster import PROCESSORS, expected_ends, now, running, waiting
from bfenv.core.jobs import Jobs, Trace
from bfenv.core.schedule import bounded_slowdown
from bfenv.envs.batch_state import BatchState, StepTotals, TraceTables, cluster_of


def charge_unstarted(
    state: BatchState,
    tables: TraceTables,
    trace: Trace,
    i: int,
    totals: StepTotals,
    row: np.ndarray,
) -> None:
    """Charge environment i for the jobs of its episode that have not started or are on trial.

    Each is charged as if it started at max(now, its submit time, its requested start time) +
    2 W / P + E. W is the work, by estimates, of all running and waiting jobs and of the episode's
    jobs to come; P is the size of the machine, E the longest estimate among them. To this
    come, for each outage that begins less than E after that, its length and E: the machine may
    stand idle for so long because of it. A scheduler that never leaves a job waiting that may start
    would have started it by then, if no other jobs came, so truncation never pays.

    `totals` belong to the step that was truncated; `row`, the same as an array in the order of
    StepTotals, is overwritten.
    """
    cluster, jobs = cluster_of(state, i), Jobs(*tables.requests[state.counters[i, at.TRACE]])
    first, last = state.counters[i, [at.FIRST, at.LAST]].tolist()
    time, processors = int(now(cluster)), int(cluster.state[PROCESSORS])
    start, end = cluster.start[first:last], cluster.end[first:last]
    on_trial = (cluster.trial_start[first:last] >= 0) & (cluster.trial_end[first:last] < 0)
    on_trial &= (start >= 0) & (start <= time) & (end < 0)
    unstarted = first + np.flatnonzero((start < 0) | (start > time) | on_trial)  # FOREVER: not yet
    settled = state.sums[i, at.WAIT] - (start - jobs.submit[first:last])[on_trial].sum()
    present = np.union1d(waiting(cluster), unstarted)
    remaining = expected_ends(cluster) - time
    work = float(jobs.size[running(cluster)] @ remaining)
    work += float(jobs.size[present].astype(np.float64) @ jobs.estimate[present])
    longest = max(int(jobs.estimate[present].max()), int(remaining.max(initial=0)))
    earliest = np.maximum(jobs.submit[unstarted], jobs.requested_start[unstarted]).clip(time)
    latest = earliest + 2 * work / processors + longest
    for begin, end, _ in sorted(trace.outages):
        met = (time < begin) & (begin - longest < latest) & (earliest < end)
        latest += np.where(met, end - begin + longest, 0)
    wait = latest - jobs.submit[unstarted]
    slowdown = bounded_slowdown(wait, trace.runtime[unstarted])
    charged = totals._replace(
        wait=settled + wait.sum(),
        slowdown=state.sums[i, at.BOUNDED_SLOWDOWN] + slowdown.sum(),
        longest=max(float(state.sums[i, at.LONGEST_WAIT]), float(wait.max())),
        submitted=float(last - first),
    )
    row[:] = charged
