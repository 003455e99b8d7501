"""Policies and agents are evaluated by the same function."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor

import bfenv
from bfenv import agents, baselines
from bfenv.agents import PolicyAgent
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.sb3 import BackfillVecEnv
from bfenv.envs.vector import BackfillVectorEnv

OPTIONS = {"episode_jobs": 40, "warmup_jobs": 40}


def test_evaluate_policy():
    """`evaluate_policy` runs a policy, and its score is the metric."""
    env = Monitor(gymnasium.make("Backfill-v0", **OPTIONS))
    env.reset(seed=3)
    rewards, _ = evaluate_policy(
        PolicyAgent("easy", env), env, n_eval_episodes=3, return_episode_rewards=True
    )
    twin = BackfillEnv(**OPTIONS)
    twin.reset(seed=3)
    for reward in rewards:
        agent = PolicyAgent("easy", twin)
        observation, _ = twin.reset()
        done = False
        while not done:
            observation, _, done, _, info = twin.step(agent.predict(observation)[0])
        # what Monitor adds up is rounded to six digits
        assert -reward == pytest.approx(info["metrics"]["mean_bounded_slowdown"], abs=1e-5)


def test_evaluate_many():
    """`evaluate_policy` runs many environments at once."""
    env = DummyVecEnv([lambda: Monitor(gymnasium.make("Backfill-v0", **OPTIONS))] * 3)
    env.seed(1)
    mean, _ = evaluate_policy(PolicyAgent("fcfs", env), env, n_eval_episodes=6)
    env.seed(1)
    better, _ = evaluate_policy(PolicyAgent("easy", env), env, n_eval_episodes=6)
    assert mean < better < 0


def vectors():
    """Every kind of vector of three environments that a policy can act in."""
    yield BackfillVectorEnv(3, **OPTIONS)
    yield SyncVectorEnv([lambda: gymnasium.make("Backfill-v0", **OPTIONS)] * 3)
    yield VecMonitor(BackfillVecEnv(3, **OPTIONS))
    yield DummyVecEnv([lambda: Monitor(gymnasium.make("Backfill-v0", **OPTIONS))] * 3)


@pytest.mark.parametrize("agent", [lambda env: PolicyAgent("easy", env), agents.ALL["random"]])
def test_vectors(agent):
    """An agent takes the same actions in every kind of vector."""
    actions = []
    for env in vectors():
        if hasattr(env, "seed"):
            env.seed(5)
            observation = env.reset()
        else:
            observation, _ = env.reset(seed=5)
        player, taken = agent(env), []
        for _ in range(30):
            taken.append(player.predict(observation)[0].tolist())
            observation = env.step(np.array(taken[-1]))[0]
        actions.append(taken)
    assert actions[1:] == actions[:-1]


def test_window():
    """A policy sees no more than the window."""
    trace = bfenv.make_trace([0, 1, 1, 1], [2, 2, 2, 1], [9, 9, 9, 2], 3)
    for window, begins in ((2, 18), (3, 1)):
        env = BackfillEnv(trace, window=window, episode_jobs=None, warmup_jobs=0, split="all")
        agent = PolicyAgent("easy", env)
        observation, _ = env.reset(seed=0)
        done = False
        while not done:
            observation, _, done, _, _ = env.step(agent.predict(observation)[0])
        assert env.cluster.start[3] == begins


def test_refused():
    """Policies that cannot act are refused."""
    env = BackfillEnv()
    with pytest.raises(bfenv.PolicyError, match="trial"):
        PolicyAgent(bfenv.Policy("p", None, trials=True), env)
    with pytest.raises(bfenv.PolicyError, match="every_pass=True"):
        PolicyAgent(bfenv.Policy("p", None, stateful=True), env)
    PolicyAgent(bfenv.Policy("p", None, stateful=True), BackfillEnv(every_pass=True))
    with pytest.raises(bfenv.UnknownNameError):
        PolicyAgent("esay", env)


def test_registry():
    """Every registered policy has a name, a summary and a source."""
    for name, policy in baselines.ALL.items():
        assert name == policy.name
        assert policy.summary and policy.source
    assert np.all([not name.startswith("easy(") for name in baselines.ALL])
