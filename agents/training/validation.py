"""Scores on the validation split: whole stretches of jobs, beside EASY on the same."""

from typing import NamedTuple, cast

import numpy as np

from bfenv.agents.player import Choose, play_traces
from bfenv.agents.search.objective import OUTCOME, WAIT_MARGIN
from bfenv.agents.training.episodes import separate_splits
from bfenv.agents.training.settings import TrainSettings
from bfenv.core.durations import MINUTE
from bfenv.envs.settings import EnvSettings
from bfenv.envs.vector import BackfillVectorEnv


class Score(NamedTuple):
    """How an agent did on all validation traces."""

    ratio: float  # geometric mean of its mean bounded slowdown over EASY's
    wait_ratio: float  # its longest wait over EASY's, the worst of the traces
    slowdown: float  # mean of the mean bounded slowdowns
    easy_slowdown: float

    @property
    def rank(self) -> tuple[bool, float]:
        """What agents are chosen by, the lowest first; those beyond WAIT_MARGIN come last."""
        return self.wait_ratio > WAIT_MARGIN, self.ratio


class Validation:
    """The validation split of some of the traces of a training, each one episode."""

    def __init__(self, settings: TrainSettings) -> None:
        environment = {
            **settings.environment,
            "split": "validation",
            "episode_jobs": None,
            "max_episode_steps": None,
        }
        load = settings.environment.get("load")
        loads = len(load) if isinstance(load, list | tuple) else 1
        count = min(len(settings.workload) * loads, settings.validation_traces)
        self.envs = BackfillVectorEnv(
            count, list(settings.workload), "disabled", **cast(EnvSettings, environment)
        )
        separate_splits(self.envs.batch.source)
        traces = len(self.envs.batch.source.traces)
        self.traces = np.unique(np.linspace(0, traces - 1, count).round().astype(int)).tolist()

    def score(self, choose: Choose) -> Score:
        """Play every trace once, with actions chosen from observations and masks."""
        metrics = play_traces(self.envs, self.traces, choose)
        own, wait, easy, easy_wait = (
            np.array([each[name] for each in metrics]) for name in OUTCOME
        )
        return Score(
            float(np.exp(np.log(own / easy).mean())),
            float((wait / np.maximum(easy_wait, MINUTE)).max()),
            float(own.mean()),
            float(easy.mean()),
        )
