"""The environments of a training, whose state can be saved: seeds, and the actions since."""

from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from gymnasium.utils.seeding import np_random

from bfenv.agents.training.settings import TrainSettings
from bfenv.envs.episode_source import EpisodeSource
from bfenv.envs.settings import EnvSettings
from bfenv.envs.vector import BackfillVectorEnv


class Step(NamedTuple):
    """What an action in every environment leads to; arrays are (num_envs, ...)."""

    reward: np.ndarray  # float64
    seconds: np.ndarray  # int64, by which the clock has run on
    over: np.ndarray  # bool; the observation is then the first of the next episode
    metrics: list[dict[str, float]]  # of the episodes that are over


class Episodes:
    """A `BackfillVectorEnv`, its latest observations, and how to come back to them.

    An episode is a function of its generator's state when it began and of the actions since, so
    these are what `state` returns: numbers only, and no pickle. `restore` plays them again.
    """

    def __init__(self, envs: BackfillVectorEnv) -> None:
        self.envs = envs
        count = envs.num_envs
        self.length = np.zeros(count, dtype=np.int64)  # actions in each episode so far
        self._actions: deque[np.ndarray] = deque()  # (num_envs,) int32 each, the latest last
        self._first: list[Any] = [None] * count  # states of the generators before the episodes
        self._next: list[Any] = [None] * count  # and behind their openings

    def reset(self, seed: int | Sequence[int]) -> None:
        """Open an episode in every environment.

        * `seed`: one for each environment, or a number s for s, s + 1 and so on. Environments with
          the same seed play the same jobs, episode by episode.
        """
        count = self.envs.num_envs
        seeds = [seed + i for i in range(count)] if isinstance(seed, int) else list(seed)
        self._first = [np_random(each)[0].bit_generator.state for each in seeds]
        self.observation, _ = self.envs.reset(seed=seeds)
        self._next = [self._generator_state(i) for i in range(count)]
        self.mask = self.envs.action_masks()
        self.length[:] = 0
        self._actions.clear()

    def step(self, actions: np.ndarray) -> Step:
        """Act in every environment, (num_envs,) int."""
        self.observation, reward, terminated, truncated, infos = self.envs.step(actions)
        self.mask = infos["action_mask"].astype(bool)
        over = terminated | truncated
        seconds, metrics = infos["dt"], []
        self._actions.append(actions.astype(np.int32))
        self.length += 1
        self.length[over] = 0
        while len(self._actions) > self.length.max():
            self._actions.popleft()
        if over.any():
            final = infos["final_info"]
            seconds = np.where(over, final["dt"], seconds)
            columns = {name: v for name, v in final["metrics"].items() if name[0] != "_"}
            for i in np.flatnonzero(over).tolist():
                self._first[i], self._next[i] = self._next[i], self._generator_state(i)
                metrics.append({name: float(v[i]) for name, v in columns.items()})
        return Step(reward, seconds, over, metrics)

    def state(self) -> dict[str, Any]:
        """Return generators, lengths of episodes and actions; all but `actions` fit JSON."""
        count = self.envs.num_envs
        actions = np.array(self._actions, dtype=np.int32).reshape(-1, count)
        return {"actions": actions, "generators": self._first, "length": self.length.tolist()}

    def restore(self, state: dict[str, Any]) -> None:
        """Come back to a state by playing the episodes again from their beginnings."""
        actions, lengths = state["actions"], np.array(state["length"], dtype=np.int64)
        self.reset(0)
        for k in range(len(actions) + 1):
            begins = lengths == len(actions) - k
            if begins.any():
                for i in np.flatnonzero(begins).tolist():
                    self._generator(i).bit_generator.state = state["generators"][i]
                self.observation, _ = self.envs.reset(options={"reset_mask": begins})
                for i in np.flatnonzero(begins).tolist():
                    self._first[i], self._next[i] = state["generators"][i], self._generator_state(i)
            if k < len(actions):
                self.observation, *_ = self.envs.step(actions[k].astype(np.int64))
        self.mask = self.envs.action_masks()
        self.length = lengths
        self._actions = deque(actions)

    def _generator(self, i: int) -> np.random.Generator:
        generator = self.envs.np_random[i]
        assert generator is not None, "the environments have been reset"
        return generator

    def _generator_state(self, i: int) -> Any:
        return self._generator(i).bit_generator.state


def make_envs(settings: TrainSettings) -> BackfillVectorEnv:
    """Return the environments of a training; episodes that are over begin again by themselves."""
    environment = cast(EnvSettings, dict(settings.environment))
    envs = BackfillVectorEnv(settings.num_envs, list(settings.workload), **environment)
    separate_splits(envs.batch.source)
    return envs


def separate_splits(source: EpisodeSource) -> None:
    """Take episodes only from jobs that are in the split at each load of their workload.

    A split is a part of a trace's time span. Where a workload keeps the length of its days at any
    load, as the embedded model does, its bounds fall on other jobs at another load. This way, no
    job of a training is validated on at another load, and none that is validated on is in another
    load's test split.

    Raises BfenvError if too few jobs are left for an episode.
    """
    alike = defaultdict(list)  # the traces of the same jobs
    for k, trace in enumerate(source.traces):
        alike[trace.jobs.size.tobytes(), trace.runtime.tobytes()].append(k)
    splits = list(source.splits)
    for group in alike.values():
        firsts, lasts = zip(*(source.splits[k] for k in group), strict=True)
        for k in group:
            splits[k] = max(firsts), min(lasts)
    source.narrow(splits)
