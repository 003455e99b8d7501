"""A leaderboard whose processes are killed at random moments ends with the rows of any other."""

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT

MANY = int(os.environ.get("BFENV_KILLS", "10"))  # 1,000 take hours


@pytest.mark.slow
@pytest.mark.parametrize("kills", [1, pytest.param(MANY, marks=pytest.mark.thorough)])
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, and adopts orphans")
def test_kills(kills):
    """Runner, workers, cells and players are killed: equal bytes, and no process is left."""
    command = [sys.executable, "-m", "tests.leaderboard.kills", "--kills", str(kills)]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}  # it forks, so it has one thread
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith(f"{kills} kills in ")
    assert "; 0 folders" not in done.stdout
