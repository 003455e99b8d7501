"""An agent that starts whatever it may, at random (agents)."""

from typing import Any

import numpy as np


class RandomAgent:
    """Draws uniformly among the legal actions, the pass included; predict() as in PolicyAgent."""

    def __init__(self, env: Any, seed: int = 0):
        self.env = env
        self.generator = np.random.default_rng(seed)

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        """One legal action for every environment, and `state` as it came."""
        if hasattr(self.env, "env_method"):
            masks = self.env.env_method("action_masks")
        else:
            masks = [self.env.get_wrapper_attr("action_masks")()]
        actions = np.array([self.generator.choice(np.flatnonzero(mask)) for mask in masks])
        return (actions if observation["cluster"].ndim == 2 else actions[0]), state
