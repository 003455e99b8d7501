"""RLScheduler's simulator again, slowly: one list of events, one clock, nothing kept sorted.

From the description of Zhang et al. 2020 and what their program does at cd433e3, in our words.
"""

import math


def schedule(jobs, processors, order, backfills):
    """Return the start of each job.

    `jobs` has (submit, size, requested time, runtime), by submit time; a runtime may exceed the
    request.
    """
    submit, size, requested, runtime = zip(*jobs, strict=True)

    def score(job):
        """Return the job's place in the order: the least score comes first."""
        s, n, e = submit[job], size[job], requested[job]
        w = -1 - s
        return {
            "fcfs": lambda: s,
            "sjf": lambda: e,
            "sqf": lambda: n,
            "wfp3": lambda: -((w / e) ** 3) * n,
            "unicef": lambda: -w / (max(math.log2(n), 1e-20) * e),
            "f1": lambda: math.log10(e) * n + 870 * math.log10(max(s, 1)),
        }[order]()

    start, queue, running, arrived = {}, [], [], 0

    def room():
        return processors - sum(size[job] for job in running)

    def begin(job, now):
        start[job] = now
        queue.remove(job)
        running.append(job)

    def next_event(now):
        """Let a job arrive or end, whichever is first; return the new time."""
        nonlocal arrived
        ends = [start[job] + runtime[job] for job in running]
        if arrived < len(jobs) and (not ends or submit[arrived] <= min(ends)):
            queue.append(arrived)
            arrived += 1
            return max(now, submit[arrived - 1])
        job = running.pop(ends.index(min(ends)))  # the first of those that end together
        return max(now, start[job] + runtime[job])

    now = next_event(0)
    while True:
        chosen = min(queue, key=lambda job: (score(job), job))
        if size[chosen] > room():
            running.sort(key=lambda job: start[job] + requested[job])
            free = room()
            for job in running:
                free += size[job]
                earliest = start[job] + requested[job]
                if free >= size[chosen]:
                    break
            while True:
                for job in sorted(queue) if backfills else ():
                    if size[job] <= room() and now + requested[job] < earliest:
                        begin(job, now)
                now = next_event(now)
                if size[chosen] <= room():
                    break
        begin(chosen, now)
        while not queue:
            if arrived == len(jobs):
                return [start[job] for job in range(len(jobs))]
            now = next_event(now)
