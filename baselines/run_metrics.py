"""METRICS of a run, computed by a kernel from the machine that made it."""

from bfenv.core.kernel import kernel
from bfenv.core.schedule import bounded_slowdown

METRICS = ("mean_bounded_slowdown", "mean_wait", "max_wait", "utilization", "makespan")


@kernel
def measure(cluster, jobs, runtime, first, last, processors, result):
    """Write the METRICS of the jobs first .. last - 1 of a run to `result`.

    Sums are in trace order. Times are in seconds; utilization and makespan are from the first
    submit time to the last end of these jobs.
    """
    slowdowns, busy, waits, longest, end = 0.0, 0.0, 0, 0, 0
    for job in range(first, last):
        waited = cluster.start[job] - jobs.submit[job]
        slowdowns += bounded_slowdown(waited, runtime[job])
        held = runtime[job]
        if cluster.trial_end[job] >= 0:
            held += cluster.trial_end[job] - cluster.trial_start[job]
        busy += float(jobs.size[job]) * held
        waits += waited
        longest = max(longest, waited)
        end = max(end, cluster.end[job])
    makespan = end - jobs.submit[first]
    result[0] = slowdowns / (last - first)
    result[1] = waits / (last - first)
    result[2] = longest
    result[3] = busy / (processors * makespan)
    result[4] = makespan
