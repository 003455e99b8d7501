"""Rewards: the growth of a metric since the last decision; they add up to it."""

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

from bfenv.core.errors import BfenvError, UnknownNameError


class Totals(NamedTuple):
    """Sums over the jobs of an episode that have been submitted, as they stand at `now`.

    A job that still waits counts with its wait so far. They are computed from true runtimes: a
    reward is the judgement of the simulator, and is not to be fed back into observations.
    """

    now: int  # seconds
    jobs: int  # in the episode, submitted or not
    wait: float  # seconds
    bounded_slowdown: float


Reward = Callable[[Totals, Totals], float]


def bounded_slowdown(before: Totals, after: Totals) -> float:
    """Minus the growth of the total bounded slowdown per job; over an episode: minus its mean."""
    return (before.bounded_slowdown - after.bounded_slowdown) / after.jobs


def wait(before: Totals, after: Totals) -> float:
    """Minus the growth of the total wait per job, in seconds; over an episode: minus its mean."""
    return (before.wait - after.wait) / after.jobs


REWARDS = {"bounded_slowdown": bounded_slowdown, "wait": wait}


def find_reward(reward: str | Reward) -> Reward:
    """A reward by name, by "module:function", or a function of (before, after) itself.

    Raises UnknownNameError for another name, BfenvError for a module or function that is not there.
    """
    if callable(reward):
        return reward
    if not isinstance(reward, str):
        raise BfenvError(f"a reward is a name or a function, not {type(reward).__name__}")
    if ":" not in reward:
        if reward not in REWARDS:
            raise UnknownNameError("reward", reward, REWARDS)
        return REWARDS[reward]
    module, _, name = reward.partition(":")
    try:
        function = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise BfenvError(f"no such reward: {reward}: {error}") from error
    if not callable(function):
        raise BfenvError(f"the reward {reward} is no function but a {type(function).__name__}")
    return function
