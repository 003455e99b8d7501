"""Rollout: what a number of actions in all environments brought, for the learner to learn from.

This module needs torch.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bfenv.agents.training.actor import Actor, States
from bfenv.agents.training.episodes import Episodes
from bfenv.agents.training.networks import OBSERVATION
from bfenv.agents.training.order_teacher import OrderTeacher
from bfenv.agents.training.settings import TrainSettings
from bfenv.agents.training.teacher import Teacher


@dataclass
class Rollout:
    """What `num_steps` actions in all environments brought; (T, N, ...) tensors in memory."""

    queue: Tensor
    profile: Tensor
    cluster: Tensor
    mask: Tensor  # bool
    action: Tensor  # int64
    choice: Tensor  # bool: there was more than one legal action, and the teacher took a side
    log_prob: Tensor
    value: Tensor
    reward: Tensor
    seconds: Tensor  # by which the clock ran on after the action
    over: Tensor  # bool: the episode ended with the action
    last_value: Tensor  # (N,) of the state after the last action
    last_choice: Tensor  # (N,) bool


def new_rollout(settings: TrainSettings, episodes: Episodes) -> Rollout:
    """Allocate the tensors of a rollout."""
    space: Any = episodes.envs.single_observation_space  # a Dict, since it is not flat
    shape = (settings.num_steps, settings.num_envs)

    def zeros(*tail: int, dtype: torch.dtype = torch.float32) -> Tensor:
        return torch.zeros(*shape, *tail, dtype=dtype)

    return Rollout(
        queue=zeros(*space["queue"].shape),
        profile=zeros(*space["profile"].shape),
        cluster=zeros(*space["cluster"].shape),
        mask=zeros(episodes.envs.batch.window + 1, dtype=torch.bool),
        action=zeros(dtype=torch.int64),
        choice=zeros(dtype=torch.bool),
        log_prob=zeros(),
        value=zeros(),
        reward=zeros(),
        seconds=zeros(),
        over=zeros(dtype=torch.bool),
        last_value=zeros()[0],
        last_choice=zeros(dtype=torch.bool)[0],
    )


def collect(
    actor: Actor,
    episodes: Episodes,
    rollout: Rollout,
    generator: torch.Generator,
    teacher: Teacher | OrderTeacher | None = None,
) -> list[dict[str, float]]:
    """Act `num_steps` times in all environments; return the metrics of the episodes that ended.

    Where a teacher is given, it acts, and what it leaves open counts as no choice.
    """
    metrics: list[dict[str, float]] = []
    arrays = {name: values.numpy() for name, values in vars(rollout).items()}
    steps, count = rollout.choice.shape
    uniform = torch.rand(steps + 1, count, generator=generator, dtype=torch.float64).numpy()
    for t in range(steps + 1):
        mask = episodes.mask
        choice = mask.sum(axis=1) > 1
        action = mask.argmax(axis=1)  # the only one, where there is no choice
        value, log_prob = np.zeros(count, np.float32), np.zeros(count, np.float32)
        where = choice.nonzero()[0]
        if teacher is None and len(where):
            queue, profile, cluster = (episodes.observation[key] for key in OBSERVATION)
            seen = States(queue, profile, cluster, mask)
            drawn = actor.act(seen, where, uniform[t][where])
            action[where], log_prob[where], value[where] = drawn
        if t == steps:
            arrays["last_value"][:] = value
            arrays["last_choice"][:] = choice
            break
        if teacher is not None:
            action, known = (part.numpy() for part in teacher.act(mask))
            choice &= known
        for key in OBSERVATION:
            arrays[key][t] = episodes.observation[key]
        step = episodes.step(action)
        metrics += step.metrics
        arrays["mask"][t] = mask
        arrays["action"][t] = action
        arrays["choice"][t] = choice
        arrays["log_prob"][t] = log_prob
        arrays["value"][t] = value
        arrays["reward"][t] = step.reward
        arrays["seconds"][t] = step.seconds
        arrays["over"][t] = step.over
    return metrics


def states_of(rollout: Rollout) -> States:
    """Return the T x N states of a rollout."""
    parts = (rollout.queue, rollout.profile, rollout.cluster, rollout.mask)
    return States(*(part.flatten(0, 1).numpy() for part in parts))
