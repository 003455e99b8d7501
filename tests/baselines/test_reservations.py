"""Reservations kept from pass to pass, one step at a time, on machines of a few processors."""

from random import Random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import bfenv
import bfenv.baselines.reservations as rs
from bfenv.core.cluster import now, start, waiting
from bfenv.core.events import advance, commit_starts, new_cluster
from bfenv.core.jobs import FOREVER
from bfenv.core.openings import new_openings, note_gain
from bfenv.core.profile import anchor_point, new_profile, place, release, step_at
from tests.baselines.machines import many_at_once, overloaded


class Machine:
    """A cluster with a plan; the jobs are (submit, size, estimate, runtime)."""

    def __init__(self, processors, *jobs, requested_start=None):
        submit, size, estimate, runtime = zip(*jobs, strict=True)
        trace = bfenv.make_trace(
            submit, size, runtime, processors, estimate=estimate, requested_start=requested_start
        )
        self.cluster, self.jobs, self.truth = new_cluster(trace)
        self.plan = rs.new_reservations(self.jobs, processors)

    def advance(self):
        """Go on to the next instant, and bring the plan up to it; whether a job ended early."""
        assert advance(self.cluster, self.jobs, self.truth)
        return rs.bring_up_to_now(self.plan, self.cluster, self.jobs)

    def reserve(self, *jobs):
        """The anchor points of the jobs, reserved one after another."""
        return [rs.reserve_anchor_point(self.plan, self.cluster, self.jobs, job) for job in jobs]

    def start_due(self):
        """Start what is due; the next planned start."""
        return rs.start_due(self.plan, self.cluster, self.jobs)

    def followed(self):
        return rs.followed(self.plan, self.cluster, self.jobs)

    def profile(self):
        """Steps of the profile: (time, free)."""
        steps = self.plan.profile.steps[0]
        times, free = self.plan.profile.time[:steps], self.plan.profile.free[:steps]
        return list(zip(times.tolist(), free.tolist(), strict=True))


def planned_machine():
    """Job 0 holds both processors until 10, ends at 4; 1 (both, 3 s) and 2 (one, 2 s) wait."""
    machine = Machine(2, (0, 2, 10, 4), (1, 2, 3, 3), (1, 1, 2, 2))
    machine.advance()
    machine.reserve(0)
    assert machine.start_due() == FOREVER
    machine.advance()
    assert machine.reserve(1, 2) == [10, 13]
    return machine


def test_due_jobs():
    """Jobs start once they are due, not before, and the next planned start is returned."""
    machine = planned_machine()
    assert machine.start_due() == 10
    assert machine.cluster.start.tolist() == [0, -1, -1]
    machine.advance()
    rs.close_up(machine.plan, machine.jobs, waiting(machine.cluster), now(machine.cluster))
    assert machine.start_due() == 7
    assert machine.cluster.start.tolist() == [0, 4, -1]
    assert machine.start_due() == 7


def test_overdue_job():
    """A missed planned start is made up for, but not on processors in use."""
    machine = planned_machine()
    machine.plan.planned_start[1] = 0
    assert machine.start_due() == 13
    assert machine.cluster.start[1] == -1
    machine.advance()
    machine.start_due()
    assert machine.cluster.start[1] == 4


def test_followed():
    """A machine is as planned until others start jobs or starts are missed.

    Both ways in which a plan can fail to be followed are found.
    """
    machine = planned_machine()
    assert machine.followed()
    machine.advance()
    assert machine.followed()
    start(machine.cluster, machine.jobs, 2)  # planned for 13
    assert not machine.followed()

    machine = Machine(1, (0, 1, 1, 1), (2, 1, 1, 1))
    machine.advance()
    machine.reserve(0)
    assert machine.followed()  # due now, and not started yet
    machine.advance()
    assert not machine.followed()


def taken_over():
    """At 4 another policy has started job 2, which was planned for 13."""
    machine = planned_machine()
    machine.advance()
    start(machine.cluster, machine.jobs, 2)
    commit_starts(machine.cluster, machine.jobs, machine.truth)
    return machine


def test_cancelled_plan():
    """If a plan that was not followed is cancelled, running jobs alone remain."""
    machine = taken_over()
    rs.cancel_all(machine.plan, machine.cluster, machine.jobs)
    assert machine.profile() == [(4, 1), (6, 2)]
    assert machine.plan.planned_start[1] == rs.NONE


def test_kept_plan():
    """A plan that was not followed can be kept.

    Planned starts stay beside what runs; those missed become now, room or not.
    """
    machine = taken_over()
    rs.keep_all(machine.plan, machine.cluster, machine.jobs)
    assert machine.profile() == [(4, 1), (6, 2), (10, 0), (13, 2)]
    machine.plan.planned_start[1] = 3
    rs.keep_all(machine.plan, machine.cluster, machine.jobs)
    assert machine.plan.planned_start[1] == 4
    assert machine.profile() == [(4, -1), (6, 0), (7, 2)]


@pytest.mark.parametrize("queue", [[1, 2], [2]])
def test_copied_plan(queue):
    """A copy is the same plan for the jobs of the queue.

    A change to the copy leaves the original as it is.
    """
    machine = planned_machine()
    other = rs.new_reservations(machine.jobs, 2)
    rs.copy_reservations(machine.plan, other, np.array(queue))
    expected = [start if job in queue else rs.NONE for job, start in enumerate([0, 10, 13])]
    assert other.planned_start.tolist() == expected
    before = machine.profile()
    other.profile.free[0] = 7
    assert machine.profile() == before


def many_different():
    """A trace of jobs that are all there from the first second on, and fill a long profile."""
    generator = np.random.default_rng(4)
    size, estimate = generator.integers(1, 9, 350), generator.integers(1, 50_000, 350)
    runtime = np.maximum(1, estimate * generator.random(350)).astype(int)
    return bfenv.make_trace(np.zeros(350), size, runtime, 20, estimate=estimate)


@pytest.mark.compiled
@given(overloaded(), st.randoms(use_true_random=False), st.integers(0, 12))
@example(many_at_once(), Random(1), 0)
@example(many_at_once(), Random(1), 150)
@example(many_different(), Random(1), 0)
def test_passed_over_jobs(trace, random, long):
    """Closing up, in any order and from any length on, leaves what looking at every job leaves."""
    jobs = trace.jobs
    cluster, jobs, truth = new_cluster(trace)
    fast, slow = (rs.new_reservations(jobs, trace.processors, long) for _ in range(2))
    while advance(cluster, jobs, truth):
        time, line = now(cluster), waiting(cluster).copy()
        random.shuffle(line)
        any_early = rs.bring_up_to_now(fast, cluster, jobs)
        assert any_early == rs.bring_up_to_now(slow, cluster, jobs)
        if any_early:
            rs.close_up(fast, jobs, line, time)
            for job in line:
                if slow.planned_start[job] > time:
                    rs.move_up(slow, job, jobs.size[job], jobs.estimate[job], time)
        assert fast.planned_start.tolist() == slow.planned_start.tolist()
        for job in waiting(cluster):
            if fast.planned_start[job] == rs.NONE:
                rs.reserve_anchor_point(fast, cluster, jobs, job)
                slow.planned_start[job] = place(
                    slow.profile, jobs.size[job], jobs.estimate[job], time
                )
        check_fronts(fast.openings, fast.profile)
        rs.start_due(fast, cluster, jobs)


def test_gain_in_long_interval():
    """A gain in a long interval forgets the fronts of all that may fit.

    The interval is followed for some steps only, so its begin is not known.
    """
    trace = bfenv.make_trace([0], [1], [10], 6)
    openings = new_openings(trace.jobs, 6, long=0)
    profile = new_profile(0, 100)
    profile.steps[0], profile.time[:200] = 200, np.arange(200)
    profile.free[:200:2], profile.free[1:200:2] = 4, 5
    openings.noted[0], openings.front[:] = True, 10_000
    note_gain(openings, profile, 4, 100, 101, 100)
    fits = openings.least <= 4
    assert (openings.front[fits] == 0).all() and (openings.front[~fits] == 10_000).all()


def test_order_of_fronts():
    """A front may be before that of smaller jobs.

    A gain in an interval too long to be followed brings back the front of a larger class alone. A
    later gain brings back that of the smaller one.
    """
    trace = bfenv.make_trace([0], [1], [500], 6)
    openings, profile = new_openings(trace.jobs, 6, long=0), new_profile(0, 110)
    row = int(np.searchsorted(openings.shortest, 400, side="right"))
    shortest = int(openings.shortest[row])
    assert 400 < shortest <= 529  # too long for 300 to 700, short enough for 171 to 700
    openings.noted[0] = True
    times = [*range(201), 300, 700, 800]
    free = [2 + time % 2 for time in range(200)] + [0, 3, 0, 6]
    free[90], free[100], free[170] = 1, 1, 0
    profile.steps[0], profile.time[:204], profile.free[:204] = 204, times, free
    for column, size in enumerate(openings.least):
        for k, duration in enumerate(openings.shortest):
            openings.front[column, k] = anchor_point(profile, size, duration, 0)
    assert openings.front[0, row] == openings.front[1, row] == 800

    give_back(openings, profile, 1, 100, 101)
    assert openings.front[0, row] == 800 and openings.front[1, row] < 171
    give_back(openings, profile, 2, 200, 300)
    assert openings.front[0, row] == anchor_point(profile, 1, shortest, 0) == 171
    check_fronts(openings, profile)


def give_back(openings, profile, size, begin, end):
    release(profile, size, begin, end)
    note_gain(openings, profile, size, begin, end, step_at(profile, begin))


def check_fronts(openings, profile):
    """No job of a class fits before the front of the class."""
    if not openings.noted[0]:
        return
    for column, size in enumerate(openings.least):
        for row, duration in enumerate(openings.shortest):
            anchor = anchor_point(profile, size, duration, profile.time[0])
            assert openings.front[column, row] <= anchor
