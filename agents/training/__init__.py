"""Training of networks by reinforcement learning; needs the extra `agents`.

`ppo.train` is bfenv's own learner; `maskable_ppo.train` does the same with sb3-contrib.
"""

from bfenv.agents.training.settings import TrainSettings, change, find_settings, presets

__all__ = ["TrainSettings", "change", "find_settings", "presets"]
