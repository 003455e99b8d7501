"""The public names of `bfenv.leaderboard`, which its `__init__` imports when one is first used."""

from bfenv.evaluation.row import SCHEMA, Row
from bfenv.leaderboard.replay import schedule_of
from bfenv.leaderboard.run import SuiteRun, run_suite
from bfenv.leaderboard.standings import Standing, rank_policies
from bfenv.leaderboard.store import Leaderboard, read_leaderboard
from bfenv.leaderboard.suite import SUITES, Suite, find_suite
from bfenv.leaderboard.task import Task, plan_rows

__all__ = [
    "SCHEMA",
    "SUITES",
    "Leaderboard",
    "Row",
    "Standing",
    "Suite",
    "SuiteRun",
    "Task",
    "find_suite",
    "plan_rows",
    "rank_policies",
    "read_leaderboard",
    "run_suite",
    "schedule_of",
]
