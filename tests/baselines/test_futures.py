"""Futures: with the true runtimes they are what happens, and they hold nothing that is unknown."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bfenv
from bfenv.baselines.futures import (
    first_starts,
    known_machine,
    new_future,
    recall,
    run_future,
    with_arrivals,
)
from bfenv.core.cluster import may_start, now, running, start, try_start, waiting
from bfenv.core.durations import DAY
from bfenv.core.jobs import ESTIMATE, SIZE, SUBMIT
from bfenv.core.policy import Policy, new_memory
from bfenv.knowledge.user_history import UserHistory, estimate_group, learn, new_user_history
from tests.conftest import small_traces

STATELESS = ("easy", "fcfs", "easy-sjf", "easy-wfp3", "easy(reservations=2)")


def first_that_fit(cluster, jobs, memory=()):
    for job in waiting(cluster):
        if may_start(cluster, jobs, job):
            start(cluster, jobs, job)


def first_trials(cluster, jobs, memory=()):
    for job in waiting(cluster):
        if may_start(cluster, jobs, job):
            if cluster.trial_start[job] < 0:
                try_start(cluster, jobs, job, 2)
            else:
                start(cluster, jobs, job)


EASY = bfenv.find_policy("easy")
GREEDY = Policy("greedy", first_that_fit, requested_starts=True)
TRYING = Policy("trying", first_trials, trials=True)


def true_future(trace, machine):
    return new_future(machine, trace.runtime[machine.job])


def watched(trace, policy, look):
    """The schedule of a policy; look(cluster, jobs) is called at every pass before its starts."""
    policy = bfenv.find_policy(policy)
    memory = new_memory(policy, trace.jobs, trace.processors, 0)

    def decide(cluster, jobs, _):
        look(cluster, jobs)
        policy.decide(cluster, jobs, memory)

    return bfenv.simulate(trace, Policy("watched", decide, trials=True, requested_starts=True))


@pytest.mark.parametrize("name", STATELESS)
@given(small_traces(jobs=10))
@settings(max_examples=25)
def test_the_future_with_true_runtimes_is_the_run(name, trace):
    """From each pass after the last arrival, a future with the true runtimes is what happens."""
    policy, futures = bfenv.find_policy(name), []

    def look(cluster, jobs):
        machine = known_machine(cluster, jobs)
        memory = new_memory(policy, machine.jobs, trace.processors, 0)
        starts, _ = first_starts(policy, machine, memory)
        if now(cluster) >= trace.jobs.submit[-1]:
            memory = new_memory(policy, machine.jobs, trace.processors, 0)
            after = run_future(policy, machine, true_future(trace, machine), memory)
            futures.append((machine.job, after, now(cluster), starts))

    schedule = watched(trace, name, look)
    assert futures
    for job, after, time, starts in futures:
        assert np.array_equal(after.start, schedule.start[job])
        assert np.array_equal(after.end, schedule.end[job])
        known = [each.job for each in starts]
        assert sorted(known) == np.flatnonzero(schedule.start == time).tolist()


@given(small_traces(jobs=10, requested_starts=True))
@settings(max_examples=25)
def test_requested_starts_come_in_a_future_too(trace):
    """A policy in Python meets the requested start times in a future as it does in the run."""
    futures = []

    def look(cluster, jobs):
        if now(cluster) >= trace.jobs.submit[-1]:
            machine = known_machine(cluster, jobs)
            after = run_future(GREEDY, machine, true_future(trace, machine), ())
            futures.append((machine.job, after.start))

    schedule = watched(trace, GREEDY, look)
    for job, starts in futures:
        assert np.array_equal(starts, schedule.start[job])


def test_trials_go_on_in_a_future():
    """A running trial ends at its limit, and a job whose trial was killed is not tried again."""
    trace = bfenv.make_trace([0, 0], [2, 1], [900, 60], 2, estimate=[4000, 100])
    policy, futures = bfenv.find_policy("easy-speculative(speculation=200, tried_above=600)"), []

    def look(cluster, jobs):
        machine = known_machine(cluster, jobs)
        memory = new_memory(policy, machine.jobs, trace.processors, 0)
        after = run_future(policy, machine, true_future(trace, machine), memory)
        futures.append((machine.job, after))

    schedule = watched(trace, policy, look)
    assert schedule.trial_end[0] == 200
    for job, after in futures:
        assert np.array_equal(after.end, schedule.end[job])
        tried = schedule.trial_end[job]
        assert np.array_equal(after.trial_end, tried)


@given(small_traces(jobs=10))
def test_killed_jobs_wait_in_a_future(trace):
    """Jobs whose trials end while others wait take their old places in the queue."""
    futures = []

    def look(cluster, jobs):
        if now(cluster) >= trace.jobs.submit[-1]:
            machine = known_machine(cluster, jobs)
            futures.append(
                (machine.job, run_future(TRYING, machine, true_future(trace, machine), ()))
            )

    schedule = watched(trace, TRYING, look)
    for job, after in futures:
        assert np.array_equal(after.start, schedule.start[job])
        assert np.array_equal(after.trial_end, schedule.trial_end[job])


@given(small_traces(jobs=8), st.integers(1, 12))
@settings(max_examples=25)
def test_time_stops_at_the_horizon(trace, horizon):
    """Up to the horizon, a future equals the one without an end; nothing happens beyond it."""
    policy = bfenv.find_policy("easy")

    def look(cluster, jobs):
        machine = known_machine(cluster, jobs)
        future = true_future(trace, machine)
        whole = run_future(policy, machine, future, ())
        part = run_future(policy, machine, future, (), horizon)
        seen = whole.start <= now(cluster) + horizon
        assert np.array_equal(part.start, np.where(seen, whole.start, -1))

    watched(trace, "easy", look)


def test_a_future_leaves_the_machine_alone():
    """Neither the machine nor its copy changes when a future is run."""
    trace = bfenv.load_workload("lublin:jobs=80", load=1.2)
    policy = bfenv.find_policy("easy-sjf")

    def look(cluster, jobs):
        machine = known_machine(cluster, jobs)
        kept = [column.copy() for column in (*cluster, *machine.cluster)]
        memory = new_memory(policy, machine.jobs, trace.processors, 0)
        run_future(policy, machine, new_future(machine, machine.requests[ESTIMATE]), memory)
        assert all(map(np.array_equal, kept, (*cluster, *machine.cluster)))

    assert np.array_equal(watched(trace, "easy", look).start, bfenv.simulate(trace, "easy").start)


def daily_trace(days=4):
    """Each day three jobs, at 1 h, 2 h and 30 h after its midnight minus a day."""
    hours = sorted(24 * day + hour for day in range(days) for hour in (1, 2, 6))
    submit = [3600 * hour for hour in hours]
    count = len(submit)
    return bfenv.make_trace(submit, [1] * count, [50] * count, 4, estimate=[60] * count)


def test_arrivals_repeat_a_past_day():
    """On the third day at 1 h, the jobs of 2 h and 6 h are expected as on a day before."""
    trace, seen = daily_trace(), []

    def look(cluster, jobs):
        machine = known_machine(cluster, jobs)
        future = with_arrivals(machine, cluster, jobs, np.random.default_rng(1), DAY // 2)
        seen.append((now(cluster), machine, future))

    watched(trace, "easy", look)
    early = [future is machine for time, machine, future in seen if time < DAY]
    assert early and all(early)
    time, machine, future = next(each for each in seen if each[0] == 2 * DAY + 3600)
    arrivals = future.requests[SUBMIT, len(machine.job) :]
    assert arrivals.tolist() == [2 * DAY + 2 * 3600, 2 * DAY + 6 * 3600]
    assert (future.job[len(machine.job) :] < machine.job.min()).all()
    after = run_future(EASY, future, new_future(future, future.requests[ESTIMATE]), ())
    assert np.array_equal(after.start, np.maximum(future.requests[SUBMIT], time))


@given(small_traces(jobs=10), st.integers(0, 2**16))
@settings(max_examples=25)
def test_arrivals_are_jobs_of_the_past(trace, seed):
    """A model of an arrival has been submitted by now, and an arrival comes after now."""
    spread = trace.jobs._replace(submit=trace.jobs.submit * (DAY // 4))
    trace = bfenv.Trace(spread, trace.runtime, trace.processors)

    def look(cluster, jobs):
        machine = known_machine(cluster, jobs)
        generator = np.random.default_rng(seed)
        future = with_arrivals(machine, cluster, jobs, generator, DAY // 2)
        known = len(machine.job)
        assert (jobs.submit[future.job] <= now(cluster)).all()
        submit = future.requests[SUBMIT, known:]
        assert ((submit > now(cluster)) & (submit <= now(cluster) + DAY // 2)).all()
        assert np.array_equal(future.requests[SIZE], jobs.size[future.job])
        after = run_future(EASY, future, new_future(future, future.requests[ESTIMATE]), ())
        assert (after.end >= 0).all()
        used = [
            (future.requests[SIZE] * ((after.start <= t) & (after.end > t))).sum()
            for t in after.start
        ]
        assert max(used, default=0) <= trace.processors

    watched(trace, "easy", look)


@given(small_traces(jobs=10))
@settings(max_examples=25)
def test_users_are_recalled(trace):
    """What a candidate knows of users in a future is what the run has seen, for the known jobs."""
    policy = bfenv.find_policy("easy(order='size * user_runtime + same_estimate_runtime')")
    users = new_user_history(trace.jobs)

    def look(cluster, jobs):
        learn(users, cluster, jobs)
        machine = known_machine(cluster, jobs)
        if not len(machine.job):
            return
        memory = new_memory(policy, machine.jobs, trace.processors, 0)
        memory = recall(memory, machine, users)
        assert isinstance(memory.history, UserHistory)
        assert np.array_equal(memory.history.recent, users.recent)
        for number, job in enumerate(machine.job):
            group = estimate_group(memory.history, machine.jobs, number)
            assert group == estimate_group(users, jobs, job)
        assert np.array_equal(memory.history.by_estimate, users.by_estimate)
        memory.history.recent[:] = -1  # a copy
        assert (users.recent >= 0).all()

    watched(trace, "easy", look)
    assert recall((), None, users) == ()


def test_an_illegal_start_names_the_job_of_the_trace():
    """Job 2 of the trace is job 0 of the future; the error names job 2."""
    trace = bfenv.make_trace([0, 0, 5, 5], [1, 1, 2, 1], [2, 2, 9, 9], 2)

    def twice(cluster, jobs, memory):
        if now(cluster) >= 5:
            start(cluster, jobs, 0)
            start(cluster, jobs, 0)

    def look(cluster, jobs):
        if now(cluster) == 5:
            assert running(cluster).tolist() == []
            first_starts(Policy("twice", twice), known_machine(cluster, jobs), ())

    with pytest.raises(bfenv.PolicyError, match="twice: illegal start of job 2 at 5 s"):
        watched(trace, "easy", look)
