"""Rewards: minus the growth of a metric since the last decision, so they add up to its negative."""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bfenv.core.errors import BfenvError, UnknownNameError
from bfenv.core.names import import_object

Number = Any  # a float, or (N,) float64 in the rewards of this module


class Totals(NamedTuple):
    """Sums over the submitted jobs of an episode, at `now`.

    A waiting job counts with its wait so far. Until a job has ended, its estimate stands in for its
    runtime, so no reward tells a runtime early. When the last job of the episode has started, the
    jobs that still run are settled, too: each counts with its runtime.
    """

    now: Number  # seconds
    jobs: Number  # of the episode, submitted or not
    submitted: Number  # jobs
    wait: Number  # seconds
    bounded_slowdown: Number  # sum
    longest_wait: Number  # seconds
    reference_slowdown: Number  # sum over the episode under EASY
    reference_longest_wait: Number  # seconds, under EASY


class EndedJobs(NamedTuple):
    """The jobs of the episode that ended since the last decision, one value per job."""

    job: np.ndarray  # int64 index in the trace
    size: np.ndarray  # int64 processors
    estimate: np.ndarray  # int64 seconds
    submit: np.ndarray  # int64 seconds
    start: np.ndarray  # int64 seconds
    end: np.ndarray  # int64 seconds


Reward = Callable[..., float]  # of (before, after) Totals, or of (before, after, ended)


class RewardRule(NamedTuple):
    """A reward, and how it is called."""

    function: Callable[..., Any]
    takes_arrays: bool  # one call computes the rewards of all environments
    takes_ended: bool  # its third argument are EndedJobs


def bounded_slowdown(before: Totals, after: Totals) -> Number:
    """Return minus the growth of the total bounded slowdown, per job of the episode."""
    return (before.bounded_slowdown - after.bounded_slowdown) / after.jobs


def wait(before: Totals, after: Totals) -> Number:
    """Return minus the growth of the total wait in seconds, per job of the episode."""
    return (before.wait - after.wait) / after.jobs


def log_ratio(before: Totals, after: Totals) -> Number:
    """Return minus the growth of log(total bounded slowdown / EASY's).

    Jobs that are not submitted yet count with a bounded slowdown of 1.
    """
    return _log_ratio(before) - _log_ratio(after)


def _log_ratio(totals: Totals) -> Number:
    total = totals.bounded_slowdown + totals.jobs - totals.submitted
    # The first reward brings the constant.
    return np.where(totals.submitted > 0, np.log(total / totals.reference_slowdown), 0.0)


REWARDS = {"log_ratio": log_ratio, "bounded_slowdown": bounded_slowdown, "wait": wait}


def find_reward(reward: str | Reward) -> RewardRule:
    """Find a reward by its name or by "module:function"; a function is taken as it is.

    Raises UnknownNameError if no reward has the name. Raises BfenvError if the module or the
    function does not exist, or the object is not a function of two or three arguments.
    """
    function: object = reward
    if isinstance(reward, str):
        if reward in REWARDS:
            return RewardRule(REWARDS[reward], True, False)
        if ":" not in reward:
            raise UnknownNameError("reward", reward, REWARDS)
        function = import_object(reward)
    if not callable(function):
        raise BfenvError(f"reward must be a name or a function, got {reward!r}")
    takes_ended = _takes(function, 3)
    if not (takes_ended or _takes(function, 2)):
        raise BfenvError(f"reward must be a function of two or three arguments, got {reward!r}")
    return RewardRule(function, False, takes_ended)


def _takes(function: Callable[..., Any], count: int) -> bool:
    """Tell whether a function can be called with that many arguments."""
    try:
        inspect.signature(function).bind(*[None] * count)
    except TypeError:
        return False
    except ValueError:  # it has no signature
        return count == 2
    return True
