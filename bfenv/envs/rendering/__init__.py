"""The two renderings of an environment."""

from typing import Any

from bfenv.core.errors import BfenvError
from bfenv.envs.handle import EnvHandle
from bfenv.envs.rendering.ansi import render_text
from bfenv.envs.rendering.rgb import render_image


def render(env: EnvHandle) -> Any:
    """Return what `BackfillEnv.render` does."""
    if env.render_mode is None:
        raise BfenvError("render needs an environment made with render_mode='ansi' or 'rgb_array'")
    return (render_text if env.render_mode == "ansi" else render_image)(env)
