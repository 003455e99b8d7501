"""Conservative backfilling second by second in plain Python: slow, and shares no code with bfenv.

A job is (submit, size, estimate, runtime, requested start); a schedule is the list of starts.
"""

from fractions import Fraction
from typing import NamedTuple


class Job(NamedTuple):
    submit: int
    size: int
    estimate: int
    runtime: int
    requested_start: int = 0


class Machine:
    """What is running and what is reserved, as intervals of whole seconds."""

    def __init__(self, jobs, processors):
        self.jobs = jobs
        self.processors = processors
        self.queue = []
        self.start = [None] * len(jobs)
        self.begun = []  # in the order of their starts
        self.gone = set()

    def running(self):
        return [job for job in self.begun if job not in self.gone]

    def busy(self, second, reserved):
        """Processors in use at a second, by estimates; `reserved` maps jobs to starts."""
        begins = {job: self.start[job] for job in self.running()} | reserved
        return sum(
            self.jobs[job].size
            for job, begin in begins.items()
            if begin <= second < begin + self.jobs[job].estimate
        )

    def anchor_point(self, job, now, reserved):
        """The first second at which the job fits beside everything else."""
        size, estimate = self.jobs[job].size, self.jobs[job].estimate
        begin = max(now, self.jobs[job].requested_start)
        while any(
            self.busy(second, reserved) + size > self.processors
            for second in range(begin, begin + estimate)
        ):
            begin += 1
        return begin

    def launch(self, job, now):
        self.queue.remove(job)
        self.start[job] = now
        self.begun.append(job)


class WithGuarantees:
    """Every job keeps its reservation or gets an earlier one."""

    def __init__(self, jobs, processors, keys, event_order):
        self.machine = Machine(jobs, processors)
        self.keys = keys  # gives the sort key of each waiting job, at each re-placement
        self.always = event_order == "pyss"
        self.reserved = {}
        self.guarantee = [-1] * len(jobs)

    def look(self, now, arrived, ended):
        """One scheduling pass."""
        machine = self.machine
        early = any(machine.start[job] + machine.jobs[job].estimate > now for job in ended)
        if early or (self.always and ended):
            self.replace(now)
        for job in arrived:
            self.reserved[job] = machine.anchor_point(job, now, self.reserved)
            if self.reserved[job] > now:
                self.guarantee[job] = self.reserved[job]
        for job in [job for job in machine.queue if self.reserved[job] == now]:
            machine.launch(job, now)
            del self.reserved[job]

    def replace(self, now):
        waiting = sorted(self.reserved)
        keys = self.keys(self.machine.queue, now)
        self.close_up(sorted(waiting, key=lambda job: (keys[job], job)), now)

    def close_up(self, line, now):
        for job in line:
            promised = self.reserved.pop(job)
            self.reserved[job] = self.machine.anchor_point(job, now, self.reserved)
            assert self.reserved[job] <= promised


class WithoutGuarantees:
    """Everything is planned from scratch each time."""

    def __init__(self, jobs, processors, keys, event_order):
        self.machine = Machine(jobs, processors)
        self.keys = keys

    def look(self, now, arrived, ended):
        reserved = {}
        keys = self.keys(self.machine.queue, now)
        for job in sorted(self.machine.queue, key=lambda job: (keys[job], job)):
            anchor = self.machine.anchor_point(job, now, reserved)
            if anchor == now:
                self.machine.launch(job, now)
            else:
                reserved[job] = anchor


def by_arrival(queue, now):
    return {job: job for job in queue}


class RandomSearch(WithGuarantees):
    """Moves of random jobs after each re-placement, undone if the plan is not better."""

    def __init__(self, jobs, processors, draw, iterations, event_order, keys, weights, choice):
        super().__init__(jobs, processors, keys, event_order)
        self.draw = draw
        self.iterations = iterations
        self.weights = weights
        self.choice = choice

    def replace(self, now):
        super().replace(now)
        waiting = sorted(self.reserved)
        if len(waiting) < 2:
            return
        keys = self.keys(self.machine.queue, now)
        line = sorted(waiting, key=lambda job: (keys[job], job))
        expected = self.expect(waiting)
        for _ in range(self.iterations):
            job = self.choose(waiting, self.draw())
            before = dict(self.reserved)
            del self.reserved[job]
            self.close_up([other for other in line if other != job], now)
            self.reserved[job] = self.machine.anchor_point(job, now, self.reserved)
            new = self.expect(waiting)
            if (
                all(expected)
                and sum(
                    weight * (Fraction(after) / before_ - 1)
                    for weight, after, before_ in zip(self.weights, new, expected, strict=True)
                )
                < 0
            ):
                expected = new
            else:
                self.reserved = before

    def choose(self, waiting, number):
        """Where a number of 1 .. 2**31 - 2 falls on the line of all waits or slowdowns."""
        delays, slowdowns = self.delays(waiting), self.slowdowns(waiting)
        if self.choice == "uniform" or not sum(delays):
            return waiting[number % len(waiting)]
        shares = delays if self.choice == "wait" else slowdowns
        place, below = Fraction(number, 2**31) * sum(shares), 0
        for job, share in zip(waiting, shares, strict=True):
            below += share
            if place < below:
                return job
        raise AssertionError("a number is below 2**31")

    def delays(self, waiting):
        return [self.reserved[job] - self.machine.jobs[job].submit for job in waiting]

    def slowdowns(self, waiting):
        jobs = self.machine.jobs
        return [
            Fraction(delay + jobs[job].estimate, jobs[job].estimate)
            for job, delay in zip(waiting, self.delays(waiting), strict=True)
        ]

    def expect(self, waiting):
        return sum(self.delays(waiting)), sum(self.slowdowns(waiting))


def simulate(jobs, processors, scheduler, event_order, idle=True):
    """Let the clock tick until all jobs have ended; return their starts.

    With `idle` there is one more pass in each second, whether or not anything happens.

    Standard: in each second all ends, then all arrivals, then one pass. pyss: each arrival, then
    each end, with a pass of its own; whoever should have ended by estimate is gone beforehand.
    """
    machine = scheduler.machine
    now, ended_jobs = 0, 0
    while ended_jobs < len(jobs):
        arrived = [job for job, row in enumerate(jobs) if row.submit == now]
        ended = [job for job in machine.running() if machine.start[job] + jobs[job].runtime == now]
        ended_jobs += len(ended)
        if event_order == "standard":
            machine.gone |= set(ended)
            machine.queue += arrived
            events = [(arrived, ended)]
        else:
            events = [([job], []) for job in arrived] + [([], [job]) for job in ended]
        for arrival, end in events:
            if event_order == "pyss":
                machine.gone |= set(end)
                machine.queue += arrival
            if arrival or end:
                scheduler.look(now, arrival, end)
        if idle:
            scheduler.look(now, [], [])
        now += 1
    return machine.start


def conservative(jobs, processors, keys, event_order="standard"):
    """Starts and guarantees; `keys(queue, now)` gives a sort key for each job of the queue."""
    scheduler = WithGuarantees(jobs, processors, keys, event_order)
    return simulate(jobs, processors, scheduler, event_order), scheduler.guarantee


def replan(jobs, processors, keys, event_order="standard", idle=True):
    """Starts; see `simulate` for `idle`."""
    scheduler = WithoutGuarantees(jobs, processors, keys, event_order)
    return simulate(jobs, processors, scheduler, event_order, idle)


def random_search(
    jobs,
    processors,
    draw,
    iterations,
    event_order="standard",
    keys=by_arrival,
    weights=(1, 1),
    choice="uniform",
):
    """`draw()` gives the random number that chooses the next job."""
    scheduler = RandomSearch(jobs, processors, draw, iterations, event_order, keys, weights, choice)
    return simulate(jobs, processors, scheduler, event_order)
