"""Rollout: what a number of actions in all environments brought, for the learner to learn from.

This module needs torch.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bfenv.agents.training.episodes import Episodes
from bfenv.agents.training.networks import MASKED, OBSERVATION, Scorer
from bfenv.agents.training.order_teacher import OrderTeacher
from bfenv.agents.training.settings import TrainSettings
from bfenv.agents.training.teacher import Teacher


@dataclass
class Rollout:
    """What `num_steps` actions in all environments brought; (T, N, ...) tensors on one device."""

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
    shape, device = (settings.num_steps, settings.num_envs), settings.device

    def zeros(*tail: int, dtype: torch.dtype = torch.float32) -> Tensor:
        return torch.zeros(*shape, *tail, dtype=dtype, device=device)

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


@torch.inference_mode()
def collect(
    network: Scorer,
    episodes: Episodes,
    rollout: Rollout,
    generator: torch.Generator,
    teacher: Teacher | OrderTeacher | None = None,
) -> list[dict[str, float]]:
    """Act `num_steps` times in all environments; return the metrics of the episodes that ended.

    Where a teacher is given, it acts, and what it leaves open counts as no choice.
    """
    metrics: list[dict[str, float]] = []
    device = rollout.queue.device
    for t in range(len(rollout.queue) + 1):
        mask = torch.from_numpy(episodes.mask)
        choice = mask.sum(dim=1) > 1
        action = mask.to(torch.uint8).argmax(dim=1)  # the only one, where there is no choice
        parts = [torch.from_numpy(episodes.observation[key]) for key in OBSERVATION]
        value = torch.zeros(len(mask))
        log_prob = torch.zeros(len(mask))
        where = choice.nonzero().squeeze(1)
        if len(where):
            # `index_select` copies whole rows, which indexing does number by number
            chosen = (part.index_select(0, where).to(device) for part in parts)
            scores, values = network(*chosen)
            scores, value[where] = scores.cpu(), values.cpu()
            illegal = ~mask.index_select(0, where)
            logits = scores.masked_fill(illegal, MASKED).log_softmax(dim=1)
            noise = torch.empty_like(logits).exponential_(generator=generator)
            action[where] = (logits.exp() / noise).argmax(dim=1)  # as likely as exp(logits)
            log_prob[where] = logits.gather(1, action[where].unsqueeze(1)).squeeze(1)
        if t == len(rollout.queue):
            rollout.last_value.copy_(value)
            rollout.last_choice.copy_(choice)
            break
        if teacher is not None:
            action, known = teacher.act(episodes.mask)
            choice &= known
        step = episodes.step(action.numpy())
        metrics += step.metrics
        for key, part in zip(OBSERVATION, parts, strict=True):
            getattr(rollout, key)[t].copy_(part)
        rollout.mask[t].copy_(mask)
        rollout.action[t].copy_(action)
        rollout.choice[t].copy_(choice)
        rollout.log_prob[t].copy_(log_prob)
        rollout.value[t].copy_(value)
        rollout.reward[t].copy_(torch.from_numpy(step.reward))
        rollout.seconds[t].copy_(torch.from_numpy(step.seconds))
        rollout.over[t].copy_(torch.from_numpy(step.over))
    return metrics
