"""Trainings killed at random moments: resumed, they end as if nothing had happened."""

import random
import subprocess
import sys
import time

import pytest

from tests.agents.training.test_training import assert_equal

pytestmark = pytest.mark.slow
TRAIN = (
    "train --preset toy --set num_envs=4 --set num_steps=16 --set validate_every=2 --steps 768 "
    "--set environment.episode_jobs=10"
)
LATEST = 0.3  # seconds behind the entry after which a process is killed


def command(words, folder):
    return [sys.executable, "-m", "bfenv", *words.split(), "--out", folder]


def entries(file):
    """The number of lines written so far."""
    return file.read_bytes().count(b"\n") if file.exists() else 0


def kill_and_resume(words, folder, log, times, resume=""):
    """Run to the end, but kill the process so many times, soon after it has written new lines."""
    file, kills = folder / log, 0
    while True:
        process = subprocess.Popen(
            command(f"{words} {resume if kills else ''}", folder), stdout=subprocess.DEVNULL
        )
        begin = entries(file)
        while kills < times and process.poll() is None and entries(file) <= begin + 1:
            time.sleep(0.01)
        if kills < times:
            time.sleep(random.uniform(0, LATEST))
            process.kill()
        if process.wait() >= 0:
            assert process.returncode == 0
            return kills
        kills += 1


@pytest.mark.torch
@pytest.mark.parametrize("times", [1, pytest.param(3, marks=pytest.mark.thorough)])
def test_train(tmp_path, times):
    """A training has the same weights, moments, random numbers and agent."""
    subprocess.run(command(TRAIN, tmp_path / "whole"), check=True, stdout=subprocess.DEVNULL)
    assert kill_and_resume(TRAIN, tmp_path / "cut", "progress.csv", times, resume="--resume")
    assert_equal(tmp_path / "whole", tmp_path / "cut")
    agents = [(tmp_path / name / "agent.json").read_bytes() for name in ("whole", "cut")]
    assert agents[0] == agents[1]
