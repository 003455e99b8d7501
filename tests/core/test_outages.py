"""Processors out of service: solved by hand, against a slow version, and under every policy."""

from bisect import bisect
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import bfenv
from bfenv.baselines.multiqueue.memory import LAST_PASS
from bfenv.baselines.reservations import NONE
from bfenv.core.cluster import expected_ends, now, running, waiting
from bfenv.core.errors import PolicyError, WorkloadError
from bfenv.core.events import new_cluster
from bfenv.core.jobs import Outage
from bfenv.core.schedule import Schedule
from tests.conftest import as_naive, small_traces
from tests.oracles.machine import Easy, Fcfs
from tests.oracles.outages import around


def trace_of(*jobs, processors=4, outages=()):
    """A trace of jobs (submit, size, estimate, runtime[, user])."""
    submit, size, estimate, runtime, *user = zip(*jobs, strict=True)
    return bfenv.make_trace(
        submit,
        size,
        runtime,
        processors,
        estimate=estimate,
        user=user[0] if user else None,
        outages=tuple(Outage(*one) for one in outages),
    )


def starts(policy, *jobs, **machine):
    """Starts of such jobs."""
    return bfenv.simulate(trace_of(*jobs, **machine), policy).check().start.tolist()


def test_drained():
    """A job that could still run when the machine goes down waits until it is back."""
    outages = [(10, 20, 4)]
    assert starts("fcfs", (0, 4, 10, 10), outages=outages) == [0]
    assert starts("fcfs", (0, 4, 11, 1), outages=outages) == [20]
    assert starts("fcfs", (12, 1, 1, 1), outages=outages) == [20]


@given(small_traces(outages=True), st.sampled_from([Fcfs, Easy]))
@settings(max_examples=100)
def test_oracle(trace, policy):
    """Every start is that of the slow version."""
    expected = around(*as_naive(trace), trace.outages, policy())
    policy = policy.__name__.lower()
    assert bfenv.simulate(trace, policy).check().start.tolist() == expected


POLICIES = [name for name, one in bfenv.policies().items() if isinstance(one, bfenv.Policy)]
GUARDED = (
    "easy(order=sjf, guard=1.5)",
    "easy(order=sjf, guard=1, guard_scale=scaled_backlog)",
)


@given(small_traces(jobs=12, outages=True), st.sampled_from([*POLICIES, *GUARDED]))
@settings(max_examples=100)
def test_every_policy(trace, policy):
    """Under every policy all jobs run, and never more than is in service."""
    schedule = bfenv.simulate(trace, policy).check()
    assert len(schedule.start) == len(trace)
    for values in schedule.records.values():
        assert len(values) == len(trace)


@st.composite
def with_trials(draw):
    """A small trace with jobs long enough to be tried, and an outage."""
    count = draw(st.integers(2, 8))
    column = partial(st.lists, min_size=count, max_size=count)
    submit = sorted(draw(column(st.integers(0, 2_000))))
    size = draw(column(st.integers(1, 4)))
    estimate = draw(column(st.sampled_from([60, 300, 1_100, 1_500, 3_000])))
    share = draw(column(st.sampled_from([0.05, 0.3, 1.0])))
    runtime = [max(1, int(a * b)) for a, b in zip(estimate, share, strict=True)]
    begin, length = draw(st.tuples(st.integers(500, 5_000), st.integers(100, 2_000)))
    outages = (Outage(begin, begin + length, draw(st.integers(1, 4))),)
    return bfenv.make_trace(submit, size, runtime, 4, estimate=estimate, outages=outages)


@given(with_trials(), st.sampled_from(["easy-speculative", "multiqueue", "easy(trial=180)"]))
@settings(max_examples=100)
def test_trials(trace, policy):
    """Under policies that try jobs, too, all jobs run, and never more than is in service."""
    assert len(bfenv.simulate(trace, policy).check().start) == len(trace)


def test_back_from_trial():
    """A job that is back from its trial does not start if it could run into the outage."""
    jobs = (0, 1, 1_500, 450), (7, 3, 3_000, 3_000), (434, 3, 3_000, 150)
    assert starts("easy-speculative", *jobs, outages=[(3_179, 4_660, 4)]) == [180, 4_810, 4_660]


def test_hidden_trial():
    """A job that the outage keeps back is not started from the list of those to be tried."""
    jobs = (0, 3, 1_500, 1_500), (1_260, 4, 1_500, 75), (1_312, 3, 60, 18)
    assert starts("easy-speculative", *jobs, outages=[(3_070, 4_618, 1)]) == [180, 4_618, 1_680]


def with_look(trace, policy, look):
    """The schedule of a policy; `look(cluster, jobs, memory)` is called after each decision."""

    def decide(cluster, jobs, memory):
        policy.decide(cluster, jobs, memory)
        look(cluster, jobs, memory)

    return bfenv.simulate(trace, replace(policy, decide=decide, run=None)).check()


PLANNERS = "conservative", "conservative-sjf", "cons-rs", "slack", "relaxed", "selective"
# The outage hides job 5 when it comes at 8, and no longer when job 4 ends early at 9.
SEEN_LATER = trace_of(
    (0, 1, 2, 2),
    (0, 1, 2, 2),
    (0, 1, 2, 2),
    (0, 3, 5, 5),
    (0, 4, 4, 2),
    (8, 1, 3, 1),
    (8, 2, 1, 1),
    processors=5,
    outages=[(10, 11, 1)],
)
# A new plan is made at 12, when job 0 is hidden: its planned start is that of the old plan.
OLD_PLAN = trace_of(
    (0, 4, 4, 1),
    (0, 3, 5, 1),
    (0, 2, 5, 2),
    (0, 3, 4, 1),
    outages=[(21, 22, 1), (13, 18, 1), (0, 12, 3)],
)


@given(small_traces(jobs=12, outages=True), st.sampled_from(PLANNERS))
@settings(max_examples=100)
@example(SEEN_LATER, "conservative")
@example(OLD_PLAN, "relaxed")
def test_plans(trace, policy):
    """A plan that is kept holds what runs and all waiting jobs that the policy sees."""

    def look(cluster, jobs, memory):
        plan, time = memory.reservations, now(cluster)
        held = list(zip(expected_ends(cluster), jobs.size[running(cluster)], strict=True))
        held = [(time, end, size) for end, size in held]
        for job in waiting(cluster):
            begin = plan.planned_start[job]
            if cluster.start[job] < 0 and begin != NONE:
                held.append((begin, begin + jobs.estimate[job], jobs.size[job]))
            assert cluster.start[job] >= 0 or begin != NONE or policy == "selective"
        steps = plan.profile.steps[0]
        begins = plan.profile.time[:steps].tolist()
        for at in {*begins, *(int(begin) for begin, _, _ in held)}:
            free = plan.profile.free[bisect(begins, at) - 1]
            assert free == trace.processors - sum(z for a, b, z in held if a <= at < b)

    with_look(trace, bfenv.find_policy(policy), look)


QUEUES = "multiqueue(speculation=0, bounds=(3,))", "easy-speculative(speculation=0)"
# At 7 the policy sees as many jobs as it left waiting at 6, but job 3 in place of job 7.
SWAPPED = trace_of(
    (0, 1, 1, 1),
    (0, 5, 6, 6),
    (0, 1, 7, 4),
    (0, 4, 7, 1),
    (0, 2, 7, 4),
    (0, 2, 7, 7),
    (0, 2, 5, 4),
    (0, 5, 2, 2),
    processors=5,
    outages=[(0, 2, 5), (6, 7, 1), (8, 10, 1)],
)


@given(small_traces(jobs=12, outages=True), st.sampled_from(QUEUES))
@settings(max_examples=100)
@example(SWAPPED, QUEUES[0])
def test_multiqueue(trace, name):
    """What a pass skips as unchanged would change nothing, whatever outages hide meanwhile."""
    policy = bfenv.find_policy(name)

    def start_over(cluster, jobs, memory):
        memory.state[LAST_PASS] = -9

    slow = with_look(trace, policy, start_over)
    assert bfenv.simulate(trace, policy).start.tolist() == slow.start.tolist()


@given(small_traces(outages=True))
def test_compiled_or_not(trace):
    """A policy that is called from Python at every pass makes the same schedule."""
    slow = replace(bfenv.find_policy("easy-sjf"), run=None)
    one, other = bfenv.simulate(trace, "easy-sjf"), bfenv.simulate(trace, slow)
    assert one.start.tolist() == other.start.tolist()


def test_check():
    """A schedule that uses processors out of service is refused."""
    trace = bfenv.make_trace([0], [3], [10], 4, outages=(Outage(5, 6, 2),))
    never = np.array([-1])
    schedule = Schedule(trace, "p", 0, np.array([0]), np.array([10]), never, never)
    with pytest.raises(PolicyError, match="5 of 4 processors in use at 5 s"):
        schedule.check()


@pytest.mark.parametrize(
    ("outages", "message"),
    [
        ([Outage(-1, 5, 1)], "begin of an outage must be an integer >= 0"),
        ([Outage(5, 5, 1)], "end of the outage at 5 s must be an integer from 6"),
        ([Outage(0, 5, 5)], "processors of the outage at 0 s must be an integer from 1 to 4"),
        ([Outage(0, 10, 3), Outage(9, 12, 2)], "outages at 9 s take more processors than the 4"),
        ([(0, 5, 1)], r"outages must be Outage objects, got \(0, 5, 1\)"),
    ],
)
def test_wrong(outages, message):
    """Outages that cannot be are refused."""
    with pytest.raises(WorkloadError, match=message):
        bfenv.make_trace([0], [1], [1], 4, outages=tuple(outages))


def test_hash_and_slice():
    """Outages are part of the content; a part of a trace has what is left of them."""
    trace = bfenv.make_trace([0, 100], [1, 1], [1, 1], 4)
    down = replace(trace, outages=(Outage(10, 20, 4), Outage(90, 110, 2), Outage(150, 160, 1)))
    assert down.hash != trace.hash
    assert down[1:].outages == (Outage(0, 10, 2), Outage(50, 60, 1))


def test_transformed():
    """With other submit times, outages move with them."""
    trace = bfenv.make_trace([0, 100], [1, 1], [1, 1], 4, outages=(Outage(10, 20, 4),))
    faster = bfenv.workloads.with_arrival_rate(trace, 2)
    assert faster.outages == (Outage(5, 10, 4),)


def test_not_followed():
    """A machine that would ignore outages, and the other event order, refuse a trace with some."""
    trace = bfenv.make_trace([0, 100], [1, 1], [1, 1], 4, outages=(Outage(10, 20, 4),))
    with pytest.raises(WorkloadError, match="only `bfenv.simulate` follows"):
        new_cluster(trace)
    with pytest.raises(WorkloadError, match="standard event order"):
        bfenv.simulate(trace, "easy", event_order="pyss")
