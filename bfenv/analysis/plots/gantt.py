"""A Gantt chart as a picture: who ran where and when, under one policy or two.

Colours are soft and only tell neighbours apart; a job has the same one, and the same number,
under every policy. The rows that a job gets are those of `bfenv.analysis.placement`.
"""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bfenv.analysis.backfills import backfills
from bfenv.analysis.formatting import duration, percent
from bfenv.analysis.placement import Placed, place
from bfenv.analysis.plots.workload import STYLE, check_target
from bfenv.analysis.plots.workload import duration as length
from bfenv.core.errors import BfenvError
from bfenv.core.files import write_atomically
from bfenv.core.schedule import Schedule

COLOURS = (
    "#8DB8DE", "#F2B880", "#8FCFB0", "#E3A0B8", "#C3B1E1", "#E6D27A", "#9CCFD8", "#D9B99B",
)  # fmt: skip
INK, QUIET, HATCH, QUEUE = "#222222", "#6B6B6B", "#00000066", "#0072B2"
STEPS = (60, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400)  # s between ticks
TICKS = 13  # at most
DAY = 86_400  # seconds
WIDTH, HEIGHT = 12.0, 5.2  # inches, of a chart and of each policy


class Scene(NamedTuple):
    """What one policy did within [begin, stop) seconds."""

    schedule: Schedule
    runs: list[Placed]
    backfilled: np.ndarray  # (n,) bool, of all jobs of the trace
    begin: int
    stop: int

    @property
    def used(self) -> float:
        """The share of the processor-seconds that runs and trials hold."""
        busy = sum(
            (min(run.end, self.stop) - max(run.start, self.begin)) * (last - first)
            for run in self.runs
            for first, last in run.spans
        )
        return busy / (self.schedule.trace.processors * (self.stop - self.begin))

    @property
    def started(self) -> np.ndarray:
        """(k,) jobs that start within, in trace order."""
        start = self.schedule.start
        return np.flatnonzero((start >= self.begin) & (start < self.stop))

    def heading(self) -> str:
        """What there is to see, in a line."""
        started = self.started
        if not len(started):
            return f"{percent(self.used)} of the machine used, no job starts"
        waits = self.schedule.wait[started]
        return (
            f"{len(started):,} jobs start, {int(self.backfilled[started].sum()):,} of them "
            f"backfilled, after waiting {duration(float(waits.mean()))} on average and "
            f"{duration(int(waits.max()))} at most; {percent(self.used)} of the machine used"
        )

    def waiting(self) -> tuple[np.ndarray, np.ndarray]:
        """Instants (k,) seconds and (k,) jobs waiting from then on; the first is `begin`."""
        submit, start = self.schedule.trace.jobs.submit, self.schedule.start
        times = np.unique(np.clip(np.concatenate([submit, start]), self.begin, self.stop))
        times = np.union1d(times, [self.begin, self.stop])
        came = np.searchsorted(np.sort(submit), times, side="right")
        left = np.searchsorted(np.sort(start), times, side="right")
        return times, came - left


def scene(schedule: Schedule, begin: int, span: int) -> Scene:
    """The stretch of a schedule that begins at `begin` and lasts `span` seconds.

    Raises BfenvError where that is no time at all or nothing happens in it.
    """
    if span < 1:
        raise BfenvError("a Gantt chart shows at least one second")
    runs = place(schedule, begin, begin + span)
    if not runs:
        last = duration(int(schedule.end.max()))
        raise BfenvError(f"nothing runs within {span} s from {begin} s on; all is over at {last}")
    return Scene(schedule, runs, backfills(schedule).backfilled, begin, begin + span)


def write_gantt(schedules: Sequence[Schedule], path: Path, begin: int, span: int) -> None:
    """Write the chart, its kind by the file's name, in one step or not at all.

    Raises BfenvError when matplotlib is missing, for another kind, where there is nothing to see,
    or when it cannot be written.
    """
    check_target(path)
    kind = path.suffix.lower().removeprefix(".")
    undated = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    data = io.BytesIO()
    with _matplotlib().rc_context(STYLE):
        gantt(schedules, begin, span).savefig(data, format=kind, dpi=150, metadata=undated[kind])
    write_atomically(path, data.getvalue())


def gantt(schedules: Sequence[Schedule], begin: int, span: int):
    """The chart, a matplotlib Figure: for each schedule its machine and, below, its queue."""
    scenes = [scene(schedule, begin, span) for schedule in schedules]
    with _matplotlib().rc_context(STYLE | {"hatch.linewidth": 0.6}):
        from matplotlib.figure import Figure

        figure = Figure(figsize=(WIDTH, 1.2 + HEIGHT * len(scenes)), layout="constrained")
        panels = figure.subplots(
            2 * len(scenes), 1, sharex=True, height_ratios=[5, 1] * len(scenes), squeeze=False
        )[:, 0]
        figure.get_layout_engine().set(h_pad=0.04, hspace=0.03)
        longest = max(1, *(int(one.waiting()[1].max()) for one in scenes))
        for i, one in enumerate(scenes):
            _machine(panels[2 * i], one)
            _queue(panels[2 * i + 1], one, longest)
        _time_axis(panels[-1], begin, span)
        trace = schedules[0].trace
        figure.suptitle(
            f"{trace.name}: {length(span)} on {trace.processors:,} processors",
            fontsize=13, x=0.01, ha="left",
        )  # fmt: skip
        _legend(figure, any(run.trial for one in scenes for run in one.runs))
    return figure


def _machine(axes, one: Scene) -> None:
    from matplotlib.patches import Rectangle

    processors = one.schedule.trace.processors
    thin = len(one.runs) > 400
    for run in one.runs:
        left, right = max(run.start, one.begin), min(run.end, one.stop)
        marked = bool(one.backfilled[run.job]) and not run.trial
        for first, last in run.spans:
            box = (left, first), right - left, last - first
            colour = "white" if run.trial else COLOURS[run.job % len(COLOURS)]
            axes.add_patch(
                Rectangle(*box, facecolor=colour, edgecolor=HATCH, linewidth=0,
                          hatch="////" if marked else None)
            )  # fmt: skip
            axes.add_patch(
                Rectangle(*box, facecolor="none", linewidth=0.3 if thin else 0.8,
                          edgecolor=QUIET if run.trial else "white",
                          linestyle="--" if run.trial else "-")
            )  # fmt: skip
        _number(axes, one, run, left, right)
    axes.set_title(one.schedule.policy, fontsize=11)
    axes.set_title(one.heading(), loc="right", fontsize=9, fontweight="normal", color=QUIET)
    axes.set(ylim=(processors, 0), ylabel="processor")
    axes.grid(False)
    axes.tick_params(bottom=False)


def _number(axes, one: Scene, run: Placed, left: int, right: int) -> None:
    """The job's number on its largest piece, where there is room for it."""
    first, last = max(run.spans, key=lambda span: span[1] - span[0])
    wide = (right - left) / (one.stop - one.begin)
    high = (last - first) / one.schedule.trace.processors
    if wide < 0.008 * len(str(run.job)) + 0.006 or high < 0.045:
        return
    axes.text(
        (left + right) / 2, (first + last) / 2, str(run.job), ha="center", va="center",
        fontsize=7.5, color=INK,
        bbox={"facecolor": COLOURS[run.job % len(COLOURS)], "linewidth": 0, "pad": 1.2}
        if one.backfilled[run.job] and not run.trial else None,
    )  # fmt: skip


def _queue(axes, one: Scene, longest: int) -> None:
    times, jobs = one.waiting()
    axes.fill_between(times, jobs, step="post", color=QUEUE, alpha=0.25, linewidth=0)
    axes.step(times, jobs, where="post", color=QUEUE, linewidth=1)
    axes.set(ylim=(0, longest * 1.08), ylabel="waiting")
    axes.locator_params(axis="y", nbins=3, integer=True)


def _time_axis(axes, begin: int, span: int) -> None:
    step = next((step for step in STEPS if span / step <= TICKS - 1), DAY * -(-span // (10 * DAY)))
    ticks = list(range(-(-begin // step) * step, begin + span + 1, step))
    axes.set_xticks(ticks, [moment(tick) for tick in ticks])
    axes.set(xlim=(begin, begin + span), xlabel="time since the first submission")


def moment(seconds: int) -> str:
    """A time since the beginning, like 1 d 06:00."""
    day, rest = divmod(seconds, DAY)
    hour, rest = divmod(rest, 3_600)
    minute, second = divmod(rest, 60)
    clock = f"{hour:02}:{minute:02}" + (f":{second:02}" if second else "")
    return f"{day} d {clock}" if day else clock


def _legend(figure, trials: bool) -> None:
    from matplotlib.patches import Patch

    entries = [
        Patch(facecolor=COLOURS[0], label="a job, with its number"),
        Patch(facecolor=COLOURS[0], edgecolor=HATCH, hatch="////", linewidth=0, label="backfilled"),
        Patch(facecolor="white", edgecolor="#BBBBBB", linewidth=0.8, label="idle"),
    ]
    if trials:
        entries.append(
            Patch(facecolor="white", edgecolor=QUIET, linestyle="--", label="a trial, then killed")
        )
    figure.legend(
        handles=entries, loc="outside lower left", ncols=4, fontsize=9, handlelength=1.6,
        borderpad=0.2,
    )  # fmt: skip


def _matplotlib():
    try:
        import matplotlib
    except ImportError as error:
        raise BfenvError("Gantt charts need matplotlib: pip install 'bfenv[plot]'") from error
    return matplotlib
