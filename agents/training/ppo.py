"""Proximal policy optimization on Backfill-v0, with masks: the whole algorithm, from `train` down.

Schulman et al., Proximal policy optimization algorithms, 2017, with generalized advantage
estimation (Schulman et al., 2016), masks (Huang and Ontañón, A closer look at invalid action
masking, 2022), and discounting by time, as in semi-Markov decision processes (Bradtke and Duff,
1995).

One thing is special. Many decisions have a single legal action: there is nothing to learn, and no
network is asked. `advantages` goes through them to the next choice, and `update` leaves them out.

How the network acts and finds its gradient is in `bfenv.agents.training.actor`.

This module needs torch.
"""

import math
import time
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

import bfenv.agents.training.networks as nw
from bfenv.agents.card import NETWORK, Card, acting_settings, division_of_settings
from bfenv.agents.network_agent import save_network
from bfenv.agents.seen_jobs import spans_of
from bfenv.agents.training.actor import Actor, States
from bfenv.agents.training.adam import Adam
from bfenv.agents.training.checkpoint import load_checkpoint, save_checkpoint
from bfenv.agents.training.episodes import Episodes, make_envs
from bfenv.agents.training.group_credit import group_advantages, group_seeds
from bfenv.agents.training.order_teacher import OrderTeacher
from bfenv.agents.training.packed_passes import new_actor
from bfenv.agents.training.run_folder import Progress, Report, RunFolder, Validation
from bfenv.agents.training.settings import ORDER, TrainSettings, command
from bfenv.core.kernel import kernel
from bfenv.envs.batch import EnvBatch
from bfenv.envs.features import VERSION


class Learner(NamedTuple):
    """A network, and what changes its weights."""

    settings: TrainSettings
    network: nw.Scorer
    actor: Actor  # which acts with it
    optimizer: Adam
    generator: torch.Generator  # of actions, and of the order in which choices are learned from

    @property
    def state(self) -> tuple[nw.Scorer, Adam, torch.Generator]:
        """What a checkpoint holds of it."""
        return self.network, self.optimizer, self.generator


@dataclass
class Rollout:
    """What `num_steps` actions in all environments brought: (T, N, ...) arrays."""

    queue: np.ndarray
    profile: np.ndarray
    cluster: np.ndarray
    mask: np.ndarray  # bool
    action: np.ndarray  # int64
    choice: np.ndarray  # bool: there was more than one legal action
    log_prob: np.ndarray
    value: np.ndarray
    reward: np.ndarray
    seconds: np.ndarray  # by which the clock ran on after the action
    over: np.ndarray  # bool: the episode ended with the action
    last_value: np.ndarray  # (N,) of the state after the last action
    last_choice: np.ndarray  # (N,) bool


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

    * `settings`: see `bfenv.agents.training.settings`.
    * `folder`: is created if needed.
    * `resume`: continue from the folder's checkpoint, if there is one.
    * `tensorboard`: also write the progress for TensorBoard.
    * `report`: is called after each update.

    Returns the file of the agent. Raises BfenvError if a setting is wrong, or the folder has
    another training in it.
    """
    torch.set_num_threads(settings.threads)
    nw.check_device(settings.device)
    envs = make_envs(settings)  # before the folder, so wrong settings leave nothing behind
    teacher = None
    if settings.warm_start is not None:
        order = settings.warm_start.removeprefix(ORDER)
        teacher = OrderTeacher(order, settings.warm_start_age, settings.warm_start_age_weight, envs)
    run = RunFolder(Path(folder), settings, resume, tensorboard)
    learner, episodes = new_learner(settings, envs.batch), Episodes(envs)
    rollout, validation = new_rollout(settings, episodes), Validation(settings)
    progress = Progress()
    if resume and run.checkpoint.is_file():
        progress = load_checkpoint(run.checkpoint, *learner.state, episodes)
        run.keep_rows(progress.update)
    else:
        episodes.reset(settings.seed)
        if teacher is not None:
            imitate(learner, teacher, episodes, rollout)
            episodes.reset(settings.seed)
        judge(learner, progress, validation, run, envs.batch)
        run.write_row({"update": 0, "steps": 0, "seconds": 0.0, **progress.scores()})
        save_checkpoint(run.checkpoint, progress, *learner.state, episodes)
    batch = settings.num_envs * settings.num_steps
    updates = math.ceil(settings.steps / batch)
    while progress.update < updates and not progress.is_over(settings.patience):
        begin = time.perf_counter()
        metrics, losses = improve(learner, episodes, rollout, progress.update, updates)
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
    network = nw.new_network(settings.network, batch, settings.hidden).to(settings.device)
    optimizer = Adam(network, settings.learning_rate, settings.max_grad_norm)
    actor = new_actor(network)  # after Adam, which moves the weights
    generator = torch.Generator().manual_seed(settings.seed)
    return Learner(settings, network, actor, optimizer, generator)


def new_rollout(settings: TrainSettings, episodes: Episodes) -> Rollout:
    """Allocate the arrays of a rollout."""
    space: Any = episodes.envs.single_observation_space  # a Dict, since it is not flat
    shape = (settings.num_steps, settings.num_envs)
    numbers = partial(np.zeros, dtype=np.float32)
    queue, profile, cluster = (numbers((*shape, *space[key].shape)) for key in nw.OBSERVATION)
    return Rollout(
        queue,
        profile,
        cluster,
        mask=np.zeros((*shape, episodes.envs.batch.window + 1), bool),
        action=np.zeros(shape, np.int64),
        choice=np.zeros(shape, bool),
        log_prob=numbers(shape),
        value=numbers(shape),
        reward=numbers(shape),
        seconds=numbers(shape),
        over=np.zeros(shape, bool),
        last_value=numbers(shape[1]),
        last_choice=np.zeros(shape[1], bool),
    )


def improve(
    learner: Learner, episodes: Episodes, rollout: Rollout, done: int, updates: int
) -> tuple[list[dict[str, float]], dict[str, float]]:
    """Act, and learn from it; return the metrics of the episodes that ended, and the losses.

    `done` of all `updates` have been made before.
    """
    settings = learner.settings
    if settings.anneal:
        learner.optimizer.rate = (1 - done / updates) * settings.learning_rate
    if settings.credit == "group":
        episodes.reset(group_seeds(settings, done))
    metrics = collect(learner, episodes, rollout)
    if settings.credit == "group":
        parts = rollout.reward, rollout.seconds, rollout.over
        advantage, first = group_advantages(*parts, settings)
        known = rollout.choice & first
        estimates = np.where(known, advantage, 0).astype(np.float32), rollout.value, known
    else:
        estimates = advantages(rollout, settings)
    return metrics, update(learner, rollout, *estimates)


def collect(
    learner: Learner, episodes: Episodes, rollout: Rollout, teacher: OrderTeacher | None = None
) -> list[dict[str, float]]:
    """Act `num_steps` times in all environments; return the metrics of the episodes that ended.

    Where a teacher is given, it acts in place of the network.
    """
    metrics: list[dict[str, float]] = []
    steps, count = rollout.choice.shape
    shape, generator = (steps + 1, count), learner.generator
    uniform = torch.rand(shape, generator=generator, dtype=torch.float64).numpy()
    for t in range(steps + 1):
        mask = episodes.mask
        choice = mask.sum(axis=1) > 1
        action = mask.argmax(axis=1)  # the only one, where there is no choice
        value, log_prob = np.zeros(count, np.float32), np.zeros(count, np.float32)
        where = choice.nonzero()[0]
        if teacher is None and len(where):
            queue, profile, cluster = (episodes.observation[key] for key in nw.OBSERVATION)
            seen = States(queue, profile, cluster, mask)
            drawn = learner.actor.act(seen, where, uniform[t][where])
            action[where], log_prob[where], value[where] = drawn
        if t == steps:
            rollout.last_value[:], rollout.last_choice[:] = value, choice
            break
        if teacher is not None:
            action = teacher.act(mask)
        for key in nw.OBSERVATION:
            getattr(rollout, key)[t] = episodes.observation[key]
        rollout.mask[t] = mask
        step = episodes.step(action)
        metrics += step.metrics
        rollout.action[t], rollout.choice[t] = action, choice
        rollout.log_prob[t], rollout.value[t] = log_prob, value
        rollout.reward[t], rollout.seconds[t] = step.reward, step.seconds
        rollout.over[t] = step.over
    return metrics


def advantages(
    rollout: Rollout, settings: TrainSettings
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Estimate advantages and values between one choice and the next.

    Let s be the state of a choice and s' the state of the next one. R and g are the rewards and the
    discount between the two, and A is the advantage. Then A(s) = delta + lambda g A(s'), where
    delta = R + g V(s') - V(s).

    * `rollout`: see `collect`.
    * `settings`: `gamma`, `horizon`, `gae_lambda` and `reward_scale`.

    Returns (T, N) advantages, targets of the value, and where both are known: at choices that an
    end of the episode or another choice follows.
    """
    choice, over, values = rollout.choice, rollout.over, rollout.value
    reward: np.ndarray = rollout.reward * np.float32(settings.reward_scale)
    discount = np.exp(-rollout.seconds / np.float32(settings.horizon_seconds))
    advantage, known = np.zeros_like(reward), np.zeros_like(choice)
    gamma, decay = np.float32(settings.gamma), np.float32(settings.gae_lambda)
    next_value: np.ndarray = gamma * rollout.last_value
    next_advantage = np.zeros_like(next_value)
    next_known = rollout.last_choice
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
    return advantage, advantage + values, known


def update(
    learner: Learner, rollout: Rollout, advantage: np.ndarray, target: np.ndarray, known: np.ndarray
) -> dict[str, float]:
    """Change the weights by `epochs` passes over the choices; return the mean losses."""
    settings, actor = learner.settings, learner.actor
    actor.load(states_of(rollout))
    action, *then = (part.ravel() for part in (rollout.action, rollout.log_prob, advantage, target))
    sums, count = np.zeros(5), 0
    for _ in range(settings.epochs):
        for part in minibatches(learner, known):
            if len(part) < 2:  # has no standard deviation
                continue
            now = actor.evaluate(part, action[part])
            gradients = np.empty((3, len(part)), np.float32)
            weights = settings.value_weight, settings.entropy, settings.clip
            loss(*now, part, *then, *weights, gradients, sums)
            actor.backward(*gradients)
            learner.optimizer.step()
            count += 1
        if settings.target_kl is not None and count and sums[3] / count > settings.target_kl:
            break
    names = ("policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction")
    return dict(zip(names, (sums / max(count, 1)).tolist(), strict=True))


def states_of(rollout: Rollout) -> States:
    """Return the T x N states of a rollout."""
    parts = (rollout.queue, rollout.profile, rollout.cluster, rollout.mask)
    return States(*(part.reshape(-1, *part.shape[2:]) for part in parts))


def minibatches(learner: Learner, known: np.ndarray) -> list[np.ndarray]:
    """Return the numbers of the known choices in random order, in `minibatches` parts."""
    indices = known.ravel().nonzero()[0]
    order = torch.randperm(len(indices), generator=learner.generator).numpy()
    return np.array_split(indices[order], learner.settings.minibatches)


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
    gradients: np.ndarray,
    sums: np.ndarray,
) -> None:
    """Compute the loss of proximal policy optimization, and its gradients.

        ratio = exp(log_prob - old_log_prob)
        gain = (advantage - its mean) / its standard deviation
        policy_loss = mean of -min(gain ratio, gain clip(ratio, 1 - clip, 1 + clip))
        value_loss = mean of (value - target)^2
        loss = policy_loss - entropy_weight (mean of entropy) + value_weight value_loss

    * `log_prob`, `entropy`, `value`: (B,) what the network makes of the choices now.
    * `part`: (B,) int64: which of the M states they are made in.
    * `old_log_prob`, `advantage`, `target`: (M,) what the actions were drawn with, their
      advantages, and targets of the values.
    * `value_weight`, `entropy_weight`, `clip`: see `TrainSettings`.
    * `gradients`: (3, B), written: of the loss by `log_prob`, `entropy` and `value`.
    * `sums`: (5,) to which both losses, entropy, divergence, and share of clipped ratios are added.
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
        gradients[0, k] = -free / count if free <= clipped else 0.0
        gradients[1, k] = -entropy_weight / count
        gradients[2, k] = value_weight * 2 * error / count
        sums[0] -= min(free, clipped) / count
        sums[1] += error * error / count
        sums[2] += entropy[k] / count
        sums[3] += (ratio - 1 - log_ratio) / count
        sums[4] += (abs(ratio - 1) > clip) / count


def imitate(learner: Learner, teacher: OrderTeacher, episodes: Episodes, rollout: Rollout) -> None:
    """Let an order act, and teach the network its choices; the learning rate falls to 0."""
    settings, actor, optimizer = learner.settings, learner.actor, learner.optimizer
    rounds = math.ceil(settings.warm_start_steps / (settings.num_envs * settings.num_steps))
    for done in range(rounds):
        # Else the network would end as a copy of the last round's choices, which are alike.
        optimizer.rate = (1 - done / rounds) * settings.learning_rate
        collect(learner, episodes, rollout, teacher)
        actor.load(states_of(rollout))
        action = rollout.action.ravel()
        for _ in range(settings.warm_start_epochs):
            for part in minibatches(learner, rollout.choice):
                if not len(part):
                    continue
                actor.evaluate(part, action[part])
                zeros = np.zeros(len(part), np.float32)
                actor.backward(zeros - np.float32(1 / len(part)), zeros, zeros)  # -mean(log_prob)
                optimizer.step()
    optimizer.rate = settings.learning_rate


def judge(
    learner: Learner, progress: Progress, validation: Validation, run: RunFolder, batch: EnvBatch
) -> None:
    """Score the network on validation; write it as the agent if it is the best so far."""
    score, settings = validation.score(partial(nw.best_actions, learner.network)), learner.settings
    if not progress.validated(score):
        return
    steps = progress.update * settings.num_envs * settings.num_steps
    acting = acting_settings(batch)
    first, *others = settings.workload
    jobs = f"{first} and {len(others)} more" if others else first
    spans = spans_of(validation.envs.batch)
    card = Card(
        name=run.agent.stem,
        division=division_of_settings(acting),
        kind=NETWORK,
        what=f"{settings.network} network trained by {settings.algo} on {jobs}",
        found={"command": command(settings), "steps": steps, "settings": settings.as_dict()},
        trained_on=tuple(spans_of(batch)),
        scores=({"on": "validation", **score._asdict()},),
        versions={name: version(name) for name in ("bfenv", "torch", "numpy")},
        settings=acting,
        observation_version=VERSION,
        network=settings.network,
        hidden=settings.hidden,
        queue_features=tuple(feature.name for feature in batch.queue_features),
        cluster_features=tuple(feature.name for feature in batch.cluster_features),
        validated_on=tuple(spans[k] for k in validation.traces),
    )
    weights = learner.network.state_dict()
    save_network(run.agent, card, {name: value.cpu().numpy() for name, value in weights.items()})
