"""Trainings killed at random moments: resumed, they end as if nothing had happened."""

import random
import subprocess
import sys
import time

import pytest

from bfenv.agents.training import change, find_settings
from bfenv.agents.training.ppo import train
from tests.agents.training.test_training import assert_equal

pytestmark = pytest.mark.torch
SETTINGS = {"num_envs": 4, "num_steps": 16, "validate_every": 2, "steps": 768}
LATEST = 0.3  # seconds behind an entry after which a process is killed


def entries(file):
    """The number of lines written so far."""
    return file.read_bytes().count(b"\n") if file.exists() else 0


@pytest.mark.parametrize("kills", [1, pytest.param(4, marks=pytest.mark.thorough)])
def test_train(tmp_path, kills):
    """Killed soon after it has written new lines, a training has the same weights and agent."""
    words = ["--preset", "toy", *(f"--set={name}={value}" for name, value in SETTINGS.items())]
    command = [sys.executable, "-m", "bfenv", "train", *words, "--out", tmp_path / "cut"]
    settings, file = change(find_settings("toy"), SETTINGS), tmp_path / "cut" / "progress.csv"
    for k in range(kills):
        begin, resume = entries(file), ["--resume"] if k else []
        process = subprocess.Popen([*command, *resume], stdout=subprocess.DEVNULL)
        while process.poll() is None and entries(file) <= begin + 1:
            time.sleep(0.01)
        time.sleep(random.uniform(0, LATEST))
        process.kill()
        process.wait()
    train(settings, tmp_path / "cut", resume=True)
    train(settings, tmp_path / "whole")
    assert_equal(tmp_path / "whole", tmp_path / "cut")
    agents = [(tmp_path / name / "agent.json").read_bytes() for name in ("whole", "cut")]
    assert agents[0] == agents[1]
