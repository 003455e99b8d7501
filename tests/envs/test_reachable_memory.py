"""Nothing that a policy or an agent can reach from what it is given depends on the future."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bfenv
from bfenv.core.cluster import may_start, now, start, waiting
from bfenv.core.events import advance
from bfenv.core.jobs import Outage
from bfenv.core.policy import Policy

PROCESSORS, JOBS = 8, 60


def contents(*parts):
    """The bytes of all arrays of NamedTuples, and of whatever the arrays are views of."""
    texts = []
    for part in parts:
        for value in part:
            while isinstance(value, np.ndarray):
                texts.append(value.tobytes())
                value = value.base
    return texts


def draw_trace(seed, outages=()):
    rng = np.random.default_rng(seed)
    estimate = rng.integers(5, 200, JOBS)
    return replace(
        bfenv.make_trace(
            submit=np.cumsum(rng.integers(0, 40, JOBS)),
            size=rng.integers(1, PROCESSORS + 1, JOBS),
            runtime=np.maximum(1, estimate * rng.integers(1, 5, JOBS) // 4),
            estimate=estimate,
            processors=PROCESSORS,
        ),
        outages=outages,
    )


def with_other_future(trace, end, moment, seed):
    """The trace with other jobs after `moment`, and other runtimes of those that then still run."""
    rng, jobs = np.random.default_rng(seed), trace.jobs
    late = jobs.submit > moment
    runtime = np.where(end > moment, jobs.estimate, trace.runtime)
    estimate = np.where(late, rng.integers(5, 300, JOBS), jobs.estimate)
    return replace(
        bfenv.make_trace(
            submit=np.where(late, np.sort(moment + rng.integers(1, 900, JOBS)), jobs.submit),
            size=np.where(late, rng.integers(1, PROCESSORS + 1, JOBS), jobs.size),
            runtime=np.where(late, np.maximum(1, estimate // 3), runtime),
            estimate=estimate,
            processors=PROCESSORS,
        ),
        outages=trace.outages,
    )


def watched(seen):
    """A policy that starts whatever fits, and keeps what it can reach at each pass."""

    def decide(cluster, jobs, memory):
        seen.append((int(now(cluster)), contents(cluster, jobs)))
        for job in waiting(cluster):
            if may_start(cluster, jobs, job):
                start(cluster, jobs, job)

    def run(cluster, jobs, truth, memory):
        while advance(cluster, jobs, truth):
            decide(cluster, jobs, memory)

    return Policy("watched", decide, run)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, JOBS - 2),
    st.lists(st.tuples(st.integers(0, 1200), st.integers(1, 300)), max_size=3),
)
def test_policies(seed, last, times):
    """At every pass up to a moment, all memory is equal if only what comes later differs.

    With outages as well, around which the simulator lets a policy run by itself.
    """
    outages, begin = [], 0
    for gap, length in times:
        outages.append(Outage(begin + gap + 1, begin + gap + 1 + length, PROCESSORS))
        begin = outages[-1].end
    trace = draw_trace(seed, tuple(outages))
    moment = int(trace.jobs.submit[last])
    one, two = [], []
    end = bfenv.simulate(trace, watched(one)).end
    bfenv.simulate(with_other_future(trace, end, moment, seed + 1), watched(two))
    before = [[pair for pair in seen if pair[0] <= moment] for seen in (one, two)]
    assert len(before[0]) == len(before[1]) > 0
    assert before[0] == before[1]


@pytest.mark.parametrize("window", [2, 8])
@pytest.mark.parametrize("order", ["mixed", "oldest"])
def test_second_episode(window, order):
    """An episode of the first jobs, after one of the last: nothing of the last is left anywhere."""
    trace = draw_trace(3)
    moment = int(trace.jobs.submit[30])
    end = bfenv.simulate(trace, watched([])).end
    found = []
    for own in (trace, with_other_future(trace, np.where(end > moment, end, 0), moment, 9)):
        env = bfenv.envs.BackfillEnv(
            own, split="all", episode_jobs=20, warmup_jobs=0, window=window, window_order=order
        )
        steps = []
        for first in (40, 0):
            env.reset(seed=0, options={"first_job": first})
            done = False
            while not done:
                if first == 0 and now(env.cluster) <= moment:
                    steps.append(contents(env.cluster, env.jobs))
                action = int(np.flatnonzero(env.action_masks())[0])
                _, _, ended, cut, _ = env.step(action)
                done = ended or cut
        found.append(steps)
    assert len(found[0]) > 5 and found[0] == found[1]


def test_other_environments():
    """What is handed out of an environment of a vector does not lead to one later in the trace.

    The other one is at the end of the trace, which differs; the arrays are still the environment's
    own.
    """
    trace = draw_trace(3)
    moment = int(trace.jobs.submit[30])
    end = bfenv.simulate(trace, watched([])).end
    found = []
    for own in (trace, with_other_future(trace, np.where(end > moment, end, 0), moment, 9)):
        envs = bfenv.envs.BackfillVectorEnv(
            3, own, split="all", episode_jobs=20, warmup_jobs=0, window=4
        )
        envs.reset(seed=0, options={"first_job": 40})
        chosen = np.array([False, True, False])
        envs.reset(options={"first_job": 0, "reset_mask": chosen})
        (_, handle, _), steps = envs.handles, []
        while now(handle.cluster) <= moment:
            slots = handle.slots
            steps.append(contents(handle.cluster, handle.jobs, [slots]))
            _, _, ended, cut, _ = envs.step(envs.action_masks().argmax(axis=1))
            assert np.shares_memory(slots, envs.batch._state.slots[1])
            assert not handle.jobs.submit.flags.writeable
            if ended[1] or cut[1]:
                break
        found.append(steps)
    assert len(found[0]) > 5 and found[0] == found[1]
