"""Training of agents; needs the extra `agents`.

`ppo.train` trains a network, and `es.train` finds a score by evolution.
"""

from bfenv.agents.training.settings import TrainSettings, change, find_settings, presets

__all__ = ["TrainSettings", "change", "find_settings", "presets"]
