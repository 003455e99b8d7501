"""The same training with sb3-contrib's MaskablePPO: same network, environments and validation.

This module needs torch, stable-baselines3 and sb3-contrib.
"""

import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.distributions import MaskableDistribution
from sb3_contrib.common.maskable.policies import MaskableMultiInputActorCriticPolicy
from stable_baselines3.common.callbacks import BaseCallback
from torch import Tensor

from bfenv.agents.training.agent_file import write_agent
from bfenv.agents.training.episodes import Episodes
from bfenv.agents.training.maskable_checkpoint import load_maskable, save_maskable
from bfenv.agents.training.networks import (
    NETWORKS,
    Scorer,
    best_actions,
    check_device,
    weights_of,
)
from bfenv.agents.training.progress import Progress
from bfenv.agents.training.run_folder import RunFolder
from bfenv.agents.training.settings import TrainSettings
from bfenv.agents.training.splits import separate_splits
from bfenv.agents.training.validation import Validation
from bfenv.core.errors import BfenvError
from bfenv.envs.sb3 import BackfillVecEnv
from bfenv.envs.settings import EnvSettings
from bfenv.envs.vector import BackfillVectorEnv

OWN = ("warm_start", "wait_penalty_rate", "horizon")  # settings that MaskablePPO does not have


class ScorerPolicy(MaskableMultiInputActorCriticPolicy):
    """A policy of MaskablePPO that is one of `bfenv.agents.training.networks`.

    Parameters
    ----------
    network, hidden
        As those of `TrainSettings`.
    """

    def __init__(
        self,
        observation_space: spaces.Dict,
        action_space: spaces.Discrete,
        lr_schedule: Callable[[float], float],
        network: str = "scorer",
        hidden: int = 32,
        **kwargs: Any,
    ) -> None:
        parts: Any = observation_space
        jobs, cluster = parts["queue"].shape[1], parts["cluster"].shape[0]
        self._make: Callable[[], Scorer] = lambda: NETWORKS[network](jobs, cluster, hidden)
        super().__init__(observation_space, action_space, lr_schedule, **kwargs)

    def _build(self, lr_schedule: Callable[[float], float]) -> None:
        self.scorer = self._make()
        optimizer: Any = self.optimizer_class
        self.optimizer = optimizer(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)

    def forward(
        self, obs: Any, deterministic: bool = False, action_masks: np.ndarray | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return actions, values and the logarithms of the actions' probabilities."""
        distribution, values = self._evaluate(obs, action_masks)
        actions = distribution.get_actions(deterministic=deterministic)
        return actions, values, distribution.log_prob(actions)

    def evaluate_actions(
        self, obs: Any, actions: Tensor, action_masks: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return values, the logarithms of the actions' probabilities, and entropies."""
        distribution, values = self._evaluate(obs, action_masks)
        return values, distribution.log_prob(actions), distribution.entropy()

    def get_distribution(self, obs: Any, action_masks: Any = None) -> Any:
        """Return the distribution of the actions."""
        return self._evaluate(obs, action_masks)[0]

    def predict_values(self, obs: Any) -> Tensor:
        """Return the values."""
        return self._evaluate(obs, None)[1]

    def _evaluate(self, obs: Any, masks: Any) -> tuple[MaskableDistribution, Tensor]:
        scores, values = self.scorer(obs["queue"], obs["profile"], obs["cluster"])
        distribution = self.action_dist.proba_distribution(action_logits=scores)
        if masks is not None:
            distribution.apply_masking(masks)
        return distribution, values.unsqueeze(1)


def train(
    settings: TrainSettings,
    folder: str | Path,
    *,
    resume: bool = False,
    tensorboard: bool = False,
    report: Callable[[dict[str, Any]], None] | None = None,
) -> Path:
    """Train as `bfenv.agents.training.ppo.train` does, with sb3-contrib's learner.

    The folder also gets `model.zip`, a model for `MaskablePPO.load`. A training that is interrupted
    and resumed ends with the same weights, as there.

    Raises
    ------
    BfenvError
        If a setting is wrong or MaskablePPO has no such option, or the folder has another training
        in it.
    """
    default = TrainSettings()
    for name in (*OWN, "credit"):
        if getattr(settings, name) != getattr(default, name):
            raise BfenvError(f"{name}={getattr(settings, name)!r} needs --algo ppo")
    torch.set_num_threads(settings.threads)
    check_device(settings.device)
    envs = new_envs(settings)
    run = RunFolder(Path(folder), settings, resume, tensorboard)
    model, episodes = new_model(settings, envs), Episodes(BackfillVectorEnv.of_batch(envs.batch))
    if resume and run.checkpoint.is_file():
        progress = load_maskable(run.checkpoint, model, episodes)
        run.keep_rows(progress.update)
    else:
        episodes.reset(settings.seed)
        progress = Progress()
    model._last_obs = episodes.observation  # so `learn` does not reset the environments
    model._last_episode_starts = episodes.length == 0
    callback = Judge(settings, run, progress, episodes, report)
    left = 0 if progress.is_over(settings.patience) else settings.steps - model.num_timesteps
    model.learn(left, callback=callback, reset_num_timesteps=False)
    model.save(run.path / "model.zip")
    run.close()
    return run.agent


def new_envs(settings: TrainSettings) -> BackfillVecEnv:
    """Return the environments of a training, with its seed."""
    environment = cast(EnvSettings, dict(settings.environment))
    envs = BackfillVecEnv(settings.num_envs, list(settings.workload), **environment)
    separate_splits(envs.batch.source)
    envs.seed(settings.seed)
    return envs


def new_model(settings: TrainSettings, envs: BackfillVecEnv) -> MaskablePPO:
    """Return a MaskablePPO with the settings of a training."""
    rate = settings.learning_rate
    return MaskablePPO(
        ScorerPolicy,
        envs,
        learning_rate=(lambda left: left * rate) if settings.anneal else rate,
        n_steps=settings.num_steps,
        batch_size=max(2, settings.num_envs * settings.num_steps // settings.minibatches),
        n_epochs=settings.epochs,
        gamma=settings.gamma,
        gae_lambda=settings.gae_lambda,
        clip_range=settings.clip,
        ent_coef=settings.entropy,
        vf_coef=settings.value_weight,
        max_grad_norm=settings.max_grad_norm,
        target_kl=settings.target_kl,
        policy_kwargs={"network": settings.network, "hidden": settings.hidden},
        seed=settings.seed,
        device=settings.device,
    )


class Judge(BaseCallback):
    """Writes the progress of MaskablePPO, validates, and writes the best agent."""

    def __init__(
        self,
        settings: TrainSettings,
        run: RunFolder,
        progress: Progress,
        episodes: Episodes,
        report: Callable[[dict[str, Any]], None] | None,
    ) -> None:
        super().__init__()
        self.settings = settings
        self.run = run
        self.report = report
        self.validation = Validation(settings)
        self.progress = progress
        self.episodes = episodes
        self.metrics: list[dict[str, float]] = []
        self._begin = 0.0

    def _on_training_start(self) -> None:
        if not self.progress.update:
            self._judge()
        self._begin = time.perf_counter()

    def _on_step(self) -> bool:
        self.episodes.record(self.locals["actions"], self.locals["dones"])
        infos = self.locals["infos"]
        self.metrics += [info["metrics"] for info in infos if "metrics" in info]
        return not self.progress.is_over(self.settings.patience)

    def _on_rollout_start(self) -> None:  # the update behind the last rollout is made
        if self._updates() > self.progress.update:
            self._write()

    def _on_training_end(self) -> None:
        if self._updates() > self.progress.update:  # else patience has ended it behind a row
            self._write(last=True)

    def _updates(self) -> int:
        return self.num_timesteps // (self.settings.num_envs * self.settings.num_steps)

    def _write(self, last: bool = False) -> None:
        settings, progress = self.settings, self.progress
        batch = settings.num_envs * settings.num_steps
        progress.update = self._updates()
        progress.seconds += time.perf_counter() - self._begin
        row = {**progress.row(batch, self.metrics), **self._losses()}
        is_judged = last or progress.update % settings.validate_every == 0
        if is_judged:
            self._judge()
            row |= progress.scores()
        self.metrics.clear()
        self.run.write_row(row)
        if is_judged:  # behind the row, as in `bfenv.agents.training.ppo`
            save_maskable(
                self.run.checkpoint, progress, cast(MaskablePPO, self.model), self.episodes
            )
        if self.report is not None:
            self.report(row | progress.scores() | {"best": progress.best})
        self._begin = time.perf_counter()

    def _losses(self) -> dict[str, Any]:
        logged = self.logger.name_to_value
        names = {
            "policy_loss": "policy_gradient_loss",
            "value_loss": "value_loss",
            "approx_kl": "approx_kl",
            "clip_fraction": "clip_fraction",
        }
        losses = {own: logged.get(f"train/{theirs}") for own, theirs in names.items()}
        entropy = logged.get("train/entropy_loss")
        return losses | {"entropy": None if entropy is None else -entropy}

    def _judge(self) -> None:
        scorer = cast(Scorer, self.model.policy.scorer)
        score = self.validation.score(partial(best_actions, scorer))
        if self.progress.validated(score):
            packages = ("bfenv", "torch", "numpy", "stable-baselines3", "sb3-contrib")
            write_agent(
                self.run.agent,
                weights_of(scorer),
                self.settings,
                cast(BackfillVecEnv, self.training_env).batch,
                self.validation,
                score._asdict(),
                self.num_timesteps,
                {name: version(name) for name in packages},
            )
