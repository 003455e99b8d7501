"""Animations of agents that act on the same hours, one above the other."""

import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bfenv.core.files import write_atomically
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.rendering.rgb import pillow

FRAMES = 30
WIDTH, HEIGHT, TITLE = 560, 315, 25  # pixels of one agent's picture, and of the line above it
COLOURS = 40  # which make small files
DURATION = 450  # ms of a frame


def write_replay(
    path: Path, sides: Mapping[str, tuple[BackfillEnv, Any]], seed: int, frames: int = FRAMES
) -> None:
    """Let agents play an episode, and write a GIF of what they did at the same times.

    * `path`: of the GIF.
    * `sides`: for each title, an environment with render_mode="rgb_array", and the agent in it.
    * `seed`: of the episode, which each plays twice: first for its times, then for the pictures.
    * `frames`: how many, evenly spaced from the first decision to the last.

    Raises BfenvError if Pillow is not installed or the file cannot be written.
    """
    image, draw = pillow().Image, pillow().ImageDraw
    times = [list(decisions(*side, seed)) for side in sides.values()]
    shown = np.linspace(min(own[0] for own in times), max(own[-1] for own in times), frames)
    both = [image.new("RGB", (WIDTH, len(sides) * (TITLE + HEIGHT)), "white") for _ in shown]
    for i, (title, (env, agent)) in enumerate(sides.items()):
        current = np.searchsorted(times[i], shown, "right").clip(1) - 1  # decision at each time
        top = i * (TITLE + HEIGHT)
        for k, _ in enumerate(decisions(env, agent, seed)):
            places = np.flatnonzero(current == k)
            if len(places):
                picture = image.fromarray(np.asarray(env.render()))
                small = picture.resize((WIDTH, HEIGHT), image.Resampling.LANCZOS)
            for place in places:
                both[place].paste(small, (0, top + TITLE))
                draw.Draw(both[place]).text((10, top + 4), title, "black", font_size=15)
    write_gif(path, both)


def decisions(env: BackfillEnv, agent: Any, seed: int) -> Iterator[int]:
    """Play an episode; yield the time of each decision in seconds before it is made."""
    observation, info = env.reset(seed=seed)
    over = False
    while not over:
        yield info["now"]
        action, _ = agent.predict(observation)
        observation, _, over, _, info = env.step(action)


def write_gif(path: Path, images: Sequence[Any]) -> None:
    """Write images of Pillow as a GIF that repeats; errors are those of `write_replay`."""
    image = pillow().Image
    # One palette for all frames, so that what stays the same is stored once.
    joined = image.fromarray(np.concatenate([np.asarray(one) for one in images]))
    palette = joined.quantize(COLOURS, image.Quantize.MAXCOVERAGE)
    few = [one.quantize(palette=palette, dither=image.Dither.NONE) for one in images]
    data = io.BytesIO()
    few[0].save(
        data, "GIF", save_all=True, append_images=few[1:], duration=DURATION, loop=0, optimize=True
    )
    write_atomically(path, data.getvalue())
