"""Figures of an item: panels of lines, steps, bars or points, with printed values beside ours."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bfenv.analysis.plots.figure import BLUE, GREEN, GREY, ORANGE, RED, write_figure
from reproductions.item import Content, Item, Line, Panel
from reproductions.results import Printed, Results, printed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PrintedValues = Mapping[tuple[str, str], Printed]  # printed values by row and column
COLOURS = (BLUE, RED, GREEN, ORANGE, "#CC79A7", "#56B4E9", GREY, "black")
WIDTH, HEIGHT = 4.2, 2.9  # inches of a panel
DPI = 90
FORMATS = (".png", ".svg")  # of each figure; pages show the first


def write_figures(
    folder: Path, paper: str, item: Item, content: Content, results: Results
) -> str | None:
    """Write the figure of an item, and return the name of its first file, if there is anything."""
    panels = [panel for panel in content.panels if _drawn(panel, results)]
    if not panels:
        return None
    printed_values = printed(paper, item.name)
    files = [folder / f"{item.name}{suffix}" for suffix in FORMATS]
    write_figure(
        *files, draw=lambda: draw(panels, content.per_row, results, printed_values), dpi=DPI
    )
    return files[0].name


def _drawn(panel: Panel, results: Results) -> list[Line]:
    """Return the lines of which there is a value."""
    return [line for line in panel.lines if any(results.seeds(value) for value in line.values)]


def draw(
    panels: Sequence[Panel], per_row: int, results: Results, printed_values: PrintedValues
) -> "Figure":
    """Draw the panels, `per_row` beside each other."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    columns = min(per_row, len(panels))
    rows = -(-len(panels) // columns)
    size = (WIDTH * columns, HEIGHT * rows)
    figure = Figure(figsize=size, layout=ConstrainedLayoutEngine(w_pad=0.08))
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for panel_axes, panel in zip(axes, panels, strict=False):
        _draw_panel(panel_axes, panel, results, printed_values)
    for panel_axes in axes[len(panels) :]:
        panel_axes.set_visible(False)
    return figure


def _draw_panel(
    axes: "Axes", panel: Panel, results: Results, printed_values: PrintedValues
) -> None:
    drawn = _drawn(panel, results)
    for i, line in enumerate(drawn):
        colour = COLOURS[i % len(COLOURS)]
        if panel.kind == "boxes":
            _boxes(axes, line, results)
        elif panel.kind == "bar":
            _bars(axes, line, results, colour, i, len(drawn), printed_values)
        elif line.x:
            _points(axes, line, results, colour, printed_values)
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


def _known(values: Sequence[Any], missing: float = float("nan")) -> list[Any]:
    return [missing if value is None else value for value in values]


def _points(
    axes: "Axes", line: Line, results: Results, colour: str, printed_values: PrintedValues
) -> None:
    x: list[Any] = list(line.x)
    y = _known([results.number(value) for value in line.values])
    axes.plot(x, y, line.style, color=colour, linewidth=1.3, markersize=3, label=line.label)
    if line.band:
        nan = float("nan")
        spans = [results.interval(value) or (nan, nan) for value in line.values]
        low, high = zip(*spans, strict=True)
        axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
    marks = [(at, printed_values.get((line.label, str(at)))) for at in x]
    points = [(at, mark.value) for at, mark in marks if mark and isinstance(mark.value, float)]
    if points:
        xs, ys = zip(*points, strict=True)
        axes.plot(xs, ys, "x", color=colour, markersize=6, label=f"{line.label}, printed")


def _curve(axes: "Axes", panel: Panel, line: Line, results: Results, colour: str) -> None:
    points = results.curve(line.values[0])
    if points is None or not points[0]:
        return
    x, y = points[0], _known(points[1])
    if panel.kind == "step":
        axes.step(x, y, line.style, color=colour, linewidth=1.3, label=line.label)
    elif panel.kind == "scatter":
        axes.plot(x, y, ".", color=colour, markersize=3.5, label=line.label)
    else:
        axes.plot(x, y, line.style, color=colour, linewidth=1.0, label=line.label)


def _boxes(axes: "Axes", line: Line, results: Results) -> None:
    """Draw jobs as boxes of processors over time; what is planned is drawn dashed behind them."""
    from matplotlib.ticker import MaxNLocator

    ran, planned = (results.seeds(line.values[0]) or [([], [])])[0]
    for _, begin, end, low, size in planned:
        axes.barh(
            low + size / 2,
            end - begin,
            size,
            begin,
            facecolor="#F0E68C66",
            edgecolor=GREY,
            linestyle="--",
        )
    for i, (label, begin, end, low, size) in enumerate(ran):
        colour = COLOURS[i % len(COLOURS)]
        axes.barh(low + size / 2, end - begin, size, begin, facecolor=colour, edgecolor="black")
        axes.text((begin + end) / 2, low + size / 2, label, ha="center", va="center", fontsize=7)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))


def _bars(
    axes: "Axes",
    line: Line,
    results: Results,
    colour: str,
    position: int,
    count: int,
    printed_values: PrintedValues,
) -> None:
    labels: list[Any] = list(line.x)
    heights: list[Any] = [results.number(value) for value in line.values if line.x]
    if not labels:
        labels, heights = results.curve(line.values[0]) or ([], [])
    width = 0.8 / count
    at = [i + (position - (count - 1) / 2) * width for i in range(len(labels))]
    axes.bar(at, _known(heights, 0.0), width, color=colour, label=line.label)
    rotation = 60 if len(labels) > 8 else 0
    axes.set_xticks(range(len(labels)), [*map(str, labels)], rotation=rotation, fontsize=7)
    axes.grid(False, axis="x")
    marks = [
        (x, printed_values.get((line.label, str(label))))
        for x, label in zip(at, labels, strict=True)
    ]
    values = [(x, float(mark.value)) for x, mark in marks if mark]
    if values:
        axes.plot(
            *zip(*values, strict=True),
            "_",
            color="black",
            markersize=40 / count / max(1, len(labels) / 4),
            label="printed" if position == 0 else None,
        )
