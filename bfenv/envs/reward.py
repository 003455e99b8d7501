"""What a step returns beside the observation: rewards, infos and metrics, made of its totals.

Rewards are minus the growth of a metric since the last decision, so they add up to its negative.
"""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bfenv.core.errors import BfenvError, UnknownNameError
from bfenv.core.names import import_object
from bfenv.core.schedule import penalized
from bfenv.envs.batch_state import INFOS, StepBuffers, StepTotals

Number = Any  # a float, or (N,) float64 in the rewards of this module
OVERDUE = 0.1  # charge in `penalized_shaped` for an overdue of 1


class Totals(NamedTuple):
    """Sums over the submitted jobs of an episode, at `now`.

    A waiting job counts with its wait so far. Until a job has ended, its estimate stands in for its
    runtime, so no reward tells a runtime early. When the last job of the episode has started, the
    jobs that still run are settled, too: each counts with its runtime. E is EASY's longest wait, at
    least an hour.
    """

    now: Number  # seconds
    jobs: Number  # of the episode, submitted or not
    submitted: Number  # jobs
    wait: Number  # seconds
    bounded_slowdown: Number  # sum
    longest_wait: Number  # seconds
    overdue: Number  # sum of max(0, wait / E - 1/2) ** 2 over the jobs that wait now
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


def root_of_penalized(before: Totals, after: Totals) -> Number:
    """Return minus the growth of the root of the penalized slowdown, waits so far included.

    Jobs that are not submitted yet count for nothing, so the first reward tells nothing of them.
    """
    return np.sqrt(_penalized(before)) - np.sqrt(_penalized(after))


def penalized_product(before: Totals, after: Totals) -> Number:
    """Return minus the growth of the penalized slowdown itself, waits so far included."""
    return _penalized(before) - _penalized(after)


def penalized_shaped(before: Totals, after: Totals) -> Number:
    """Return `penalized_product` minus the growth of OVERDUE x `Totals.overdue`.

    A job that has waited for more than half of EASY's longest wait is charged until it starts, and
    then gets the charge back. So a learner need not look far ahead to see what a long wait costs.
    No job waits at the end, so the rewards add up as those of `penalized_product` (potential-based
    shaping: Ng, Harada and Russell, 1999).
    """
    growth = _penalized(after) - _penalized(before)
    return OVERDUE * (before.overdue - after.overdue) - growth


def _penalized(totals: Totals) -> Number:
    ratio = totals.bounded_slowdown / totals.reference_slowdown
    return penalized(ratio, totals.longest_wait, totals.reference_longest_wait)


REWARDS = {
    "penalized_shaped": penalized_shaped,
    "penalized_product": penalized_product,
    "penalized": root_of_penalized,
    "log_ratio": log_ratio,
    "bounded_slowdown": bounded_slowdown,
    "wait": wait,
}


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


# Infos ------------------------------------------------------------------------------------------

Info = dict[str, Any]
INFO_KEYS = ("action_mask", *INFOS, "illegal_action", "metrics")
METRICS = (
    "mean_wait",
    "mean_bounded_slowdown",
    "longest_wait",
    "outside_window",
    "reference_bounded_slowdown",
    "reference_longest_wait",
    "charged_jobs",
)
# Before the end of an episode. NaN would be unequal to itself, where infos are compared.
NO_METRICS: dict[str, float] = dict.fromkeys(METRICS, 0.0) | {"charged_jobs": 0}


def infos_of(buffers: StepBuffers, masks: np.ndarray) -> dict[str, np.ndarray]:
    """Return the infos of all environments, in (N,) and (N, ...) arrays, without the metrics.

    The arrays do not change.
    """
    integers = buffers.infos.copy()
    return {
        "action_mask": masks.copy(),
        "now": integers[0],
        "dt": integers[1],
        "illegal_actions": integers[2],
        "forced_starts": integers[3],
        "illegal_action": buffers.illegal.copy(),
    }


def rows_of(infos: dict[str, np.ndarray], truncated: np.ndarray) -> list[Info]:
    """Return the infos of all environments one by one, as stable-baselines3 has them.

    The keys are written out, because `dict` takes several times as long.
    """
    columns = [infos[key].tolist() for key in INFO_KEYS[1:-1]]
    return [
        {
            "action_mask": mask,
            "now": now,
            "dt": dt,
            "illegal_actions": illegal_actions,
            "forced_starts": forced_starts,
            "illegal_action": illegal_action,
            "metrics": NO_METRICS.copy(),
            "TimeLimit.truncated": is_truncated,
        }
        for mask, now, dt, illegal_actions, forced_starts, illegal_action, is_truncated in zip(
            infos["action_mask"], *columns, truncated.tolist(), strict=True
        )
    ]


def metrics_of(totals: StepTotals, jobs: int, reference: list[float]) -> Info:
    """Return the metrics of an episode that is over.

    * `totals`: of its last step.
    * `jobs`: how many jobs it has.
    * `reference`: sum of bounded slowdowns, and longest wait in seconds, under EASY.
    """
    slowdown, longest = reference
    return {
        "mean_wait": totals.wait / jobs,
        "mean_bounded_slowdown": totals.slowdown / jobs,
        "longest_wait": totals.longest,
        "outside_window": totals.outside / max(totals.steps, 1),
        "reference_bounded_slowdown": slowdown / jobs,
        "reference_longest_wait": longest,
        "charged_jobs": int(totals.unstarted),
    }


def reward_arguments(totals: StepTotals, jobs: Any, reference: Any) -> tuple[Totals, Totals]:
    """Return what a reward compares: the totals at the last decision, and now."""
    (before_now, *before), (now, *after) = totals[:6], totals[6:12]
    return (
        Totals._make((before_now, jobs, *before, *reference)),
        Totals._make((now, jobs, *after, *reference)),
    )
