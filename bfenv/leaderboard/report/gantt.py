"""The page's Gantt chart: the same hours under two policies, as SVG."""

import math

from bfenv.analysis.formatting import MISSING, duration, moment
from bfenv.analysis.formatting import compound_duration as length
from bfenv.analysis.placement import Placed
from bfenv.analysis.plots.gantt_scene import COLOURS, Scene, scene
from bfenv.core.errors import BfenvError
from bfenv.leaderboard.report.charts import badge, data
from bfenv.leaderboard.report.element import Markup, element, join
from bfenv.leaderboard.report.gantt_selection import Choice
from bfenv.leaderboard.report.grid import Cell, table
from bfenv.leaderboard.report.plot import SCALE, Axis, linear, percents, plot, stretched

MOST = 3_000  # boxes, beyond which a page is heavy and a picture is a blur
LISTED = 400  # jobs in the table of numbers
STEPS = (60, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 21_600, 43_200, 86_400)  # seconds
TICKS = 5
SIZE, APART = (560, 400), 7  # of a plot and between its diagonals, about, in pixels


def machine(choice: Choice, starving: set[str]) -> Markup:
    """The hours chosen, or why they are not shown; `starving` policies are marked."""
    if not choice.schedules:
        return element("p", f"Not shown: {choice.absent}.", class_="absent")
    try:
        scenes = [scene(one, choice.begin, choice.span) for one in choice.schedules]
    except BfenvError as error:
        return element("p", f"Not shown: {error}.", class_="absent")
    boxes = sum(len(run.spans) for one in scenes for run in one.runs)
    if boxes > MOST:
        told = f"{boxes:,} boxes within {duration(choice.span)}; --span shows fewer hours"
        return element("p", f"Not shown: {told}.", class_="absent")
    trace = choice.schedules[0].trace
    return join(
        [
            element(
                "p",
                f"{choice.workload}: {length(choice.span)} from {moment(choice.begin)} on, the "
                f"same jobs on the same {trace.processors:,} processors. A job has the same colour "
                "and number under both policies, hatched ones were backfilled, gaps are idle. "
                "Below the machine are the jobs that wait.",
            ),
            element("div", [_panel(f"gantt{i}", one, starving) for i, one in enumerate(scenes)],
                    class_="pair"),
            data(_listed(scenes)),
        ]
    )  # fmt: skip


def _panel(key: str, one: Scene, starving: set[str]) -> Markup:
    step = next((s for s in STEPS if (one.stop - one.begin) / s <= TICKS), None)
    step = step or 86_400 * -(-(one.stop - one.begin) // (TICKS * 86_400))
    first = -(-one.begin // step) * step
    span = one.stop - one.begin
    # The last label would reach into the one before it on a phone.
    ticks = [
        (float(t), moment(t) if t - one.begin < 0.93 * span else "")
        for t in range(first, one.stop + 1, step)
    ]
    x = Axis(lambda t: (t - one.begin) / span, ticks, "time since the first submission")
    processors = one.schedule.trace.processors
    y = linear(0, processors, "processors")
    boxes = [_boxes(one, run, x) for run in one.runs]
    numbers = [_number(one, run, x) for run in one.runs]
    policy = one.schedule.policy
    title = f"{policy}: who ran where"
    return element(
        "figure",
        element("figcaption", policy, badge(policy in starving)),
        element("p", one.heading(), class_="note"),
        plot(key, title, one.heading(), x, y, *boxes, _hatching(one, x), *numbers, size="tall"),
        _queue(key, one, x),
    )


def _boxes(one: Scene, run: Placed, x: Axis) -> Markup:
    left, right = (x.place(min(max(t, one.begin), one.stop)) for t in (run.start, run.end))
    processors = one.schedule.trace.processors
    backfilled = bool(one.backfilled[run.job]) and not run.trial
    jobs = one.schedule.trace.jobs
    told = (
        f"job {run.job}: {jobs.size[run.job]:,} processors for {duration(run.end - run.start)}"
        f"{', a trial' if run.trial else ''}, submitted {moment(int(jobs.submit[run.job]))}, "
        f"waited {duration(run.start - int(jobs.submit[run.job]))}"
        f"{', backfilled' if backfilled else ''}"
    )
    parts = []
    for first, last in run.spans:
        box = {
            "x": percents(left),
            "width": percents(right - left),
            "y": percents(1 - last / processors),
            "height": percents((last - first) / processors),
        }
        kind = "trial" if run.trial else f"job g{run.job % len(COLOURS)}"
        parts.append(element("rect", **box, class_=kind))
    return element("g", element("title", told), parts)


def _hatching(one: Scene, x: Axis) -> Markup:
    """Diagonals over the backfilled jobs, as lines, for printers take minutes over patterns."""
    path = []
    width, height = SIZE
    for run in one.runs:
        if run.trial or not one.backfilled[run.job]:
            continue
        for first, last in run.spans:
            left, right = (
                x.place(min(max(t, one.begin), one.stop)) * width for t in (run.start, run.end)
            )
            top, bottom = (
                (1 - processor / one.schedule.trace.processors) * height
                for processor in (last, first)
            )
            path += _diagonals(left, right, top, bottom)
    lines = [
        f"M{a / width * SCALE:.0f} {b / height * SCALE:.0f}"
        f"L{c / width * SCALE:.0f} {d / height * SCALE:.0f}"
        for a, b, c, d in path
    ]
    return stretched(element("path", d="".join(lines) or "M0 0", class_="hatch"))


def _diagonals(left: float, right: float, top: float, bottom: float):
    """Lines x + y = k * APART within a box; one from corner to corner where there is none."""
    found = []
    for k in range(math.ceil((left + top) / APART), math.floor((right + bottom) / APART) + 1):
        total = k * APART
        a, b = max(left, total - bottom), min(right, total - top)
        if b > a:
            found.append((a, total - a, b, total - b))
    return found or [(left, bottom, right, top)]


def _number(one: Scene, run: Placed, x: Axis) -> Markup | None:
    """The job's number on its largest piece, where there is room for it."""
    left, right = (x.place(min(max(t, one.begin), one.stop)) for t in (run.start, run.end))
    processors = one.schedule.trace.processors
    low, high = max(run.spans, key=lambda span: span[1] - span[0])
    if right - left < 0.02 * len(str(run.job)) + 0.02 or (high - low) / processors < 0.05:
        return None
    at = {"x": percents((left + right) / 2), "y": percents(1 - (low + high) / 2 / processors)}
    return element("text", str(run.job), **at, dy=".35em", text_anchor="middle", class_="number")


def _queue(key: str, one: Scene, x: Axis) -> Markup:
    times, jobs = one.waiting()
    top = max(1, int(jobs.max()))
    steps = [f"M0 {SCALE}"]
    for time, count in zip(times.tolist(), jobs.tolist(), strict=True):
        steps.append(f"H{x.place(time) * SCALE:.0f}V{(1 - count / top) * SCALE:.0f}")
    area = element("path", d="".join(steps) + f"V{SCALE}Z")
    told = f"{int(jobs[0]):,} jobs wait at first, {int(jobs[-1]):,} at last, {top:,} at most"
    return element(
        "div",
        element(
            "svg",
            element("title", told),
            area,
            viewBox=f"0 0 {SCALE} {SCALE}",
            preserveAspectRatio="none",
            role="img",
            aria_label=told,
            class_="queue",
        ),
        element("p", told, class_="note"),
        class_="frame low",
    )


def _listed(scenes: list[Scene]) -> Markup:
    jobs = sorted({run.job for one in scenes for run in one.runs})
    trace = scenes[0].schedule.trace
    columns = ["job", "processors", "submitted", "runtime"]
    for one in scenes:
        columns += [f"start, {one.schedule.policy}", "backfilled"]
    rows = []
    for job in jobs[:LISTED]:
        cells = [
            Cell(str(job)),
            Cell(f"{trace.jobs.size[job]:,}"),
            Cell(moment(int(trace.jobs.submit[job]))),
            Cell(duration(int(trace.runtime[job]))),
        ]
        for one in scenes:
            cells.append(Cell(moment(int(one.schedule.start[job]))))
            cells.append(Cell("yes" if one.backfilled[job] else MISSING))
        rows.append((None, cells))
    caption = "Jobs that run in these hours" + (
        f", the first {LISTED} of {len(jobs):,}" if len(jobs) > LISTED else ""
    )
    return table(caption, columns, rows)
