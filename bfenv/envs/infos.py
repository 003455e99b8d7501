"""What infos hold, and what rewards compare: both are made of the totals of a step."""

from typing import Any

import numpy as np

from bfenv.envs.batch_state import INFOS, StepBuffers, StepTotals
from bfenv.envs.reward import Totals

Info = dict[str, Any]
INFO_KEYS = ("action_mask", *INFOS, "illegal_action", "metrics")
METRICS = (
    "mean_wait", "mean_bounded_slowdown", "longest_wait", "outside_window",
    "reference_bounded_slowdown", "reference_longest_wait", "charged_jobs",
)  # fmt: skip
# Before the end of an episode. NaN would be unequal to itself, where infos are compared.
NO_METRICS: dict[str, float] = dict.fromkeys(METRICS, 0.0) | {"charged_jobs": 0}


def info_of(buffers: StepBuffers, i: int, mask: np.ndarray) -> Info:
    """Return the info of environment i, whose mask is given, before the end of its episode."""
    now, dt, illegal_actions, forced_starts = buffers.infos[:, i].tolist()
    return {  # the keys are written out, because `dict` takes longer
        "action_mask": mask.copy(),
        "now": now,
        "dt": dt,
        "illegal_actions": illegal_actions,
        "forced_starts": forced_starts,
        "illegal_action": buffers.illegal.item(i),
        "metrics": NO_METRICS.copy(),
    }


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
    before_now, before_wait, before_slowdown, before_longest, before_submitted = totals[:5]
    now, wait, slowdown, longest, submitted = totals[5:10]
    before = before_now, jobs, before_submitted, before_wait, before_slowdown, before_longest
    after = now, jobs, submitted, wait, slowdown, longest
    return Totals._make((*before, *reference)), Totals._make((*after, *reference))
