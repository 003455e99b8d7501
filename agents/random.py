"""An agent that starts whatever it may, at random."""

from typing import Any

import numpy as np

from bfenv.agents.policy_agent import machines_of


class RandomAgent:
    """Draws uniformly among the legal actions, the pass included; predict() as in PolicyAgent."""

    def __init__(self, env: Any, seed: int = 0):
        self.machines = machines_of(env)
        self.generator = np.random.default_rng(seed)

    def predict(
        self, observation, state=None, episode_start=None, deterministic=False, action_masks=None
    ):
        """One legal action for every environment, and `state` as it came."""
        masks = [machine.action_masks() for machine in self.machines]
        actions = np.array([self.generator.choice(np.flatnonzero(mask)) for mask in masks])
        return (actions if observation["cluster"].ndim == 2 else actions[0]), state
