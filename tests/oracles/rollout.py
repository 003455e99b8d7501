"""Rollout in plain Python, with every job believed to run for its estimate; and the best schedule.

Nothing here is shared with the packages under test. Slowdowns are exact fractions.
"""

from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from math import inf

from tests.oracles.machine import Job, Machine, Policy, free_at


def slowdown(job: Job, start: int) -> Fraction:
    """The bounded slowdown of a job that starts then."""
    response = start - job.submit + job.duration
    return max(Fraction(1), Fraction(response, max(job.duration, 10)))


def believed(machine: Machine) -> Machine:
    """The machine without jobs to come, where each job runs for its estimate."""
    copy = deepcopy(machine)
    copy.to_come = []
    copy.jobs = [replace(job, runtime=job.estimate) for job in machine.jobs]
    return copy


def outcome(machine: Machine, candidate: Policy, horizon: int | None) -> Fraction:
    """The sum of bounded slowdowns of the jobs that wait now, if the candidate goes on.

    A job that has not started at the horizon counts as if it started then.
    """
    future, queue = believed(machine), list(machine.waiting)
    last = inf if horizon is None else machine.now + horizon
    while True:
        candidate.schedule(future)
        then = min((future.end_time(job) for job in future.running), default=inf)
        if not future.waiting or then > last:
            starts = (future.start_time.get(job, last) for job in queue)
            return sum(map(slowdown, (future.jobs[job] for job in queue), starts))
        future.now = then
        for job in future.ending():
            future.running.remove(job)


class Rollout(Policy):
    """Follows the candidate with the best outcome, the first of equals."""

    def __init__(self, candidates, horizon=None):
        """Begin with functions that make a candidate without a memory; the horizon in seconds."""
        self.candidates = candidates
        self.horizon = horizon
        self.chosen = 0

    def schedule(self, machine: Machine) -> None:
        """Compare the candidates if they start different jobs; make the starts of the best."""
        started = []
        for make in self.candidates:
            copy = deepcopy(machine)
            make().schedule(copy)
            started.append(set(copy.running))
        if any(each != started[0] for each in started):
            outcomes = [outcome(machine, make(), self.horizon) for make in self.candidates]
            self.chosen = outcomes.index(min(outcomes))
        self.candidates[self.chosen]().schedule(machine)


def best_sum(jobs: list[Job], processors: int) -> Fraction:
    """The least possible sum of bounded slowdowns of jobs submitted together, by brute force.

    Each order of the jobs gives one schedule: one job after another starts as early as the jobs
    before it leave room for it. An optimal schedule is among these, as slowdowns never fall with
    start times (French 1982, active schedules).
    """
    sums = []
    for order in permutations(jobs):
        held, total = [], Fraction(0)
        for job in order:
            times = sorted({job.submit, *(end for _, end, _ in held)})
            start = next(
                time
                for time in times
                if all(
                    free_at(held, processors, moment) >= job.size
                    for moment in (time, *(s for s, _, _ in held if time < s < time + job.runtime))
                )
            )
            held.append((start, start + job.runtime, job.size))
            total += slowdown(job, start)
        sums.append(total)
    return min(sums)
