"""Slurm's scheduler from its rules, in plain Python: dicts and sets, nothing kept between cycles.

Nodes are numbered from 0 and may have several processors. A job that runs is a dict of how many it
holds on which node. Every cycle looks at all jobs up to the limits of the settings, to its end.
"""

from dataclasses import dataclass, field
from itertools import pairwise


@dataclass(frozen=True)
class Settings:
    interval: int = 30  # seconds between cycles
    resolution: int = 60  # seconds
    window: int = 1440 * 60  # seconds
    max_job_test: int = 500
    max_job_start: int = 0  # 0: no limit
    jobs_reserved: int = 0  # 0: no limit
    queue_depth: int = 100
    sched_interval: int = 60  # seconds
    every_cycle: bool = True  # also those before which nothing has changed


@dataclass
class State:
    """What runs: (end by its limit, nodes) by job; and what is free of each node."""

    now: int
    free: dict
    running: dict = field(default_factory=dict)


def simulate(jobs, sizes, settings):
    """The starts of jobs (submit, size, limit, runtime, requested start), on nodes of these sizes.

    The order of the queue is that of the jobs.
    """
    state = State(0, dict(enumerate(sizes)))
    starts, ends = {}, {}
    last_cycle = full_due = None
    waited, wakes = False, set()
    events = {job[0] for job in jobs} | {job[4] for job in jobs if job[4] > job[0]}
    while True:
        wakes = {time for time in wakes if time > state.now}
        coming = [t for t in events | set(ends.values()) if t > state.now or last_cycle is None]
        coming += wakes
        if not coming:
            return [starts[job] for job in range(len(jobs))]
        state.now = now = min(coming)
        for job in [job for job, end in ends.items() if end == now]:
            _, held = state.running.pop(job)
            del ends[job]
            for node, size in held.items():
                state.free[node] += size
        queue = [j for j, job in enumerate(jobs) if job[0] <= now and j not in starts]
        if last_cycle is None:
            due = True
        elif waited:  # cycles went on at whole intervals
            last_cycle += (now - last_cycle) // settings.interval * settings.interval
            due = last_cycle == now
        else:
            due = now >= last_cycle + settings.interval
        if due:
            last_cycle = now
        begun = {}
        eligible = [j for j in queue if jobs[j][4] <= now]
        if sum(state.free.values()) > 0:
            full = full_due is not None and now >= full_due
            depth = len(jobs) if full else settings.queue_depth + 1
            full_due = None if full else full_due
            cut = main_scheduler(state, jobs, eligible, depth, begun)
            if cut:
                full_due = min(full_due or now + 10**9, now + settings.sched_interval)
                wakes.add(full_due)
        if due:
            backfill(state, jobs, [j for j in eligible if j not in begun], settings, begun)
        for job in begun:
            starts[job] = now
            ends[job] = now + jobs[job][3]
        waited = len(begun) < len(queue)
        if waited and (settings.every_cycle or begun or not due):
            wakes = {time for time in wakes if full_due == time} | {last_cycle + settings.interval}


def main_scheduler(state, jobs, queue, depth, begun):
    """Start jobs in order until one does not fit; tell whether `depth` cut that short."""
    for place, job in enumerate(queue):
        if place == depth:
            return True
        held = best_fit(state.free, set(state.free), jobs[job][1])
        if held is None:
            return False
        _start(state, jobs, job, held, begun)
    return False


def backfill(state, jobs, queue, settings, begun):
    """One cycle: a map of time, in which each job takes its place in turn."""
    now, everything = state.now, set(state.free)
    pieces = [(now, now + settings.window, everything)]
    reserved = started = 0
    for job in queue[: settings.max_job_test]:
        may_reserve = settings.jobs_reserved == 0 or reserved < settings.jobs_reserved
        begin, held = first_place(state, pieces, jobs[job][1], jobs[job][2], settings)
        if begin == now:
            _start(state, jobs, job, held, begun)
            started += 1
            if started == settings.max_job_start:
                return
        elif begin is not None and begin <= now + settings.window and may_reserve:
            unit = settings.resolution
            end = (begin + jobs[job][2]) // unit * unit
            pieces = reserve(pieces, begin // unit * unit, end, set(held))
            reserved += 1


def first_place(state, pieces, size, limit, settings):
    """When and where a job could start: not before its nodes are open in the map and not in use.

    (None, None) if never.
    """
    begin = state.now
    while True:
        within = [p for p in pieces if p[1] > begin and p[0] <= begin + limit]
        nodes = set(state.free).intersection(*(p[2] for p in within))
        later = min((p[1] for p in pieces[:-1] if p[1] > begin), default=None)
        time, held = first_time(state, nodes, size)
        if time is not None:
            time = max(time, begin)
            if time == state.now:
                return time, held
            if later is None or time <= later:
                unit = settings.resolution
                first, end = time // unit * unit, (time + limit) // unit * unit
                beyond = time > state.now + settings.window
                if beyond or all(set(held) <= p[2] for p in pieces if p[0] < end and p[1] > first):
                    return time, held
                if time > begin:
                    begin = time
                    continue
        if later is None:
            return None, None
        begin = later


def first_time(state, nodes, size):
    """When running jobs leave enough of these nodes, and what to take: ends count in groups."""
    held = best_fit(state.free, nodes, size)
    if held is not None:
        return state.now, held
    free, span = dict(state.free), 30
    ends = sorted(state.running.items(), key=lambda item: item[1][0])
    ends = [(end, on, on.keys() & nodes) for _, (end, on) in ends]
    while any(here for _, _, here in ends):
        group_begin = next(end for end, _, here in ends if here)
        group_end = None
        while ends and (group_end is None or ends[0][0] <= group_begin + span):
            end, on, here = ends.pop(0)
            if here:
                group_end = end
                for node, held_on in on.items():
                    free[node] += held_on
        span *= 2
        held = best_fit(free, nodes, size)
        if held is not None:
            return group_end, held
    return None, None


def best_fit(free, nodes, size):
    """How much to take of which nodes: runs of consecutive numbers, the best first; or None."""
    usable = {node: free[node] for node in nodes if free[node] > 0}
    if sum(usable.values()) < size:
        return None
    runs = []
    for node in sorted(usable):
        if runs and runs[-1][-1] == node - 1:
            runs[-1].append(node)
        else:
            runs.append([node])
    held = {}
    while size > 0:
        room = [sum(usable[node] for node in run) for run in runs]
        enough = [r for r in room if r >= size]
        run = runs.pop(room.index(min(enough) if enough else max(room)))
        for node in run:
            if size > 0:
                held[node] = min(size, usable[node])
                size -= held[node]
    return held


def reserve(pieces, begin, end, nodes):
    """The pieces of the map without these nodes from `begin` to `end`; equal neighbours joined."""
    cut = []
    for first, last, open_nodes in pieces:
        times = sorted({first, last} | {t for t in (begin, end) if first < t < last})
        for a, b in pairwise(times):
            cut.append((a, b, open_nodes - nodes if begin <= a < end else open_nodes))
    joined = []
    for first, last, open_nodes in cut:
        if joined and joined[-1][2] == open_nodes:
            joined[-1] = (joined[-1][0], last, open_nodes)
        else:
            joined.append((first, last, open_nodes))
    return joined


def _start(state, jobs, job, held, begun):
    for node, size in held.items():
        state.free[node] -= size
    state.running[job] = (state.now + jobs[job][2], held)
    begun[job] = held
