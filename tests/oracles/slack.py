"""Slow, obviously right slack-based, relaxed and selective backfilling in plain Python.

Nothing here is shared with the packages under test. Source: Shmueli (2003), Backfilling with
Lookahead to Optimize the Performance of Parallel Job Scheduling, chapter 2, which describes Talby
and Feitelson (1999), Ward, Mahood and West (2002) and Srinivasan et al. (2002) in a few sentences.
What they leave open is decided here as the packages under test say that they decide it:

- A plan or reservation is kept; after an early end the jobs in it are placed once more, one by one
  in queue order, while all others keep their places (as in tests.oracles.conservative).
- Slack counts from the reservation that a job is given on arrival. To backfill a job, everybody
  else is placed from scratch in queue order beside it; all must stay within their slacks.
- Selective: the reservations are made first, then the others start where there is room.
"""

from collections.abc import Callable
from fractions import Fraction
from math import floor

from tests.oracles.machine import Interval, Job, Machine, Policy, anchor_point, has_room, simulate


class Planner(Policy):
    """Keeps planned starts of waiting jobs."""

    def __init__(self):
        """Begin without a plan."""
        self.plan: dict[int, int] = {}
        self.event = False  # whether anything happened since the last pass
        self.last_pass = -1

    def planned(self, machine: Machine, job: int, start: int) -> Interval:
        """List what a job holds if it starts then."""
        return start, start + machine.jobs[job].estimate, machine.jobs[job].size

    def profile(self, machine: Machine) -> list[Interval]:
        """List what holds processors now or later: running and planned jobs."""
        waiting = [self.planned(machine, job, start) for job, start in self.plan.items()]
        return machine.expected() + waiting

    def place(self, machine: Machine, job: int) -> int:
        """Put a job at its anchor point and tell which it is."""
        profile = self.profile(machine)
        start = anchor_point(profile, machine.processors, machine.jobs[job], machine.now)
        self.plan[job] = start
        return start

    def start(self, machine: Machine, job: int) -> None:
        """Start a job, which thereby leaves the plan."""
        self.plan.pop(job, None)
        machine.start(job)

    def start_due(self, machine: Machine) -> None:
        """Start the jobs whose planned time has come."""
        for job in list(machine.waiting):
            if self.plan.get(job) == machine.now:
                self.start(machine, job)

    def arrived(self, machine: Machine, job: int) -> None:
        """Take note that something happened."""
        self.event = True

    def ended(self, machine: Machine, any_early: bool) -> None:
        """Place the planned jobs once more after an early end."""
        self.event = True
        for job in machine.waiting:
            if any_early and job in self.plan:
                before = self.plan.pop(job)
                assert self.place(machine, job) <= before

    def wake_ups(self, machine: Machine) -> list[int]:
        """List the planned starts."""
        return list(self.plan.values())

    def schedule(self, machine: Machine) -> None:
        """Make one pass per event; one more for a wake-up, when nothing else happens then."""
        if self.event or self.last_pass < machine.now:
            self.event = False
            self.last_pass = machine.now
            self.decide(machine)

    def decide(self, machine: Machine) -> None:
        """Make one pass."""
        raise NotImplementedError


class Slack(Planner):
    """Slack-based backfilling; `slack` tells how long a job may be delayed."""

    def __init__(self, slack: Callable[[Job], int]):
        """Begin without a plan."""
        super().__init__()
        self.slack = slack
        self.latest: dict[int, int] = {}
        self.reservation: dict[int, int] = {}

    def arrived(self, machine: Machine, job: int) -> None:
        """Place a job behind everybody else."""
        super().arrived(machine, job)
        self.reservation[job] = self.place(machine, job)
        self.latest[job] = self.reservation[job] + self.slack(machine.jobs[job])

    def plan_beside(self, machine: Machine, job: int) -> dict[int, int] | None:
        """Plan everybody else with this job started now; None if somebody would be too late."""
        plan = Planner()
        plan.plan[job] = machine.now
        for other in machine.waiting:
            if other != job and plan.place(machine, other) > self.latest[other]:
                return None
        return plan.plan

    def decide(self, machine: Machine) -> None:
        """Start whose time has come, then whoever everybody else can bear."""
        self.start_due(machine)
        for job in list(machine.waiting):
            if job not in machine.waiting or not machine.fits_now(job):
                continue
            plan = self.plan_beside(machine, job)
            if plan is not None:
                self.plan = plan
                self.start(machine, job)
                self.start_due(machine)


class Selective(Planner):
    """Selective backfilling: only jobs of a slowdown above the threshold are in the plan."""

    def __init__(self, threshold: float):
        """Begin without reservations."""
        super().__init__()
        self.threshold = Fraction(threshold)
        self.reservation: dict[int, int] = {}

    def decide(self, machine: Machine) -> None:
        """Reserve, start whose time has come, then whoever finds room."""
        for job in machine.waiting:
            request = machine.jobs[job]
            slowdown = Fraction(machine.now - request.submit + request.estimate, request.estimate)
            if job not in self.plan and slowdown > self.threshold:
                self.reservation[job] = self.place(machine, job)
        self.start_due(machine)
        for job in list(machine.waiting):
            size, estimate = machine.jobs[job].size, machine.jobs[job].estimate
            profile, processors = self.profile(machine), machine.processors
            if job not in self.plan and has_room(profile, processors, size, machine.now, estimate):
                self.start(machine, job)


def slack(jobs: list[Job], processors: int, seconds: float, event_order: str = "standard"):
    """Schedule by slack that halves with every step of priority; also tell who was promised what.

    Returns the schedule, the reservations and the latest starts.
    """
    policy = Slack(lambda job: floor(Fraction(seconds) * Fraction(2) ** -job.priority))
    return simulate(jobs, processors, policy, event_order), policy.reservation, policy.latest


def relaxed(jobs: list[Job], processors: int, factor: float, event_order: str = "standard"):
    """Schedule by slack in proportion to the estimate; returns what `slack` returns."""
    policy = Slack(lambda job: floor(Fraction(factor) * job.estimate))
    return simulate(jobs, processors, policy, event_order), policy.reservation, policy.latest


def selective(jobs: list[Job], processors: int, threshold: float, event_order: str = "standard"):
    """Schedule by selective backfilling; returns the schedule and the reservations first made."""
    policy = Selective(threshold)
    return simulate(jobs, processors, policy, event_order), policy.reservation
