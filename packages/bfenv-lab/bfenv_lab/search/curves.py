"""Learning curves: the validation scores of searches, as data and as a picture."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bfenv.analysis.comparison import STARVES
from bfenv.analysis.formatting import csv_text
from bfenv.analysis.plots.figure import write_figure
from bfenv.core.errors import BfenvError
from bfenv.evaluation.agent_scores import BEST_ORDER
from bfenv_lab.search.objective import combine, score_policies
from bfenv_lab.search.search_run import JOURNAL, cases_of
from bfenv_lab.search.search_settings import SearchSettings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REFERENCES = ("easy-sjf", "easy-saf", BEST_ORDER)


class Point(NamedTuple):
    """The best candidate of one generation, scored on validation."""

    label: str  # of the searches that differ in their seed alone
    seed: int
    generation: int  # from 1
    ratio: float  # mean bounded slowdown over EASY's
    wait_ratio: float  # longest wait over EASY's
    penalized: float  # penalized slowdown


def read_curves(folder: Path) -> list[Point]:
    """Read the validations of every search in a folder and below it.

    Raises BfenvError if there are none, or a journal cannot be read.
    """
    journals = [_read_journal(path) for path in sorted(folder.rglob(JOURNAL))]
    settings = [lines[0] for lines in journals]
    differing = [
        name
        for name in SearchSettings.__dataclass_fields__
        if name != "seed" and any(values[name] != settings[0][name] for values in settings)
    ]
    points = []
    for values, *entries in journals:
        label = ", ".join(f"{name}={values[name]}" for name in differing) or values["method"]
        for entry in entries:
            _, *ratios = entry["validation"]
            points.append(Point(label, values["seed"], entry["generation"] + 1, *ratios))
    if not points:
        raise BfenvError(f"{folder}: no generation found; is it a folder of `bfenv train`?")
    return points


def reference_points(folder: Path, points: list[Point]) -> list[Point]:
    """Score REFERENCES on the validation cases of a folder's first search.

    Each has a point at the first and the last generation of `points`.
    """
    values = _read_journal(min(folder.rglob(JOURNAL)))[0]
    names = SearchSettings.__dataclass_fields__
    cases = cases_of(SearchSettings(**{name: values[name] for name in names})).validation
    scores = [combine(cases, outcomes) for outcomes in score_policies(REFERENCES, cases)]
    generations = [point.generation for point in points]
    return [
        Point(name, 0, generation, *score[1:])
        for name, score in zip(REFERENCES, scores, strict=True)
        for generation in sorted({min(generations), max(generations)})
    ]


def curves_csv(points: list[Point]) -> str:
    """Return the points as CSV."""
    return csv_text(Point._fields, points)


def draw_curves(points: list[Point], path: Path) -> None:
    """Draw medians over seeds, and bands from the lowest to the highest; needs matplotlib.

    Raises BfenvError as `write_figure`.
    """
    write_figure(path, draw=lambda: _figure(points), dpi=120)


def _read_journal(path: Path) -> list[dict[str, Any]]:
    """Read a journal, without a last line that a killed search has not finished."""
    lines = path.read_bytes().splitlines(keepends=True)
    try:
        entries = [{**json.loads(line)} for line in lines if line.endswith(b"\n")]
    except (ValueError, TypeError) as error:
        raise BfenvError(f"{path}: is not the journal of a search: {error}") from error
    if entries and (missing := SearchSettings.__dataclass_fields__.keys() - entries[0].keys()):
        raise BfenvError(f"{path}: is of another version of bfenv: it lacks {min(missing)}")
    return entries


def _figure(points: list[Point]) -> "Figure":
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

    figure = Figure(figsize=(8, 9), layout="constrained")
    panels = figure.subplots(3, 1, sharex=True)
    columns = {
        "penalized": "penalized slowdown",
        "ratio": "mean bounded slowdown / EASY's",
        "wait_ratio": "longest wait / EASY's",
    }
    for axes, (column, text) in zip(panels, columns.items(), strict=True):
        for label in dict.fromkeys(point.label for point in points):
            curve = [point for point in points if point.label == label]
            steps = sorted({point.generation for point in curve})
            values = [[getattr(p, column) for p in curve if p.generation == step] for step in steps]
            seeds = len({point.seed for point in curve})
            axes.fill_between(steps, list(map(min, values)), list(map(max, values)), alpha=0.2)
            name = f"{label}, {seeds} seeds" if seeds > 1 else label
            once = name if column == "penalized" else None  # in the legend, of all panels
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
    panels[2].axhline(STARVES, color="black", linewidth=1, linestyle="--", label="starves above")
    figure.legend(loc="outside upper center", ncols=5)
    panels[2].set_xlabel("generations")
    panels[2].xaxis.set_major_locator(MaxNLocator(integer=True))  # of few, none twice
    panels[2].xaxis.set_major_formatter("{x:,.0f}")
    return figure
