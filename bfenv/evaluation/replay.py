"""Agents on the same episode, one above the other, as frames and as a video."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from bfenv.agents.agent_names import open_agent
from bfenv.agents.player import play_episode
from bfenv.core.errors import BfenvError
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.rendering.rgb import INK, PAPER, WIDTH, Canvas

TITLE = 28  # pixels, height; with it, the size of two is a multiple of 16, as ffmpeg prefers
RATE = 10  # frames per second


def draw_replay(
    agents: dict[str, Any], seed: int, count: int, workload: str | None, **settings: Any
) -> Iterator[np.ndarray]:
    """Yield `count` frames, (h, w, 3) uint8, at even times from the episode's begin to its end.

    * `agents`: what `open_agent` takes, by the title above each.
    * `seed`, `workload`, `settings`: of the episode, as of `BackfillEnv`.
    """
    sides, begins, ends = [], [], []
    for title, name in agents.items():
        opened = open_agent(name)
        env_settings: Any = {**settings, "render_mode": "rgb_array"}
        env = BackfillEnv(workload, **opened.settings_with(env_settings))
        agent = opened.make(env, seed)
        begins.append(env.reset(seed=seed)[1]["now"])
        ends.append(play_episode(env, agent, seed)[0]["now"])
        sides.append((title, env, agent, seed))
    times = np.linspace(min(begins), max(ends), count)
    for frames in zip(*(_side(*side, times) for side in sides), strict=True):
        yield np.vstack(frames)


def _side(
    title: str, env: BackfillEnv, agent: Any, seed: int, times: np.ndarray
) -> Iterator[np.ndarray]:
    """Yield one agent's first decision at or after each of the times."""
    canvas = Canvas(WIDTH, TITLE, PAPER)
    canvas.text(16, TITLE // 2 + 2, title, INK, 26)
    observation, info = env.reset(seed=seed)
    over = False
    for time in times:
        while not over and info["now"] < time:
            observation, _, over, _, info = env.step(agent.predict(observation)[0])
        yield np.vstack([canvas.pixels(), env.render()])


def make_video(frames: Iterator[np.ndarray]) -> bytes:
    """Return the content of an .mp4 file that browsers show.

    Raises BfenvError if the package that brings ffmpeg is missing.
    """
    try:
        import imageio_ffmpeg
    except ImportError as error:
        raise BfenvError("a video needs imageio-ffmpeg: pip install 'bfenv[video]'") from error
    with TemporaryDirectory() as folder:
        path = Path(folder, "replay.mp4")
        for i, frame in enumerate(frames):
            if i == 0:
                writer = imageio_ffmpeg.write_frames(path, frame.shape[1::-1], fps=RATE, quality=7)
                writer.send(None)
            writer.send(frame)
        writer.close()
        return path.read_bytes()
