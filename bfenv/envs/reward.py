"""Rewards: minus the growth of a metric since the last decision, so they add up to its negative."""

from collections.abc import Callable
from typing import NamedTuple

from bfenv.core.errors import BfenvError, UnknownNameError
from bfenv.core.names import import_object


class Totals(NamedTuple):
    """Sums over the submitted jobs of an episode, at `now`.

    A waiting job counts with its wait so far. The sums are computed from true runtimes: do not
    feed rewards back into observations.
    """

    now: float  # seconds
    jobs: int  # of the episode, submitted or not
    wait: float  # seconds
    bounded_slowdown: float


Reward = Callable[[Totals, Totals], float]


def bounded_slowdown(before: Totals, after: Totals) -> float:
    """Return minus the growth of the total bounded slowdown, per job of the episode."""
    return (before.bounded_slowdown - after.bounded_slowdown) / after.jobs


def wait(before: Totals, after: Totals) -> float:
    """Return minus the growth of the total wait in seconds, per job of the episode."""
    return (before.wait - after.wait) / after.jobs


REWARDS: dict[str, Reward] = {"bounded_slowdown": bounded_slowdown, "wait": wait}


def find_reward(reward: str | Reward) -> Reward:
    """Find a reward by its name or by "module:function"; a function is returned as it is.

    Raises
    ------
    UnknownNameError
        If no reward has the name.
    BfenvError
        If the module or the function does not exist, or the object is not a function.
    """
    function: object = reward
    if isinstance(reward, str):
        if ":" not in reward and reward not in REWARDS:
            raise UnknownNameError("reward", reward, REWARDS)
        function = import_object(reward) if ":" in reward else REWARDS[reward]
    if not callable(function):
        raise BfenvError(f"reward must be a name or a function, got {reward!r}")
    return function
