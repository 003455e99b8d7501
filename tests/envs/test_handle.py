"""Looking inside one environment: its handles, a policy's actions, rendering."""

import subprocess
import sys

import gymnasium
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


def test_without_sb3():
    """Importing the environments does not import stable-baselines3."""
    code = "import sys, bfenv.envs; assert 'stable_baselines3' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
