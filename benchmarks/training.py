"""Steps per second of a training with `bfenv train`. This module needs torch."""

import time
from collections.abc import Iterator

import torch

from benchmarks.measurements import Measurement, measurement
from bfenv.agents.training import change, find_settings, ppo
from bfenv.agents.training.episodes import Episodes, make_envs
from bfenv.agents.training.progress import Progress
from bfenv.agents.training.rollout import new_rollout
from bfenv.agents.training.settings import DEFAULT

LEARNED = 2  # updates before the first that counts: code is compiled, and queues become longer


def measure_training(
    repeat: int, preset: str = DEFAULT, threads: int | None = None
) -> Iterator[Measurement]:
    """Measure updates: acting in all environments, and learning from it, by CPU time.

    The learning rate stays constant. `threads` are torch's; by default they are the preset's.
    """
    settings = change(find_settings(preset), {"anneal": False, "device": "cpu"})
    if threads is not None:
        settings = change(settings, {"threads": threads})
    torch.set_num_threads(settings.threads)
    envs = make_envs(settings)
    episodes = Episodes(envs)
    episodes.reset(settings.seed)
    learner, rollout = ppo.new_learner(settings, envs.batch), new_rollout(settings, episodes)
    progress = Progress(wait_penalty=envs.batch.settings["wait_penalty"])
    rates = []
    for _ in range(LEARNED + repeat):
        begin = time.process_time()
        ppo.improve(learner, episodes, rollout, progress, 1)
        progress.update += 1
        rates.append(settings.num_envs * settings.num_steps / (time.process_time() - begin))
    what = f"preset {preset}, {settings.threads} thread{'s' if settings.threads > 1 else ''}"
    yield measurement("training", what, "bfenv train", 0, rates[LEARNED:], "steps/s")
