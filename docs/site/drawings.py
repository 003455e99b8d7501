"""Drawings for the pages, in a light and a dark version."""

import re
from collections.abc import Mapping, Sequence
from typing import IO

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from benchmarks.measurements import Measurement
from bfenv import Schedule
from bfenv.analysis.plots.figure import STYLE
from bfenv.analysis.plots.gantt_scene import COLOURS, scene

INK = {"light": "#22272e", "dark": "#d6dde4"}
FAINT = {"light": "#6b7480", "dark": "#8f9aa6"}
LINE = {"light": "#d5dae0", "dark": "#3a424c"}
PAPER = {"light": "#ffffff", "dark": "#131416"}  # behind the drawing: the page of the theme
MARK = {"light": "#D55E00", "dark": "#ff9a57"}
HATCH = "#00000055"
ON_JOB = "#1d2127"  # text on the colour of a job
THEMES = ("light", "dark")
GROWING = ("fcfs", "easy", "los", "conservative")
LINES = ("#8f9aa6", "#3b8fc7", "#e69f00", "#d9622b")  # their colours, for both themes
NUMBER = {"jobs": 0, "queue": 0, "machine": 1}  # by group: which number of "what" is on the axis


def style(theme: str) -> dict[str, object]:
    """Return matplotlib's settings for a theme."""
    return STYLE | {
        "axes.edgecolor": FAINT[theme],
        "axes.labelcolor": INK[theme],
        "axes.titlecolor": INK[theme],
        "axes.grid": False,
        "axes.facecolor": "none",
        "figure.facecolor": "none",
        "text.color": INK[theme],
        "xtick.color": FAINT[theme],
        "ytick.color": FAINT[theme],
        "hatch.linewidth": 0.6,
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans"],
        "svg.fonttype": "path",
    }


def save(file: IO[bytes], figure: Figure, theme: str) -> None:
    """Write a drawing as SVG, without its date: equal drawings are equal files."""
    with rc_context(style(theme)):
        figure.savefig(file, format="svg", metadata={"Date": None}, transparent=True)


def draw_scenario(schedules: Sequence[Schedule], theme: str) -> Figure:
    """Draw a small scenario: one chart for each policy, on one time axis."""
    stop = max(int(schedule.end.max()) for schedule in schedules)
    processors = schedules[0].trace.processors
    height = max(1.0, 0.22 * processors) + 0.42
    with rc_context(style(theme)):
        figure = Figure(figsize=(7.2, 0.55 + height * len(schedules)), layout="constrained")
        panels = figure.subplots(len(schedules), 1, sharex=True, squeeze=False)[:, 0]
        for axes, schedule in zip(panels, schedules, strict=True):
            draw_machine(axes, schedule, stop, theme)
        panels[-1].set_xlabel("time (s)")
        _legend(figure, any((one.trial_end >= 0).any() for one in schedules), theme)
    return figure


def draw_machine(axes: Axes, schedule: Schedule, stop: int, theme: str) -> None:
    """Draw which processors each job holds until `stop`."""
    one = scene(schedule, 0, stop)
    for run in one.runs:
        for first, last in run.spans:
            draw_job(
                axes,
                run.job,
                run.start,
                run.end,
                (first, last),
                theme,
                hatched=bool(one.backfilled[run.job]) and not run.trial,
                trial=run.trial,
            )
    processors = schedule.trace.processors
    axes.set(xlim=(0, stop), ylim=(0, processors), ylabel="processors")
    axes.set_title(schedule.policy, fontsize=9.5)
    axes.set_yticks(range(0, processors + 1, 1 if processors <= 4 else 2))
    axes.xaxis.get_major_locator().set_params(integer=True, nbins=14, steps=[1, 2, 5, 10])


def draw_job(
    axes: Axes,
    job: int,
    start: float,
    end: float,
    span: tuple[float, float],
    theme: str,
    *,
    hatched: bool = False,
    trial: bool = False,
) -> None:
    """Draw one rectangle of a job, with its number."""
    first, last = span
    colour = COLOURS[job % len(COLOURS)]
    axes.add_patch(
        Rectangle(
            (start, first),
            end - start,
            last - first,
            facecolor="none" if trial else colour,
            edgecolor=HATCH,
            linewidth=0,
            hatch="////" if hatched else None,
        )
    )
    axes.add_patch(
        Rectangle(
            (start, first),
            end - start,
            last - first,
            facecolor="none",
            edgecolor=FAINT[theme] if trial else PAPER[theme],
            linewidth=1.2,
            linestyle=(0, (3, 2)) if trial else "-",
        )
    )
    axes.text(
        (start + end) / 2,
        (first + last) / 2,
        str(job),
        ha="center",
        va="center",
        fontsize=9,
        color=INK[theme] if trial else ON_JOB,
        bbox=None if trial else {"facecolor": colour, "linewidth": 0, "pad": 1.5},
    )


def _legend(figure: Figure, trials: bool, theme: str) -> None:
    entries = [
        Patch(facecolor=COLOURS[0], label="a job, with its number"),
        Patch(facecolor=COLOURS[0], edgecolor=HATCH, hatch="////", linewidth=0, label="backfilled"),
    ]
    if trials:
        entries.append(
            Patch(facecolor="none", edgecolor=FAINT[theme], linestyle="--", label="a failed trial")
        )
    figure.legend(handles=entries, loc="outside upper right", ncols=3, fontsize=8, frameon=False)


def draw_reservation(theme: str) -> Figure:
    """Draw what EASY knows at second 4 of the scenario "reservation": shadow time, extra nodes."""
    with rc_context(style(theme)):
        figure = Figure(figsize=(7.2, 3.6), layout="constrained")
        axes = figure.subplots()
        draw_job(axes, 0, 0, 8, (0, 6), theme)
        draw_job(axes, 1, 0, 4, (6, 8), theme)
        draw_job(axes, 3, 2, 8, (8, 10), theme, hatched=True)
        ink, mark = INK[theme], MARK[theme]
        box = {"facecolor": "none", "edgecolor": mark, "linewidth": 1.6, "linestyle": (0, (4, 2))}
        axes.add_patch(Rectangle((8, 0), 4, 7, **box))
        axes.text(
            10,
            3.5,
            "reservation of the head\n(job 2, 7 processors)",
            ha="center",
            va="center",
            fontsize=9,
            color=mark,
        )
        axes.axvline(8, color=mark, linewidth=1.2)
        axes.text(8.1, 10.2, "shadow time: 8", color=mark, fontsize=9, va="bottom")
        axes.axvline(4, color=ink, linewidth=1.2)
        axes.text(4.1, 10.2, "now: 4", color=ink, fontsize=9, va="bottom")
        axes.annotate("", (12.4, 7), (12.4, 10), arrowprops={"arrowstyle": "<->", "color": mark})
        axes.text(12.6, 8.5, "3 extra nodes", color=mark, fontsize=9, va="center")
        axes.text(6, 7, "free: 2", ha="center", va="center", fontsize=9, color=ink)
        axes.set(xlim=(0, 16), ylim=(0, 10), xlabel="time (s)", ylabel="processors")
        axes.set_yticks(range(0, 11, 2))
    return figure


def draw_growth(rows: Sequence[Measurement], theme: str) -> Figure:
    """Draw the time per job over the number of jobs, of waiting jobs, and of processors."""
    titles = {"jobs": "jobs", "queue": "waiting jobs", "machine": "processors"}
    with rc_context(style(theme)):
        figure = Figure(figsize=(7.2, 2.6), layout="constrained")
        for axes, (group, title) in zip(
            figure.subplots(1, 3, sharey=True), titles.items(), strict=True
        ):
            for policy, colour in zip(GROWING, LINES, strict=True):
                points = [
                    (_numbers(row["what"])[NUMBER[group]], row["best"] / row["jobs"] * 1e6)
                    for row in rows
                    if (row["group"], row["subject"]) == (group, policy)
                ]
                if points:
                    axes.plot(
                        *zip(*points, strict=True),
                        "o-",
                        color=colour,
                        markersize=3,
                        linewidth=1.2,
                        label=policy,
                    )
            axes.set(xscale="log", yscale="log", xlabel=title)
            axes.xaxis.set_major_formatter(lambda value, _: _short(value))
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axes.minorticks_off()
        figure.axes[0].set_ylabel("time per job (µs)")
        figure.legend(
            *figure.axes[1].get_legend_handles_labels(),
            loc="outside upper right",
            ncols=4,
            fontsize=8,
            frameon=False,
        )
    return figure


def draw_reliability(tenths: Mapping[tuple[str, str], Sequence[int]], theme: str) -> Figure:
    """Draw which share of the starts came by each level of their forecasts, by log and starts."""
    logs = list(dict.fromkeys(log for log, _ in tenths))
    with rc_context(style(theme)):
        figure = Figure(figsize=(7.2, 3.4), layout="constrained")
        panels = dict(
            zip(("simulated", "recorded"), figure.subplots(1, 2, sharey=True), strict=True)
        )
        for starts, axes in panels.items():
            axes.plot((0, 100), (0, 100), ":", color=FAINT[theme], linewidth=1)
            for (log, own), counts in tenths.items():
                if own == starts:
                    share = np.cumsum([0, *counts]) / sum(counts) * 100
                    axes.plot(
                        range(0, 101, 10),
                        share,
                        color=f"C{logs.index(log)}",
                        linewidth=1.2,
                        label=log,
                    )
            axes.set(title=f"{starts} starts", xlabel="level of the forecast (%)")
        panels["simulated"].set_ylabel("starts by then (%)")
        panels["recorded"].legend(fontsize=8, frameon=False)
    return figure


def _short(number: float) -> str:
    for unit, size in (("M", 10**6), ("k", 10**3)):
        if number >= size:
            return f"{number / size:g} {unit}"
    return f"{number:g}"


def _numbers(text: str) -> list[int]:
    return [int(number.replace(",", "")) for number in re.findall(r"[\d,]+", text)]
