"""Policies: how a function becomes one, and what its memory is."""

import pickle

import numpy as np
import pytest

from bfenv.core.cluster import may_start, start, waiting
from bfenv.core.errors import BfenvError, PolicyError
from bfenv.core.jobs import make_trace
from bfenv.core.policy import Policy, generator_memory, make_policy, new_memory, plans_for
from bfenv.core.simulator import simulate

TRACE = make_trace([0, 0], [1, 1], [4, 2], 1)


def last_first(cluster, jobs):
    """Start the last job first.

    More about it.
    """
    for job in waiting(cluster)[::-1]:
        if may_start(cluster, jobs, job):
            start(cluster, jobs, job)


def with_memory(cluster, jobs, memory):
    last_first(cluster, jobs)


def named(cluster, jobs):
    """Named by its module."""
    last_first(cluster, jobs)


named = make_policy(named)


def test_function():
    """A function of cluster and jobs is a policy named after it, with its first line."""
    policy = make_policy(last_first)
    assert (policy.name, policy.summary) == ("last-first", "Start the last job first.")
    assert simulate(TRACE, policy).start.tolist() == [2, 0]


def test_options():
    """Options are fields of Policy and replace what the function says."""
    policy = make_policy(with_memory, name="mine", summary="x", stateful=True)
    assert (policy.name, policy.summary, policy.stateful) == ("mine", "x", True)
    assert policy.decide is with_memory
    assert make_policy(with_memory, stochastic=True).memory is generator_memory


@pytest.mark.parametrize(
    ("function", "options", "shown"),
    [
        (lambda cluster: None, {}, "<lambda>"),
        (3, {}, "int"),
        (last_first, {"stohastic": True}, "'stohastic'"),
        (last_first, {"decide": with_memory}, "'decide'"),
    ],
)
def test_bad_functions(function, options, shown):
    """What cannot be a policy is refused by its name, and so is an unknown option."""
    with pytest.raises(PolicyError, match=shown):
        make_policy(function, **options)


def test_pickle():
    """A policy is pickled by its name if that leads to it, and else by its fields."""
    assert pickle.loads(pickle.dumps(named)) is named
    policy = make_policy(last_first, name="other", trials=True)
    assert pickle.loads(pickle.dumps(policy)) == policy


def test_able():
    """Jobs with requested start times need a policy that plans for them."""
    later = make_trace([0], [1], [1], 1, requested_start=[5]).jobs
    assert plans_for(make_policy(last_first), TRACE.jobs)
    assert not plans_for(make_policy(last_first), later)
    assert plans_for(make_policy(last_first, requested_starts=True), later)


def test_memory():
    """The memory is made from the jobs, the processors and a generator of the seed."""

    def memory(*given):
        return given

    policy = Policy("mine", with_memory, memory=memory)
    jobs, processors, generator = new_memory(policy, TRACE.jobs, 1, np.int64(3))
    assert jobs is TRACE.jobs and processors == 1
    assert generator.random() == np.random.default_rng(3).random()
    assert new_memory(make_policy(last_first), TRACE.jobs, 1, 0) == ()


@pytest.mark.parametrize("seed", [-1, 1.5, "x", None, True, float("nan")])
def test_bad_seeds(seed):
    """A seed that is not an integer >= 0 is an error that names it."""
    with pytest.raises(BfenvError, match=f"seed .* got {seed!r}"):
        new_memory(make_policy(last_first), TRACE.jobs, 1, seed)
