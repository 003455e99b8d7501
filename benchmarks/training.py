"""Steps per second of a training, with the learner of `bfenv train` and with sb3-contrib's.

This module needs torch; without sb3-contrib only the own learner is measured.
"""

import time
from collections.abc import Callable, Iterator
from itertools import count
from typing import cast

import torch

from benchmarks.measurements import Measurement, measurement
from bfenv.agents.training import change, find_settings, ppo
from bfenv.agents.training.episodes import Episodes, make_envs, separate_splits
from bfenv.agents.training.settings import DEFAULT, TrainSettings
from bfenv.envs.settings import EnvSettings

LEARNED = 2  # updates before the first that counts: code is compiled, and queues become longer


def measure_training(
    repeat: int, preset: str = DEFAULT, threads: int | None = None
) -> Iterator[Measurement]:
    """Measure updates: acting in all environments, and learning from it.

    Both learners have the same network, environments and settings. Their updates are made in turns,
    so that other load on the machine affects both alike, and take the CPU time of the process.

    Args:
        repeat: Number of updates.
        preset: A name or a file for `find_settings`. Its learning rate stays constant.
        threads: How many threads torch uses; None for the number in the preset.

    Yields:
        Steps per second.
    """
    settings = change(find_settings(preset), {"anneal": False, "device": "cpu"})
    if threads is not None:
        settings = change(settings, {"threads": threads})
    torch.set_num_threads(settings.threads)
    learners = {"bfenv train": _own(settings)}
    try:
        learners["sb3-contrib's MaskablePPO"] = _maskable_ppo(settings)
    except ModuleNotFoundError:  # sb3-contrib is optional
        pass
    times: dict[str, list[float]] = {name: [] for name in learners}
    for _ in range(LEARNED + repeat):
        for name, update in learners.items():
            begin = time.process_time()
            update()
            times[name].append(time.process_time() - begin)
    steps = settings.num_envs * settings.num_steps
    what = f"preset {preset}, {settings.threads} thread{'s' if settings.threads > 1 else ''}"
    for name, seconds in times.items():
        rates = [steps / each for each in seconds[LEARNED:]]
        yield measurement("training", what, name, 0, rates, "steps/s")


def _own(settings: TrainSettings) -> Callable[[], None]:
    """Return a function that makes an update with `bfenv.agents.training.ppo`."""
    envs = make_envs(settings)
    episodes = Episodes(envs)
    episodes.reset(settings.seed)
    learner, rollout = ppo.new_learner(settings, envs.batch), ppo.new_rollout(settings, episodes)
    done = count()

    def update() -> None:
        ppo.improve(learner, episodes, rollout, next(done), 1)

    return update


def _maskable_ppo(settings: TrainSettings) -> Callable[[], None]:
    """Return a function that makes an update with sb3-contrib's MaskablePPO."""
    from sb3_contrib import MaskablePPO

    from bfenv.agents.sb3_policies import ScorerPolicy
    from bfenv.envs.sb3 import BackfillVecEnv

    environment = cast(EnvSettings, dict(settings.environment))
    envs = BackfillVecEnv(settings.num_envs, list(settings.workload), **environment)
    separate_splits(envs.batch.source)
    envs.seed(settings.seed)
    steps = settings.num_envs * settings.num_steps
    model = MaskablePPO(
        ScorerPolicy,
        envs,
        learning_rate=settings.learning_rate,
        n_steps=settings.num_steps,
        batch_size=steps // settings.minibatches,
        n_epochs=settings.epochs,
        gamma=settings.gamma,
        gae_lambda=settings.gae_lambda,
        clip_range=settings.clip,
        ent_coef=settings.entropy,
        vf_coef=settings.value_weight,
        max_grad_norm=settings.max_grad_norm,
        policy_kwargs={"network": settings.network, "hidden": settings.hidden},
        seed=settings.seed,
        device=settings.device,
    )

    def update() -> None:
        model.learn(steps, reset_num_timesteps=False)

    return update
