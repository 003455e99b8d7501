"""Two policies on the same episode, one above the other, as frames and as a video."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Unpack

import numpy as np

from bfenv.agents.player import play_episode
from bfenv.agents.policy_agent import PolicyAgent
from bfenv.core.errors import BfenvError
from bfenv.core.files import write_atomically
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.rendering.rgb import HEIGHT, INK, PAPER, WIDTH, Canvas
from bfenv.envs.settings import EnvSettings

TITLE = 28  # pixels, height; with it, the size of two is a multiple of 16, as ffmpeg prefers
RATE = 10  # frames per second


def draw_replay(
    policies: dict[str, str], seed: int, count: int, **settings: Unpack[EnvSettings]
) -> Iterator[np.ndarray]:
    """Yield frames at even times from the first decision to the last one of a policy.

    * `policies`: names of policies, by the title above each.
    * `seed`: of the episode.
    * `count`: frames.
    * `settings`: as of `BackfillEnv`.

    Each is (policies * (HEIGHT + TITLE), WIDTH, 3) uint8. Raises BfenvError if Pillow is missing.
    """
    sides, ends, begin = [], [], 0
    for title, policy in policies.items():
        env = BackfillEnv(render_mode="rgb_array", **settings)
        agent = PolicyAgent(policy, env, seed)
        ends.append(play_episode(env, agent, seed)[0]["now"])
        sides.append((title, env, agent))
        begin = int(env.reset(seed=seed)[1]["now"])
    times = np.linspace(begin, max(ends), count)
    for frames in zip(*(_side(*side, seed, times) for side in sides), strict=True):
        yield np.vstack(frames)


def _side(
    title: str, env: BackfillEnv, agent: PolicyAgent, seed: int, times: np.ndarray
) -> Iterator[np.ndarray]:
    """Yield one policy's first decision at or after each of the times."""
    canvas = Canvas(WIDTH, TITLE, PAPER)
    canvas.text(16, TITLE // 2 + 2, title, INK, 22)
    observation, info = env.reset(seed=seed)
    over = False
    for time in times:
        while not over and info["now"] < time:
            action, _ = agent.predict(observation)
            observation, _, ended, stopped, info = env.step(action)
            over = ended or stopped
        yield np.vstack([canvas.pixels(), env.render()])


def check_ffmpeg() -> None:
    """Raise BfenvError if the package that brings ffmpeg is missing."""
    try:
        import imageio_ffmpeg  # noqa: F401
    except ImportError as error:
        raise BfenvError("a video needs imageio-ffmpeg: pip install 'bfenv[video]'") from error


def write_video(path: Path, frames: Iterator[np.ndarray]) -> None:
    """Write frames as .mp4, in the coding that browsers show.

    * `frames`: (h, w, 3) uint8 each, of one size.

    Raises BfenvError if the file cannot be written.
    """
    import imageio_ffmpeg

    first = next(frames)
    with TemporaryDirectory() as folder:
        plain = Path(folder, "replay.mp4")
        size = first.shape[1], first.shape[0]
        writer = imageio_ffmpeg.write_frames(plain, size, fps=RATE, quality=7)
        writer.send(None)
        for frame in chain([first], frames):
            writer.send(np.ascontiguousarray(frame))
        writer.close()
        write_atomically(path, plain.read_bytes())
