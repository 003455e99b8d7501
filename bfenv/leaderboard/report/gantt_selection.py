"""What the page's Gantt chart shows: which hours, workload and policies."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bfenv.analysis.plots.gantt_interval import choose_begin, readable_span
from bfenv.core.errors import BfenvError, UnknownNameError, WorkloadError
from bfenv.core.schedule import Schedule
from bfenv.evaluation.row import Row
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


def select_gantt(
    leaderboard: Leaderboard,
    workload: str | None = None,
    policies: Sequence[str] = (),
    begin: int | None = None,
    span: int | None = None,
    logs: Iterable[Path] = (),
) -> GanttSelection:
    """Select what the Gantt chart shows.

    * `leaderboard`: where the schedules are from.
    * `workload`: default: the first.
    * `policies`: one or two; default: the reference and the best other one that can run again.
    * `begin`: seconds; default: where the schedules differ most.
    * `span`: seconds; default: what `readable_span` returns.
    * `logs`: the files that may be opened if rows name them, besides `given_logs`.

    Returns the selection, or the reason why the schedules cannot be had. Raises UnknownNameError if
    the leaderboard has no such workload or policy. Raises BfenvError if there are more than two
    policies.
    """
    known = list(dict.fromkeys(row.workload for row in leaderboard.rows))
    if not known:
        return GanttSelection("", [], 0, 0, "no run of this leaderboard came to an end")
    if workload is not None and workload not in known:
        raise UnknownNameError("workload of this leaderboard", workload, known)
    workload = workload or known[0]
    rows = {row.policy: row for row in leaderboard.rows[::-1] if row.workload == workload}
    if len(policies) > 2:
        raise BfenvError(f"a Gantt chart is of one policy or two, not {len(policies)}")
    selected = [_row(rows, policy) for policy in policies] or _default_rows(leaderboard, rows)
    schedules: list[Schedule] = []
    absent = ""
    for row in selected:
        try:
            _check_sources([row], logs)
            schedules.append(schedule_of(leaderboard, row))
        except (BfenvError, OSError) as error:
            absent = absent or str(error)
        if len(schedules) == 2 or (absent and policies):
            break
    if not schedules or (absent and policies):
        return GanttSelection(workload, [], 0, 0, absent)
    span = span or readable_span(schedules[0])
    begin = choose_begin(schedules, span) if begin is None else begin
    return GanttSelection(workload, schedules, begin, span)


def _check_sources(rows: Iterable[Row], logs: Iterable[Path]) -> None:
    """Check that rows open no file but those given: a row from elsewhere may name any."""
    given = {*map(os.path.abspath, logs), *given_logs()}
    for row in rows:
        path = path_in(row.source)
        if path is not None and path not in given:
            raise WorkloadError(
                f"a row names the file {path}, which is opened only if you give it with --log"
            )


def _row(rows: Mapping[str, Row], policy: str) -> Row:
    if policy not in rows:
        raise UnknownNameError("policy of this leaderboard", policy, rows)
    return rows[policy]


def _default_rows(leaderboard: Leaderboard, rows: Mapping[str, Row]) -> list[Row]:
    best = [line.policy for line in ranked(leaderboard) if line.policy != REFERENCE]
    return [rows[name] for name in (REFERENCE, *best) if name in rows]
