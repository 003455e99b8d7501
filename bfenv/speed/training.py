"""Steps per second of a training, with the learner of `bfenv train` and with sb3-contrib's.

This module needs torch; without sb3-contrib only the own learner is measured.
"""

import time
from collections.abc import Callable, Iterator

import torch

from bfenv.agents.training import change, find_settings, ppo
from bfenv.agents.training.episodes import Episodes, make_envs
from bfenv.agents.training.progress import Progress
from bfenv.agents.training.rollout import new_rollout
from bfenv.agents.training.settings import DEFAULT, TrainSettings
from bfenv.speed.measurements import Measurement, measurement

LEARNED = 2  # updates before the first that counts: code is compiled, and queues become longer


def measure_training(
    repeat: int, preset: str = DEFAULT, threads: int | None = None
) -> Iterator[Measurement]:
    """Measure updates: acting in all environments, and learning from it.

    Both learners have the same network, environments and settings, see `new_model` in
    `bfenv.agents.training.maskable_ppo`. Their updates are made in turns, so that other load on
    the machine affects both alike, and take the CPU time of the process.

    Parameters
    ----------
    repeat
        Number of updates.
    preset
        A name or a file for `find_settings`. Its learning rate stays constant.
    threads
        Of torch, instead of those of the preset.

    Yields
    ------
    Measurement
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
    learner, rollout = ppo.new_learner(settings, envs.batch), new_rollout(settings, episodes)
    progress = Progress(wait_penalty=envs.batch.settings["wait_penalty"])

    def update() -> None:
        ppo.improve(learner, episodes, rollout, progress, 1)
        progress.update += 1

    return update


def _maskable_ppo(settings: TrainSettings) -> Callable[[], None]:
    """Return a function that makes an update with sb3-contrib's MaskablePPO."""
    from bfenv.agents.training.maskable_ppo import new_envs, new_model

    model = new_model(settings, new_envs(settings))
    steps = settings.num_envs * settings.num_steps

    def update() -> None:
        model.learn(steps, reset_num_timesteps=False)

    return update
