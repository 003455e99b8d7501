"""What a Gantt chart shows of a large machine: its use by the size of jobs, and the largest jobs.

On thousands of processors most jobs would be thinner than a pixel, so that a full machine would
look empty. Two schedules of many jobs are drawn like this, too: a job has one row in both.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bfenv.analysis.placement import Placed
from bfenv.analysis.plots.figure import ABOUT, INK
from bfenv.analysis.plots.gantt_scene import COLOURS, Scene, draw_hatching
from bfenv.core.text import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MANY = 300  # processors of a machine that is large
MANY_RUNS = 60  # of two schedules; on processors assigned to each, no job would be found in both
SHARES = (0.01, 0.1)  # of the machine, up to which the two smaller classes reach
SHOWN = 24  # of the largest jobs
BAR_TEXT_WIDTH = 0.09  # share of the picture's width that a bar's text takes


class Use(NamedTuple):
    """The processors that the jobs of one class hold."""

    label: str
    processors: np.ndarray  # (k,) int64, from each instant on


def is_large(scenes: Sequence[Scene]) -> bool:
    """Return whether there are more processors than a chart can show, or runs to find in both."""
    runs = sum(len(one.runs) for one in scenes)
    return scenes[0].schedule.trace.processors > MANY or (len(scenes) > 1 and runs > MANY_RUNS)


def use_by_size(one: Scene) -> tuple[np.ndarray, list[Use]]:
    """Return (k,) instants in seconds, ascending, and the use of each class, small jobs first."""
    ends = _class_ends(one)
    labels = [f"jobs of up to {counted(ends[0], 'processor')}", f"up to {ends[1]:,}", "larger jobs"]
    jobs = [run.job for run in one.runs]
    size, which = one.schedule.trace.jobs.size[jobs], size_class(one, jobs)
    begin, end = np.clip(
        np.array([(run.start, run.end) for run in one.runs]), one.begin, one.stop
    ).T
    times = np.unique(np.concatenate([begin, end, [one.begin, one.stop]]))
    uses = []
    for k, label in enumerate(labels):
        change = np.zeros(len(times), dtype=np.int64)
        members = which == k
        np.add.at(change, np.searchsorted(times, begin[members]), size[members])
        np.add.at(change, np.searchsorted(times, end[members]), -size[members])
        uses.append(Use(label, np.cumsum(change)))
    return times, uses


def size_class(one: Scene, job: Any) -> Any:
    """Return the class of a job by its size, or of several jobs: the place among the uses."""
    return np.searchsorted(_class_ends(one), one.schedule.trace.jobs.size[job])


def _class_ends(one: Scene) -> list[int]:
    return [max(int(share * one.schedule.trace.processors), 1) for share in SHARES]


def largest(one: Scene, parts: int = 1) -> list[Placed]:
    """Return the runs that hold most processor-seconds within the interval, by start.

    * `parts`: among how many scenes the SHOWN runs are divided.
    """
    size = one.schedule.trace.jobs.size

    def area(run: Placed) -> int:
        width = min(run.end, one.stop) - max(run.start, one.begin)
        return width * int(size[run.job])

    return sorted(
        sorted(one.runs, key=area, reverse=True)[: SHOWN // parts], key=lambda run: run.start
    )


def draw_use(axes: "Axes", one: Scene) -> None:
    """Draw the processors in use, stacked by class."""
    times, uses = use_by_size(one)
    below = np.zeros(len(times))
    for k, use in enumerate(uses):
        above = below + use.processors
        axes.fill_between(
            times, below, above, step="post", color=COLOURS[k], linewidth=0, label=use.label
        )
        below = above
    axes.set(ylim=(0, one.schedule.trace.processors), ylabel="processors")
    axes.tick_params(bottom=False)


def draw_largest(axes: "Axes", one: Scene, scenes: Sequence[Scene]) -> None:
    """Draw the largest jobs, one above the other, with a line for the time they waited.

    A job has the same row in the picture of each of `scenes`.
    """
    rows: dict[int, int] = {}
    both = (run for each in scenes for run in largest(each, len(scenes)))
    for run in sorted(both, key=lambda run: run.start):
        rows.setdefault(run.job, len(rows))
    runs = sorted((run for run in one.runs if run.job in rows), key=lambda run: rows[run.job])
    jobs = one.schedule.trace.jobs
    hatched: list[tuple[float, float, float, float]] = []
    which = "the largest job" if len(rows) == 1 else f"the {len(rows)} largest jobs"
    for run in runs:
        row = rows[run.job]
        left, right = max(run.start, one.begin), min(run.end, one.stop)
        waited = max(int(jobs.submit[run.job]), one.begin)
        if waited < left:
            axes.plot([waited, left], [row, row], color="#999999", linewidth=0.8)
        (bar,) = axes.barh(
            row, right - left, left=left, height=0.8, linewidth=0,
            color=COLOURS[size_class(one, run.job)],
        )  # fmt: skip
        if one.is_marked(run):
            hatched.append((left, right, row - 0.4, row + 0.4))
        bar.set_gid(ABOUT + one.describe(run))
        if right - left > BAR_TEXT_WIDTH * (one.stop - one.begin):
            text = f"{run.job}: {jobs.size[run.job]:,}"
            axes.text(
                (left + right) / 2, row, text, ha="center", va="center", fontsize=6.5, color=INK
            )
    draw_hatching(axes, hatched, (one.stop - one.begin) / 120, 1)
    axes.set(ylim=(len(rows) - 0.5, -0.5), yticks=[], ylabel=f"{which} (job: processors)")
    axes.grid(False)
    axes.tick_params(bottom=False)
