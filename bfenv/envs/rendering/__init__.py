"""The two renderings of an environment: text(env) and Screen().draw(env)."""

from bfenv.envs.rendering.ansi import text
from bfenv.envs.rendering.rgb import Screen

__all__ = ["Screen", "text"]
