"""The page's Gantt chart of a large machine: its use by the size of jobs, and the largest jobs."""

import numpy as np

from bfenv.analysis.plots.gantt_overview import (
    bar_text,
    describe_run,
    largest,
    largest_label,
    size_class,
    use_by_size,
    waited_from,
)
from bfenv.analysis.plots.gantt_scene import Scene
from bfenv.leaderboard.report.element import Markup, element
from bfenv.leaderboard.report.plot import SCALE, Axis, linear, percents, plot, stretched

BAR_TEXT_WIDTH = 0.16  # share of the width that a bar's text takes


def overview(key: str, one: Scene, x: Axis) -> tuple[Markup, Markup, Markup]:
    """Draw the use of the machine with its legend, and the largest jobs."""
    times, uses = use_by_size(one)
    processors = one.schedule.trace.processors
    below, areas, entries = np.zeros(len(times), dtype=np.int64), [], []
    for k, use in enumerate(uses):
        above = below + use.processors
        areas.append(element("path", d=_area(times, below, above, processors, x), class_=f"g{k}"))
        square = element("rect", width="100%", height="100%", class_=f"g{k}")
        swatch = element("svg", square, class_="swatch", aria_hidden="true")
        entries.append(element("li", swatch, use.label, class_="entry k"))
        below = above
    title = f"{one.schedule.policy}: processors in use"
    y = linear(0, processors, "processors in use")
    return (
        plot(key, title, one.heading(), x, y, stretched(*areas)),
        element("ul", entries, class_="legend"),
        _largest(f"{key}-largest", one, x),
    )


def _area(times: np.ndarray, below: np.ndarray, above: np.ndarray, processors: int, x: Axis) -> str:
    """Return the path around what is between two step functions."""
    across = [round(x.position(time) * SCALE) for time in times.tolist()]
    low, high = (
        [round((1 - value / processors) * SCALE) for value in values.tolist()]
        for values in (below, above)
    )
    path = [f"M{across[0]} {low[0]}"]
    path += [f"V{up}H{right}" for up, right in zip(high[:-1], across[1:], strict=True)]
    path += [f"V{down}H{left}" for down, left in zip(low[-2::-1], across[-2::-1], strict=True)]
    return "".join(path) + "Z"


def _largest(key: str, one: Scene, x: Axis) -> Markup:
    runs = largest(one)
    height = 1 / len(runs)
    bars, numbers = [], []
    for row, run in enumerate(runs):
        waited, left, right = (
            x.position(min(max(time, one.begin), one.stop))
            for time in (waited_from(one, run), run.start, run.end)
        )
        middle = percents((row + 0.5) * height)
        is_backfilled = bool(one.backfilled[run.job]) and not run.trial
        text = describe_run(one, run) + (", backfilled" if is_backfilled else "")
        bars.append(
            element(
                "g",
                element("title", text),
                element("line", x1=percents(waited), x2=percents(max(left, waited)), y1=middle,
                        y2=middle, class_="waited"),
                element("rect", x=percents(left), width=percents(right - left),
                        y=percents((row + 0.1) * height), height=percents(0.8 * height),
                        class_=f"job g{size_class(one, run.job)}"),
            )
        )  # fmt: skip
        if right - left > BAR_TEXT_WIDTH:
            at = {"x": percents((left + right) / 2), "y": middle}
            numbers.append(
                element("text", bar_text(one, run), **at, dy=".35em", text_anchor="middle",
                        class_="number")
            )  # fmt: skip
    label = largest_label(runs)
    text = "Each bar follows a line for the time that the job waited."
    y = Axis(lambda value: value, [], label)
    return plot(key, f"{one.schedule.policy}: {label}", text, x, y, *bars, *numbers, size="tall")
