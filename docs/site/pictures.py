"""Draw the pictures that are kept in docs/pictures: of the README, and of the environment.

`make pictures` runs this. Everything comes from generated workloads.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import gymnasium
import numpy as np
from drawings import FAINT, HATCH, INK, PAPER, THEMES, style
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from PIL import Image

import bfenv
from bfenv import PolicyAgent, Schedule
from bfenv.analysis.formatting import percent
from bfenv.analysis.plots.gantt_scene import COLOURS, scene
from bfenv.core.durations import HOUR
from bfenv.evaluation.replay import draw_replay

FOLDER = Path(__file__).resolve().parent.parent / "pictures"
WORKLOAD = "lublin:procs=128,jobs=2000,seed=30,load=0.85"
POLICIES = {"fcfs": "FCFS", "easy": "EASY", "agent:formula": "agent:formula"}
BEGIN, SPAN = 102 * HOUR, 24 * HOUR
POLICY = "agent:formula"  # beside EASY
EPISODE, FRAMES = 4, 30  # seed, and frames of the animation at most


def three_schedules() -> None:
    """Draw the same hours of a workload under FCFS, EASY and an agent."""
    trace = bfenv.load_workload(WORKLOAD)
    schedules = [bfenv.simulate(trace, policy) for policy in POLICIES]
    for theme in THEMES:
        with rc_context(style(theme) | {"hatch.linewidth": 0.5}):
            figure = draw_three(schedules, theme)
            path = FOLDER / f"three-schedules-{theme}.png"
            figure.savefig(path, dpi=150, facecolor=PAPER[theme])
            shrink(path)


def draw_three(schedules: Sequence[Schedule], theme: str) -> Figure:
    """Return the picture of the README."""
    figure = Figure(figsize=(9.6, 6.4), layout="constrained")
    panels = figure.subplots(3, 1, sharex=True)
    for axes, schedule, name in zip(panels, schedules, POLICIES.values(), strict=True):
        one = scene(schedule, BEGIN, SPAN)
        for run in one.runs:
            left, right = max(run.start, BEGIN), min(run.end, BEGIN + SPAN)
            for first, last in run.spans:
                box = (left, first), right - left, last - first
                axes.add_patch(
                    Rectangle(
                        *box,
                        facecolor=COLOURS[run.job % len(COLOURS)],
                        linewidth=0,
                        edgecolor=HATCH,
                        hatch="////" if one.backfilled[run.job] else None,
                    )
                )
                axes.add_patch(
                    Rectangle(*box, facecolor="none", edgecolor=PAPER[theme], linewidth=0.6)
                )
        waiting = one.waiting()[1]
        slowdown = bfenv.metrics(schedule)["mean_bounded_slowdown"]
        axes.set_title(name, fontsize=12, color=INK[theme])
        axes.set_title(
            f"used: {percent(one.used)}, jobs waiting at the end: {waiting[-1]}; "
            f"mean bounded slowdown of the whole log: {slowdown:,.0f}",
            loc="right",
            fontsize=9.5,
            fontweight="normal",
            color=FAINT[theme],
        )
        axes.set(ylim=(0, schedule.trace.processors), ylabel="processors")
        axes.set_yticks((0, 64, 128))
    hours = range(0, SPAN + 1, 6 * HOUR)
    panels[-1].set_xticks([BEGIN + hour for hour in hours], [f"{h // HOUR} h" for h in hours])
    panels[-1].set(xlim=(BEGIN, BEGIN + SPAN))
    figure.legend(
        handles=[
            Patch(facecolor=COLOURS[0], label="a job, in the same colour in each chart"),
            Patch(
                facecolor=COLOURS[0],
                edgecolor=HATCH,
                hatch="////",
                linewidth=0,
                label="backfilled: it passed an older job",
            ),
        ],
        loc="outside lower left",
        ncols=2,
        fontsize=9,
        frameon=False,
    )
    return figure


def environment() -> None:
    """Draw an episode under EASY: an animation, and one of its frames."""
    env = gymnasium.make(
        "Backfill-v0",
        workload="lublin",
        split="test",
        window=16,
        episode_jobs=48,
        render_mode="rgb_array",
        reservations=1,
    )
    agent = PolicyAgent("easy", env)
    observation, _ = env.reset(seed=EPISODE)
    frames, over = [], False
    while not over:
        frames.append(Image.fromarray(np.asarray(env.render())))
        observation, _, over, _, _ = env.step(agent.predict(observation)[0])
    frames[len(frames) // 2].save(FOLDER / "environment.png", optimize=True)
    chosen = frames[:: -(-len(frames) // FRAMES)]
    animate([frame.resize((680, 382), Image.Resampling.LANCZOS) for frame in chosen], "environment")


def beside() -> None:
    """Draw EASY and an agent on the same hours, one above the other, with their names."""
    agents = {"EASY": partial(PolicyAgent, "easy"), POLICY: partial(PolicyAgent, POLICY)}
    frames = draw_replay(
        agents, EPISODE, FRAMES, workload="lublin", split="test", window=16, episode_jobs=48
    )
    size = 560, 664
    small = [Image.fromarray(one).resize(size, Image.Resampling.LANCZOS) for one in frames]
    animate(small, "beside")


def animate(small: Sequence[Image.Image], name: str) -> None:
    """Write frames as a GIF."""
    # One palette for all frames, so that what stays the same is stored once.
    joined = Image.fromarray(np.concatenate([np.asarray(frame) for frame in small]))
    colours = joined.quantize(40, Image.Quantize.MAXCOVERAGE)
    few = [frame.quantize(palette=colours, dither=Image.Dither.NONE) for frame in small]
    few[0].save(
        FOLDER / f"{name}.gif",
        save_all=True,
        append_images=few[1:],
        duration=450,
        loop=0,
        optimize=True,
    )


def shrink(path: Path) -> None:
    """Write a picture again with 256 colours."""
    with Image.open(path) as picture:
        few = picture.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    three_schedules()
    environment()
    beside()
