"""Charts as inline SVG that stretches without its letters stretching.

A plot is an SVG without a viewBox: places are percentages of it, letters and marks keep their
size at any width. Lines are in an inner SVG whose unit square of SCALE is stretched over the plot.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from bfenv.analysis.formatting import duration
from bfenv.leaderboard.report.element import Markup, element

SCALE = 10_000  # whole units along each side of the inner SVG


class Axis(NamedTuple):
    """Where values are, from 0 to 1, and what is written at which of them."""

    place: Callable[[float], float]
    ticks: list[tuple[float, str]]  # value, label
    label: str


def linear(low: float, high: float, label: str, ticks: int = 5) -> Axis:
    """An even axis, its ticks at round numbers."""
    high = high if high - low > 1e-6 else low + 1
    step = 10 ** math.floor(math.log10((high - low) / ticks))
    step = next(step * k for k in (1, 2, 5, 10) if (high - low) / (step * k) <= ticks)
    first = math.ceil(low / step - 1e-9)
    count = math.floor(high / step + 1e-9) - first + 1
    marks = [(first + i) * step for i in range(count)]
    return Axis(lambda x: (x - low) / (high - low), [(m, f"{m:,.4g}") for m in marks], label)


def waits(longest: float) -> Axis:
    """A logarithmic axis of waits in seconds; all below one second are at its left end."""
    top = math.log(max(longest, 600.0))
    steps = (1, 60, 3_600, 86_400, 30 * 86_400, 365 * 86_400)
    labels = ("≤ 1 s", "1 min", "1 h", "1 d", "30 d", "1 y")
    ticks = [(s, label) for s, label in zip(steps, labels, strict=True) if math.log(s) <= top]
    return Axis(lambda x: math.log(max(x, 1.0)) / top, ticks, "wait")


def counts(largest: float, label: str) -> Axis:
    """An axis of counts, logarithmic but for its beginning, where there is a 0."""
    top = math.log1p(max(largest, 10.0))
    ticks = [0.0, *(10.0**k for k in range(int(math.log10(max(largest, 10.0))) + 1))]
    return Axis(lambda x: math.log1p(max(x, 0.0)) / top, [(t, f"{t:,.0f}") for t in ticks], label)


def ratios(values: Sequence[float], label: str) -> Axis:
    """A logarithmic axis of ratios around 1."""
    low, high = min(*values, 0.9) / 1.15, max(*values, 1.1) * 1.15
    span = math.log(high / low)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    digits = (1, 2, 5) if span < math.log(200) else (1,)
    ticks = [d * 10.0**k for k in decades for d in digits if low <= d * 10.0**k <= high]
    return Axis(lambda x: math.log(x / low) / span, [(t, f"× {t:g}") for t in ticks], label)


def signed(values: Sequence[float]) -> Callable[[float], float]:
    """Places from 0 to 1 of differences, logarithmic to both sides of 0."""
    sizes = sorted(abs(value) for value in values if value)
    unit = sizes[len(sizes) // 4] if sizes else 1.0  # below it, nearly even

    def squeezed(x: float) -> float:
        return math.copysign(math.log1p(abs(x) / unit), x)

    low, high = (squeezed(end) for end in (min(*values, 0.0, 0.0), max(*values, 0.0, 0.0)))
    margin = 0.06 * (high - low) or 1.0
    return lambda x: (squeezed(x) - low + margin) / (high - low + 2 * margin)


def percents(place: float) -> str:
    """A place as an attribute."""
    return f"{100 * place:.2f}%"


def plot(key: str, title: str, text: str, x: Axis, y: Axis, *content: Markup, size: str = ""):
    """A plot with its axes and, read out by a screen reader, a title and a sentence about it."""
    grid = []
    for value, label in x.ticks:
        place = x.place(value)
        at, anchor = percents(place), "end" if place > 0.97 else "middle"
        grid.append(element("line", x1=at, x2=at, y1="0%", y2="100%", class_="grid"))
        grid.append(
            element("text", label, x=at, y="100%", dy="1.35em", text_anchor=anchor, class_="tick")
        )
    for value, label in y.ticks:
        at = percents(1 - y.place(value))
        grid.append(element("line", x1="0%", x2="100%", y1=at, y2=at, class_="grid"))
        grid.append(
            element("text", label, x="-8", y=at, dy=".35em", text_anchor="end", class_="tick")
        )
    names = (
        element("text", x.label, x="100%", y="100%", dy="2.7em", text_anchor="end", class_="axis"),
        element("text", y.label, x="-8", y="0%", dy="-0.9em", class_="axis"),
    )
    return element(
        "div",
        element(
            "svg",
            element("title", title, id=f"{key}-t"),
            element("desc", text, id=f"{key}-d"),
            element("g", grid, names, aria_hidden="true"),
            content,
            role="img",
            aria_labelledby=f"{key}-t {key}-d",
            class_="plot",
        ),
        class_=f"frame {size}".strip(),
    )


def stretched(*content: Markup) -> Markup:
    """Lines over the whole of a plot."""
    return element(
        "svg", *content, viewBox=f"0 0 {SCALE} {SCALE}", preserveAspectRatio="none",
        width="100%", height="100%", class_="stretch",
    )  # fmt: skip


def curve(places: Sequence[tuple[float, float]]) -> Markup:
    """A line through places from 0 to 1, y upwards; points on a straight line are left out."""
    points = [(round(x * SCALE), round((1 - y) * SCALE)) for x, y in places]
    kept: list[tuple[int, int]] = []
    for point in points:
        if kept and point == kept[-1]:
            continue
        if len(kept) > 1:
            (a, b), (c, d), (e, f) = kept[-2], kept[-1], point
            if (c - a) * (f - d) == (e - c) * (d - b):
                kept.pop()
        kept.append(point)
    path, (x, y) = [f"M{kept[0][0]} {kept[0][1]}"], kept[0]
    for right, down in kept[1:]:
        path.append(f"{right - x} {down - y}")
        x, y = right, down
    return element("path", d=path[0] + ("l" + " ".join(path[1:]) if len(path) > 1 else ""))


def span(seconds: float) -> str:
    """A signed duration."""
    return ("−" if seconds < 0 else "+" if seconds > 0 else "") + duration(abs(seconds))
