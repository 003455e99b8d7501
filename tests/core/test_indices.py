"""No kernel counts from the end of an array, or reads outside of it, by mistake."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bfenv
from bfenv.core.cluster import QUEUE_END, start
from bfenv.core.events import advance, new_cluster
from bfenv.core.policy import Policy, new_memory
from bfenv.envs.backfill import BackfillEnv
from tests.conftest import COMPILED, small_traces, stretched
from tests.envs.test_combinations import OPTIONS, RULES, TRACES, play

pytestmark = pytest.mark.skipif(COMPILED, reason="`make bounds` checks compiled kernels")


class Strict(np.ndarray):
    """An array that has no indices below 0, which numpy and numba count from its end."""

    def __getitem__(self, key):
        check(key)
        return super().__getitem__(key)

    def __setitem__(self, key, value):
        check(key)
        super().__setitem__(key, value)


def check(key):
    """Raise IndexError if a part of an index, or a bound of a slice, is below 0."""
    for part in key if isinstance(key, tuple) else (key,):
        bounds = (part.start, part.stop) if isinstance(part, slice) else (part,)
        if any(isinstance(bound, int | np.integer) and bound < 0 for bound in bounds):
            raise IndexError(f"{part} is below 0")


def strict(value):
    """The same value with strict arrays, in tuples as well."""
    if isinstance(value, np.ndarray):
        return value.view(Strict)
    if isinstance(value, tuple):
        parts = map(strict, value)
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def last_job(cluster, jobs, memory):
    """Start a job that waits, by an index below 0."""
    start(cluster, jobs, cluster.queue[cluster.state[QUEUE_END] - len(cluster.queue) - 1])


def run(policy, trace, seed):
    """Run a policy on strict arrays; return when each job ended."""
    cluster, jobs, truth = map(strict, new_cluster(trace))
    memory = strict(new_memory(policy, jobs, trace.processors, seed))
    while advance(cluster, jobs, truth):
        policy.decide(cluster, jobs, memory)
    return cluster.end[: len(trace)]


def test_a_policy_that_counts_from_the_end():
    """A policy with an index below 0 is found, although its schedule would be right."""
    trace = bfenv.make_trace([0, 0], [1, 1], [1, 1], 2)
    policy = Policy("last-job", last_job, None)
    with pytest.raises(IndexError, match="is below 0"):
        run(policy, trace, 0)


POLICIES = [name for name, found in bfenv.policies().items() if isinstance(found, Policy)]
PLAIN = small_traces() | small_traces(jobs=20, processors=3)


@pytest.mark.parametrize("name", POLICIES)
@settings(max_examples=30)
@given(data=st.data(), factor=st.sampled_from([1, 700]), seed=st.integers(0, 99))
def test_policies(name, data, factor, seed):
    """Every policy, on traces with many ties, keeps within its arrays."""
    policy = bfenv.policies()[name]
    traces = PLAIN | small_traces(requested_starts=True) if policy.requested_starts else PLAIN
    trace = stretched(data.draw(traces), factor)
    assert (run(policy, trace, seed) >= 0).all()


@given(TRACES, RULES, OPTIONS, st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_environments(traces, rules, options, seed):
    """So does the environment, with settings in combination."""
    options |= {"split": "all", "warmup_jobs": 0, "episode_jobs": None}
    env = BackfillEnv(list(traces), **rules, **options)
    env.batch._kernel_arguments = strict(env.batch._kernel_arguments)
    for episode in range(2):
        assert len(play(env, seed + episode, seed=seed + episode)) > 1
