"""What a page shows first: a sentence with the verdict, a few figures, and one picture."""

from collections.abc import Sequence
from typing import NamedTuple

from bfenv.analysis.intervals import Interval
from bfenv_site.page.charts import figure
from bfenv_site.page.markup import Markup, element, short
from bfenv_site.page.plot import Axis, percents

ROW = 42  # pixels of the picture to a line


class Line(NamedTuple):
    """A line of the picture: what is compared, and how it compares."""

    name: str
    interval: Interval  # without ends, a point alone
    text: str  # the value in words
    ends: str = ""  # its interval in words, which a narrow picture leaves out
    is_chosen: bool = False  # what the verdict recommends


def first_screen(
    verdict: str, figures: Sequence[tuple[str, str]], picture: Markup | None, *notes: str
) -> Markup:
    """Put the verdict in one sentence over figures, (value, label) each, and beside a picture.

    The notes are what a reader must know to trust the sentence.
    """
    items = [
        element("div", element("dt", label), element("dd", value), class_="figure")
        for value, label in figures
    ]
    words = element(
        "div",
        element("p", verdict, class_="verdict"),
        element("dl", items, class_="figures") if items else None,
    )
    below = element("div", [element("p", note, class_="note") for note in notes])
    return element("div", words, picture, below, class_="first")


def picture(
    key: str, title: str, text: str, lines: Sequence[Line], axis: Axis, zero: tuple[float, str]
) -> Markup | None:
    """Draw a line for each of `lines` with its interval; None without any.

    * `key`: prefix of its ids on the page.
    * `title`, `text`: above the picture, and what a screen reader reads besides.
    * `axis`: of the values; what is beyond it is drawn at its end.
    * `zero`: what the lines are compared with: its value and its name.
    """
    if not lines:
        return None
    height = f"{ROW * len(lines)}px"
    grid = []
    for value, label in axis.ticks:
        at, anchor = _at(axis, value), "end" if axis.position(value) > 0.95 else "middle"
        grid.append(element("line", x1=at, x2=at, y1="0", y2=height, class_="grid"))
        grid.append(
            element("text", label, x=at, y=height, dy="1.35em", text_anchor=anchor, class_="tick")
        )
    at = _at(axis, zero[0])
    reference = (
        [  # beside the marks only: above them are names and numbers
            element(
                "line",
                x1=at,
                x2=at,
                y1=f"{ROW * (i + 0.5):.0f}",
                y2=f"{ROW * (i + 0.94):.0f}",
                class_="one",
            )
            for i in range(len(lines))
        ],
        element(
            "text",
            zero[1],
            x=at,
            y="-0.6em",
            class_="tick",
            text_anchor="end" if axis.position(zero[0]) > 0.8 else "middle",
        ),
        element(
            "text", axis.label, x="100%", y=height, dy="2.7em", text_anchor="end", class_="axis"
        ),
    )
    body = [_line(i, line, axis, zero[0]) for i, line in enumerate(lines)]
    drawing = element(
        "svg",
        element("title", title, id=f"{key}-t"),
        element(
            "desc",
            " ".join((text, *(f"{line.name}: {line.text}{line.ends}." for line in lines))),
            id=f"{key}-d",
        ),
        element("g", grid, reference, aria_hidden="true"),
        body,
        role="img",
        aria_labelledby=f"{key}-t {key}-d",
        class_="plot rows",
        height=height,
    )
    return figure(title, element("div", drawing, class_="frame rows"))


def _line(i: int, line: Line, axis: Axis, zero: float) -> Markup:
    value, low, high = line.interval[:3]
    text, mark = (f"{ROW * (i + share):.0f}" for share in (0.36, 0.72))
    kind = "better" if high < zero else "worse" if low > zero else "unclear"
    ends = element("tspan", line.ends, class_="ends")
    return element(
        "g",
        element("text", short(line.name, 36), x="0", y=text, class_="name"),
        element("text", line.text, ends, x="100%", y=text, text_anchor="end", class_="value"),
        element("line", x1=_at(axis, low), x2=_at(axis, high), y1=mark, y2=mark, class_="whisker")
        if low <= high
        else None,
        element("circle", cx=_at(axis, value), cy=mark, r="5"),
        class_=f"ci {kind}{' chosen' if line.is_chosen else ''}",
    )


def _at(axis: Axis, value: float) -> str:
    return percents(min(max(axis.position(value), 0.0), 1.0))
