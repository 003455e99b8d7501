"""Proximal policy optimization on Backfill-v0, with masks: the algorithm from the first step on.

Schulman et al., Proximal policy optimization algorithms, 2017, with generalized advantage
estimation (Schulman et al., 2016), masks (Huang and Ontañón, A closer look at invalid action
masking, 2022), discounting by time as in semi-Markov decision processes (Bradtke and Duff, 1995),
and average rewards (Zhang and Ross, On-policy deep reinforcement learning for the average-reward
criterion, 2021).

One thing is special. Many decisions have a single legal action: there is nothing to learn, and no
network is asked. `advantages` goes through them to the next choice, and `update` leaves them out.

This module needs torch.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from bfenv.agents.training.agent_file import write_agent
from bfenv.agents.training.checkpoint import load_checkpoint, save_checkpoint
from bfenv.agents.training.episodes import Episodes, make_envs
from bfenv.agents.training.networks import (
    MASKED,
    OBSERVATION,
    Scorer,
    best_actions,
    new_network,
    weights_of,
)
from bfenv.agents.training.progress import Progress
from bfenv.agents.training.run_folder import RunFolder
from bfenv.agents.training.settings import TrainSettings
from bfenv.agents.training.teacher import Teacher
from bfenv.agents.training.validation import Validation

Report = Callable[[dict[str, Any]], None]  # is called with a row of the progress, per update


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


def train(
    settings: TrainSettings,
    folder: str | Path,
    *,
    resume: bool = False,
    tensorboard: bool = False,
    report: Report | None = None,
) -> Path:
    """Train a network; write progress, checkpoints and the best agent on validation to a folder.

    Trained twice with the same settings on the CPU, the weights are the same to the last bit, also
    if a training is interrupted and resumed. On a GPU sums are not in a fixed order.

    Parameters
    ----------
    settings
        See `bfenv.agents.training.settings`.
    folder
        Is created if needed.
    resume
        Continue from the folder's checkpoint, if there is one.
    tensorboard
        Also write the progress for TensorBoard.
    report
        Is called after each update.

    Returns
    -------
    Path
        The file of the agent.

    Raises
    ------
    BfenvError
        If a setting is wrong, or the folder has another training in it.
    """
    torch.set_num_threads(settings.threads)
    run = RunFolder(Path(folder), settings, resume, tensorboard)
    torch.manual_seed(settings.seed)
    generator = torch.Generator().manual_seed(settings.seed)
    episodes = Episodes(make_envs(settings))
    validation = Validation(settings)
    network = new_network(settings.network, episodes.envs.batch, settings.hidden)
    network.to(settings.device)
    optimizer = torch.optim.Adam(network.parameters(), lr=settings.learning_rate, eps=1e-5)
    rollout = new_rollout(settings, episodes)
    progress = Progress(wait_penalty=episodes.envs.batch.settings["wait_penalty"])
    if resume and run.checkpoint.is_file():
        progress = load_checkpoint(run.checkpoint, network, optimizer, generator, episodes)
        run.keep_rows(progress.update)
        if settings.wait_penalty_rate:
            episodes.set_wait_penalty(progress.wait_penalty)
    else:
        episodes.reset(settings.seed)
        if settings.warm_start is not None:
            imitate(settings, network, optimizer, episodes, rollout, generator)
            episodes.reset(settings.seed)
        judge(progress, network, settings, validation, run, episodes)
    batch = settings.num_envs * settings.num_steps
    updates = math.ceil(settings.steps / batch)
    while progress.update < updates and not progress.is_over(settings.patience):
        begin = time.perf_counter()
        if settings.anneal:
            share = 1 - progress.update / updates
            optimizer.param_groups[0]["lr"] = share * settings.learning_rate
        metrics = collect(network, episodes, rollout, generator)
        reward, seconds = float(rollout.reward.sum()), float(rollout.seconds.sum())
        progress.observe(reward, seconds, metrics, settings)
        if settings.wait_penalty_rate:
            episodes.set_wait_penalty(progress.wait_penalty)
        advantage, target, chosen = advantages(rollout, settings, progress.reward_rate or 0.0)
        value_only = settings.warm_start is not None and progress.update < settings.critic_updates
        losses = update(
            settings, network, optimizer, rollout, advantage, target, chosen, generator, value_only
        )
        progress.update += 1
        progress.seconds += time.perf_counter() - begin
        row = {**progress.row(batch, metrics), **losses}
        if progress.update % settings.validate_every == 0 or progress.update == updates:
            judge(progress, network, settings, validation, run, episodes)
            row |= progress.scores()
            save_checkpoint(run.checkpoint, progress, network, optimizer, generator, episodes)
        run.write_row(row)
        if report is not None:
            report(row | progress.scores() | {"best": progress.best})
    run.close()
    return run.agent


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
    teacher: Teacher | None = None,
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
            scores, values = network(*(part[where].to(device) for part in parts))
            scores, value[where] = scores.cpu(), values.cpu()
            logits = scores.masked_fill(~mask[where], MASKED).log_softmax(dim=1)
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


def advantages(
    rollout: Rollout, settings: TrainSettings, reward_rate: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Estimate advantages and values between one choice and the next.

    With s the state of a choice, s' that of the next, R and g the rewards and the discount between
    them, delta = R + g V(s') - V(s), and the advantage of s is delta + lambda g times that of s'. A
    reward counts as it is, or, with credit="average", less the average reward of its time.

    Parameters
    ----------
    rollout
        See `collect`.
    settings
        `gamma`, `horizon`, `gae_lambda`, `credit` and `reward_scale`.
    reward_rate
        The average of scaled rewards per second.

    Returns
    -------
    tuple[Tensor, Tensor, Tensor]
        (T, N) advantages, targets of the value, and where both are known: at choices that an end of
        the episode or another choice follows.
    """
    reward = rollout.reward * settings.reward_scale
    discount = torch.exp(-rollout.seconds / settings.horizon_seconds)
    if settings.credit == "average":
        reward = reward - reward_rate * rollout.seconds
    advantage = torch.zeros_like(reward)
    known = torch.zeros_like(rollout.choice)
    gamma = settings.gamma
    next_value = gamma * rollout.last_value
    next_advantage = torch.zeros_like(next_value)
    next_known = rollout.last_choice.clone()
    for t in reversed(range(len(reward))):
        choice, over = rollout.choice[t], rollout.over[t]
        goes_on = discount[t] * (~over)
        known[t] = choice & (next_known | over)
        value = reward[t] + goes_on * next_value
        following = goes_on * next_advantage
        estimate = value - rollout.value[t] + settings.gae_lambda * following
        advantage[t] = torch.where(known[t], estimate, 0.0)
        next_value = torch.where(choice, gamma * rollout.value[t], value)
        next_advantage = torch.where(choice, gamma * advantage[t], following)
        next_known = next_known | over | choice
    target = advantage + rollout.value
    if settings.credit == "average":  # values are known up to a constant: let their mean be 0
        target = target - target[known].mean()
    return advantage, target, known


def update(
    settings: TrainSettings,
    network: Scorer,
    optimizer: torch.optim.Optimizer,
    rollout: Rollout,
    advantage: Tensor,
    target: Tensor,
    known: Tensor,
    generator: torch.Generator,
    value_only: bool = False,
) -> dict[str, float]:
    """Change the weights by `epochs` passes over the choices; return the mean losses."""
    queue, profile, cluster, mask, action, log_prob, advantage, target = (
        part.flatten(0, 1)
        for part in (
            rollout.queue,
            rollout.profile,
            rollout.cluster,
            rollout.mask,
            rollout.action,
            rollout.log_prob,
            advantage,
            target,
        )
    )
    indices = known.flatten().nonzero().squeeze(1)
    sums, count = torch.zeros(5), 0
    for _ in range(settings.epochs):
        order = indices[torch.randperm(len(indices), generator=generator).to(indices.device)]
        for part in order.tensor_split(settings.minibatches):
            if len(part) < 2:  # has no standard deviation
                continue
            scores, value = network(queue[part], profile[part], cluster[part])
            logits = scores.masked_fill(~mask[part], MASKED).log_softmax(dim=1)
            now = logits.gather(1, action[part].unsqueeze(1)).squeeze(1)
            log_ratio = now - log_prob[part]
            ratio = log_ratio.exp()
            gain = advantage[part]
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            clipped = ratio.clamp(1 - settings.clip, 1 + settings.clip)
            policy_loss = -torch.min(gain * ratio, gain * clipped).mean()
            value_loss = (value - target[part]).square().mean()
            entropy = -(logits.exp() * logits).sum(dim=1).mean()
            loss = settings.value_weight * value_loss
            if not value_only:
                loss = loss + policy_loss - settings.entropy * entropy
            step(settings, network, optimizer, loss)
            with torch.no_grad():
                kl = (ratio - 1 - log_ratio).mean()
                far = ((ratio - 1).abs() > settings.clip).float().mean()
                sums += torch.stack([policy_loss, value_loss, entropy, kl, far]).cpu()
                count += 1
        if settings.target_kl is not None and count and sums[3] / count > settings.target_kl:
            break
    names = ("policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction")
    return dict(zip(names, (sums / max(count, 1)).tolist(), strict=True))


def step(
    settings: TrainSettings, network: nn.Module, optimizer: torch.optim.Optimizer, loss: Tensor
) -> None:
    """Go one step down the gradient of the loss."""
    optimizer.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    nn.utils.clip_grad_norm_(network.parameters(), settings.max_grad_norm)
    optimizer.step()


def imitate(
    settings: TrainSettings,
    network: Scorer,
    optimizer: torch.optim.Optimizer,
    episodes: Episodes,
    rollout: Rollout,
    generator: torch.Generator,
) -> None:
    """Let a policy act, and teach the network its choices and the values that follow."""
    assert settings.warm_start is not None, "there is a policy to imitate"
    teacher = Teacher(settings.warm_start, episodes.envs, settings.seed)
    batch = settings.num_envs * settings.num_steps
    for _ in range(math.ceil(settings.warm_start_steps / batch)):
        collect(network, episodes, rollout, generator, teacher)
        indices = rollout.choice.flatten().nonzero().squeeze(1)
        for _ in range(settings.warm_start_epochs):
            order = indices[torch.randperm(len(indices), generator=generator).to(indices.device)]
            for part in order.tensor_split(settings.minibatches):
                queue, profile, cluster = (
                    stored.flatten(0, 1)[part]
                    for stored in (rollout.queue, rollout.profile, rollout.cluster)
                )
                scores, _ = network(queue, profile, cluster)
                scores = scores.masked_fill(~rollout.mask.flatten(0, 1)[part], MASKED)
                action = rollout.action.flatten()[part]
                step(settings, network, optimizer, nn.functional.cross_entropy(scores, action))


def judge(
    progress: Progress,
    network: Scorer,
    settings: TrainSettings,
    validation: Validation,
    run: RunFolder,
    episodes: Episodes,
) -> None:
    """Score the network on validation; write it as the agent if it is the best so far."""
    score = validation.score(partial(best_actions, network))
    if progress.validated(score):
        steps = progress.update * settings.num_envs * settings.num_steps
        versions = {name: version(name) for name in ("bfenv", "torch", "numpy")}
        batch, scores = episodes.envs.batch, score._asdict()
        write_agent(
            run.agent, weights_of(network), settings, batch, validation, scores, steps, versions
        )
