"""Drawing with pygame."""

import os
import subprocess
import sys

import pytest

import bfenv
from bfenv.envs.rendering.canvas import Canvas
from tests.envs.rendering.scene import small


def test_after_quit():
    """A frame can be drawn after another library quit pygame."""
    pygame = pytest.importorskip("pygame")
    env = small("rgb_array")
    before = env.render()
    pygame.quit()
    assert (env.render() == before).all()
    env.step(0)
    env.render()


def test_without_pygame(monkeypatch):
    """Without pygame the error says what to install."""
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(bfenv.BfenvError, match=r"pip install 'bfenv\[render\]'"):
        small("rgb_array").render()
    assert "Backfill-v0" in small("ansi").render()


def test_no_display():
    """Drawing needs no display and prints no greeting."""
    code = (
        "from bfenv.envs.rendering.canvas import Canvas\n"
        "b = Canvas(9, 9); b.clear((1, 2, 3)); b.pixels()"
    )
    hidden = ("SDL_VIDEODRIVER", "DISPLAY", "PYGAME_HIDE_SUPPORT_PROMPT")
    environ = {name: value for name, value in os.environ.items() if name not in hidden}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    assert done.stdout == ""


def test_cache(monkeypatch):
    """The cache of text images is bounded."""
    monkeypatch.setattr("bfenv.envs.rendering.canvas.CACHED_IMAGES", 10)
    brush = Canvas(50, 50)
    for number in range(30):
        brush.clear((0, 0, 0))
        brush.text(0, 0, str(number), (9, 9, 9))
    assert len(brush._images) <= 11
