"""Proximal policy optimization on Backfill-v0, with masks: the algorithm from the first step on.

Schulman et al., Proximal policy optimization algorithms, 2017, with generalized advantage
estimation (Schulman et al., 2016), masks (Huang and Ontañón, A closer look at invalid action
masking, 2022), discounting by time as in semi-Markov decision processes (Bradtke and Duff, 1995),
and average rewards (Zhang and Ross, On-policy deep reinforcement learning for the average-reward
criterion, 2021).

One thing is special. Many decisions have a single legal action: there is nothing to learn, and no
network is asked. `advantages` goes through them to the next choice, and `update` leaves them out.

How the network acts and finds its gradient is in `bfenv.agents.training.actor`.

This module needs torch.
"""

import math
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from bfenv.agents.training.actor import Actor, new_actor
from bfenv.agents.training.adam import Adam
from bfenv.agents.training.agent_file import write_agent
from bfenv.agents.training.checkpoint import load_checkpoint, save_checkpoint
from bfenv.agents.training.episodes import Episodes, make_envs
from bfenv.agents.training.group_credit import group_advantages, group_seeds
from bfenv.agents.training.networks import (
    Scorer,
    best_actions,
    check_device,
    new_network,
    weights_of,
)
from bfenv.agents.training.order_teacher import OrderTeacher
from bfenv.agents.training.progress import Progress
from bfenv.agents.training.rollout import Rollout, collect, new_rollout, states_of
from bfenv.agents.training.run_folder import RunFolder
from bfenv.agents.training.settings import ORDER, TrainSettings
from bfenv.agents.training.teacher import Teacher
from bfenv.agents.training.validation import Validation
from bfenv.core.kernel import kernel
from bfenv.envs.batch import EnvBatch
from bfenv.envs.vector import BackfillVectorEnv

Report = Callable[[dict[str, Any]], None]  # is called with a row of the progress, per update


class Learner(NamedTuple):
    """A network, and what changes its weights."""

    settings: TrainSettings
    network: Scorer
    actor: Actor  # which acts with it
    optimizer: Adam
    generator: torch.Generator  # of actions, and of the order in which choices are learned from

    @property
    def state(self) -> tuple[Scorer, Adam, torch.Generator]:
        """What a checkpoint holds of it."""
        return self.network, self.optimizer, self.generator


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
    check_device(settings.device)
    envs = make_envs(settings)  # before the folder, so wrong settings leave nothing behind
    if settings.warm_start is not None:
        new_teacher(settings, envs)  # likewise
    run = RunFolder(Path(folder), settings, resume, tensorboard)
    episodes = Episodes(envs)
    learner = new_learner(settings, envs.batch)
    validation = Validation(settings)
    rollout = new_rollout(settings, episodes)
    progress = Progress(wait_penalty=envs.batch.settings["wait_penalty"])
    if resume and run.checkpoint.is_file():
        progress = load_checkpoint(run.checkpoint, *learner.state, episodes)
        run.keep_rows(progress.update)
        if settings.wait_penalty_rate:
            episodes.set_wait_penalty(progress.wait_penalty)
    else:
        episodes.reset(settings.seed)
        if settings.warm_start is not None:
            imitate(learner, episodes, rollout)
            episodes.reset(settings.seed)
        judge(learner, progress, validation, run, envs.batch)
        run.write_row({"update": 0, "steps": 0, "seconds": 0.0, **progress.scores()})
        save_checkpoint(run.checkpoint, progress, *learner.state, episodes)
    batch = settings.num_envs * settings.num_steps
    updates = math.ceil(settings.steps / batch)
    while progress.update < updates and not progress.is_over(settings.patience):
        begin = time.perf_counter()
        metrics, losses = improve(learner, episodes, rollout, progress, updates)
        progress.update += 1
        progress.seconds += time.perf_counter() - begin
        row = {**progress.row(batch, metrics), **losses}
        is_judged = progress.update % settings.validate_every == 0 or progress.update == updates
        if is_judged:
            judge(learner, progress, validation, run, envs.batch)
            row |= progress.scores()
        run.write_row(row)
        if is_judged:  # the row comes first, because a resumed training writes only those behind
            save_checkpoint(run.checkpoint, progress, *learner.state, episodes)
        if report is not None:
            report(row | progress.scores() | {"best": progress.best})
    run.close()
    return run.agent


def new_learner(settings: TrainSettings, batch: EnvBatch) -> Learner:
    """Make a network with random weights for these environments, and its optimizer."""
    torch.manual_seed(settings.seed)
    network = new_network(settings.network, batch, settings.hidden).to(settings.device)
    optimizer = Adam(network, settings.learning_rate, settings.max_grad_norm)
    actor = new_actor(network)  # after Adam, which moves the weights
    return Learner(
        settings, network, actor, optimizer, torch.Generator().manual_seed(settings.seed)
    )


def improve(
    learner: Learner, episodes: Episodes, rollout: Rollout, progress: Progress, updates: int
) -> tuple[list[dict[str, float]], dict[str, float]]:
    """Act, and learn from it; return the metrics of the episodes that ended, and the losses."""
    settings = learner.settings
    if settings.anneal:
        share = 1 - progress.update / updates
        learner.optimizer.rate = share * settings.learning_rate
    in_groups = settings.credit == "group"
    if in_groups:
        episodes.reset(group_seeds(settings, progress.update))
    metrics = collect(learner.actor, episodes, rollout, learner.generator)
    reward, seconds = float(rollout.reward.sum()), float(rollout.seconds.sum())
    progress.observe(reward, seconds, metrics, settings)
    if settings.wait_penalty_rate:
        episodes.set_wait_penalty(progress.wait_penalty)
    if in_groups:
        return metrics, update(learner, rollout, *group_advantages(rollout, settings))
    estimates = advantages(rollout, settings, progress.reward_rate or 0.0)
    value_only = settings.warm_start is not None and progress.update < settings.critic_updates
    return metrics, update(learner, rollout, *estimates, value_only)


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
    choice, over, values = (part.numpy() for part in (rollout.choice, rollout.over, rollout.value))
    reward: np.ndarray = rollout.reward.numpy() * np.float32(settings.reward_scale)
    discount = np.exp(-rollout.seconds.numpy() / np.float32(settings.horizon_seconds))
    if settings.credit == "average":
        reward = reward - np.float32(reward_rate) * rollout.seconds.numpy()
    advantage, known = np.zeros_like(reward), np.zeros_like(choice)
    gamma, decay = np.float32(settings.gamma), np.float32(settings.gae_lambda)
    next_value: np.ndarray = gamma * rollout.last_value.numpy()
    next_advantage = np.zeros_like(next_value)
    next_known = rollout.last_choice.numpy()
    goes_on = discount * ~over
    for t in reversed(range(len(reward))):
        known[t] = choice[t] & (next_known | over[t])
        value = reward[t] + goes_on[t] * next_value
        following = goes_on[t] * next_advantage
        estimate = value - values[t] + decay * following
        advantage[t] = np.where(known[t], estimate, 0)
        next_value = np.where(choice[t], gamma * values[t], value)
        next_advantage = np.where(choice[t], gamma * advantage[t], following)
        next_known = next_known | over[t] | choice[t]
    target = advantage + values
    if settings.credit == "average":  # values are known up to a constant: let their mean be 0
        target -= target[known].mean()
    return torch.from_numpy(advantage), torch.from_numpy(target), torch.from_numpy(known)


def update(
    learner: Learner,
    rollout: Rollout,
    advantage: Tensor,
    target: Tensor,
    known: Tensor,
    value_only: bool = False,
) -> dict[str, float]:
    """Change the weights by `epochs` passes over the choices; return the mean losses."""
    settings = learner.settings
    actor = learner.actor
    actor.load(states_of(rollout))
    action, *then = (
        part.flatten().numpy() for part in (rollout.action, rollout.log_prob, advantage, target)
    )
    indices = known.flatten().nonzero().squeeze(1)
    sums, count = np.zeros(5), 0
    weights = (settings.value_weight, settings.entropy, settings.clip, value_only)
    for _ in range(settings.epochs):
        order = shuffled(learner, indices)
        for part in np.array_split(order, settings.minibatches):
            if len(part) < 2:  # has no standard deviation
                continue
            now = actor.evaluate(part, action[part])
            gradients = np.empty((3, len(part)), np.float32)
            loss(*now, part, *then, *weights, gradients, sums)
            actor.backward(*gradients)
            learner.optimizer.step()
            count += 1
        if settings.target_kl is not None and count and sums[3] / count > settings.target_kl:
            break
    names = ("policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction")
    return dict(zip(names, (sums / max(count, 1)).tolist(), strict=True))


@kernel
def loss(
    log_prob: np.ndarray,
    entropy: np.ndarray,
    value: np.ndarray,
    part: np.ndarray,
    old_log_prob: np.ndarray,
    advantage: np.ndarray,
    target: np.ndarray,
    value_weight: float,
    entropy_weight: float,
    clip: float,
    value_only: bool,
    gradients: np.ndarray,
    sums: np.ndarray,
) -> None:
    """Compute the loss of proximal policy optimization, and its gradients.

        ratio = exp(log_prob - old_log_prob)
        gain = (advantage - its mean) / its standard deviation
        policy_loss = mean of -min(gain ratio, gain clip(ratio, 1 - clip, 1 + clip))
        value_loss = mean of (value - target)^2
        loss = policy_loss - entropy_weight (mean of entropy) + value_weight value_loss

    Parameters
    ----------
    log_prob, entropy, value
        (B,) what the network makes of the choices now.
    part
        (B,) int64: which of the M states they are made in.
    old_log_prob, advantage, target
        (M,) what the actions were drawn with, their advantages, and targets of the values.
    value_weight, entropy_weight, clip
        See `TrainSettings`.
    value_only
        Whether only the last term of the loss counts.
    gradients
        (3, B) are filled: those of the loss by `log_prob`, `entropy` and `value`.
    sums
        (5,) to which both losses, entropy, divergence, and share of clipped ratios are added.
    """
    count = len(part)
    mean = square = 0.0
    for i in part:
        mean += advantage[i] / count
    for i in part:
        square += (advantage[i] - mean) ** 2
    deviation = math.sqrt(square / (count - 1)) + 1e-8
    for k in range(count):
        i = part[k]
        gain = (advantage[i] - mean) / deviation
        log_ratio = np.float64(log_prob[k] - old_log_prob[i])
        ratio = math.exp(log_ratio)
        free = gain * ratio
        clipped = gain * min(max(ratio, 1 - clip), 1 + clip)
        error = value[k] - target[i]
        # `free` is its own derivative by log_prob; where `clipped` is less, it is constant
        gradients[0, k] = -free / count if free <= clipped and not value_only else 0.0
        gradients[1, k] = -entropy_weight / count if not value_only else 0.0
        gradients[2, k] = value_weight * 2 * error / count
        sums[0] -= min(free, clipped) / count
        sums[1] += error * error / count
        sums[2] += entropy[k] / count
        sums[3] += (ratio - 1 - log_ratio) / count
        sums[4] += (abs(ratio - 1) > clip) / count


def shuffled(learner: Learner, indices: Tensor) -> np.ndarray:
    """Return indices in random order."""
    order: np.ndarray = indices[torch.randperm(len(indices), generator=learner.generator)].numpy()
    return order


def new_teacher(settings: TrainSettings, envs: BackfillVectorEnv) -> Teacher | OrderTeacher:
    """Return what the network imitates before its training."""
    name = str(settings.warm_start)
    if name.startswith(ORDER):
        age, weight = settings.warm_start_age, settings.warm_start_age_weight
        return OrderTeacher(name.removeprefix(ORDER), age, weight, envs)
    return Teacher(name, envs, settings.seed)


def imitate(learner: Learner, episodes: Episodes, rollout: Rollout) -> None:
    """Let a policy act, and teach the network its choices; the learning rate falls to 0."""
    settings = learner.settings
    assert settings.warm_start is not None, "there is a policy to imitate"
    teacher = new_teacher(settings, episodes.envs)
    batch = settings.num_envs * settings.num_steps
    rounds = math.ceil(settings.warm_start_steps / batch)
    actor = learner.actor
    for done in range(rounds):
        # Else the network would end as a copy of the last round's choices, which are alike.
        learner.optimizer.rate = (1 - done / rounds) * settings.learning_rate
        collect(learner.actor, episodes, rollout, learner.generator, teacher)
        actor.load(states_of(rollout))
        action = rollout.action.flatten().numpy()
        indices = rollout.choice.flatten().nonzero().squeeze(1)
        for _ in range(settings.warm_start_epochs):
            order = shuffled(learner, indices)
            for part in np.array_split(order, settings.minibatches):
                if not len(part):
                    continue
                actor.evaluate(part, action[part])
                zeros = np.zeros(len(part), np.float32)
                actor.backward(zeros - np.float32(1 / len(part)), zeros, zeros)  # -mean(log_prob)
                learner.optimizer.step()
    learner.optimizer.rate = settings.learning_rate


def judge(
    learner: Learner, progress: Progress, validation: Validation, run: RunFolder, batch: EnvBatch
) -> None:
    """Score the network on validation; write it as the agent if it is the best so far."""
    settings, network = learner.settings, learner.network
    score = validation.score(partial(best_actions, network))
    if progress.validated(score):
        steps = progress.update * settings.num_envs * settings.num_steps
        versions = {name: version(name) for name in ("bfenv", "torch", "numpy")}
        scores = score._asdict()
        write_agent(
            run.agent, weights_of(network), settings, batch, validation, scores, steps, versions
        )
