"""Learning curves: the validation scores of trainings, as data and as a picture."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bfenv.agents.player import Choose
from bfenv.agents.training.run_folder import Validation, read_progress
from bfenv.agents.training.settings import NAMES, find_settings
from bfenv.analysis.comparison import STARVES
from bfenv.analysis.formatting import csv_text
from bfenv.analysis.plots.figure import write_figure
from bfenv.core.errors import BfenvError
from bfenv.envs.features import JOB_ESTIMATE

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Point(NamedTuple):
    """One validation of one training."""

    label: str  # of the trainings that differ in their seed alone
    seed: int
    steps: int  # of evolution, generations
    ratio: float  # mean bounded slowdown over EASY's
    wait_ratio: float  # longest wait over EASY's


def read_curves(folder: Path) -> list[Point]:
    """Read the validations of every training in a folder and below it.

    Raises BfenvError if there are none.
    """
    found = sorted(path.parent for path in folder.rglob("progress.csv"))
    settings = [find_settings(str(path / "settings.yaml")).as_dict() for path in found]
    differing = [
        name
        for name in NAMES
        if name != "seed" and any(each[name] != settings[0][name] for each in settings)
    ]
    points = []
    for path, each in zip(found, settings, strict=True):
        own = "evolution" if each["algo"] == "es" else each["network"]
        label = ", ".join(f"{name}={each[name]}" for name in differing) or own
        for row in read_progress(path / "progress.csv"):
            if row["ratio"]:
                steps = int(row["update" if each["algo"] == "es" else "steps"])
                scores = float(row["ratio"]), float(row["wait_ratio"])
                points.append(Point(label, each["seed"], steps, *scores))
    if not points:
        raise BfenvError(f"{folder}: no validation scores found; is it a folder of `bfenv train`?")
    return points


def reference_points(folder: Path, points: list[Point]) -> list[Point]:
    """Score random legal actions and easy-sjf in the environment of a folder's first training.

    Both are points at the first and the last step of `points`.
    """
    path = min(path.parent for path in folder.rglob("progress.csv"))
    settings = find_settings(str(path / "settings.yaml"))
    if settings.algo == "es":  # validates on all traces, each from an empty machine
        own = {**settings.environment, "warmup_jobs": 0}
        settings = replace(settings, environment=own, validation_traces=10**6)
    validation, generator = Validation(settings), np.random.default_rng(0)
    choices: dict[str, Choose] = {
        "random": lambda seen, mask: (generator.random(mask.shape) * mask).argmax(axis=1),
        "easy-sjf": lambda seen, mask: np.where(
            mask[:, :-1], seen["queue"][..., JOB_ESTIMATE], np.inf
        ).argmin(axis=1),
    }
    ends = min(point.steps for point in points), max(point.steps for point in points)
    scores = {name: validation.score(choose) for name, choose in choices.items()}
    return [Point(name, 0, step, *scores[name][:2]) for name in scores for step in ends]


def curves_csv(points: list[Point]) -> str:
    """Return the points as CSV."""
    return csv_text(Point._fields, points)


def draw_curves(points: list[Point], path: Path) -> None:
    """Draw medians over seeds, and bands from the lowest to the highest; needs matplotlib.

    Raises BfenvError as `write_figure`.
    """
    write_figure(path, draw=lambda: _figure(points), dpi=120)


def _figure(points: list[Point]) -> "Figure":
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

    figure = Figure(figsize=(8, 6), layout="constrained")
    panels = figure.subplots(2, 1, sharex=True)
    texts = ("mean bounded slowdown / EASY's", "longest wait / EASY's")
    for axes, column, text in zip(panels, ("ratio", "wait_ratio"), texts, strict=True):
        for label in dict.fromkeys(point.label for point in points):
            own = [point for point in points if point.label == label]
            steps = sorted({point.steps for point in own})
            values = [[getattr(p, column) for p in own if p.steps == step] for step in steps]
            seeds = len({point.seed for point in own})
            axes.fill_between(steps, list(map(min, values)), list(map(max, values)), alpha=0.2)
            name = f"{label}, {seeds} seeds" if seeds > 1 else label
            once = name if column == "ratio" else None  # in the legend, of both panels
            axes.plot(steps, list(map(np.median, values)), label=once)
        axes.axhline(1, color="black", linewidth=1)
        axes.set_ylabel(text)
        axes.set_yscale("log")
        low, high = axes.get_ylim()
        wide = high > 5 * low  # a narrow range may have none of 1, 2 and 5 in it
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)) if wide else MaxNLocator(6))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.grid(alpha=0.3, which="both")
    panels[0].axhline(1, color="black", linewidth=1, label="EASY")
    panels[1].axhline(STARVES, color="black", linewidth=1, linestyle="--", label="starves above")
    figure.legend(loc="outside upper center", ncols=5)
    panels[1].set_xlabel("steps, or generations of evolution")
    panels[1].xaxis.set_major_formatter("{x:,.0f}")
    return figure
