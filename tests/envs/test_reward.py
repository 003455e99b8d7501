"""Rewards: they add up to the metrics, and may be the user's own."""

import gymnasium
import numpy as np
import pytest
from hypothesis import given

import bfenv
from bfenv.agents import PolicyAgent
from bfenv.envs.backfill import BackfillEnv
from tests.conftest import small_traces
from tests.envs.playing import play, whole


@pytest.mark.parametrize(
    ("reward", "metric"),
    [("bounded_slowdown", "mean_bounded_slowdown"), ("wait", "mean_wait")],
)
def test_sum(reward, metric):
    """Rewards add up to minus the reported metric."""
    env = gymnasium.make("Backfill-v0", reward=reward, episode_jobs=64, warmup_jobs=64).unwrapped
    for seed in range(3):
        rewards, info = play(env, PolicyAgent("easy", env), seed)
        jobs = env.episode_jobs
        trace = env.trace
        waits = (
            env.cluster.start[jobs.start : jobs.stop] - trace.jobs.submit[jobs.start : jobs.stop]
        )
        runtime = trace.runtime[jobs.start : jobs.stop]
        slowdown = np.maximum(1, (waits + runtime) / np.maximum(runtime, 10))
        expected = {"wait": waits.mean(), "bounded_slowdown": slowdown.mean()}[reward]
        assert sum(rewards) == pytest.approx(-expected, rel=1e-12)
        assert info["metrics"][metric] == pytest.approx(expected, rel=1e-12)


@given(small_traces(jobs=10))
def test_sum_of_trace(trace):
    """The rewards of a whole trace add up to the metric of its schedule."""
    env = whole(trace, window=10)
    rewards, _ = play(env, PolicyAgent("easy", env))
    mean = bfenv.metrics(bfenv.simulate(trace, "easy"))["mean_bounded_slowdown"]
    assert sum(rewards) == pytest.approx(-mean, rel=1e-12)


def test_dense():
    """Many steps have a reward, and none a positive one."""
    env = gymnasium.make("Backfill-v0", episode_jobs=64, warmup_jobs=64).unwrapped
    rewards, _ = play(env, PolicyAgent("fcfs", env), seed=4)
    assert sum(reward < 0 for reward in rewards) > len(rewards) / 4
    assert max(rewards) <= 0


def passes_taken(before, after):
    return float(after.now - before.now)


def test_function():
    """A reward can be a function or the name of one."""
    for reward in (passes_taken, "tests.envs.test_reward:passes_taken"):
        env = whole(bfenv.make_trace([0, 0, 5], [1, 1, 1], [3, 3, 3], 1), reward=reward)
        rewards, _ = play(env)
        assert rewards == [3.0, 3.0, 0.0]


def test_illegal_first_action():
    """An illegal first action costs nothing, and the rewards still add up."""
    trace = bfenv.make_trace([0, 0], [1, 1], [20, 30], 1)
    env = BackfillEnv(trace, window=4, episode_jobs=None, warmup_jobs=0, split="all")
    env.reset(seed=0)
    rewards = [env.step(3)[1], env.step(0)[1]]
    assert rewards[0] == 0.0
    _, reward, done, _, info = env.step(0)
    assert done and sum(rewards) + reward == -info["metrics"]["mean_bounded_slowdown"]
