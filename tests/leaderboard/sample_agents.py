"""Agents, good and bad, that tests of the leaderboard name."""

import os

import numpy as np

from bfenv.agents import PolicyAgent
from bfenv.core.kernel import kernel


class First:
    """Starts the first job that may start; takes masks; deterministic."""

    stochastic = False

    def predict(self, observation, state=None, episode_start=None, deterministic=False, **others):
        assert deterministic
        return np.array(int(np.argmax(others["action_masks"]))), state


class Counting:
    """Counts its actions in its state, which is lost unless the caller hands it back."""

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        state = 0 if episode_start[0] else state + 1
        self.count = state
        slots = self.env.action_masks()
        return int(np.argmax(slots)), state

    def __init__(self, env, seed):
        self.env, self.seed = env, seed


first = First()


def easy(env, seed):
    return PolicyAgent("easy", env, seed)


@kernel
def spin(number):
    while number != 0:
        number = number * 2 + 1
    return number


class Bad:
    """Does something that no agent should do."""

    stochastic = False

    def __init__(self, act):
        self.act = act

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        return self.act(), state


def fail():
    raise RuntimeError("it cannot\ndecide\x1b[2J")


looping = Bad(lambda: spin(1))
raising = Bad(fail)
crashing = Bad(os.abort)
leaving = Bad(lambda: exit(3))
illegal = Bad(lambda: 7)
nonsense = Bad(lambda: "slot 1")
