"""No kernel counts from the end of an array, or reads outside of it, by mistake."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bfenv
from bfenv.baselines.registry import FAMILIES
from bfenv.core import detour
from bfenv.core.cluster import QUEUE_END, start
from bfenv.core.jobs import Outage
from bfenv.core.outages import new_machine, outages_of
from bfenv.core.policy import Policy, new_memory
from bfenv.envs.backfill import BackfillEnv
from tests.conftest import COMPILED, small_traces, stretched
from tests.drawn_policies import drawn_policies
from tests.envs.combinations import OPTIONS, RULES, TRACES, play
from tests.strict_arrays import strict, strict_environment

pytestmark = pytest.mark.skipif(COMPILED, reason="`make bounds` checks compiled kernels")


def last_job(cluster, jobs, memory):
    """Start a job that waits, by an index below 0."""
    start(cluster, jobs, cluster.queue[cluster.state[QUEUE_END] - len(cluster.queue) - 1])


def strict_detour(*arguments, new_detour=detour.new_detour):
    """What passes around outages work with, in strict arrays."""
    return strict(new_detour(*arguments))


def run(policy, trace, seed):
    """Run a policy on strict arrays; return when each job ended."""
    cluster, jobs, truth = map(strict, new_machine(trace))
    memory = strict(new_memory(policy, jobs, trace.processors, seed))
    with mock.patch.object(detour, "new_detour", strict_detour):
        detour.run_around(policy, cluster, jobs, truth, memory, outages_of(trace), in_thread=False)
    return cluster.end[: len(trace)]


@pytest.mark.parametrize(
    "index",
    [
        -1,
        np.int64(-1),
        np.int32(-1),
        (0, -1),
        (np.int64(-1), 0),
        slice(-2, None),
        (0, slice(0, -1)),
    ],
    ids=str,
)
def test_strict_array(index):
    """A strict array refuses each index below 0, and so does a part of it."""
    for array in (strict(np.zeros((3, 3))), strict(np.zeros((4, 3, 3)))[2]):
        with pytest.raises(IndexError, match="is below 0"):
            array[index]
        with pytest.raises(IndexError, match="is below 0"):
            array[index] = 1
        array[0, np.int64(2)], array[1:, 0] = 1, 2
        assert array.sum() == 1 + 2 * 2


def test_negative_index():
    """A policy with an index below 0 is found, although its schedule would be right."""
    trace = bfenv.make_trace([0, 0], [1, 1], [1, 1], 2)
    policy = Policy("last-job", last_job, None)
    with pytest.raises(IndexError, match="is below 0"):
        run(policy, trace, 0)


POLICIES = [name for name, found in bfenv.policies().items() if isinstance(found, Policy)]
PLAIN = small_traces() | small_traces(jobs=20, processors=3) | small_traces(outages=True)
factors = st.sampled_from([1, 700])


def check_indices(policy, data, factor, seed):
    """Run a policy on a drawn trace with many ties."""
    traces = PLAIN | small_traces(requested_starts=True) if policy.requested_starts else PLAIN
    trace = data.draw(traces)
    if not trace.outages:
        trace = stretched(trace, factor)
    assert (run(policy, trace, seed) >= 0).all()


@pytest.mark.parametrize("name", POLICIES)
@settings(max_examples=30)
@given(data=st.data(), factor=factors, seed=st.integers(0, 99))
def test_policies(name, data, factor, seed):
    """Every policy, on traces with many ties, keeps within its arrays."""
    check_indices(bfenv.policies()[name], data, factor, seed)


@pytest.mark.parametrize("name", [name for name in POLICIES if name.endswith("-guarded")])
def test_outages_in_a_row(name):
    """A guard has room for a job, and for an outage that ends when the next one begins."""
    outages = Outage(1, 2, 1), Outage(2, 3, 1)
    trace = bfenv.make_trace([0, 0], [1, 1], [2, 1], 1, user=[0, 0], outages=outages)
    assert run(bfenv.policies()[name], trace, 0).tolist() == [5, 1]


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=100)
@given(data=st.data(), factor=factors, seed=st.integers(0, 99))
def test_drawn_options(family, data, factor, seed):
    """So does every family with drawn options."""
    check_indices(data.draw(drawn_policies(family)), data, factor, seed)


@given(TRACES, RULES, OPTIONS, st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_environments(traces, rules, options, seed):
    """So does the environment, with settings in combination."""
    options |= {"split": "all", "warmup_jobs": 0, "episode_jobs": None}
    env = strict_environment(BackfillEnv(list(traces), **rules, **options))
    for episode in range(2):
        assert len(play(env, seed + episode, seed=seed + episode)) > 1
