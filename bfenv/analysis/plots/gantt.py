"""A Gantt chart as a picture: which job runs where and when, under one policy or two.

`bfenv.analysis.placement` assigns the processors. A job has the same number and colour under every
policy. Of a large machine, or of many jobs under two policies, it shows the use by the size of
jobs, and the largest jobs.
"""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import bfenv.analysis.plots.figure as fg
from bfenv.analysis.formatting import compound_duration, moment
from bfenv.analysis.placement import Placed
from bfenv.analysis.plots.gantt_overview import (
    draw_largest,
    draw_use,
    is_large,
    rows_of_largest,
    use_by_size,
)
from bfenv.analysis.plots.gantt_scene import COLOURS, HATCH, Scene, draw_hatching, scene
from bfenv.core.durations import DAY, HOUR, MINUTE
from bfenv.core.jobs import Trace
from bfenv.core.schedule import Schedule
from bfenv.core.text import one_line
from bfenv.workloads.logs.header import date_at

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STEPS = (
    1,
    2,
    5,
    10,
    20,
    MINUTE,
    5 * MINUTE,
    10 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    DAY,
)  # seconds between ticks
TICKS = 13  # at most
DIAGONALS = 120, 45  # in a chart's width and height
NAME_WIDTH = 100  # characters of a policy's name in a line
WIDTH, HEIGHT = 12.0, 5.2  # inches, of a chart and of each policy


def write_gantt(schedules: Sequence[Schedule], path: Path, begin: int, span: int) -> None:
    """Write the chart of `draw_gantt` to a file, completely or not at all.

    Args:
        schedules, begin, span: As of `draw_gantt`.
        path: The file to write: .png, .svg or .pdf.

    Raises:
        BfenvError: If matplotlib is missing, the suffix names no format, nothing runs within the
            interval, or the file cannot be written.

    Examples:
        Draw the eight hours in which two schedules differ most.

        >>> from pathlib import Path
        >>> import bfenv
        >>> from bfenv.analysis.plots import choose_begin, write_gantt
        >>> trace = bfenv.load_workload("lublin:jobs=500,load=0.9")
        >>> schedules = [bfenv.simulate(trace, name) for name in ("fcfs", "easy")]
        >>> span = 8 * 3600
        >>> write_gantt(schedules, Path("gantt.svg"), choose_begin(schedules, span), span)
    """
    fg.write_figure(path, draw=lambda: draw_gantt(schedules, begin, span))


def draw_gantt(schedules: Sequence[Schedule], begin: int, span: int) -> "Figure":
    """Return a drawing of the machine of each schedule and, below it, the queue.

    Args:
        schedules: Schedules of the same trace, drawn from top to bottom.
        begin, span: First second and length of the interval, see `choose_begin` and
            `readable_span`.

    Raises:
        BfenvError: If matplotlib is missing or nothing runs within the interval.
    """
    fg.check_matplotlib()
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    scenes = [scene(schedule, begin, span) for schedule in schedules]
    with rc_context(fg.STYLE | {"hatch.linewidth": 0.6}):
        layout = ConstrainedLayoutEngine(h_pad=0.04, hspace=0.03)
        figure = Figure(figsize=(WIDTH, 1.2 + HEIGHT * len(scenes)), layout=layout)
        ratios = [3, 4, 1] if is_large(scenes) else [5, 1]
        panels = figure.subplots(
            len(ratios) * len(scenes),
            1,
            sharex=True,
            height_ratios=ratios * len(scenes),
            squeeze=False,
        )[:, 0]
        longest = max(1, *(int(view.waiting()[1].max()) for view in scenes))
        for i, view in enumerate(scenes):
            rows = panels[len(ratios) * i : len(ratios) * (i + 1)]
            if is_large(scenes):
                draw_use(rows[0], view)
                draw_largest(rows[1], view, scenes)
            else:
                _machine(rows[0], view)
            name = textwrap.fill(one_line(view.schedule.policy), NAME_WIDTH)
            rows[0].set_title(name, fontsize=11)
            # The label of an axis on top is below the title, however many lines the name has.
            rows[0].xaxis.set_label_position("top")
            rows[0].set_xlabel(view.heading(), loc="left", fontsize=9, color=fg.GREY)
            _queue(rows[-1], view, longest)
        trace = schedules[0].trace
        _time_axis(panels[-1], trace, begin, span)
        figure.suptitle(
            f"{trace.name}: {compound_duration(span)} on {trace.processors:,} processors",
            fontsize=13,
            x=0.01,
            ha="left",
        )
        _legend(figure, scenes)
    return figure


def _machine(axes: "Axes", view: Scene) -> None:
    from matplotlib.patches import Rectangle

    processors = view.schedule.trace.processors
    thin, hatched = len(view.runs) > 400, []
    for run in view.runs:
        left, right = max(run.start, view.begin), min(run.end, view.stop)
        about = fg.ABOUT + view.describe(run)
        for first, last in run.spans:
            box = (left, first), right - left, last - first
            colour = "white" if run.trial else COLOURS[run.job % len(COLOURS)]
            axes.add_patch(Rectangle(*box, facecolor=colour, linewidth=0))
            if view.is_marked(run):
                hatched.append((left, right, first, last))
            axes.add_patch(
                Rectangle(
                    *box,
                    facecolor="#ffffff00",
                    linewidth=0.3 if thin else 0.8,
                    edgecolor=fg.GREY if run.trial else "white",
                    linestyle="--" if run.trial else "-",
                    gid=about,
                )
            )
        _number(axes, view, run, left, right)
    draw_hatching(axes, hatched, (view.stop - view.begin) / DIAGONALS[0], processors / DIAGONALS[1])
    axes.set(ylim=(processors, 0), ylabel="processor")
    axes.locator_params(axis="y", integer=True)
    axes.grid(False)
    axes.tick_params(bottom=False)


def _number(axes: "Axes", view: Scene, run: Placed, left: int, right: int) -> None:
    """Write the job's number on its largest piece, if there is room for it."""
    first, last = max(run.spans, key=lambda span: span[1] - span[0])
    wide = (right - left) / (view.stop - view.begin)
    high = (last - first) / view.schedule.trace.processors
    if wide < 0.008 * len(str(run.job)) + 0.006 or high < 0.045:
        return
    axes.text(
        (left + right) / 2,
        (first + last) / 2,
        str(run.job),
        ha="center",
        va="center",
        fontsize=7.5,
        color=fg.INK,
        bbox={"facecolor": COLOURS[run.job % len(COLOURS)], "linewidth": 0, "pad": 1.2}
        if view.is_marked(run)
        else None,
    )


def _queue(axes: "Axes", view: Scene, longest: int) -> None:
    times, jobs = view.waiting()
    axes.fill_between(times, jobs, step="post", color=fg.BLUE, alpha=0.25, linewidth=0)
    axes.step(times, jobs, where="post", color=fg.BLUE, linewidth=1)
    axes.set(ylim=(0, longest * 1.08), ylabel="waiting")
    axes.locator_params(axis="y", nbins=3, integer=True)


def _time_axis(axes: "Axes", trace: Trace, begin: int, span: int) -> None:
    """Label the time: with dates where the log has them."""
    step = next((step for step in STEPS if span / step <= TICKS - 1), DAY * -(-span // (10 * DAY)))
    date, days = date_at(trace, begin), step % DAY == 0
    midnight = 0 if date is None else trace.time_of_day  # seconds before time 0
    first = -(-(begin + midnight) // step) * step - midnight
    ticks = list(range(first, begin + span + 1, step))
    label = "time since the first submission"
    if date is not None:
        form = "%m-%d" if days else "%H:%M\n%m-%d"
        texts = [f"{date_at(trace, tick):{form}}" for tick in ticks]
        label = f"from {date:%Y-%m-%d %H:%M} on, {date.tzinfo}"
    elif begin + span < 10 * MINUTE:
        texts, label = [str(tick) for tick in ticks], "seconds since the first submission"
    else:
        texts = [moment(tick, days=days) for tick in ticks]
    axes.set_xticks(ticks, texts)
    axes.set(xlim=(begin, begin + span), xlabel=label)


def _legend(figure: "Figure", scenes: Sequence[Scene]) -> None:
    from matplotlib.patches import Patch

    backfilled = Patch(
        facecolor=COLOURS[0], edgecolor=HATCH, hatch="////", linewidth=0, label="backfilled"
    )
    if is_large(scenes):
        _, uses = use_by_size(scenes[0])
        entries = [Patch(facecolor=COLOURS[k], label=use.label) for k, use in enumerate(uses)]
        entries.append(backfilled)
        jobs = rows_of_largest(scenes)
        runs = [run for view in scenes for run in view.runs if run.job in jobs]
    else:
        entries = [
            Patch(facecolor=COLOURS[0], label="a job, with its number"),
            backfilled,
            Patch(facecolor="white", edgecolor="#BBBBBB", linewidth=0.8, label="idle"),
        ]
        runs = [run for view in scenes for run in view.runs]
    if any(run.trial for run in runs):
        entries.append(
            Patch(
                facecolor="white", edgecolor=fg.GREY, linestyle="--", label="a trial, then killed"
            )
        )
    figure.legend(
        handles=entries,
        loc="outside lower left",
        ncols=5,
        fontsize=9,
        handlelength=1.6,
        borderpad=0.2,
    )
