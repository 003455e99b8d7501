"""The charts of a workload, and the trade-off over all of them."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from bfenv.analysis.formatting import MISSING, duration, ratio
from bfenv.leaderboard.report import plot
from bfenv.leaderboard.report.element import Markup, element, short
from bfenv.leaderboard.report.grid import Cell, table
from bfenv.leaderboard.report.plot import SCALE, curve, percents, stretched
from bfenv.leaderboard.report.summary import Interval, Result
from bfenv.leaderboard.standings import STARVES

QUANTILES = (50, 90, 95, 99, 100)
DAY = 86_400  # seconds

# number of a policy -> its slot, "ref" or "0" to "5"; what has none is drawn in grey
Slots = dict[int, str]


def highlighted(number: int, slots: Slots) -> str:
    """The class of whatever belongs to a policy."""
    return f"s k{slots[number]}" if number in slots else "s"


def back_to_front(numbers: Iterable[int], slots: Slots) -> list[int]:
    """The order in which policies are drawn: the highlighted ones last, the reference on top."""
    order = {slot: i for i, slot in enumerate(["5", "4", "3", "2", "1", "0", "ref"], start=1)}
    return sorted(numbers, key=lambda number: order.get(slots.get(number, ""), 0))


def figure(title: str, drawing: Markup, *rest: Any) -> Markup:
    """A chart under its title, and what explains it."""
    return element("figure", element("figcaption", title), drawing, *rest)


def data(*content: Markup) -> Markup:
    """The numbers behind a chart, folded away."""
    return element("details", element("summary", "Numbers"), *content, class_="numbers")


def wait_distribution(key: str, results: dict[int, Result], slots: Slots) -> Markup | None:
    """Which share of the jobs waited at most so long; quantiles of the first seed."""
    curves = {n: result.curve("wait_quantiles") for n, result in results.items()}
    curves = {n: values for n, values in curves.items() if values and len(values) > 1}
    if not curves:
        return None
    x = plot.waits(max(values[-1] for values in curves.values()))
    y = plot.linear(0, 100, "% of jobs", ticks=4)
    drawn = []
    for n in back_to_front(curves, slots):
        last = len(curves[n]) - 1
        line = curve([(x.place(w), i / last) for i, w in enumerate(curves[n])])
        drawn.append(_group(n, results[n].policy, slots, line))
    rows = [
        (
            str(n),
            [named(result), *(_quantile(curves[n], q) for q in QUANTILES)],
        )
        for n, result in results.items()
        if n in curves
    ]
    title = "How long jobs waited"
    text = "For each policy, the share of jobs that waited at most as long as the axis says."
    return figure(
        title,
        plot.plot(f"{key}-cdf", title, text, x, y, stretched(*drawn)),
        data(table("Waits", ["policy", "half", "90 %", "95 %", "99 %", "all"], rows)),
    )


def _quantile(values: Sequence[float], percent: int) -> Cell:
    return Cell(duration(values[round(percent / 100 * (len(values) - 1))]))


def queue_length(key: str, results: dict[int, Result], slots: Slots) -> Markup | None:
    """How many jobs wait as time goes by, of the first seed."""
    curves = {n: result.curve("queue_length") for n, result in results.items()}
    curves = {n: one for n, one in curves.items() if one and one["jobs"]}
    if not curves:
        return None
    end = max(one["time"][-1] for one in curves.values()) / DAY
    x = plot.linear(0, end, "days since the first submission")
    y = plot.counts(max(max(one["jobs"]) for one in curves.values()), "jobs waiting")
    drawn, rows = [], []
    for n in back_to_front(curves, slots):
        time, jobs = curves[n]["time"], curves[n]["jobs"]
        middles = [(a + b) / 2 / DAY for a, b in pairwise(time)]
        places = [(x.place(t), y.place(j)) for t, j in zip(middles, jobs, strict=True)]
        drawn.append(_group(n, results[n].policy, slots, curve(places)))
    for n in curves:
        time, jobs = curves[n]["time"], curves[n]["jobs"]
        width = time[-1] - time[0]
        area = sum(j * (b - a) for j, (a, b) in zip(jobs, pairwise(time), strict=True))
        mean = f"{area / width:,.1f}" if width else MISSING
        rows.append((str(n), [named(results[n]), Cell(mean), Cell(f"{max(jobs):,.1f}")]))
    title = "How many jobs were waiting"
    text = "For each policy, the number of waiting jobs over time, on a logarithmic axis."
    return figure(
        title,
        plot.plot(f"{key}-queue", title, text, x, y, stretched(*drawn)),
        data(table("Jobs waiting", ["policy", "mean", "most in an interval"], rows)),
    )


def trade_off(
    points: dict[int, tuple[str, float, float]], starving: set[int], slots: Slots
) -> Markup | None:
    """Mean against longest wait, both over the reference's; name, x and y by number."""
    points = {n: point for n, point in points.items() if point[1] > 0 and point[2] > 0}
    if not points:
        return None
    x = plot.ratios([point[1] for point in points.values()], "mean wait / EASY's")
    y = plot.ratios([point[2] for point in points.values()], "longest wait / EASY's")
    limit = 1 - y.place(STARVES)
    zone = ()
    if 0 < limit < 1:
        zone = (
            element("rect", x="0", y="0", width="100%", height=percents(limit), class_="zone"),
            element("text", "starves", x="100%", dx="-6", y="0", dy="1.2em",
                    text_anchor="end", class_="zone-name"),
        )  # fmt: skip
    one = [
        element("line", x1=percents(x.place(1)), x2=percents(x.place(1)), y1="0%", y2="100%",
                class_="one"),
        element("line", y1=percents(1 - y.place(1)), y2=percents(1 - y.place(1)), x1="0%",
                x2="100%", class_="one"),
    ]  # fmt: skip
    drawn = [_point(n, *points[n], x, y, slots) for n in back_to_front(points, slots)]
    rows = [
        (str(n), [Cell([name, badge(n in starving)]), Cell(ratio(mean)), Cell(ratio(longest))])
        for n, (name, mean, longest) in points.items()
    ]
    title = "What a short mean wait costs the job that waits longest"
    text = (
        "A point per policy: its mean wait and its longest wait, each over EASY's on the same "
        "jobs, geometric means over workloads. Down and to the left is better."
    )
    return figure(
        title,
        plot.plot("trade", title, text, x, y, *zone, *one, *drawn, size="tall"),
        data(table("Trade-off", ["policy", "mean wait", "longest wait"], rows)),
    )


def _point(n, name, mean, longest, x, y, slots) -> Markup:
    at, down = x.place(mean), 1 - y.place(longest)
    left = at > 0.6
    place = {"x": percents(at), "y": percents(down)}
    label = element(
        "text", short(name), **place, dx="-9" if left else "9", dy=".35em",
        text_anchor="end" if left else "start", class_="label",
    )  # fmt: skip
    told = f"{name}: mean wait × {ratio(mean)}, longest × {ratio(longest)}"
    dot = element("circle", element("title", told), cx=place["x"], cy=place["y"], r="4.5")
    return element("g", dot, label, class_=highlighted(n, slots), data_p=n)


def _group(n: int, name: str, slots: Slots, line: Markup) -> Markup:
    return element("g", element("title", name), line, class_=highlighted(n, slots), data_p=n)


def interval(one: Interval, place, words) -> Markup:
    """A difference from the reference as a mark with its interval."""
    difference, low, high = (percents(place(value)) for value in one)
    kind = "better" if one.high < 0 else "worse" if one.low > 0 else "unclear"
    told = f"{words(one.difference)}, from {words(one.low)} to {words(one.high)}: {kind}"
    zero = percents(place(0.0))
    return element(
        "svg",
        element("title", told),
        element("line", x1=zero, x2=zero, y1="0%", y2="100%", class_="zero"),
        element("line", x1=low, x2=high, y1="50%", y2="50%", class_="whisker"),
        element("circle", cx=difference, cy="50%", r="3.5"),
        role="img", aria_label=told, class_=f"ci {kind}",
    )  # fmt: skip


def badge(starves: bool) -> Markup | None:
    """What stands beside a mean that is bought by jobs that hardly start."""
    return element("span", "starves", class_="starves") if starves else None


def named(result: Result) -> Cell:
    """The head of a policy's row."""
    return Cell([result.policy, badge(result.starves)], result.policy.lower())


def legend(names: dict[int, str], starving: set[int], slots: Slots) -> Markup:
    """The policies highlighted, each with its line; the others are there, but not shown."""
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
    """A short piece of a policy's line."""
    line = element("path", d=f"M0 {SCALE // 2}h{SCALE}")
    return element(
        "svg", line, viewBox=f"0 0 {SCALE} {SCALE}", preserveAspectRatio="none", class_="swatch",
        aria_hidden="true",
    )  # fmt: skip
