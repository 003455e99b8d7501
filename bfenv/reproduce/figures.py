"""Figures of an item: panels of lines, steps, bars or points, with printed values beside ours."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bfenv.analysis.plots.figure import BLUE, GREEN, GREY, ORANGE, RED, write_figure
from bfenv.reproduce.item import Content, Item, Line, Panel
from bfenv.reproduce.printed import Printed, printed
from bfenv.reproduce.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = (BLUE, RED, GREEN, ORANGE, "#CC79A7", "#56B4E9", GREY, "black")
WIDTH, HEIGHT = 4.2, 2.9  # inches of a panel
DPI = 90
FORMATS = (".png", ".svg")  # of each figure; pages show the first


def write_figures(
    folder: Path, paper: str, item: Item, content: Content, results: Results
) -> str | None:
    """Write the figure of an item in each of FORMATS.

    Returns
    -------
    The name of the first file; None if there is nothing to draw.

    Raises
    ------
    BfenvError
        If matplotlib is missing, or a file cannot be written.
    """
    panels = [panel for panel in content.panels if _is_there(panel, results)]
    if not panels:
        return None
    theirs = printed(paper, item.name)
    files = [folder / f"{item.name}{suffix}" for suffix in FORMATS]
    write_figure(*files, draw=lambda: draw(panels, content.per_row, results, theirs), dpi=DPI)
    return files[0].name


def draw(
    panels: list[Panel],
    per_row: int,
    results: Results,
    theirs: Mapping[tuple[str, str], Printed],
) -> "Figure":
    """Draw the panels, `per_row` beside each other."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    columns = min(per_row, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(
        figsize=(WIDTH * columns, HEIGHT * rows), layout=ConstrainedLayoutEngine(w_pad=0.08)
    )
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for one, panel in zip(axes, panels, strict=False):
        _draw_panel(one, panel, results, theirs)
    for one in axes[len(panels) :]:
        one.set_visible(False)
    return figure


def _is_there(panel: Panel, results: Results) -> bool:
    return any(results.seeds(value) for line in panel.lines for value in line.values)


def _draw_panel(
    axes: "Axes", panel: Panel, results: Results, theirs: Mapping[tuple[str, str], Printed]
) -> None:
    drawn = [line for line in panel.lines if any(results.seeds(v) for v in line.values)]
    for i, line in enumerate(drawn):
        colour = COLOURS[(i if line.colour is None else line.colour) % len(COLOURS)]
        if panel.kind == "bar":
            _bars(axes, line, results, colour, i, len(drawn), theirs)
        elif line.x:
            _points(axes, line, results, colour, theirs)
        else:
            _curve(axes, panel, line, results, colour)
    if panel.zero:
        axes.axhline(0, color="black", linewidth=0.8)
    axes.set_title(panel.title, fontsize=9)
    axes.set(xlabel=panel.x, ylabel=panel.y)
    if panel.log_x:
        axes.set_xscale("log")
    if panel.log_y:
        axes.set_yscale("log")
    if len(axes.get_legend_handles_labels()[1]) > 1:
        axes.legend(fontsize=7, handlelength=1.6)


def _points(
    axes: "Axes",
    line: Line,
    results: Results,
    colour: str,
    theirs: Mapping[tuple[str, str], Printed],
) -> None:
    x: list[Any] = list(line.x)
    y = [results.number(value) for value in line.values]
    known: list[Any] = [float("nan") if one is None else one for one in y]
    axes.plot(x, known, line.style, color=colour, linewidth=1.3, markersize=3, label=line.label)
    if line.band:
        spans = [results.interval(value) for value in line.values]
        nan = float("nan")
        low, high = zip(*(span or (nan, nan) for span in spans), strict=True)
        axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
    marks = [(at, theirs.get((line.label, str(at)))) for at in line.x]
    found = [(at, one.value) for at, one in marks if one and isinstance(one.value, float)]
    if found:
        xs: list[Any] = [at for at, _ in found]
        ys = [value for _, value in found]
        axes.plot(xs, ys, "x", color=colour, markersize=6, label=f"{line.label}, printed")


def _curve(axes: "Axes", panel: Panel, line: Line, results: Results, colour: str) -> None:
    for value in line.values:
        found = results.curve(value, line.part)
        if found is None or not found[0]:
            continue
        x, y = found
        known: list[Any] = [float("nan") if one is None else one for one in y]
        if panel.kind == "step":
            axes.step(x, known, line.style, color=colour, linewidth=1.3, label=line.label)
        elif panel.kind == "scatter":
            axes.plot(x, known, ".", color=colour, markersize=3.5, label=line.label)
        else:
            axes.plot(x, known, line.style, color=colour, linewidth=1.0, label=line.label)


def _bars(
    axes: "Axes",
    line: Line,
    results: Results,
    colour: str,
    position: int,
    count: int,
    theirs: Mapping[tuple[str, str], Printed],
) -> None:
    if line.x:
        labels: list[Any] = list(line.x)
        heights = [results.number(value) for value in line.values]
    else:
        found = results.curve(line.values[0], line.part)
        if found is None:
            return
        labels, heights = found
    known: list[Any] = [0.0 if one is None else one for one in heights]
    width = 0.8 / count
    at = [i + (position - (count - 1) / 2) * width for i in range(len(labels))]
    axes.bar(at, known, width, color=colour, label=line.label)
    axes.set_xticks(
        range(len(labels)),
        [str(one) for one in labels],
        rotation=60 if len(labels) > 8 else 0,
        fontsize=7,
    )
    axes.grid(False, axis="x")
    marks = [theirs.get((line.label, str(label))) for label in labels]
    values = [(x, one.value) for x, one in zip(at, marks, strict=True) if one]
    if values:
        axes.plot(
            [x for x, _ in values], [float(y) for _, y in values], "_", color="black",
            markersize=40 / count / max(1, len(labels) / 4),
            label="printed" if position == 0 else None,
        )  # fmt: skip
