"""Slow, obviously right backfilling schedulers in plain Python: the oracle of the test suite.

Nothing here is shared with the package under test, and nothing is clever. An availability profile
is not a data structure but a question: how many processors are free at that time? A sum over a
list of intervals `(start, end, size)` answers it; an interval holds its processors at every time t
with start <= t < end.

A job is an index into the list of jobs, and every tie is decided by that index. Jobs wait in the
order in which they arrive; these policies ignore `Job.priority`. A job that must not start yet,
because of its requested start, keeps its place in the queue: it makes others wait, or gets a
reservation, like a job for which there is no room yet.

The instant, under the two conventions of `event_order`:

"standard"  All completions, then all arrivals, then one scheduling pass.
"pyss"      All arrivals, each followed by a pass; then all completions, in the order of the jobs'
            starts, each followed by a pass.
            A job whose start + estimate is now holds no processors in any pass of this instant,
            although its completion is still to come. A job that ends before its estimate holds
            them until its completion, and the passes between two completions of one instant see
            the second one still running.

Sources:

- EASY: Shmueli (2003), Backfilling with Lookahead to Optimize the Performance of Parallel Job
  Scheduling, appendix A.1 (algorithm 8); shadow time and extra nodes, sections 3.1 to 3.3.
- Anchor points: the same, appendix A.2 (algorithm 9).
- The "pyss" convention: the schedules of Gaussier, Glesser, Reis and Trystram (2015), Improving
  Backfilling by Using Machine Learning to Predict Running Times.
"""

from dataclasses import dataclass
from itertools import takewhile

Interval = tuple[int, int, int]  # start, end (exclusive), size
Schedule = list[tuple[int, int]]  # start and end of each job, in job order


@dataclass(frozen=True)
class Job:
    """A request and its true runtime; times are whole seconds."""

    submit: int
    size: int
    estimate: int
    runtime: int
    priority: int = 0
    requested_start: int = 0  # earliest time it may start; 0 = none

    @property
    def duration(self) -> int:
        """Seconds for which it holds its processors: it is killed at its estimate."""
        return min(self.runtime, self.estimate)


# The availability profile: questions to a list of intervals.


def free_at(intervals: list[Interval], processors: int, time: int) -> int:
    """Count the processors that no interval holds at that time."""
    return processors - sum(size for start, end, size in intervals if start <= time < end)


def has_room(
    intervals: list[Interval], processors: int, size: int, start: int, estimate: int
) -> bool:
    """Tell whether `size` processors stay free from `start` for the whole estimate."""
    # Free processors only become fewer where an interval starts: no other moment matters.
    moments = [start, *(begin for begin, _, _ in intervals if start < begin < start + estimate)]
    return all(size <= free_at(intervals, processors, moment) for moment in moments)


def anchor_point(intervals: list[Interval], processors: int, job: Job, now: int) -> int:
    """Find the earliest time at which the job fits for its whole estimate.

    Shmueli (2003), algorithm 9, step 1.
    """
    earliest = max(now, job.requested_start)
    # Free processors only become more where an interval ends: no other moment can be the first.
    candidates = [earliest, *sorted(end for _, end, _ in intervals if end > earliest)]
    for time in candidates:
        if has_room(intervals, processors, job.size, time, job.estimate):
            return time
    raise ValueError(f"{job} needs more than {processors} processors")


def shadow_and_extra(
    running: list[Interval], processors: int, head: Job, now: int
) -> tuple[int, int]:
    """Find when, by estimates, the head fits, and how many processors are then left over.

    Shmueli (2003), algorithm 8, step 1. All jobs expected to end at the shadow time count as
    ended, not only as many as the head needs.
    """
    earliest = max(now, head.requested_start)
    for time in [earliest, *sorted(end for _, end, _ in running if end > earliest)]:
        free = free_at(running, processors, time)
        if free >= head.size:
            return time, free - head.size
    raise ValueError(f"{head} needs more than {processors} processors")


# The machine: the clock, the queue, the running jobs.


class Machine:
    """The state of one simulation, and the only place that changes it."""

    def __init__(self, jobs: list[Job], processors: int):
        """Begin empty, before the first arrival."""
        self.jobs = jobs
        self.processors = processors
        self.now = -1
        self.to_come = sorted(range(len(jobs)), key=lambda job: (jobs[job].submit, job))
        self.waiting: list[int] = []  # in order of arrival
        self.running: list[int] = []
        self.start_time: dict[int, int] = {}

    def end_time(self, job: int) -> int:
        """Tell when a started job ends; policies must not ask."""
        return self.start_time[job] + self.jobs[job].duration

    def arriving(self) -> list[int]:
        """List the jobs submitted now, in job order."""
        return list(takewhile(lambda job: self.jobs[job].submit == self.now, self.to_come))

    def ending(self) -> list[int]:
        """List the running jobs that end now, in the order of their starts."""
        return [job for job in self.running if self.end_time(job) == self.now]

    def arrive(self, job: int) -> None:
        """Put a submitted job at the end of the queue."""
        self.to_come.remove(job)
        self.waiting.append(job)

    def start(self, job: int) -> None:
        """Start a waiting job now."""
        self.waiting.remove(job)
        self.running.append(job)
        self.start_time[job] = self.now

    def expected(self) -> list[Interval]:
        """List the running jobs as intervals that end when they are expected to.

        An interval that is over holds nothing, even if the completion is still to come: under
        "pyss" such a job counts as gone.
        """
        starts = [(self.start_time[job], self.jobs[job]) for job in self.running]
        return [(start, start + job.estimate, job.size) for start, job in starts]

    def fits_now(self, job: int) -> bool:
        """Tell whether the job may start now and fits on the free processors."""
        request = self.jobs[job]
        free = free_at(self.expected(), self.processors, self.now)
        return request.requested_start <= self.now and request.size <= free


# The policies: what they do at arrivals, at completions, and in a scheduling pass.


class Policy:
    """A policy without a memory; others override what they need."""

    def arrived(self, machine: Machine, job: int) -> None:
        """Take note of an arrival."""

    def ended(self, machine: Machine, any_early: bool) -> None:
        """Take note of completions; `any_early` if at least one came before its estimate."""

    def wake_ups(self, machine: Machine) -> list[int]:
        """List the times at which a pass is needed even if nothing arrives or ends."""
        return [machine.jobs[job].requested_start for job in machine.waiting]

    def schedule(self, machine: Machine) -> None:
        """Make one scheduling pass."""
        raise NotImplementedError


def start_in_order(machine: Machine) -> None:
    """Start jobs in the order of the queue until one, the head, must wait."""
    while machine.waiting and machine.fits_now(machine.waiting[0]):
        machine.start(machine.waiting[0])


class Fcfs(Policy):
    """First come, first served: no job overtakes the head of the queue."""

    def schedule(self, machine: Machine) -> None:
        """Start jobs in order."""
        start_in_order(machine)


class Easy(Policy):
    """EASY: a job may overtake the head if it does not delay it. Shmueli (2003), algorithm 8."""

    def schedule(self, machine: Machine) -> None:
        """Start jobs in order, then backfill by shadow time and extra nodes."""
        start_in_order(machine)
        if not machine.waiting:
            return
        head = machine.jobs[machine.waiting[0]]
        shadow, extra = shadow_and_extra(machine.expected(), machine.processors, head, machine.now)
        for job in machine.waiting[1:]:
            request = machine.jobs[job]
            if not machine.fits_now(job):
                continue
            if machine.now + request.estimate <= shadow:
                machine.start(job)
            elif request.size <= extra:
                machine.start(job)
                extra -= request.size


# The event loop.


def simulate(jobs: list[Job], processors: int, policy: Policy, event_order: str) -> Schedule:
    """Run all jobs and list start and end of each."""
    instant = {"standard": standard_instant, "pyss": pyss_instant}[event_order]
    machine = Machine(jobs, processors)
    while machine.to_come or machine.waiting or machine.running:
        machine.now = next_instant(machine, policy)
        instant(machine, policy)
    return [(machine.start_time[job], machine.end_time(job)) for job in range(len(jobs))]


def next_instant(machine: Machine, policy: Policy) -> int:
    """Find the next time at which a job arrives or ends, or that the policy asked for."""
    times = [machine.jobs[job].submit for job in machine.to_come[:1]]
    times += [machine.end_time(job) for job in machine.running]
    times += policy.wake_ups(machine)
    return min(time for time in times if time > machine.now)


def end_jobs(machine: Machine, policy: Policy, ending: list[int]) -> None:
    """Let jobs end, all at once, and tell the policy."""
    if not ending:
        return
    for job in ending:
        machine.running.remove(job)
    any_early = any(machine.jobs[job].runtime < machine.jobs[job].estimate for job in ending)
    policy.ended(machine, any_early)


def standard_instant(machine: Machine, policy: Policy) -> None:
    """Process one instant: completions, arrivals, one pass."""
    end_jobs(machine, policy, machine.ending())
    for job in machine.arriving():
        machine.arrive(job)
        policy.arrived(machine, job)
    policy.schedule(machine)


def pyss_instant(machine: Machine, policy: Policy) -> None:
    """Process one instant, one event at a time: arrivals, completions."""
    ending = machine.ending()  # no job that starts now ends now: durations are positive
    for job in machine.arriving():
        machine.arrive(job)
        policy.arrived(machine, job)
        policy.schedule(machine)
    for job in ending:
        end_jobs(machine, policy, [job])
        policy.schedule(machine)
    # A wake-up comes last. Without one, this pass finds nothing that the last one left.
    policy.schedule(machine)


def fcfs(jobs: list[Job], processors: int, event_order: str = "standard") -> Schedule:
    """Schedule first come, first served."""
    return simulate(jobs, processors, Fcfs(), event_order)


def easy(jobs: list[Job], processors: int, event_order: str = "standard") -> Schedule:
    """Schedule by EASY backfilling, with shadow time and extra nodes."""
    return simulate(jobs, processors, Easy(), event_order)


# The guard: which jobs may start without delaying the first waiting jobs.


def guarded(
    jobs_waiting: list[Job],
    running: list[Interval],
    now: int,
    free: int,
    processors: int,
    depth: int,
) -> set[int]:
    """Find the waiting jobs, as positions in the queue, that may start now, each by itself.

    The first `depth` jobs of the queue (-1: all) get reservations, one after another: each at its
    anchor point beside the running jobs (intervals up to their expected ends) and the reservations
    before it. One of these jobs may start if its own reservation is for now, another job if it has
    room for its whole estimate beside all of them.
    """
    reserving = len(jobs_waiting) if depth == -1 else min(depth, len(jobs_waiting))
    profile = list(running)
    may_start = set()
    for position, job in enumerate(jobs_waiting):
        if position < reserving:
            start = anchor_point(profile, processors, job, now)
            profile.append((start, start + job.estimate, job.size))
            allowed = start == now
        else:
            room = has_room(profile, processors, job.size, now, job.estimate)
            allowed = room and job.requested_start <= now
        if allowed and job.size <= free:
            may_start.add(position)
    return may_start
