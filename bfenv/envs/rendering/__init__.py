"""The two renderings of an environment: `render_text(env)` and `render_image(env)`."""

from bfenv.envs.rendering.ansi import render_text
from bfenv.envs.rendering.rgb import render_image

__all__ = ["render_image", "render_text"]
