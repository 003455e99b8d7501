"""Slurm's scheduler from its rules, in plain Python: dicts and sets, nothing kept between cycles.

Nodes are numbered from 0 and may have several processors. A job that runs is a dict of how many it
holds on which node. Every cycle looks at all jobs up to the limits of the settings, to its end.
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction
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
    whole: bool = False  # no two jobs share a node
    builtin: bool = False  # no backfill
    partitions: tuple = ()  # (tier, nodes), each; none for one of all nodes
    period: int = 0  # seconds between two calculations of priorities; 0 for the order of the jobs
    priority: object = None  # the priority of a job by its number, the State and when it was made
    records: int = 500  # of the table that holds the map of time


@dataclass
class Job:
    submit: int
    size: int
    limit: int
    runtime: int
    eligible: int
    partition: int = 0
    user: object = None


@dataclass
class State:
    """What runs: (end by its limit, nodes) by job; and what is free of each node."""

    now: int
    sizes: dict
    free: dict
    settings: Settings
    jobs: list
    running: dict = field(default_factory=dict)
    starts: dict = field(default_factory=dict)
    ends: dict = field(default_factory=dict)

    def any_free(self):
        """Whether running jobs asked for fewer processors than there are; they may hold all."""
        return sum(self.jobs[job].size for job in self.running) < sum(self.sizes.values())

    def nodes_of(self, job):
        """The nodes of a job's partition."""
        partitions = self.settings.partitions
        return set(partitions[self.jobs[job].partition][1] if partitions else self.free)


def simulate(jobs, sizes, settings):
    """The starts of jobs, by number, on nodes of these sizes."""
    jobs = [Job(*job) for job in jobs]
    sizes = dict(enumerate(sizes))
    state = State(0, sizes, dict(sizes), settings, jobs)
    starts, ends = state.starts, {}
    last_cycle = full_due = tick = shares = None
    waited, wakes = False, set()
    events = {time for job in jobs for time in (job.submit, max(job.eligible, job.submit))}
    while True:
        coming = [t for t in events | set(ends.values()) if t > state.now or shares is None]
        coming += wakes
        if not coming:
            return [starts[job] for job in range(len(jobs))]
        state.now = now = min(coming)
        wakes = set()  # each pass asks again
        for job in [job for job, end in ends.items() if end == now]:
            _, held = state.running.pop(job)
            state.ends[job] = ends.pop(job)
            for node, size in held.items():
                state.free[node] += size
        queue = [j for j, job in enumerate(jobs) if job.submit <= now and j not in starts]
        if last_cycle is None:
            due = True
        elif waited:  # cycles went on at whole intervals
            last_cycle += (now - last_cycle) // settings.interval * settings.interval
            due = last_cycle == now
        else:
            due = now >= last_cycle + settings.interval
        if due:
            last_cycle = now
        due = due and not settings.builtin
        if settings.period and now // settings.period * settings.period != tick:
            tick = now // settings.period * settings.period
            shares = settings.priority.shares(state, tick)
        shares = shares or {}
        begun = {}
        eligible = [j for j in queue if jobs[j].eligible <= now]
        eligible.sort(key=lambda j: place_of(state, j, tick, shares))
        if state.any_free():
            full = full_due is not None and now >= full_due
            depth = len(jobs) if full else settings.queue_depth + 1
            full_due = None if full else full_due
            cut = main_scheduler(state, eligible, depth, begun)
            if cut:
                full_due = min(full_due or now + 10**9, now + settings.sched_interval)
                wakes.add(full_due)
        if due:
            backfill(state, [j for j in eligible if j not in begun], settings, begun)
        for job in begun:
            starts[job] = now
            ends[job] = now + jobs[job].runtime
        waited = len(begun) < len(queue)
        if waited and not settings.builtin and (settings.every_cycle or begun or not due):
            wakes |= {last_cycle + settings.interval}
        elif waited and settings.period and state.any_free():
            later = tick + settings.period
            if not settings.builtin:
                later += (last_cycle - later) % settings.interval
            wakes |= {later}


def place_of(state, job, tick, shares):
    """The key by which the queue is sorted."""
    partitions, settings = state.settings.partitions, state.settings
    tier = partitions[state.jobs[job].partition][0] if partitions else 1
    priority = settings.priority.of(state, job, tick, shares) if settings.period else -job
    return -tier, -priority, job


def main_scheduler(state, queue, depth, begun):
    """Start jobs in order; tell whether `depth` cut that short.

    A job that does not fit blocks its partition and the partition's nodes.
    """
    left, blocked = set(state.free), set()
    for place, job in enumerate(queue):
        if place == depth:
            return True
        part = state.jobs[job].partition
        if part in blocked:
            continue
        held = best_fit(state, state.free, left & state.nodes_of(job), state.jobs[job].size)
        if held is None:
            blocked.add(part)
            left -= state.nodes_of(job)
            if len(blocked) == max(1, len(state.settings.partitions)):
                return False
        else:
            _start(state, job, held, begun)
    return False


def backfill(state, queue, settings, begun):
    """One cycle: a map of time, in which each job takes its place in turn."""
    now, everything = state.now, set(state.free)
    pieces = [(now, now + settings.window, everything)]
    reserved, started, tests, records = {}, 0, 0, 1
    for job in queue:
        if tests == settings.max_job_test:
            return
        part, limit, unit = state.jobs[job].partition, state.jobs[job].limit, settings.resolution
        so_far = reserved.get(part, 0)
        may_reserve = settings.jobs_reserved == 0 or so_far < settings.jobs_reserved
        begin, held, is_tested = first_place(state, pieces, job, settings, may_reserve)
        tests += is_tested
        if begin == now:
            _start(state, job, held, begun)
            started += 1
            if started == settings.max_job_start:
                return
        elif begin is not None and begin <= now + settings.window and may_reserve:
            if records >= settings.records:
                return
            first = max(begin // unit * unit, now)
            end = max((begin + limit) // unit * unit, first + unit)
            bounds = {time for piece in pieces for time in piece[:2]} - {now}
            records += len({first, end} - bounds)
            records -= end > now + settings.window
            pieces = reserve(pieces, first, end, set(held))
            reserved[part] = so_far + 1


def first_place(state, pieces, job, settings, may_reserve):
    """When and where a job could start, and whether the map ever left it enough nodes.

    It does not start before its nodes are open in the map and not in use. (None, None) if never.
    """
    begin, size, limit = state.now, state.jobs[job].size, state.jobs[job].limit
    is_tested = False
    while True:
        within = [p for p in pieces if p[1] > begin and p[0] <= begin + limit]
        nodes = state.nodes_of(job).intersection(*(p[2] for p in within))
        later = next_try(state, pieces, job, begin) if may_reserve else None
        if sum(state.sizes[node] for node in nodes) >= size:
            is_tested = True
            time, held = first_time(state, nodes, size)
            if time is not None:
                time = max(time, begin)
                if later is None or time <= later:
                    unit = settings.resolution
                    first, end = time // unit * unit, (time + limit) // unit * unit
                    is_open = all(set(held) <= p[2] for p in pieces if p[0] < end and p[1] > first)
                    if time == state.now or time > state.now + settings.window or is_open:
                        return time, held, is_tested
                    if time > begin:
                        begin = time
                        continue
                elif time == state.now:
                    return time, held, is_tested
        if later is None or later >= pieces[-1][1]:
            return None, None, is_tested
        begin = later


def next_try(state, pieces, job, begin):
    """The end of a piece behind which a node is open that was not open from `begin` to there."""
    limit, open_so_far = state.jobs[job].limit, state.nodes_of(job)
    for (first, end, nodes), (_, _, following) in pairwise(pieces):
        if end <= begin:
            continue
        open_so_far = open_so_far & nodes
        if not following & state.nodes_of(job) <= open_so_far:
            return end
        if first > begin + limit:
            return None
    return None


def first_time(state, nodes, size):
    """When running jobs leave enough of these nodes, and what to take: ends count in groups."""
    held = best_fit(state, state.free, nodes, size)
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
        held = best_fit(state, free, nodes, size)
        if held is not None:
            return group_end, held
    return None, None


def best_fit(state, free, nodes, size):
    """How much to take of which nodes: runs of consecutive numbers, the best first; or None."""
    whole = state.settings.whole
    usable = {
        node: free[node]
        for node in nodes
        if free[node] == state.sizes[node] or (free[node] > 0 and not whole)
    }
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
                held[node] = usable[node] if whole else min(size, usable[node])
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


def _start(state, job, held, begun):
    for node, size in held.items():
        state.free[node] -= size
    state.running[job] = (state.now + state.jobs[job].limit, held)
    begun[job] = held


@dataclass(frozen=True)
class Multifactor:
    """Priorities as sums of weighted factors; the shares of the fair tree are equal."""

    weights: tuple  # of age, fair share, size and partition
    factors: tuple  # of the partitions
    processors: int
    max_age: int  # seconds
    favor_small: bool = False
    by_time: bool = False

    def of(self, state, number, tick, shares):
        """The priority of a job, calculated at `tick`."""
        job = state.jobs[number]
        age = max(tick - max(job.submit, job.eligible), 0) / self.max_age
        size = job.size / self.processors
        if self.by_time:
            size /= max(job.limit // 60, 1)
        if self.favor_small:
            size = 1 - size
        for_age, for_share, for_size, for_partition = self.weights
        total = for_age * min(age, 1) + for_size * size
        total += for_partition * (self.factors[job.partition] / max(*self.factors, 1))
        return max(int(total + for_share * shares.get(job.user, 1.0)), 1)

    def shares(self, state, tick):
        """The fair-share factor of each user (account, name) who has submitted a job."""
        used = {}
        for number, job in enumerate(state.jobs):
            if job.submit <= state.now:
                begin = state.starts.get(number, tick)
                end = state.ends.get(number, tick)
                used.setdefault(job.user, 0)
                used[job.user] += job.size * max(min(end, tick) - begin, 0)
        accounts = {account for account, _ in used}
        total = sum(used.values())

        def level(usage, among, of_all):
            return Fraction(of_all, among * usage) if usage else math.inf

        def levels(user):
            siblings = [used[other] for other in used if other[0] == user[0]]
            of_account = level(sum(siblings), len(accounts), total)
            return of_account, level(used[user], len(siblings), sum(siblings))

        best_first = sorted({levels(user) for user in used}, reverse=True)
        before = {pair: sum(levels(user) > pair for user in used) for pair in best_first}
        return {user: (len(used) - before[levels(user)]) / len(used) for user in used}
