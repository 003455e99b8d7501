"""Slow, obviously right LOS in plain Python: the thesis' tables, cell by cell, in three dimensions.

Nothing here is shared with the packages under test. Source: Shmueli (2003), Backfilling with
Lookahead to Optimize the Performance of Parallel Job Scheduling, chapter 3. The machine and the
event loop are those of tests.oracles.machine.
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import inf

import tests.oracles.machine as machine_


@dataclass
class Cell:
    """One cell of M': utilization, extra processors needed, merit and the trace markers."""

    util: int = 0
    sutil: int = 0
    merit: float = 0
    selected: bool = False
    bypassed: bool = False


Matrix = dict[tuple[int, int, int], Cell]


def construct(sizes: list[int], ssizes: list[int], n: int, extra: int, gains=None) -> Matrix:
    """Fill M' by algorithm 3, or with a merit that each job adds to by algorithms 6 and 7.

    Algorithm 1 is the plane k = 0, in which no job with a shadow size can be selected.
    """
    # Row 0 and column 0 are zeros.
    m = {(0, j, k): Cell() for j in range(n + 1) for k in range(extra + 1)}
    m |= {(i, 0, k): Cell() for i in range(len(sizes) + 1) for k in range(extra + 1)}
    for k in range(extra + 1):
        for i, (size, ssize) in enumerate(zip(sizes, ssizes, strict=True), start=1):
            for j in range(1, n + 1):
                above = m[i - 1, j, k]
                bypass = Cell(above.util, above.sutil, above.merit, False, True)
                if size > j or ssize > k:
                    m[i, j, k] = bypass
                    continue
                rest = m[i - 1, j - size, k - ssize]
                util, sutil = rest.util + size, rest.sutil + ssize
                merit = rest.merit + (gains[i - 1] if gains else 0)
                select = Cell(util, sutil, merit, True, False)
                if util > above.util or (util == above.util and sutil < above.sutil):
                    m[i, j, k] = select
                elif util == above.util and sutil == above.sutil:
                    if merit < above.merit:
                        m[i, j, k] = bypass
                    else:
                        select.bypassed = merit == above.merit
                        m[i, j, k] = select
                else:
                    m[i, j, k] = bypass
    return m


def trace(
    m: Matrix, sizes: list[int], ssizes: list[int], n: int, extra: int, selected_first: bool
) -> list[int]:
    """Read the chosen jobs, 1 .. |WQ|, off M' by algorithm 4 or 5."""
    chosen, i, j, k = [], len(sizes), n, extra
    while i > 0 and j > 0:
        cell = m[i, j, k]
        if cell.selected if selected_first else not cell.bypassed:
            chosen.append(i)
            j -= sizes[i - 1]
            k -= ssizes[i - 1]
        i -= 1
    return chosen[::-1]


@dataclass(frozen=True)
class Options:
    """Which of the thesis' algorithms; merit is as in `bfenv`."""

    basic: bool = False
    selected_first: bool = False
    merit: str = "none"
    lookahead: int | None = 50  # jobs; None for the whole queue
    counts: str = "selectable"  # which jobs count for it: these, or all that are "fitting"


class Los(machine_.Policy):
    """LOS."""

    def __init__(self, options: Options):
        """Begin; nothing has happened yet."""
        self.options = options
        self.event = False  # whether anything happened since the last pass

    def arrived(self, machine: machine_.Machine, job: int) -> None:
        """Take note of an arrival."""
        self.event = True

    def ended(self, machine: machine_.Machine, any_early: bool) -> None:
        """Take note that jobs have ended."""
        self.event = True

    def choose(self, machine: machine_.Machine, shadow: float, extra: int) -> list[int]:
        """Choose the jobs to start among those behind the head, which has been dealt with."""
        now = machine.now
        n = machine_.free_at(machine.expected(), machine.processors, now)
        if self.options.basic:
            extra = 0

        def ssize(job: int) -> int:
            return 0 if now + machine.jobs[job].estimate <= shadow else machine.jobs[job].size

        # Section 3.5.1: leave out what is too large, then keep the first C jobs.
        queue = [job for job in machine.waiting if machine.jobs[job].size <= n]
        if self.options.counts == "selectable":
            queue = [job for job in queue if ssize(job) <= extra]
        queue = queue[: self.options.lookahead]
        jobs = [machine.jobs[job] for job in queue]
        sizes, ssizes = [job.size for job in jobs], [ssize(job) for job in queue]
        gains = {
            "none": None,
            "jobs": [1] * len(jobs),
            "slowdown": [(now - job.submit + job.estimate) / job.estimate for job in jobs],
            "response": [now - job.submit + job.estimate for job in jobs],
        }[self.options.merit]
        m = construct(sizes, ssizes, n, extra, gains)
        chosen = trace(m, sizes, ssizes, n, extra, self.options.selected_first)
        return [queue[i - 1] for i in chosen]

    def schedule(self, machine: machine_.Machine) -> None:
        """Start the head or find its reservation (section 3.2.1); then start the chosen jobs.

        A second pass at the same event would not find what the first one left: it has a new head.
        """
        if not machine.waiting or not self.event:
            return
        self.event = False
        shadow, extra = inf, 0
        head = machine.waiting[0]
        if machine.fits_now(head):
            machine.start(head)
        else:
            shadow, extra = machine_.shadow_and_extra(
                machine.expected(), machine.processors, machine.jobs[head], machine.now
            )
        for job in self.choose(machine, shadow, extra):
            machine.start(job)


def los(
    jobs: list[machine_.Job], processors: int, options: Options, event_order: str = "standard"
) -> machine_.Schedule:
    """Schedule by LOS."""
    return machine_.simulate(jobs, processors, Los(options), event_order)


@dataclass(frozen=True)
class Studies:
    """What chapter 5 and section 3.4 leave to be tried, beside the options of the algorithms."""

    reservations: int = 1
    threshold: float | None = None
    merit: str = "none"
    aim: str = "max"
    selected_first: bool = False
    lookahead: int = 50
    shortest_first: bool = False  # the order of the queue


class BestSet(Los):
    """LOS by trying every set of jobs: a set may start if nobody's reservation is in its way."""

    def __init__(self, studies: Studies):
        """Begin; nothing has happened yet."""
        super().__init__(Options())
        self.studies = studies

    def schedule(self, machine: machine_.Machine) -> None:
        """Let the first jobs start or reserve; then start the best set of the others."""
        if not machine.waiting or not self.event:
            return
        self.event = False
        jobs, now, k = machine.jobs, machine.now, self.studies.reservations
        queue = list(machine.waiting)
        if self.studies.shortest_first:
            queue.sort(key=lambda job: (jobs[job].estimate, job))
        reserved = []
        for job in queue[:k]:
            profile = [*machine.expected(), *reserved]
            begin = machine_.anchor_point(profile, machine.processors, jobs[job], now)
            if begin == now:
                machine.start(job)
            else:
                reserved.append((begin, begin + jobs[job].estimate, jobs[job].size))
        shadow = min((begin for begin, _, _ in reserved), default=inf)

        def fits(chosen) -> bool:
            profile = [*machine.expected(), *reserved]
            for job in chosen:
                size, estimate = jobs[job].size, jobs[job].estimate
                if not machine_.has_room(profile, machine.processors, size, now, estimate):
                    return False
                profile.append((now, now + estimate, size))
            return True

        rows = [job for job in queue[k:] if fits([job])][: self.studies.lookahead]
        if k > 1:
            rows.sort(key=lambda job: (-jobs[job].estimate, job))
        free = self.free(machine)
        for count in range(len(rows) + 1) if self.studies.threshold else [len(rows)]:
            best = self.best(machine, rows[:count], fits, shadow)
            used = sum(jobs[job].size for job in best)
            if count and self.studies.threshold and used >= self.studies.threshold * free:
                break
        for job in best:
            machine.start(job)

    def free(self, machine: machine_.Machine) -> int:
        """Count the processors that are free now."""
        return machine_.free_at(machine.expected(), machine.processors, machine.now)

    def best(self, machine: machine_.Machine, rows: list[int], fits, shadow: float) -> list[int]:
        """Return the best of all sets; of equals, the one that has the fewest of the last rows."""
        jobs, now, studies = machine.jobs, machine.now, self.studies
        response = {job: now - jobs[job].submit + jobs[job].estimate for job in rows}
        gain = {
            "none": lambda job: 0,
            "jobs": lambda job: 1,
            "slowdown": lambda job: Fraction(response[job], jobs[job].estimate),
            "response": lambda job: response[job],
        }[studies.merit]

        def rank(chosen):
            late = [job for job in chosen if now + jobs[job].estimate > shadow]
            merit = sum(map(gain, chosen)) * (1 if studies.aim == "max" else -1)
            last = [(job in chosen) != studies.selected_first for job in reversed(rows)]
            util, sutil = (sum(jobs[job].size for job in part) for part in (chosen, late))
            return -util, sutil, -merit, last

        sets = (c for count in range(len(rows) + 1) for c in combinations(rows, count))
        return list(min(filter(fits, sets), key=rank))


def by_trial(
    jobs: list[machine_.Job], processors: int, studies: Studies, event_order: str = "standard"
) -> machine_.Schedule:
    """Schedule by LOS, trying every set of jobs."""
    return machine_.simulate(jobs, processors, BestSet(studies), event_order)


def best_by_trial(sizes: list[int], ssizes: list[int], n: int, extra: int) -> tuple[int, int]:
    """Find, by trying every set, the greatest utilization and the fewest extras that reach it."""
    best = (0, 0)
    for count in range(1, len(sizes) + 1):
        for chosen in combinations(range(len(sizes)), count):
            size, ssize = sum(sizes[i] for i in chosen), sum(ssizes[i] for i in chosen)
            if size <= n and ssize <= extra:
                best = max(best, (size, -ssize))
    return best[0], -best[1]
