"""The public names of `bfenv.leaderboard`, which its `__init__` imports when one is first used."""

from bfenv.leaderboard.replay import schedule_of as schedule_of
from bfenv.leaderboard.run import SuiteRun as SuiteRun
from bfenv.leaderboard.run import run_suite as run_suite
from bfenv.leaderboard.standings import Standing as Standing
from bfenv.leaderboard.standings import rank_policies as rank_policies
from bfenv.leaderboard.store import Leaderboard as Leaderboard
from bfenv.leaderboard.store import read_leaderboard as read_leaderboard
from bfenv.leaderboard.suite import SUITES as SUITES
from bfenv.leaderboard.suite import Suite as Suite
from bfenv.leaderboard.suite import find_suite as find_suite
from bfenv.leaderboard.task import Task as Task
from bfenv.leaderboard.task import plan_rows as plan_rows
