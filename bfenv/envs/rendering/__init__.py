"""The two renderings of an environment: `render_text(env)` and `render_image(env)`."""

from bfenv.envs.rendering.ansi import render_text
from bfenv.envs.rendering.rgb import render_image
from bfenv.envs.rendering.snapshot import EnvView

__all__ = ["EnvView", "render_image", "render_text"]
