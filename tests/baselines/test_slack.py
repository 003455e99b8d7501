"""Slack-based and relaxed backfilling against hand-solved cases and the naive versions."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bfenv
from bfenv.baselines.registry import find_policy
from bfenv.baselines.reservations import NONE
from bfenv.baselines.selective import SELECTIVE, selective
from bfenv.baselines.slack import RELAXED, SLACK, relaxed, slack
from tests.baselines.machines import crowds, with_another
from tests.conftest import as_naive, small_traces
from tests.oracles import slack as naive_slack


def schedule(policy, processors, *jobs):
    """The schedule of jobs (submit, size, estimate, priority), the last of them optional."""
    rows = [(*job, 0)[:4] for job in jobs]
    submit, size, estimate, priority = zip(*rows, strict=True)
    trace = bfenv.make_trace(submit, size, estimate, processors, priority=priority)
    return bfenv.simulate(trace, policy).check()


def starts(*arguments):
    return schedule(*arguments).start.tolist()


@pytest.mark.parametrize(("estimate", "expected"), [(5, [0, 6, 1]), (6, [0, 4, 8])])
def test_delay_within_slack(estimate, expected):
    """A job is backfilled if it delays the other by no more than the other's slack."""
    #  P  estimate 5      6
    #  2 | 222221111     |    1111
    #  1 |0000  1111     |00001111222222     job 1 was to start at 4, half its estimate is 2
    assert starts(relaxed(0.5), 2, (0, 1, 4), (1, 2, 4), (1, 1, estimate)) == expected


FAMILIES = {"slack": (slack, [0, 1, 2.5, 8]), "relaxed": (relaxed, [0, 0.4, 1, 3])}


@st.composite
def options(draw):
    """A family and its option."""
    name = draw(st.sampled_from(list(FAMILIES)))
    return name, draw(st.sampled_from(FAMILIES[name][1]))


@given(small_traces(jobs=10) | crowds(), options())
def test_naive_versions(trace, option):
    """Starts, reservations and guarantees are those of the slow versions."""
    name, value = option
    for order in ("standard", "pyss"):
        result = bfenv.simulate(trace, FAMILIES[name][0](value), event_order=order)
        expected, reservation, latest = getattr(naive_slack, name)(*as_naive(trace), value, order)
        assert list(zip(result.start.tolist(), result.end.tolist(), strict=True)) == expected
        assert dict(enumerate(result.records["reservation"].tolist())) == reservation
        assert dict(enumerate(result.records["guarantee"].tolist())) == latest


def each_of_its_own_kind(policy):
    """The policy, but no job is refused or placed by what was found of another of its kind."""

    def memory(jobs, processors, generator):
        count = len(jobs.submit)
        return policy.memory(jobs, processors, generator)._replace(
            kind=np.arange(count), refused=np.full(count, NONE)
        )

    return replace(policy, memory=memory)


def of_few_kinds(processors, seed):
    """A crowded trace of 300 jobs of 20 kinds."""
    generator = np.random.default_rng(seed)
    submit = np.cumsum(generator.integers(0, 20, 300))
    size, estimate = (
        generator.choice([1, 2, 3, 5, 8], 300),
        generator.choice([20, 60, 90, 400], 300),
    )
    runtime = np.maximum(1, estimate * generator.choice([0.1, 0.6, 1], 300)).astype(int)
    return bfenv.make_trace(submit, size, runtime, processors, estimate=estimate)


@pytest.mark.compiled
@pytest.mark.parametrize("processors", [10, 16])
@pytest.mark.parametrize(
    "policy", ["relaxed", "relaxed(factor=5)", "slack(seconds=120)", "slack(seconds=1000)"]
)
def test_kinds(policy, processors):
    """What is found of one job holds for those of its kind."""
    policy = find_policy(policy)
    own = each_of_its_own_kind(policy)
    for seed in range(20):
        trace = of_few_kinds(processors, seed)
        one, two = bfenv.simulate(trace, policy), bfenv.simulate(trace, own)
        assert one.start.tolist() == two.start.tolist()


@given(crowds(), options())
def test_latest_start(trace, option):
    """No job starts later than its first reservation and its slack."""
    name, value = option
    result = bfenv.simulate(trace, FAMILIES[name][0](value)).check()
    reservation, guarantee = result.records["reservation"], result.records["guarantee"]
    assert (result.start <= guarantee).all()
    jobs = trace.jobs
    allowed = value * jobs.estimate if name == "relaxed" else value * 2.0**-jobs.priority
    assert (guarantee - reservation <= allowed).all()


@given(small_traces(jobs=10))
def test_no_slack(trace):
    """With no slack and exact estimates, both are conservative backfilling."""
    jobs = trace.jobs
    exact = bfenv.make_trace(jobs.submit, jobs.size, trace.runtime, trace.processors)
    expected = bfenv.simulate(exact, "conservative").start.tolist()
    assert bfenv.simulate(exact, slack(0)).start.tolist() == expected
    assert bfenv.simulate(exact, relaxed(0)).start.tolist() == expected


TAKING_OVER = [SLACK, RELAXED, relaxed(0), SELECTIVE, selective(0)]


@given(crowds(), st.sampled_from(TAKING_OVER), st.integers(1, 9))
def test_takeover(trace, policy, n):
    """A policy takes over a busy machine, and gets over starts that are not its own."""
    assert (with_another(trace, policy, lambda count: count > n) >= 0).all()
    assert (with_another(trace, policy, lambda count: count % 2) >= 0).all()


def test_enormous_option():
    """An enormous option is a long slack, and stays within what the engine adds to a time."""
    for policy in (slack(1e300), relaxed(1e300), relaxed(10**18)):
        assert starts(policy, 2, (0, 1, 4), (1, 2, 4), (1, 1, 6)) == [0, 7, 1]
