"""Slow, obviously right EASY over sorted queues, with many options, in plain Python.

Nothing here is shared with the packages under test. There is no shadow time and no extra node
here: a job may start when its processors stay free for as long as it is believed to run, beside
what runs and what is reserved. In every pass everything is sorted and planned from scratch.

Sources: Zotkin, Keleher and Perkovic (2000), sections 5, 6 and 8; Shmueli (2003), chapter 2;
Tsafrir, Etsion and Feitelson (2007), Backfilling Using System-Generated Predictions; Chiang and
Vernon (2001); Tang et al. (2009); Carastan-Santos and de Camargo (2017). What they leave open is
decided here as the packages under test say that they decide it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import log2, log10, sqrt

from tests.oracles.machine import (
    Interval,
    Job,
    Machine,
    Policy,
    anchor_point,
    has_room,
    shadow_and_extra,
)

# By how many seconds a prediction is raised in turn, before the estimate takes its place
STEPS = [0, 60, 5 * 60, 15 * 60, 30 * 60, *(3600 * hours for hours in (1, 2, 5, 10, 20, 50, 100))]


@dataclass(frozen=True)
class View:
    """What an order may look at; times in seconds."""

    now: int
    submit: int
    size: int
    length: int  # estimate or prediction
    number: float  # random, in [0, 1)
    weight: Fraction  # of a second's delay

    @property
    def delay(self) -> int:
        """How long the job has waited."""
        return self.now - self.submit


def first_at_zero(submit: int) -> float:
    """The logarithm of the submit time, for which time 0 counts as 1."""
    return log10(submit) if submit > 0 else 0.0


def cube(number: float) -> float:
    """The third power, rounded as often as it is multiplied."""
    return number * number * number


ASCENDING: dict[str, Callable[[View], float]] = {
    "fcfs": lambda job: job.submit,
    "sjf": lambda job: job.length,
    "sqf": lambda job: job.size,
    "saf": lambda job: job.length * job.size,
    "srf": lambda job: Fraction(job.length, job.size),
    "sxf": lambda job: Fraction(job.delay + job.length, job.length),
    "f1": lambda job: log10(job.length) * job.size + 870 * first_at_zero(job.submit),
    "f2": lambda job: sqrt(job.length) * job.size + 25600 * first_at_zero(job.submit),
    "f3": lambda job: job.length * job.size + 6860000 * first_at_zero(job.submit),
    "f4": lambda job: job.length * sqrt(job.size) + 530000 * first_at_zero(job.submit),
    "random": lambda job: job.number,
}
DESCENDING: dict[str, Callable[[View], float]] = {
    "lcfs": lambda job: job.submit,
    "lpt": lambda job: job.length,
    "lqf": lambda job: job.size,
    "laf": lambda job: job.length * job.size,
    "lrf": lambda job: Fraction(job.length, job.size),
    "lxf": lambda job: Fraction(job.delay + job.length, job.length),
    "lxf-width": lambda job: Fraction(job.delay + job.length, job.length * job.size),
    "wfp3": lambda job: cube(job.delay / job.length) * job.size,
    "unicef": lambda job: job.delay / (max(log2(job.size), 1e-20) * job.length),
    "random-sjf": lambda job: job.number / job.length,
    "aged-sjf": lambda job: Fraction(1, job.length) + job.weight * job.delay,
    "aged-random": lambda job: Fraction(job.number) + job.weight * job.delay,
}


@dataclass
class Options:
    """The options of a policy; None: no such thing."""

    order: str = "fcfs"
    backfill: str | None = None
    reservations: int | None = 1  # None: everybody has one
    lookahead: int | None = None
    predict: bool = False
    weight: float = 0.0
    shadow_intervals: int | None = None


class Easy(Policy):
    """Sorts the queue, starts its first jobs, reserves for the next ones, backfills the others."""

    def __init__(self, options: Options, numbers: list[float], users: list[int]):
        """Begin without knowing anything; a random number and a user for each job."""
        self.options = options
        self.numbers = numbers
        self.users = users
        self.runtimes: dict[int, list[int]] = {}  # of ended jobs, by user
        self.known_ends: set[int] = set()
        self.length: dict[int, int] = {}  # how long a job is believed to run
        self.deadline: dict[int, int] = {}
        self.left: tuple[int, list[int], list[int]] = -1, [], []  # how the last pass left all

    def key(self, machine: Machine, name: str, job: int) -> tuple:
        """Sort by the named order, then by index."""
        request = machine.jobs[job]
        weight = Fraction(self.options.weight)
        view = View(
            machine.now, request.submit, request.size, self.length[job], self.numbers[job], weight
        )
        value = ASCENDING[name](view) if name in ASCENDING else -DESCENDING[name](view)
        return value, job

    def queue_key(self, machine: Machine, job: int) -> tuple:
        """Sort jobs past their deadlines before all others, the earliest deadline first."""
        if self.options.shadow_intervals is not None and self.deadline[job] <= machine.now:
            return 0, self.deadline[job], job
        return 1, *self.key(machine, self.options.order, job)

    def learn(self, machine: Machine) -> None:
        """Note the runtimes of the jobs that have ended since the last pass."""
        ended = set(machine.start_time) - set(machine.running) - self.known_ends
        for job in sorted(ended, key=lambda job: (machine.end_time(job), job)):
            runtime = machine.end_time(job) - machine.start_time[job]
            self.runtimes.setdefault(self.users[job], []).append(runtime)
        self.known_ends |= ended

    def meet(self, machine: Machine, job: int) -> None:
        """Believe something of a job that has just arrived."""
        request = machine.jobs[job]
        last = self.runtimes.get(self.users[job], [])[-2:]
        self.length[job] = request.estimate
        if self.options.predict and self.users[job] >= 0 and len(last) == 2:
            self.length[job] = min(request.estimate, sum(last) // 2)
        if self.options.shadow_intervals is not None:
            alone, _ = shadow_and_extra(
                self.running(machine), machine.processors, request, machine.now
            )
            interval = alone - request.submit
            self.deadline[job] = request.submit + self.options.shadow_intervals * interval

    def running(self, machine: Machine) -> list[Interval]:
        """List what runs, until it is believed to end; what is refuted by now is not believed."""
        intervals = []
        for job in machine.running:
            start, request = machine.start_time[job], machine.jobs[job]
            believed = self.length.get(job, request.estimate)  # that of an outage is known
            raised = [believed + step for step in STEPS if step < request.estimate]
            beliefs = [min(length, request.estimate) for length in raised]
            end = next((start + length for length in beliefs if start + length > machine.now), None)
            intervals.append((start, end or start + request.estimate, request.size))
        return intervals

    def believed(self, machine: Machine, job: int) -> Job:
        """The request with the believed length for its estimate."""
        request = machine.jobs[job]
        return Job(request.submit, request.size, self.length[job], self.length[job])

    def schedule(self, machine: Machine) -> None:
        """Make one scheduling pass, unless nothing has happened since the last one."""
        if self.left == (machine.now, machine.waiting, machine.running):
            return  # a second pass would look at other jobs where sight is limited
        self.learn(machine)
        for job in reversed(machine.waiting):
            if job not in self.length:
                self.meet(machine, job)
        queue = sorted(machine.waiting, key=lambda job: self.queue_key(machine, job))
        while queue and machine.fits_now(queue[0]):
            machine.start(queue.pop(0))
        queue = queue[: self.options.lookahead]
        reserved: list[Interval] = []
        for job in queue:
            if self.options.reservations in (0, len(reserved)):
                break
            request = self.believed(machine, job)
            profile = self.running(machine) + reserved
            start = anchor_point(profile, machine.processors, request, machine.now)
            if start == machine.now:
                machine.start(job)
            else:
                reserved.append((start, start + request.estimate, request.size))
        name = self.options.backfill or self.options.order
        for job in sorted(queue, key=lambda job: self.key(machine, name, job)):
            size, length = machine.jobs[job].size, self.length[job]
            profile = self.running(machine) + reserved
            if job in machine.waiting and has_room(
                profile, machine.processors, size, machine.now, length
            ):
                machine.start(job)
        self.left = machine.now, list(machine.waiting), list(machine.running)
