"""What happens within an interval of a schedule, as a Gantt chart shows it."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bfenv.analysis.backfills import find_backfills
from bfenv.analysis.formatting import duration, moment, percent
from bfenv.analysis.placement import Placed, place
from bfenv.core.arguments import check_integer
from bfenv.core.errors import BfenvError
from bfenv.core.jobs import Trace
from bfenv.core.schedule import Schedule
from bfenv.core.text import counted
from bfenv.workloads.logs.header import date_at

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HATCH = "#00000066"
# They only distinguish neighbours; a job has the same one under every policy. Each has a contrast
# of 3 : 1 with a white and with a dark page, and of 4.5 : 1 with INK.
COLOURS = ("#5796CE", "#C88240", "#46A376", "#D57296", "#A084D0", "#A69130", "#449DAD", "#90929A")


class Scene(NamedTuple):
    """What one policy does within [begin, stop) seconds."""

    schedule: Schedule  # of the whole trace
    runs: list[Placed]  # that overlap the interval
    backfilled: np.ndarray  # (n,) bool, of all jobs of the trace
    begin: int  # seconds
    stop: int  # seconds, one past the last

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
        """(k,) jobs that start within the interval, in trace order."""
        start = self.schedule.start
        return np.flatnonzero((start >= self.begin) & (start < self.stop))

    def is_marked(self, run: Placed) -> bool:
        """Return whether a run is one of a backfilled job, and no trial; it is hatched.

        Args:
            run: One of the scene's.
        """
        return bool(self.backfilled[run.job]) and not run.trial

    def describe(self, run: Placed) -> str:
        """Return job, processors, length, submission and wait of a run in a line.

        Args:
            run: One of the scene's.
        """
        jobs = self.schedule.trace.jobs
        submit = int(jobs.submit[run.job])
        clock = clock_time(self.schedule.trace, submit)
        return (
            f"job {run.job}: {jobs.size[run.job]:,} processors for {duration(run.end - run.start)}"
            f"{', a trial' if run.trial else ''}, submitted {clock}, "
            f"waited {duration(run.start - submit)}{', backfilled' * self.is_marked(run)}"
        )

    def heading(self) -> str:
        """Describe the scene in one line."""
        started = self.started
        if not len(started):
            return f"{percent(self.used)} of the machine used in this time, no job starts"
        waits = self.schedule.wait[started]
        return (
            f"{counted(len(started), 'job starts', 'jobs start')}, "
            f"{int(self.backfilled[started].sum()):,} of them backfilled, after waiting "
            f"{duration(float(waits.mean()))} on average and "
            f"{duration(int(waits.max()))} at most; {percent(self.used)} of the machine used in "
            "this time"
        )

    def waiting(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (k,) instants in seconds, from `begin` on, and (k,) jobs waiting from then on."""
        submit, start = self.schedule.trace.jobs.submit, self.schedule.start
        times = np.unique(np.clip(np.concatenate([submit, start]), self.begin, self.stop))
        times = np.union1d(times, [self.begin, self.stop])
        came = np.searchsorted(np.sort(submit), times, side="right")
        left = np.searchsorted(np.sort(start), times, side="right")
        return times, came - left


def draw_hatching(
    axes: "Axes", boxes: Sequence[tuple[float, float, float, float]], across: float, down: float
) -> None:
    """Draw diagonals over boxes.

    They are lines, because browsers print patterns slowly, and large.

    * `axes`: where to draw.
    * `boxes`: left, right, top and bottom of each.
    * `across`, `down`: between two diagonals, in units of the axes.
    """
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    ends: list[tuple[float, float]] = []
    for box in boxes:
        left, right, top, bottom = (
            end / unit for end, unit in zip(box, (across, across, down, down), strict=True)
        )
        count = len(ends)
        for k in range(math.ceil(left + top), math.floor(right + bottom) + 1):
            a, b = max(left, k - bottom), min(right, k - top)
            if b > a:
                ends += [(a, k - a), (b, k - b)]
        if len(ends) == count:
            ends += [(left, bottom), (right, top)]
    if ends:
        path = Path(np.array(ends) * (across, down), [Path.MOVETO, Path.LINETO] * (len(ends) // 2))
        axes.add_patch(PathPatch(path, facecolor="none", edgecolor=HATCH, linewidth=0.6))


def clock_time(trace: Trace, seconds: int) -> str:
    """Write a time of a trace: the log's date and time, or the time since the first submission."""
    date = date_at(trace, seconds)
    return moment(seconds) if date is None else f"{date:%Y-%m-%d %H:%M:%S}"


def scene(schedule: Schedule, begin: int, span: int) -> Scene:
    """Return what happens in an interval of a schedule: runs, processors, backfilled jobs.

    Args:
        schedule: The schedule to draw.
        begin, span: First second and length of the interval.

    Raises:
        BfenvError: If `span` is below 1, or nothing runs within the interval.
    """
    check_integer("span", span, 1)
    runs = place(schedule, begin, begin + span)
    if not runs:
        last = duration(int(schedule.end.max()))
        raise BfenvError(
            f"no job runs in the {duration(span)} from {duration(begin)} on; "
            f"the schedule ends at {last}"
        )
    return Scene(schedule, runs, find_backfills(schedule).backfilled, begin, begin + span)
