"""Policies of `tests.oracles.machine` around outages, from the definition alone.

There is a pass whenever something happens: a job comes or ends, an outage begins or ends.

A job may start if, by estimates, it leaves every second of every outage its processors.

`legal` is the same for an agent that starts one job after the other.
"""

from tests.oracles import machine


def around(jobs, processors, outages, policy):
    """Return the starts of `jobs` under a policy that sees what no outage hides.

    To the policy, an outage in force is a running job, whose number is behind those of `jobs`.
    """
    outages, count = sorted(outages), len(jobs)
    down = [machine.Job(begin, size, end - begin, end - begin) for begin, end, size in outages]
    state = machine.Machine([*jobs, *down], processors)
    state.to_come = list(range(count))
    while state.to_come or state.waiting or any(job < count for job in state.running):
        times = [state.jobs[job].submit for job in state.to_come[:1]]
        times += [state.end_time(job) for job in state.running]
        times += [begin for begin, _, _ in outages if begin > state.now]
        state.now = min(time for time in times if time > state.now)
        for job in state.ending():
            state.running.remove(job)
        for job in state.arriving():
            state.arrive(job)
        for job, (begin, _, _) in enumerate(outages, count):
            if begin == state.now:
                state.start_time[job] = begin
                state.running.append(job)
        _schedule_around(state, [one for one in outages if one[0] > state.now], policy)
    return [state.start_time[job] for job in range(count)]


def _schedule_around(state, coming, policy):
    """Make a pass of a policy, again and again, until no job is started that is too many."""
    queue, runs, now = list(state.waiting), list(state.running), state.now
    held = [(end, size) for _, end, size in state.expected()]

    def overfull(jobs):
        more = [(now + state.jobs[job].estimate, state.jobs[job].size) for job in jobs]
        return _overfull(state.processors, coming, held + more, now)

    hidden = {job for job in queue if overfull([job])}
    chosen, bad = [], 0
    while bad is not None:
        for job in chosen:
            del state.start_time[job]
        state.running = list(runs)
        state.waiting = [job for job in queue if job not in hidden]
        policy.schedule(state)
        chosen = state.running[len(runs) :]
        bad = next((k for k in range(len(chosen)) if overfull(chosen[: k + 1])), None)
        if bad is not None:
            hidden.add(chosen[bad])
    state.waiting = [job for job in queue if job not in chosen]


def _overfull(processors, coming, runs, now):
    """Whether what runs, tuples (end by estimate, size), leaves too little for outages to come."""
    last = max((end for _, end, _ in coming), default=now)
    for second in range(now, last):
        out = sum(size for begin, end, size in coming if begin <= second < end)
        used = sum(size for end, size in runs if end > second)
        if out and out + used > processors:
            return True
    return False


def legal(trace, outages, held, queue, chosen, now, depth):
    """Return the jobs that may start at `now`, and of these the ones with a reservation.

    `held` are tuples (end by estimate, size) of what runs when the pass begins, with the outages in
    force; `queue` the jobs that wait then; `chosen` those that have started since. The first
    `depth` jobs (-1: all) have reservations.
    """
    jobs, processors = trace.jobs, trace.processors
    coming = [outage for outage in outages if outage[0] > now]

    def run(j):
        return now + int(jobs.estimate[j]), int(jobs.size[j])

    def fits(j, runs):
        free = processors - sum(size for _, size in runs)
        return jobs.size[j] <= free and jobs.requested_start[j] <= now

    def crowds(j, runs):
        return _overfull(processors, coming, [*runs, run(j)], now)

    hidden, runs = {j for j in queue if crowds(j, held)}, list(held)
    for step in range(len(chosen) + 1):
        for j in queue:
            if j in chosen[:step]:  # no longer waits
                continue
            if depth == 0 or (j not in hidden and not (fits(j, runs) and crowds(j, runs))):
                break
            hidden.add(j)
        if step < len(chosen):
            runs.append(run(chosen[step]))
    visible = [j for j in queue if j not in hidden and j not in chosen]
    intervals, beside, reserved, others = [(-1, *one) for one in runs], list(runs), set(), []
    left = len(visible) if depth == -1 else depth
    for j in visible:
        if left == 0:
            others.append(j)
            continue
        job = machine.Job(
            0, int(jobs.size[j]), int(jobs.estimate[j]), 1, 0, int(jobs.requested_start[j])
        )
        start = machine.anchor_point(intervals, processors, job, now)
        if start == now and crowds(j, beside):
            continue
        left -= 1
        intervals.append((start, start + job.estimate, job.size))
        if start == now:
            reserved.add(j)
            beside.append(run(j))
    may_start = set(reserved)
    for j in others:
        room = machine.has_room(
            intervals, processors, int(jobs.size[j]), now, int(jobs.estimate[j])
        )
        if room and fits(j, runs) and not crowds(j, beside):
            may_start.add(j)
    return may_start, reserved
