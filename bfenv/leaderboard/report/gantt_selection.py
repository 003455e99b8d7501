"""What the page's Gantt chart shows: which hours, workload and policies."""

from collections.abc import Sequence
from typing import NamedTuple

from bfenv.analysis.plots.gantt_interval import choose_begin, readable_span
from bfenv.core.errors import BfenvError, UnknownNameError
from bfenv.core.schedule import Schedule
from bfenv.leaderboard.replay import schedule_of
from bfenv.leaderboard.report.markdown import ranked
from bfenv.leaderboard.standings import REFERENCE
from bfenv.leaderboard.store import Board, Row


class Choice(NamedTuple):
    """Schedules of one workload and the stretch of them to show, or why there are none."""

    workload: str
    schedules: list[Schedule]  # one or two
    begin: int  # seconds
    span: int  # seconds
    absent: str = ""


def choose(
    board: Board,
    workload: str | None = None,
    policies: Sequence[str] = (),
    begin: int | None = None,
    span: int | None = None,
) -> Choice:
    """What was asked for, and for the rest: the first workload, the reference and the best policy.

    Raises UnknownNameError for a workload or policy that the board does not have. Where the
    schedules cannot be had, the choice says why.
    """
    known = list(dict.fromkeys(row["workload"] for row in board.rows))
    if not known:
        return Choice("", [], 0, 0, "no run of this leaderboard came to an end")
    if workload is not None and workload not in known:
        raise UnknownNameError("workload of this leaderboard", workload, known)
    workload = workload or known[0]
    rows = {row["policy"]: row for row in board.rows[::-1] if row["workload"] == workload}
    chosen = [_row(rows, policy) for policy in policies] or _usual(board, rows)
    if len(chosen) > 2:
        raise BfenvError(f"a Gantt chart is of one policy or two, not {len(chosen)}")
    try:
        schedules = [schedule_of(board, row) for row in chosen]
    except (BfenvError, OSError) as error:
        return Choice(workload, [], 0, 0, str(error))
    span = span or readable_span(schedules[0])
    return Choice(
        workload, schedules, choose_begin(schedules, span) if begin is None else begin, span
    )


def _row(rows: dict[str, Row], policy: str) -> Row:
    if policy not in rows:
        raise UnknownNameError("policy of this leaderboard", policy, rows)
    return rows[policy]


def _usual(board: Board, rows: dict[str, Row]) -> list[Row]:
    best = [line.policy for line in ranked(board) if line.policy != REFERENCE]
    names = [name for name in (REFERENCE, *best) if name in rows]
    return [rows[name] for name in names[:2]]
