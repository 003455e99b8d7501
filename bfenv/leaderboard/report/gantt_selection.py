"""What the page's Gantt chart shows: the hours in which EASY and the best policy differ most."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from bfenv.analysis.plots.gantt_interval import choose_begin, readable_span
from bfenv.core.errors import BfenvError, WorkloadError
from bfenv.core.schedule import Schedule
from bfenv.evaluation.summary import REFERENCE
from bfenv.leaderboard.replay import schedule_of
from bfenv.leaderboard.report.ranking import ranked
from bfenv.leaderboard.store import Leaderboard, given_logs
from bfenv.workloads.load import path_in


class GanttSelection(NamedTuple):
    """Schedules of one workload and the interval of them to show, or why there are none."""

    workload: str
    schedules: list[Schedule]  # one or two
    begin: int  # seconds
    span: int  # seconds
    absent: str = ""


def select_gantt(leaderboard: Leaderboard, logs: Iterable[Path] = ()) -> GanttSelection:
    """Select the reference and the best other policy that can run again, on the first workload.

    * `leaderboard`: where the schedules are from.
    * `logs`: the files that may be opened if rows name them, besides `given_logs`.

    Returns the selection, or the reason why the schedules cannot be had.
    """
    if not leaderboard.rows:
        return GanttSelection("", [], 0, 0, "no run of this leaderboard came to an end")
    workload = leaderboard.rows[0].workload
    rows = {row.policy: row for row in leaderboard.rows[::-1] if row.workload == workload}
    readable = {*map(os.path.abspath, logs), *given_logs()}
    schedules: list[Schedule] = []
    absent = ""
    for name in dict.fromkeys([REFERENCE, *(line.policy for line in ranked(leaderboard))]):
        try:
            if name in rows and len(schedules) < 2:
                path = path_in(rows[name].source)
                if path is not None and path not in readable:  # a row from elsewhere may name any
                    raise WorkloadError(
                        f"a row names the file {path}, which is opened only if you give it with "
                        "--log"
                    )
                schedules.append(schedule_of(leaderboard, rows[name]))
        except (BfenvError, OSError) as error:
            absent = absent or str(error)
    if not schedules:
        return GanttSelection(workload, [], 0, 0, absent)
    span = readable_span(schedules[0])
    return GanttSelection(workload, schedules, choose_begin(schedules, span), span)
