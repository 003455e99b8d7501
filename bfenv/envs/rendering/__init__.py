"""The two renderings of an environment: `render_text(env)` and `Screen().draw(env)`."""

from bfenv.envs.rendering.ansi import render_text
from bfenv.envs.rendering.rgb import Screen
from bfenv.envs.rendering.snapshot import EnvView

__all__ = ["EnvView", "Screen", "render_text"]
