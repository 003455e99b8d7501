"""Policies and agents ranked on frozen suites of traces.

`run_suite` makes the rows of a suite in a folder, `read_leaderboard` reads them, `rank_policies`
computes the ranking from them, and `bfenv.leaderboard.report` shows it. `Row` is the record that
all of them share.
"""

from bfenv.leaderboard.replay import schedule_of
from bfenv.leaderboard.row import SCHEMA, Row
from bfenv.leaderboard.run import Outcome, run_suite
from bfenv.leaderboard.standings import Standing, rank_policies
from bfenv.leaderboard.store import Leaderboard, read_leaderboard
from bfenv.leaderboard.suite import SUITES, Suite, find_suite
from bfenv.leaderboard.task import Task, plan_rows

__all__ = [
    "SCHEMA",
    "SUITES",
    "Leaderboard",
    "Outcome",
    "Row",
    "Standing",
    "Suite",
    "Task",
    "find_suite",
    "plan_rows",
    "rank_policies",
    "read_leaderboard",
    "run_suite",
    "schedule_of",
]
