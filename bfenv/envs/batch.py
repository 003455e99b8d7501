"""EnvBatch: N environments of one configuration, stepped by one kernel call.

Episodes, rewards and infos are here. `backfill`, `vector` and `sb3` put the interfaces of Gymnasium
and of stable-baselines3 on it.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.utils.seeding import np_random

from bfenv.baselines.registry import find_policy
from bfenv.core.arguments import check_integer
from bfenv.core.cluster import HORIZON, LAST_JOB, reset
from bfenv.core.jobs import FOREVER
from bfenv.envs import episode
from bfenv.envs.batch_state import (
    TRACE,
    GuardRules,
    StepBuffers,
    StepTotals,
    cluster_of,
    new_buffers,
    new_state,
    new_tables,
    truth_of,
)
from bfenv.envs.episode_source import EpisodeSource, EpisodeWindow
from bfenv.envs.observation import CLUSTER, PROFILE, QUEUE, Feature
from bfenv.envs.reward import REWARDS, Totals, find_reward
from bfenv.envs.settings import EnvSettings, Workloads, complete_settings

WARM_UP_POLICY = "easy"  # schedules the jobs before an episode
REQUESTED_START_POLICY = "conservative"  # in its place where jobs have requested start times

Observation = dict[str, Any]  # arrays, by the keys of the observation space
Info = dict[str, Any]


class EnvBatch:
    """N environments side by side, and what they share; for the settings see `BackfillEnv`.

    Raises
    ------
    BfenvError
        If a setting is wrong.
    """

    def __init__(self, count: int, workload: Workloads, settings: EnvSettings) -> None:
        count = check_integer("num_envs", count, 1)
        values = complete_settings(settings)
        warmup_jobs, episode_jobs = values["warmup_jobs"], values["episode_jobs"]
        self.source = EpisodeSource(
            workload, values["load"], values["split"], warmup_jobs, episode_jobs
        )
        self.window = int(values["window"])
        self.every_pass = bool(values["every_pass"])
        self.render_mode = values["render_mode"]
        self.reward = find_reward(values["reward"])
        traces = self.source.traces
        # A depth beyond the longest trace reserves for all jobs; kernels take 64 bits.
        depth = min(values["reservation_depth"], max(map(len, traces)))
        self._rules = GuardRules(depth, self.every_pass)
        self.state = new_state(traces, count, self.window)
        self._set_kernel_arguments()
        self.job_counts = np.zeros(count, dtype=np.int64)  # jobs of the episode in each
        self.generators: list[np.random.Generator | None] = [None] * count  # sample episodes
        self.seeds: list[int | None] = [None] * count  # of the generators
        self._most_steps = values["max_episode_steps"]
        self.ready = False  # whether an episode has been opened in every environment
        self.action_space = spaces.Discrete(self.window + 1)
        self.observation_space = spaces.Dict(
            {"queue": _box(QUEUE, self.window), "profile": _box(PROFILE), "cluster": _box(CLUSTER)}
        )

    def __len__(self) -> int:
        return len(self.job_counts)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the tables: they copy the traces, and would be unpickled as writeable."""
        derived = ("_tables", "_kernel_arguments")
        return {name: value for name, value in self.__dict__.items() if name not in derived}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._set_kernel_arguments()

    def seed(self, i: int, seed: int | None) -> None:
        """Give environment i a new generator if a seed is given or it has none."""
        if seed is not None or self.generators[i] is None:
            self.generators[i], self.seeds[i] = np_random(seed)

    def open_episode(
        self, i: int, buffers: StepBuffers, options: Mapping[str, Any] | None = None
    ) -> None:
        """Open an episode in environment i, and write what it shows into its row of the buffers.

        Raises
        ------
        BfenvError
            As `EpisodeSource.sample`; the environment is then as it was.
        """
        generator = self.generators[i]
        if generator is None:
            raise ResetNeeded("an episode needs a seeded environment")
        window = self.source.sample(generator, options)
        self.state.counters[i, TRACE] = window.k
        self.job_counts[i] = window.last - window.first
        self._warm_up(i, window)
        first, last = window.first, window.last
        episode.begin_episode(self.state, self._tables, self._rules, i, window.opening, first, last)
        self.ready = self.ready or bool(self.job_counts.all())
        episode.write_outputs(self.state, self._tables, i, buffers)

    def new_buffers(self) -> StepBuffers:
        """Allocate buffers for a step; each step needs its own, as observations must not change."""
        return new_buffers(len(self), self.window)

    def step(self, actions: np.ndarray) -> StepBuffers:
        """Act in every environment.

        Parameters
        ----------
        actions
            (N,) int64

        Raises
        ------
        ResetNeeded
            If an environment has no episode yet.
        """
        if not self.ready:
            raise ResetNeeded("step needs a reset before it")
        buffers = self.new_buffers()
        episode.step_and_write(*self._kernel_arguments, actions, tuple(buffers))
        return buffers

    def rewards(self, rows: np.ndarray) -> np.ndarray:
        """Return the (N,) float64 rewards of the last actions, from StepBuffers.totals."""
        totals = StepTotals(*rows.T)
        if self.reward in REWARDS.values():  # which take arrays
            before, after = _reward_arguments(totals, self.job_counts)
            return np.where(totals.last_illegal, 0.0, self.reward(before, after))
        values = zip(rows.tolist(), self.job_counts.tolist(), strict=True)
        return np.array([self._reward(StepTotals(*row), jobs) for row, jobs in values])

    def reward_of(self, i: int, totals: StepTotals) -> float:
        """Return the reward of the last action in environment i; 0 for an illegal one."""
        return self._reward(totals, int(self.job_counts[i]))

    def endings(self, totals: StepTotals) -> tuple[Any, Any]:
        """Return whether episodes are terminated, and whether they are truncated."""
        limit = np.inf if self._most_steps is None else self._most_steps
        return totals.unstarted == 0, totals.steps >= limit

    def info(self, i: int, totals: StepTotals) -> Info:
        """Return the info of environment i; at the end of its episode with the metrics."""
        info = _info(self.state.mask[i], totals, int)
        if totals.unstarted == 0:
            jobs = int(self.job_counts[i])
            info["metrics"] = {
                "mean_wait": totals.wait / jobs,
                "mean_bounded_slowdown": totals.bounded_slowdown / jobs,
            }
        return info

    def infos(self, totals: StepTotals) -> dict[str, np.ndarray]:
        """Return the infos of all environments but the metrics, in (N,) and (N, ...) arrays."""
        return _info(self.state.mask, totals, lambda values: values.astype(np.int64))

    def _set_kernel_arguments(self) -> None:
        """Derive the tables, and the plain tuples that `episode.step_and_write` takes."""
        self._tables = new_tables(self.source.traces)
        self._kernel_arguments = tuple(self.state), tuple(self._tables), tuple(self._rules)

    def _reward(self, totals: StepTotals, jobs: int) -> float:
        before, after = _reward_arguments(totals, jobs)
        return 0.0 if totals.last_illegal else float(self.reward(before, after))

    def _warm_up(self, i: int, window: EpisodeWindow) -> None:
        """Schedule the jobs before the episode on an empty machine."""
        trace = self.source.traces[window.k]
        cluster, truth = cluster_of(self.state, i), truth_of(self.state, self._tables, i)
        reset(cluster, truth, trace.processors, window.opening, window.end)
        if window.opening == window.first:
            return
        jobs = trace.jobs
        cluster.state[LAST_JOB] = window.first
        cluster.state[HORIZON] = jobs.submit[window.first]
        requested = bool(jobs.requested_start.any())
        policy = find_policy(REQUESTED_START_POLICY if requested else WARM_UP_POLICY)
        assert policy.run is not None, "both policies are compiled"
        memory = policy.memory(jobs, trace.processors, np.random.default_rng(0))
        policy.run(cluster, jobs, truth, memory)
        cluster.state[LAST_JOB] = window.end
        cluster.state[HORIZON] = FOREVER


def observations(buffers: StepBuffers) -> Observation:
    """Return the observations of all environments, by the keys of the observation space."""
    return {"queue": buffers.queue, "profile": buffers.profile, "cluster": buffers.cluster}


def copy_observation(buffers: StepBuffers, i: int) -> Observation:
    """Copy the observation of environment i, before that of its next episode replaces it."""
    return {key: part[i].copy() for key, part in observations(buffers).items()}


def totals_of(buffers: StepBuffers, i: int) -> StepTotals:
    """Return the totals of environment i, as Python's floats."""
    return StepTotals(*buffers.totals[i].tolist())


def _reward_arguments(totals: StepTotals, jobs: Any) -> tuple[Totals, Totals]:
    before = Totals(totals.before_now, jobs, totals.before_wait, totals.before_bounded_slowdown)
    return before, Totals(totals.now, jobs, totals.wait, totals.bounded_slowdown)


def _info(mask: np.ndarray, totals: StepTotals, integer: Callable[[Any], Any]) -> Info:
    """Return the info of one environment or, in arrays, of all."""
    return {
        "action_mask": mask.copy(),
        "now": integer(totals.now),
        "illegal_action": totals.last_illegal > 0,
        "illegal_actions": integer(totals.illegal_actions),
        "forced_starts": integer(totals.forced_starts),
    }


def _box(features: tuple[Feature, ...], *rows: int) -> spaces.Box:
    low = np.broadcast_to([f.low for f in features], (*rows, len(features)))
    high = np.broadcast_to([f.high for f in features], (*rows, len(features)))
    return spaces.Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)
