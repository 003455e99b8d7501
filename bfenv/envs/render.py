"""The two renderings of an environment: text(env) and Screen().draw(env) (envs layer)."""

from bfenv.envs.picture import Screen
from bfenv.envs.text import text

__all__ = ["Screen", "text"]
