"""Episodes with an agent; random actions are legal."""

import numpy as np
import pytest

import bfenv
from bfenv.agents import PolicyAgent, RandomAgent
from bfenv.agents.player import play
from bfenv.envs.backfill import BackfillEnv

TRACE = bfenv.load_workload("lublin:procs=32,jobs=100,load=0.9,seed=3")
WHOLE = {"episode_jobs": None, "warmup_jobs": 0, "split": "all", "window": 100}


class Scripted:
    """Always does the same; notes what it is called with."""

    def __init__(self, action):
        self.action, self.calls = action, []

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        self.calls.append((state, bool(episode_start[0]), deterministic))
        return self.action, len(self.calls)


def test_starts():
    """The start times are those of the schedule, and every decision is timed."""
    env = BackfillEnv(TRACE, **WHOLE)
    played = play(env, PolicyAgent("easy", env), 0)
    assert np.array_equal(played.start, bfenv.simulate(TRACE, "easy").start)
    assert len(played.seconds) >= len(TRACE) and played.seconds.min() > 0


def test_state():
    """The state is handed back, and the first call is marked."""
    agent = Scripted(0)
    played = play(BackfillEnv(TRACE, **WHOLE), agent, 0, deterministic=False)
    count = len(played.seconds)
    assert [call[0] for call in agent.calls] == [None, *range(1, count)]
    assert [call[1] for call in agent.calls] == [True] + [False] * (count - 1)
    assert {call[2] for call in agent.calls} == {False}


def test_illegal_action():
    """An illegal action counts as the pass, or is an error that names it and the time."""
    env = BackfillEnv(TRACE, **WHOLE)
    assert play(env, Scripted(99), 0).info["illegal_actions"] > 0
    for action, named in ((99, "slot 99"), (100, "the pass")):
        with pytest.raises(bfenv.PolicyError, match=rf"illegal action at \d+ s: {named}"):
            play(env, Scripted(action), 0, strict=True)


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        *((answer, r"Wrong\.predict must return an action") for answer in (None, 0, (0, 0, 0))),
        *(((action, None), "action must be an integer") for action in (1.5, [0, 1], None)),
    ],
)
def test_wrong_answer(answer, named):
    """A `predict` that does not return an integer and a state is an error that says so."""

    class Wrong:
        def predict(self, observation, state=None, episode_start=None, deterministic=False):
            return answer

    with pytest.raises(bfenv.PolicyError, match=named):
        play(BackfillEnv(TRACE, **WHOLE), Wrong(), 0)


def test_options():
    """The options choose the episode."""
    env = BackfillEnv([TRACE, TRACE[:50]], episode_jobs=5, warmup_jobs=5)
    play(env, Scripted(0), 0, options={"trace": 1, "first_job": 7})
    assert (len(env.trace), env.episode_jobs) == (50, range(7, 12))


def test_random():
    """The random agent takes legal actions only, the pass among them."""
    env = BackfillEnv(TRACE, **WHOLE, reservations=0, idle="allowed")
    assert play(env, RandomAgent(env, seed=1), 0, strict=True).info["illegal_actions"] == 0
