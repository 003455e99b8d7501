"""Small programs that play, in Python without bfenv, and what starts them."""

import sys
from dataclasses import replace

import pytest

from bfenv.core.errors import BfenvError
from bfenv.core.jobs import make_trace
from bfenv.leaderboard.limits import PlayerLimits
from bfenv_judge.players.containment import bubblewrap
from bfenv_judge.players.remote_policy import Flags, program_policy
from tests.command_contract import FCFS

QUICK = PlayerLimits(startup=60.0, decision=60.0, reply=2**21)
BOXED = replace(QUICK, sandbox="bwrap")


def why_no_sandbox():
    """Why bubblewrap cannot be used here; "" if it can."""
    try:
        bubblewrap()
    except BfenvError as error:
        return str(error)
    return ""


needs_sandbox = pytest.mark.skipif(bool(why_no_sandbox()), reason=why_no_sandbox())

# First come, first served, as docs/players.md has it; FIRST is run at the first pass.


def program(first: str = "pass") -> list[str]:
    """The command of a player that serves jobs in order and does something else at first."""
    return [sys.executable, "-S", "-c", FCFS.replace("FIRST", first.replace("\n", "\n" + 12 * " "))]


def player(first: str = "pass", limits: PlayerLimits = QUICK, **flags: bool):
    """The policy of such a player."""
    return program_policy(program(first), "player", Flags(**flags), limits)


def few_jobs():
    """Twelve jobs on four processors, some of which must wait."""
    size = [2, 4, 1, 3, 1, 1, 4, 2, 2, 1, 3, 1]
    runtime = [30, 10, 50, 20, 5, 70, 10, 15, 25, 60, 5, 40]
    submit = [0, 0, 5, 10, 10, 20, 30, 31, 40, 60, 60, 80]
    estimate = [2 * seconds for seconds in runtime]
    return make_trace(submit, size, runtime, 4, estimate=estimate, name="few")
