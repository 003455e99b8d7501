"""What a Gantt chart shows of a large machine: its use by the size of jobs, and the largest jobs.

On thousands of processors most jobs would be thinner than a pixel, so that a full machine would
look empty. Two schedules of many jobs are drawn like this, too: a job has one row in both.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bfenv.analysis.placement import Placed
from bfenv.analysis.plots.figure import ABOUT, GREY, INK
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
    runs = sum(len(scene.runs) for scene in scenes)
    return scenes[0].schedule.trace.processors > MANY or (len(scenes) > 1 and runs > MANY_RUNS)


def use_by_size(scene: Scene) -> tuple[np.ndarray, list[Use]]:
    """Return (k,) instants in seconds, ascending, and the use of each class, small jobs first."""
    labels = [f"up to {end:,}" for end in _class_ends(scene)]
    if labels:
        labels[0] = f"jobs of up to {counted(_class_ends(scene)[0], 'processor')}"
    labels.append("larger jobs" if labels else "jobs")
    jobs = [run.job for run in scene.runs]
    size, classes = scene.schedule.trace.jobs.size[jobs], size_class(scene, jobs)
    begin, end = np.clip(
        np.array([(run.start, run.end) for run in scene.runs]), scene.begin, scene.stop
    ).T
    times = np.unique(np.concatenate([begin, end, [scene.begin, scene.stop]]))
    uses = []
    for k, label in enumerate(labels):
        change = np.zeros(len(times), dtype=np.int64)
        members = classes == k
        np.add.at(change, np.searchsorted(times, begin[members]), size[members])
        np.add.at(change, np.searchsorted(times, end[members]), -size[members])
        uses.append(Use(label, np.cumsum(change)))
    return times, uses


def size_class(scene: Scene, job: Any) -> Any:
    """Return the class of a job by its size, or of several jobs: the place among the uses."""
    return np.searchsorted(_class_ends(scene), scene.schedule.trace.jobs.size[job])


def _class_ends(scene: Scene) -> list[int]:
    """Return the sizes up to which the smaller classes reach, without classes that have no size."""
    processors = scene.schedule.trace.processors
    ends = {max(int(share * processors), 1) for share in SHARES}
    return sorted(end for end in ends if end < processors)


def largest(scene: Scene, parts: int = 1) -> list[Placed]:
    """Return the runs that hold most processor-seconds within the interval, by start.

    * `parts`: among how many scenes the SHOWN runs are divided.
    """
    size = scene.schedule.trace.jobs.size

    def area(run: Placed) -> int:
        width = min(run.end, scene.stop) - max(run.start, scene.begin)
        return width * int(size[run.job])

    return sorted(
        sorted(scene.runs, key=area, reverse=True)[: SHOWN // parts], key=lambda run: run.start
    )


def rows_of_largest(scenes: Sequence[Scene]) -> dict[int, int]:
    """Return the row of each job that is among the largest of some scene, by its first start."""
    rows: dict[int, int] = {}
    candidates = (run for scene in scenes for run in largest(scene, len(scenes)))
    for run in sorted(candidates, key=lambda run: run.start):
        rows.setdefault(run.job, len(rows))
    return rows


def draw_use(axes: "Axes", scene: Scene) -> None:
    """Draw the processors in use, stacked by class."""
    times, uses = use_by_size(scene)
    below = np.zeros(len(times))
    for k, use in enumerate(uses):
        above = below + use.processors
        axes.fill_between(
            times, below, above, step="post", color=COLOURS[k], linewidth=0, label=use.label
        )
        below = above
    axes.set(ylim=(0, scene.schedule.trace.processors), ylabel="processors")
    axes.locator_params(axis="y", integer=True)
    axes.tick_params(bottom=False)


def draw_largest(axes: "Axes", scene: Scene, scenes: Sequence[Scene]) -> None:
    """Draw the largest jobs, one above the other, with a line for the time they waited.

    A job has the same row in the picture of each of `scenes`.
    """
    rows = rows_of_largest(scenes)
    runs = sorted((run for run in scene.runs if run.job in rows), key=lambda run: rows[run.job])
    jobs = scene.schedule.trace.jobs
    hatched: list[tuple[float, float, float, float]] = []
    subject = "the largest job" if len(rows) == 1 else f"the {len(rows)} largest jobs"
    for run in runs:
        row = rows[run.job]
        left, right = max(run.start, scene.begin), min(run.end, scene.stop)
        waited = max(int(jobs.submit[run.job]), scene.begin)
        if waited < left:
            # Behind the bars: a job that was tried also waited before and during its trial.
            axes.plot([waited, left], [row, row], color="#999999", linewidth=0.8, zorder=0.5)
        (bar,) = axes.barh(
            row,
            right - left,
            left=left,
            height=0.8,
            linewidth=0.8 if run.trial else 0,
            linestyle="--" if run.trial else "-",
            edgecolor=GREY,
            facecolor="white" if run.trial else COLOURS[size_class(scene, run.job)],
        )
        if scene.is_marked(run):
            hatched.append((left, right, row - 0.4, row + 0.4))
        bar.set_gid(ABOUT + scene.describe(run))
        if right - left > BAR_TEXT_WIDTH * (scene.stop - scene.begin):
            text = f"{run.job}: {jobs.size[run.job]:,}"
            axes.text(
                (left + right) / 2, row, text, ha="center", va="center", fontsize=6.5, color=INK
            )
    draw_hatching(axes, hatched, (scene.stop - scene.begin) / 120, 1)
    axes.set(ylim=(len(rows) - 0.5, -0.5), yticks=[], ylabel=f"{subject} (job: processors)")
    axes.grid(False)
    axes.tick_params(bottom=False)
