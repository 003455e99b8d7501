"""The charts of a workload, and the trade-off over all of them."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from bfenv.analysis.comparison import STARVES
from bfenv.analysis.formatting import MISSING, alike, ratio
from bfenv.core.durations import DAY
from bfenv.evaluation.row import QueueCurve
from bfenv.evaluation.summary import PolicySummary
from bfenv_site.page import plot
from bfenv_site.page.markup import Cell, Markup, element, short, table
from bfenv_site.page.plot import SCALE, Axis, curve, percents, stretched

QUANTILES = (50, 90, 95, 99, 100)
SLOT_ORDER = ("5", "4", "3", "2", "1", "0", "ref")  # the last is drawn on top

WEEK = 7 * DAY
MONTHS = 60 * DAY  # up to which a queue is drawn as it was
PARTS = 60  # at most, of a queue's curve

Point = tuple[float, float]
Slots = dict[int, str]  # number of a policy -> "ref" or "0" to "5"; one without a slot is grey
Summaries = dict[int, PolicySummary]  # by number of the policy


def highlighted(number: int, slots: Slots) -> str:
    """Return the class of what belongs to a policy."""
    return f"s k{slots[number]}" if number in slots else "s"


def back_to_front(numbers: Iterable[int], slots: Slots) -> list[int]:
    """Sort policies in the order of drawing: highlighted ones last, the reference on top."""
    return sorted(numbers, key=lambda n: SLOT_ORDER.index(slots[n]) if n in slots else -1)


def figure(title: str, drawing: Markup, *rest: Any) -> Markup:
    """Put a chart under its title, and what explains it below."""
    return element("figure", element("figcaption", title), drawing, *rest)


def data(*content: Markup) -> Markup:
    """Fold away the numbers behind a chart."""
    return element("details", element("summary", "Numbers"), *content, class_="numbers")


def wait_distribution(key: str, summaries: Summaries, slots: Slots) -> Markup | None:
    """Draw the distribution of waits of each policy, from the quantiles of its first seed."""
    curves = {
        n: summary.wait_quantiles
        for n, summary in summaries.items()
        if summary.wait_quantiles and len(summary.wait_quantiles) > 1
    }
    if not curves:
        return None
    x = plot.waits(max(values[-1] for values in curves.values()))
    y = plot.linear(0, 100, "% of jobs", ticks=4)
    lines = []
    for n in back_to_front(curves, slots):
        last = len(curves[n]) - 1
        line = curve([(x.position(w), i / last) for i, w in enumerate(curves[n])])
        lines.append(_group(n, summaries[n].policy, slots, line))
    quantiles = alike(
        *(
            [waits[round(q / 100 * (len(waits) - 1))] for q in QUANTILES]
            for waits in curves.values()
        )
    )
    rows = [
        (str(n), [named(summaries[n]), *map(Cell, texts)])
        for n, texts in zip(curves, quantiles, strict=True)
    ]
    title, caption = "How long jobs waited", f"Waits on {_workload(summaries)}"
    text = "For each policy, the share of jobs that waited no longer than the time on the axis."
    return figure(
        title,
        plot.plot(f"{key}-cdf", title, text, x, y, stretched(*lines)),
        data(table(caption, ["policy", "half", "90 %", "95 %", "99 %", "all"], rows)),
    )


def queue_length(key: str, summaries: Summaries, slots: Slots) -> Markup | None:
    """Draw the number of waiting jobs over time, of the first seed."""
    curves = {
        n: summary.queue_length
        for n, summary in summaries.items()
        if summary.queue_length and summary.queue_length.jobs
    }
    if not curves:
        return None
    end = max(queue_curve.time[-1] for queue_curve in curves.values()) / DAY
    x = plot.linear(0, end, "days since the first submission")
    most = max(max(queue_curve.jobs) for queue_curve in curves.values())
    y = plot.counts(most, "jobs waiting, logarithmic")
    lines, rows = [], []
    for n in back_to_front(curves, slots):
        line = curve([(x.position(t / DAY), y.position(j)) for t, j in _by_week(curves[n])])
        lines.append(_group(n, summaries[n].policy, slots, line))
    for n, queue_curve in curves.items():
        length = queue_curve.time[-1] - queue_curve.time[0]
        area = sum(
            j * (b - a)
            for j, (a, b) in zip(queue_curve.jobs, pairwise(queue_curve.time), strict=True)
        )
        mean = f"{area / length:,.1f}" if length else MISSING
        rows.append(
            (str(n), [named(summaries[n]), Cell(mean), Cell(f"{max(queue_curve.jobs):,.1f}")])
        )
    title, caption = "How many jobs were waiting", f"Jobs waiting on {_workload(summaries)}"
    text = (
        "For each policy, the number of waiting jobs over time, on a logarithmic axis; over more "
        "than two months, medians of weeks or longer."
    )
    return figure(
        title,
        plot.plot(f"{key}-queue", title, text, x, y, stretched(*lines)),
        data(table(caption, ["policy", "mean", "most in an interval"], rows)),
    )


def _workload(summaries: Summaries) -> str:
    return next(iter(summaries.values())).rows[0].workload


def _by_week(queue_curve: QueueCurve) -> list[Point]:
    """Return medians of weeks or longer; a curve of two months or less as it is."""
    middles = [(a + b) / 2 for a, b in pairwise(queue_curve.time)]
    points = list(zip(middles, queue_curve.jobs, strict=True))
    span = queue_curve.time[-1] - queue_curve.time[0]
    if span <= MONTHS:
        return points
    length = max(WEEK, span / PARTS)
    parts: dict[int, list[Point]] = {}
    for point in points:
        parts.setdefault(int((point[0] - queue_curve.time[0]) // length), []).append(point)
    return [
        (sum(t for t, _ in part) / len(part), sorted(j for _, j in part)[(len(part) - 1) // 2])
        for part in parts.values()
    ]


def trade_off(
    points: dict[int, tuple[str, float, float]], starving: set[int], slots: Slots
) -> Markup | None:
    """Draw mean waits against longest waits.

    * `points`: Name, mean wait and longest wait of each policy, both divided by the reference's;
      the latter where it is most.
    * `starving`: policies that starve.
    * `slots`: policies that are highlighted.
    """
    points = {n: point for n, point in points.items() if point[1] > 0 and point[2] > 0}
    if not points:
        return None
    x = plot.ratios([point[1] for point in points.values()], "mean wait / EASY's")
    y = plot.ratios([point[2] for point in points.values()], "longest wait / EASY's")
    marks = [_point(n, *points[n], x, y, slots) for n in back_to_front(points, slots)]
    rows = [
        (str(n), [Cell([name, badge(n in starving)]), Cell(ratio(mean)), Cell(ratio(longest))])
        for n, (name, mean, longest) in points.items()
    ]
    title = "What a short mean wait costs the job that waits longest"
    text = (
        "A point per policy: its mean wait and its longest wait, each divided by EASY's on the "
        "same jobs. The mean wait is a geometric mean over workloads, the longest wait that of "
        "the workload where it is worst. Down and to the left is better."
    )
    return figure(
        title,
        plot.plot("trade", title, text, x, y, *_zones(x, y), *marks, size="tall"),
        data(table("Trade-off", ["policy", "mean wait", "longest wait"], rows)),
    )


def _zones(x: Axis, y: Axis) -> list[Markup]:
    """The zone of policies that starve, and lines at the reference's waits."""
    limit = 1 - y.position(STARVES)
    across, down = percents(x.position(1)), percents(1 - y.position(1))
    lines = [
        element("line", x1=across, x2=across, y1="0%", y2="100%", class_="one"),
        element("line", y1=down, y2=down, x1="0%", x2="100%", class_="one"),
    ]
    if not 0 < limit < 1:
        return lines
    return [
        element("rect", x="0", y="0", width="100%", height=percents(limit), class_="zone"),
        element(
            "text",
            "starves",
            x="100%",
            dx="-6",
            y="0",
            dy="1.2em",
            text_anchor="end",
            class_="zone-name",
        ),
        *lines,
    ]


def _point(
    n: int, name: str, mean: float, longest: float, x: Axis, y: Axis, slots: Slots
) -> Markup:
    across, down = percents(x.position(mean)), percents(1 - y.position(longest))
    is_right = x.position(mean) > 0.6
    label = element(
        "text",
        short(name),
        x=across,
        y=down,
        dx="-9" if is_right else "9",
        dy=".35em",
        text_anchor="end" if is_right else "start",
        class_="label",
    )
    text = f"{name}: mean wait × {ratio(mean)}, longest × {ratio(longest)}"
    dot = element("circle", element("title", text), cx=across, cy=down, r="4.5")
    return element("g", dot, label, class_=highlighted(n, slots), data_p=n)


def _group(n: int, name: str, slots: Slots, line: Markup) -> Markup:
    return element("g", element("title", name), line, class_=highlighted(n, slots), data_p=n)


def badge(starves: bool) -> Markup | None:
    """Return the mark of a policy that starves jobs, to stand beside its means."""
    return element("span", "starves", class_="starves") if starves else None


def named(summary: PolicySummary) -> Cell:
    """Return the heading of a policy's row."""
    return Cell([summary.policy, badge(summary.starves)], summary.policy.lower())


def legend(names: dict[int, str], starving: set[int], slots: Slots) -> Markup:
    """List the highlighted policies, each with its line; the others are there, but hidden."""
    items = [
        element(
            "li",
            swatch(),
            element("span", short(names[n]), badge(n in starving)),
            class_=highlighted(n, slots) + " entry",
            data_p=n,
        )
        for n in sorted(names, key=lambda n: (slots.get(n) != "ref", slots.get(n, "9"), n))
    ]
    return element("ul", items, element("li", "the others", class_="others"), class_="legend")


def swatch() -> Markup:
    """Draw a short piece of a policy's line."""
    line = element("path", d=f"M0 {SCALE // 2}h{SCALE}")
    return element(
        "svg",
        line,
        viewBox=f"0 0 {SCALE} {SCALE}",
        preserveAspectRatio="none",
        class_="swatch",
        aria_hidden="true",
    )
