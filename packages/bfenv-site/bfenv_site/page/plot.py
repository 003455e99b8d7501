"""Charts as inline SVG that stretches without stretching its letters.

A plot is an SVG without a viewBox: positions are percentages of it, and letters and marks keep
their size at any width. Lines are in an inner SVG whose square of SCALE units is stretched over
the plot.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from bfenv.analysis.formatting import unit_of
from bfenv.core.durations import DAY, HOUR, MINUTE
from bfenv_site.page.markup import Markup, element

SCALE = 10_000  # units along each side of the inner SVG
WAIT_TICKS = (
    (1, "≤ 1 s"),
    (10, "10 s"),
    (MINUTE, "1 min"),
    (10 * MINUTE, "10 min"),
    (HOUR, "1 h"),
    (6 * HOUR, "6 h"),
    (DAY, "1 d"),
    (7 * DAY, "7 d"),
    (30 * DAY, "30 d"),
    (365 * DAY, "1 y"),
)
MOST_TICKS = 7
AT_END = 0.97  # of an axis: from here on, labels end at their tick and need the room before it
ROOM = 0.12  # of an axis, for such a label on a phone

Position = Callable[[float], float]  # of a value, from 0 to 1


class Axis(NamedTuple):
    """Where values are, from 0 to 1, and the labels at some of them."""

    position: Position
    ticks: list[tuple[float, str]]  # value, label
    label: str


def linear(low: float, high: float, label: str, ticks: int = 5) -> Axis:
    """Make a linear axis with ticks at round numbers."""
    high = high if high - low > 1e-6 else low + 1
    power = 10.0 ** math.floor(math.log10((high - low) / ticks))
    step = next(power * k for k in (1, 2, 5, 10) if (high - low) / (power * k) <= ticks)
    first = math.ceil(low / step - 1e-9)
    count = math.floor(high / step + 1e-9) - first + 1
    values = [(first + i) * step for i in range(count)]
    return Axis(lambda x: (x - low) / (high - low), [(x, f"{x:,.4g}") for x in values], label)


def waits(longest: float) -> Axis:
    """Make a logarithmic axis of waits in seconds; all below one second are at its left end."""
    top = math.log(max(longest, 600.0))
    ticks = [(float(s), label) for s, label in WAIT_TICKS if math.log(s) <= top]
    return Axis(lambda x: math.log(max(x, 1.0)) / top, ticks, "wait, logarithmic")


def counts(largest: float, label: str) -> Axis:
    """Make an axis of counts, logarithmic but for its beginning at 0."""
    top = math.log1p(max(largest, 10.0))
    ticks = [0.0, *(10.0**k for k in range(int(math.log10(max(largest, 10.0))) + 1))]
    return Axis(lambda x: math.log1p(max(x, 0.0)) / top, [(t, f"{t:,.0f}") for t in ticks], label)


def ratios(values: Sequence[float], label: str) -> Axis:
    """Make a logarithmic axis of ratios around 1, with a tick at 1 and beside it."""
    low, high = min(*values, 0.9) / 1.15, max(*values, 1.1) * 1.15
    length = math.log(high / low)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in (
        (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9),
        (1, 1.5, 2, 3, 5, 7),
        (1, 2, 5),
        (1, 3),
        (1,),
    ):
        ticks = [d * 10.0**k for k in decades for d in digits if low <= d * 10.0**k <= high]
        if len(ticks) <= MOST_TICKS:
            break
    ticks_named = [(t, f"× {t:g}") for t in ticks]
    return Axis(lambda x: math.log(x / low) / length, ticks_named, f"{label}, logarithmic")


def changes(seconds: Sequence[float], typical: float, label: str) -> Axis:
    """Make a linear axis of changes in the unit of a typical duration, all in seconds."""
    unit, length = unit_of(typical)
    low, high = (end([0.0, *(x for x in seconds if x == x)]) / length for end in (min, max))
    room = 0.04 * (high - low or 1.0)
    position, ticks, _ = linear(low - room, high + room, "")
    signed = [
        (x * length, f"{'−' if x < 0 else '+' if x > 0 else ''}{text.lstrip('-')}")
        for x, text in ticks
    ]
    return Axis(lambda x: position(x / length), signed, f"{label}, {unit}")


def percents(position: float) -> str:
    """Write a position as an attribute."""
    return f"{100 * position:.2f}%"


def plot(
    key: str, title: str, text: str, x: Axis, y: Axis, *content: Markup | None, size: str = ""
) -> Markup:
    """Make a plot with its axes.

    * `key`: prefix of the plot's ids on the page.
    * `title`, `text`: a name and a sentence that a screen reader reads.
    * `x`, `y`: the axes.
    * `content`: what is drawn.
    * `size`: class of the frame.
    """
    grid = []
    last = max((x.position(value) for value, _ in x.ticks), default=0.0)
    for value, label in x.ticks:
        position = x.position(value)
        if last > AT_END and last - ROOM < position < last:
            label = ""
        at, anchor = percents(position), "end" if position > AT_END else "middle"
        grid.append(element("line", x1=at, x2=at, y1="0%", y2="100%", class_="grid"))
        grid.append(
            element("text", label, x=at, y="100%", dy="1.35em", text_anchor=anchor, class_="tick")
        )
    for value, label in y.ticks:
        at = percents(1 - y.position(value))
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
    """Stretch lines over the whole of a plot."""
    return element(
        "svg",
        *content,
        viewBox=f"0 0 {SCALE} {SCALE}",
        preserveAspectRatio="none",
        width="100%",
        height="100%",
        class_="stretch",
    )


def curve(positions: Sequence[tuple[float, float]]) -> Markup:
    """Draw a line through positions from 0 to 1, y upwards; points within a straight are left out.

    Positions are rounded to the units of the inner SVG.
    """
    points: list[tuple[int, int]] = []
    for position in positions:
        point = round(position[0] * SCALE), round((1 - position[1]) * SCALE)
        if points and point == points[-1]:
            continue
        if len(points) > 1:
            (a, b), (c, d), (e, f) = *points[-2:], point
            if (c - a) * (f - d) == (e - c) * (d - b):  # the three are on a straight line
                points.pop()
        points.append(point)
    (x, y), steps = points[0], []
    for right, down in points[1:]:
        steps.append(f"{right - x} {down - y}")
        x, y = right, down
    path = f"M{points[0][0]} {points[0][1]}" + ("l" + " ".join(steps) if steps else "")
    return element("path", d=path)
