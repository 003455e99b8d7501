"""Futures: with the true runtimes they are what happens, and they hold nothing that is unknown."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bfenv
from bfenv.core.cluster import FREE, finished, may_start, now, running, start, try_start, waiting
from bfenv.core.jobs import ESTIMATE, FOREVER, REQUESTED_START, Jobs, Outage
from bfenv.core.policy import Policy, new_memory
from bfenv.knowledge.user_history import UserHistory, estimate_group, learn_jobs, new_user_history
from bfenv_site.futures.arrivals import Arrivals
from bfenv_site.futures.futures import cluster_at, known_machine, recall, run_futures, with_waiting
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


def queue_of(machine):
    return np.flatnonzero(machine.cluster.start < 0)


def true_starts(policy, trace, machine, **options):
    """The waiting jobs of a machine, and when they start if all runtimes are the true ones."""
    queue = queue_of(machine)
    runtime = trace.runtime[machine.job][None]
    return machine.job[queue], run_futures(policy, machine, runtime, queue, **options)[0]


def watched(trace, policy, look):
    """The schedule of a policy; look(cluster, jobs) is called at every pass before its starts."""
    policy = bfenv.find_policy(policy)
    memory = new_memory(policy, trace.jobs, trace.processors, 0)

    def decide(cluster, jobs, _):
        look(cluster, jobs)
        policy.decide(cluster, jobs, memory)

    return bfenv.simulate(trace, Policy("watched", decide, trials=True, requested_starts=True))


def futures_after_the_last_arrival(trace, policy):
    """At each pass from the last arrival on, the starts in the true future; and the schedule."""
    policy, futures = bfenv.find_policy(policy), []

    def look(cluster, jobs):
        if now(cluster) >= trace.jobs.submit[-1]:
            futures.append(true_starts(policy, trace, known_machine(cluster, jobs)))

    return futures, watched(trace, policy, look)


@pytest.mark.parametrize(
    "policy", [*STATELESS, GREEDY, TRYING], ids=lambda policy: getattr(policy, "name", policy)
)
@given(small_traces(jobs=10))
@settings(max_examples=20)
def test_true_runtimes(policy, trace):
    """From each pass after the last arrival, a future with the true runtimes is what happens."""
    futures, schedule = futures_after_the_last_arrival(trace, policy)
    assert futures
    for job, starts in futures:
        assert np.array_equal(starts, schedule.start[job])


@given(small_traces(jobs=10, requested_starts=True))
@settings(max_examples=20)
def test_requested_starts(trace):
    """A policy meets the requested start times in a future as it does in the run."""
    futures, schedule = futures_after_the_last_arrival(trace, GREEDY)
    for job, starts in futures:
        assert np.array_equal(starts, schedule.start[job])


def test_running_trial():
    """A running trial ends at its limit, and its job waits again: the trial was not its start."""
    trace = bfenv.make_trace([0, 0], [2, 1], [900, 60], 2, estimate=[4000, 100])
    policy = bfenv.find_policy("easy-speculative(speculation=200, tried_above=600)")
    futures, schedule = futures_after_the_last_arrival(trace, policy)
    assert schedule.trial_end[0] == 200 and schedule.start.tolist() == [200, 1100]
    job, starts = futures[0]
    assert job.tolist() == [0, 1] and starts.tolist() == [200, 1100]


@given(small_traces(jobs=10), st.integers(0, 2**16), st.integers(2, 4))
@settings(max_examples=20)
def test_threads(trace, seed, threads):
    """Futures are the same by one thread and by several."""
    machine = None

    def look(cluster, jobs):
        nonlocal machine
        if machine is None and len(waiting(cluster)) > 2:
            machine = known_machine(cluster, jobs)

    watched(trace, "easy", look)
    if machine is None:
        return
    generator = np.random.default_rng(seed)
    shape = 9, len(machine.job)
    runtime = 1 + generator.integers(0, machine.requests[ESTIMATE], shape)
    queue = queue_of(machine)
    starts = run_futures(EASY, machine, runtime, queue, threads=1)
    assert np.array_equal(starts, run_futures(EASY, machine, runtime, queue, threads=threads))
    assert (starts < FOREVER).all()


def a_machine(processors=2, size=2):
    """Two jobs run on a machine of two processors, one for 100 s, one waits; at 10 s."""
    requests = np.zeros((7, 3), dtype=np.int64)
    requests[:3] = [0, 0, 5], [1, 1, size], [100, 200, 50]
    start, end = np.array([0, 0, -1]), np.array([-1, -1, -1])
    return known_machine(cluster_at(10, requests, start, end, processors), Jobs(*requests))


def test_recorded_starts():
    """The job that waits starts when the longer of the two that run has ended."""
    machine = a_machine()
    runtime = np.array([[30, 90, 50], [60, 20, 50], [5, 5, 5]])
    starts = run_futures(EASY, machine, runtime, np.array([2]))
    assert starts.T.tolist() == [[90, 60, 11]]  # what should have ended ends after now


def test_an_overfull_machine():
    """Where running jobs hold more processors than there are, nothing starts until they end."""
    machine = a_machine(processors=1, size=1)
    assert machine.cluster.state[FREE] == -1
    machine = with_waiting(machine, np.array([[10], [1], [50], [0], [0], [0], [1]]))
    assert machine.job.tolist() == [0, 1, 2, -1]
    runtime = np.array([[60, 80, 50, 50]])
    assert run_futures(EASY, machine, runtime, np.array([2, 3])).tolist() == [[80, 130]]


def test_joining_jobs_come_last():
    """A job that joins the queue starts behind the others, unless it can overtake them."""
    requests = np.array([[10, 10], [2, 1], [50, 20], [0, 0], [0, 0], [0, 0], [1, 1]])
    machine = with_waiting(a_machine(), requests)
    runtime = np.array([[30, 90, 50, 50, 20]])
    numbers = np.array([2, 3, 4])
    assert run_futures(EASY, machine, runtime, numbers).tolist() == [[90, 140, 30]]


def test_an_outage_to_come():
    """No job starts that may still run, by its estimate, when an announced outage begins."""
    outage = Outage(120, 500, 2)
    runtime = np.array([[30, 90, 50]])
    starts = run_futures(EASY, a_machine(), runtime, np.array([2]), outages=(outage,))
    assert starts.tolist() == [[500]]
    later = run_futures(
        EASY, a_machine(), runtime, np.array([2]), outages=(outage._replace(begin=140),)
    )
    assert later.tolist() == [[90]]


def test_arrivals_take_holes():
    """A job that arrives later overtakes under an order, with the runtime that it had."""
    requests = np.array([[-80], [2], [10], [0], [0], [0], [1]])
    block = np.zeros((1, 1), dtype=np.int64)
    arrivals = Arrivals(requests, np.array([7]), np.array([-1]), block, block + 1, block + 100)
    runtime = np.array([[30, 90, 50]])
    options = {"arrivals": arrivals}
    numbers = np.array([2])
    assert run_futures(EASY, a_machine(), runtime, numbers, **options).tolist() == [[90]]
    shortest = bfenv.find_policy("easy-sjf")
    assert run_futures(shortest, a_machine(), runtime, numbers, **options).tolist() == [[97]]
    # It still runs: its sampled runtime counts.
    running_arrivals = arrivals._replace(place=np.array([0]))
    own_starts = run_futures(shortest, a_machine(), runtime, numbers, arrivals=running_arrivals)
    assert own_starts.tolist() == [[100]]  # killed at its estimate


def test_unchanged_machine():
    """Neither the machine nor its copy changes when futures are run."""
    trace = bfenv.load_workload("lublin:jobs=80", load=1.2)
    policy = bfenv.find_policy("easy-sjf")

    def look(cluster, jobs):
        machine = known_machine(cluster, jobs)
        kept = [column.copy() for column in (*cluster, *machine.cluster)]
        run_futures(policy, machine, machine.requests[ESTIMATE][None], queue_of(machine))
        assert all(map(np.array_equal, kept, (*cluster, *machine.cluster)))

    assert np.array_equal(watched(trace, "easy", look).start, bfenv.simulate(trace, "easy").start)


@given(small_traces(jobs=10))
@settings(max_examples=25)
def test_users_are_recalled(trace):
    """What a candidate knows of users in a future is what the run has seen, for the known jobs."""
    policy = bfenv.find_policy("easy(order='size * user_runtime + same_estimate_runtime')")
    users = new_user_history(trace.jobs)

    def look(cluster, jobs):
        """Compare what a candidate's memory has of users with what the run has seen so far."""
        learn_jobs(users, cluster, jobs, finished(cluster))
        machine = known_machine(cluster, jobs)
        if not len(machine.job):
            return
        requests = Jobs(*machine.requests)
        memory = recall(new_memory(policy, requests, trace.processors, 0), users)
        assert isinstance(memory.history, UserHistory)
        assert np.array_equal(memory.history.recent, users.recent)
        for number, job in enumerate(machine.job):
            assert estimate_group(memory.history, requests, number) == estimate_group(
                users, jobs, job
            )
        assert np.array_equal(memory.history.by_estimate, users.by_estimate)
        memory.history.recent[:] = -1  # a copy
        assert (users.recent >= 0).all()
        run_futures(
            policy, machine, machine.requests[ESTIMATE][None], queue_of(machine), users=users
        )

    watched(trace, "easy", look)
    assert recall((), users) == ()


def test_illegal_start():
    """An illegal start in a future is an error that names the job of the trace.

    Job 2 of the trace is job 0 of the future; the error names job 2.
    """
    trace = bfenv.make_trace([0, 0, 5, 5], [1, 1, 2, 1], [2, 2, 9, 9], 2)

    def twice(cluster, jobs, memory):
        if now(cluster) >= 5:
            start(cluster, jobs, 0)
            start(cluster, jobs, 0)

    def look(cluster, jobs):
        if now(cluster) == 5:
            assert running(cluster).tolist() == []
            true_starts(Policy("twice", twice), trace, known_machine(cluster, jobs))

    with pytest.raises(bfenv.PolicyError, match="twice: illegal start of job 2 at 5 s"):
        watched(trace, "easy", look)


def test_refused_policy():
    """A policy that plans for no requested start is refused."""
    machine, numbers = a_machine(), np.array([2])
    runtime = np.array([[30, 90, 50]])
    machine.requests.flags.writeable = True
    machine.requests[REQUESTED_START] = 400
    with pytest.raises(bfenv.PolicyError, match="easy does not plan for requested start times"):
        run_futures(EASY, machine, runtime, numbers)
