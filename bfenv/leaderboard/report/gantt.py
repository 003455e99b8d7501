"""The page's Gantt chart: the same hours under two policies, as SVG."""

import math
from collections.abc import Sequence

from bfenv.analysis.formatting import MISSING, duration, moment
from bfenv.analysis.formatting import compound_duration as length
from bfenv.analysis.placement import Placed
from bfenv.analysis.plots.gantt_overview import is_large
from bfenv.analysis.plots.gantt_scene import COLOURS, Scene, scene
from bfenv.core.durations import DAY
from bfenv.core.errors import BfenvError
from bfenv.core.schedule import Schedule
from bfenv.leaderboard.report.charts import badge, data
from bfenv.leaderboard.report.element import Markup, element, join
from bfenv.leaderboard.report.gantt_overview import overview
from bfenv.leaderboard.report.gantt_selection import GanttSelection
from bfenv.leaderboard.report.grid import Cell, table
from bfenv.leaderboard.report.plot import SCALE, Axis, linear, percents, plot, stretched
from bfenv.workloads.logs.header import date_at

MOST = 1_500  # boxes drawn one by one under a policy, beyond which the page is slow
THIN = 0.012  # share of the machine's height, about 5 pixels
LISTED = 400  # jobs in the table of numbers
STEPS = (60, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 21_600, 43_200, DAY)  # s between ticks
TICKS = 5  # at most
SIZE = (560, 400)  # of a plot in pixels, about
APART = 7  # pixels between diagonals, about

Line = tuple[float, float, float, float]  # x and y of both ends


SAME = "The jobs are the same; each has the same colour and number under both policies. "
MEANING = {
    False: "Hatched jobs were backfilled, gaps are idle processors. Where there are very many "
    "jobs, the smallest are grey and have no number.",
    True: "Above: the processors in use, coloured by the size of the jobs. Below: the jobs that "
    "hold most of the machine, labelled with number and processors. The line before a bar is the "
    "time that the job waited.",
}  # of the drawing, whether the machine is large


def gantt(selection: GanttSelection, starving: set[str]) -> Markup:
    """Draw the selected hours, or say why they are not shown; `starving` policies are marked."""
    if not selection.schedules:
        return _absent(selection.absent)
    try:
        scenes = [scene(one, selection.begin, selection.span) for one in selection.schedules]
    except BfenvError as error:
        return _absent(str(error))
    processors = selection.schedules[0].trace.processors
    return join(
        [
            element(
                "p",
                f"{selection.workload}: {length(selection.span)} from "
                f"{_when(selection.schedules[0], selection.begin)} "
                f"on, on {processors:,} processors. {SAME if len(scenes) > 1 else ''}"
                f"{MEANING[is_large(scenes[0])]} The strip at the bottom is the number of waiting "
                "jobs.",
            ),
            element("div", [_panel(f"gantt{i}", one, starving) for i, one in enumerate(scenes)],
                    class_="pair"),
            data(_job_table(scenes)),
        ]
    )  # fmt: skip


def _absent(reason: str) -> Markup:
    return element("p", f"Not shown: {reason}.", class_="absent")


def _panel(key: str, one: Scene, starving: set[str]) -> Markup:
    x = _time_axis(one)
    drawing = overview(key, one, x) if is_large(one) else (_machine(key, one, x),)
    policy = one.schedule.policy
    return element(
        "figure",
        element("figcaption", policy, badge(policy in starving)),
        element("p", one.heading(), class_="note"),
        *drawing,
        _queue(one, x),
    )


def _machine(key: str, one: Scene, x: Axis) -> Markup:
    """Draw every job on its processors."""
    y = linear(0, one.schedule.trace.processors, "processors")
    large, small = _by_size(one)
    boxes = [_small_boxes(one, small, x), *(_boxes(one, run, x) for run in large)]
    numbers = [_number(one, run, x) for run in large]
    title = f"{one.schedule.policy}: which job ran where"
    return plot(
        key, title, one.heading(), x, y, *boxes, _hatching(one, large, x), *numbers, size="tall"
    )


def _time_axis(one: Scene) -> Axis:
    span = one.stop - one.begin
    step = next((s for s in STEPS if span / s <= TICKS), None) or DAY * -(-span // (TICKS * DAY))
    is_dated = date_at(one.schedule.trace, 0) is not None
    midnight = one.schedule.trace.time_of_day if is_dated else 0  # seconds before time 0
    first = -(-(one.begin + midnight) // step) * step - midnight
    # On a phone the last label would overlap the one before it.
    ticks = [
        (float(t), _tick(one.schedule, t, step) if t - one.begin < 0.93 * span else "")
        for t in range(first, one.stop + 1, step)
    ]
    label = "date" if is_dated else "time since the first submission"
    return Axis(lambda t: (t - one.begin) / span, ticks, label)


def _when(schedule: Schedule, seconds: int) -> str:
    """Write an instant as a date if the log has one, else as a time since its begin."""
    date = date_at(schedule.trace, seconds)
    return moment(seconds) if date is None else f"{date:%Y-%m-%d %H:%M}"


def _tick(schedule: Schedule, seconds: int, step: int) -> str:
    """Write an instant without its year; between ticks that are days apart, without its time."""
    date, days = date_at(schedule.trace, seconds), step % DAY == 0
    if date is None:
        return moment(seconds, days=days)
    return f"{date:%m-%d}" if days else f"{date:%m-%d %H:%M}"


def _ends(one: Scene, run: Placed, x: Axis) -> tuple[float, float]:
    """Left and right end of a run within the interval, from 0 to 1."""
    start, end = (min(max(t, one.begin), one.stop) for t in (run.start, run.end))
    return x.position(start), x.position(end)


def _boxes(one: Scene, run: Placed, x: Axis) -> Markup:
    left, right = _ends(one, run, x)
    processors = one.schedule.trace.processors
    is_backfilled = bool(one.backfilled[run.job]) and not run.trial
    jobs = one.schedule.trace.jobs
    text = (
        f"job {run.job}: {jobs.size[run.job]:,} processors for {duration(run.end - run.start)}"
        f"{', a trial' if run.trial else ''}, submitted {moment(int(jobs.submit[run.job]))}, "
        f"waited {duration(run.start - int(jobs.submit[run.job]))}"
        f"{', backfilled' if is_backfilled else ''}"
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
        if (last - first) / processors < THIN:
            kind += " thin"  # its outline would hide it
        parts.append(element("rect", **box, class_=kind))
    return element("g", element("title", text), parts)


def _by_size(one: Scene) -> tuple[list[Placed], list[Placed]]:
    """Return the runs to draw one by one, which are the largest, and the others."""

    def area(run: Placed) -> int:
        width = min(run.end, one.stop) - max(run.start, one.begin)
        return width * sum(last - first for first, last in run.spans)

    if sum(len(run.spans) for run in one.runs) <= MOST:
        return one.runs, []
    large, boxes = [], 0
    ranked = sorted(one.runs, key=area, reverse=True)
    for run in ranked:
        boxes += len(run.spans)
        if boxes > MOST:
            break
        large.append(run)
    return large, ranked[len(large) :]


def _small_boxes(one: Scene, runs: Sequence[Placed], x: Axis) -> Markup:
    """Draw runs in one shape."""
    processors, corners = one.schedule.trace.processors, []
    for run in runs:
        left, right = (round(end * SCALE) for end in _ends(one, run, x))
        for first, last in run.spans:
            top, bottom = (round((1 - edge / processors) * SCALE) for edge in (last, first))
            corners.append(f"M{left} {top}H{right}V{bottom}H{left}Z")
    return stretched(element("path", d="".join(corners) or "M0 0", class_="small"))


def _hatching(one: Scene, runs: Sequence[Placed], x: Axis) -> Markup:
    """Draw diagonals over the backfilled jobs: as lines, because patterns print very slowly."""
    lines: list[Line] = []
    width, height = SIZE
    processors = one.schedule.trace.processors
    for run in runs:
        if run.trial or not one.backfilled[run.job]:
            continue
        left, right = (end * width for end in _ends(one, run, x))
        for first, last in run.spans:
            top, bottom = ((1 - edge / processors) * height for edge in (last, first))
            lines += _diagonals(left, right, top, bottom)
    path = [
        f"M{a / width * SCALE:.0f} {b / height * SCALE:.0f}"
        f"L{c / width * SCALE:.0f} {d / height * SCALE:.0f}"
        for a, b, c, d in lines
    ]
    return stretched(element("path", d="".join(path) or "M0 0", class_="hatch"))


def _diagonals(left: float, right: float, top: float, bottom: float) -> Sequence[Line]:
    """Return lines x + y = k * APART within a box, or one from corner to corner."""
    lines = []
    for k in range(math.ceil((left + top) / APART), math.floor((right + bottom) / APART) + 1):
        total = k * APART
        a, b = max(left, total - bottom), min(right, total - top)
        if b > a:
            lines.append((a, total - a, b, total - b))
    return lines or [(left, bottom, right, top)]


def _number(one: Scene, run: Placed, x: Axis) -> Markup | None:
    """Write the job's number on its largest piece, if there is room."""
    left, right = _ends(one, run, x)
    processors = one.schedule.trace.processors
    low, high = max(run.spans, key=lambda span: span[1] - span[0])
    if right - left < 0.02 * len(str(run.job)) + 0.02 or (high - low) / processors < 0.05:
        return None
    at = {"x": percents((left + right) / 2), "y": percents(1 - (low + high) / 2 / processors)}
    return element("text", str(run.job), **at, dy=".35em", text_anchor="middle", class_="number")


def _queue(one: Scene, x: Axis) -> Markup:
    """Draw the number of waiting jobs."""
    times, jobs = one.waiting()
    top = max(1, int(jobs.max()))
    steps = [f"M0 {SCALE}"]
    for time, count in zip(times.tolist(), jobs.tolist(), strict=True):
        steps.append(f"H{x.position(time) * SCALE:.0f}V{(1 - count / top) * SCALE:.0f}")
    area = element("path", d="".join(steps) + f"V{SCALE}Z")
    text = f"{int(jobs[0]):,} jobs wait at first, {int(jobs[-1]):,} at last, {top:,} at most"
    return element(
        "div",
        element(
            "svg",
            element("title", text),
            area,
            viewBox=f"0 0 {SCALE} {SCALE}",
            preserveAspectRatio="none",
            role="img",
            aria_label=text,
            class_="queue",
        ),
        element("p", text, class_="note"),
        class_="frame low",
    )


def _job_table(scenes: list[Scene]) -> Markup:
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
