"""Looking inside one environment: its handles, a policy's actions, rendering."""

import gymnasium
import numpy as np
import pytest

import bfenv
from bfenv.agents import PolicyAgent
from bfenv.core.cluster import start, waiting
from bfenv.envs.backfill import BackfillEnv
from tests.envs.playing import whole


def test_handles_of():
    """An environment of another kind has no handles."""
    with pytest.raises(bfenv.PolicyError, match="CartPole"):
        PolicyAgent("easy", gymnasium.make("CartPole-v1"))


def test_illegal_start():
    """An illegal start of a policy is an error and leaves the machine alone."""

    def greedy(cluster, jobs, memory):
        for job in waiting(cluster):
            start(cluster, jobs, job)

    trace = bfenv.make_trace([0, 0], [1, 1], [1, 1], 1)
    env = whole(trace)
    observation, _ = env.reset(seed=0)
    with pytest.raises(bfenv.PolicyError, match="illegal start of job 1"):
        PolicyAgent(bfenv.Policy("greedy", greedy), env).predict(observation)
    assert waiting(env.cluster).tolist() == [0, 1]


def test_render_mode():
    """Without a render mode, `render` is an error."""
    env = BackfillEnv()
    env.reset(seed=0)
    with pytest.raises(bfenv.BfenvError, match="render_mode"):
        env.render()


def test_truth_is_private():
    """No public attribute but the traces tells when a running job will end."""
    trace = bfenv.make_trace([1_000, 1_000], [1, 1], [12_345, 7], 2, estimate=[99_999, 9])
    env = whole(trace)
    env.reset(seed=0)
    env.step(0)
    begin = int(env.cluster.start[0])
    secret = {12_345, begin + 12_345, begin - 1_000 + 12_345}
    told = [path for path, array in public_arrays(env) if secret & set(array.ravel().tolist())]
    assert told and all("trace" in path for path in told)  # the traces are there for scoring


def public_arrays(value, path="env", depth=6):
    """Every integer array that public names lead to, with its path."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "iu":
            yield path, value
    elif depth and isinstance(value, list):
        for i, each in enumerate(value):
            yield from public_arrays(each, f"{path}[{i}]", depth - 1)
    elif depth and type(value).__module__.startswith("bfenv"):
        for name in dir(value):
            if not name.startswith("_") and not callable(getattr(value, name)):
                yield from public_arrays(getattr(value, name), f"{path}.{name}", depth - 1)
