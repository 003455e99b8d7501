"""The schedule that an agent makes of a whole trace."""

import numpy as np
import pytest

import bfenv
from tests.agents.acting import play_whole
from tests.leaderboard import sample_agents
from tests.leaderboard.suites import SAMPLES

TRACE = bfenv.load_workload("lublin:procs=32,jobs=150,load=0.9,seed=3")


def test_window_and_masks():
    """An agent sees the window of its name, and is given masks if it takes them."""
    schedule, _ = play_whole(TRACE, f"{SAMPLES}:first:window=1", 0)
    assert np.array_equal(schedule.start, bfenv.simulate(TRACE, "fcfs").start)
    guarded = f"{SAMPLES}:first(window=150, reservations=1)"
    schedule, _ = play_whole(TRACE, guarded, 0)
    assert np.array_equal(schedule.start, bfenv.simulate(TRACE, "easy").start)


def test_state_and_seed(monkeypatch):
    """The state of an agent is handed back, and the seed handed on."""
    agents = []

    def factory(env, seed):
        agents.append(sample_agents.Counting(env, seed))
        return agents[0]

    monkeypatch.setattr(sample_agents, "counting", factory, raising=False)
    _, played = play_whole(TRACE, f"{SAMPLES}:counting", 5)
    assert agents[0].count == len(played.seconds) - 1
    assert agents[0].seed == 5


def test_illegal_action():
    """The first illegal action is an error that names the action and the time."""
    with pytest.raises(bfenv.PolicyError, match=r"illegal action at \d+ s: slot 7"):
        play_whole(TRACE, f"{SAMPLES}:illegal:window=64", 0)
