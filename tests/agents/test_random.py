"""The random agent."""

import gymnasium
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor

from bfenv import agents
from tests.agents.test_policy_agent import OPTIONS


def test_legal():
    """The random agent takes legal actions only."""
    env = Monitor(gymnasium.make("Backfill-v0", **OPTIONS))
    agent = agents.ALL["random"](env, seed=1)
    observation, _ = env.reset(seed=0)
    done = False
    while not done:
        observation, _, done, _, info = env.step(agent.predict(observation)[0])
    assert info["illegal_actions"] == 0
    evaluate_policy(agent, env, n_eval_episodes=1)
