"""The least cost of any non-preemptive schedule of a few jobs, by trying every order.

Some order gives the optimum when each job in turn gets the earliest start at which it fits
between the jobs placed before it: an optimal schedule whose jobs cannot start any earlier is what
its own order of starts gives.
"""

from itertools import permutations


def optimum(trace, metric, longest_wait=float("inf")):
    """Return the least mean cost of the trace's schedules, inf if none is within the limit."""
    jobs, runtime = trace.jobs, trace.runtime
    best = float("inf")
    for order in permutations(range(len(trace))):
        used, total = {}, 0.0
        for j in order:
            time = max(int(jobs.submit[j]), int(jobs.requested_start[j]))
            size, length = int(jobs.size[j]), int(runtime[j])
            while any(used.get(time + s, 0) + size > trace.processors for s in range(length)):
                time += 1
            for s in range(length):
                used[time + s] = used.get(time + s, 0) + size
            wait = time - int(jobs.submit[j])
            if wait > longest_wait:
                total = float("inf")
            elif metric == "mean_wait":
                total += wait
            else:
                total += max(1.0, (wait + length) / max(length, 10))
        best = min(best, total / len(trace))
    return best
