"""What players foresee."""

import pytest

import bfenv.leaderboard.foresight as foresight
from bfenv_judge.players.foresight import foresight_of_program
from bfenv_judge.players.player_process import PlayerKilledError
from judge_helpers.programs import QUICK, few_jobs, program


def test_players():
    """A program is tried in one process, one that ends after a run is not, nor one killed."""
    trace = few_jobs()
    assert foresight_of_program("x", program(), trace, 0, QUICK) == foresight.NONE_FOUND
    found = foresight_of_program("x", program("sys.exit()"), trace, 0, QUICK)
    assert found == f"{foresight.NOT_CHECKED}its process died (exit status 0)"
    with pytest.raises(PlayerKilledError, match="its process died .SIGKILL"):
        foresight_of_program("x", program("os.kill(os.getpid(), 9)"), trace, 0, QUICK)
