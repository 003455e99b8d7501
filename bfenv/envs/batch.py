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

from bfenv.core.arguments import check_integer
from bfenv.envs import episode
from bfenv.envs.batch_state import (
    TRACE,
    EnvRules,
    StepBuffers,
    StepTotals,
    cluster_of,
    new_state,
    new_tables,
    truth_of,
)
from bfenv.envs.episode_source import EpisodeSource, EpisodeWindow
from bfenv.envs.features import CLUSTER, JOB_FEATURES, PROFILE, Feature, job_columns
from bfenv.envs.legal_actions import IDLE
from bfenv.envs.reward import EndedJobs, Totals, find_reward
from bfenv.envs.settings import EnvSettings, Workloads, complete_settings, seconds_of
from bfenv.envs.slots import ORDER_NAMES, find_window_rule
from bfenv.envs.truncation import charge_unstarted
from bfenv.envs.warm_up import Reference, ReferenceTotals, warm_up

Observation = Any  # arrays by the keys of the observation space, or one array if it is flat
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
        self.settings = complete_settings(settings)
        values = self.settings
        self.source = EpisodeSource(
            workload,
            values["load"],
            values["split"],
            values["warmup_jobs"],
            values["episode_jobs"],
        )
        self.window = int(values["window"])
        self.every_pass = bool(values["every_pass"])
        self.render_mode = values["render_mode"]
        self.flat = bool(values["flat"])
        self.reward = find_reward(values["reward"], values["wait_penalty"])
        self.reference = self._find_reference()
        self._set_rules()
        self.state = new_state(self.source.traces, count, self.window)
        self._set_kernel_arguments()
        self.job_counts = np.zeros(count, dtype=np.int64)  # jobs of the episode in each
        self.windows: list[EpisodeWindow | None] = [None] * count
        self._reference_totals = np.full((count, len(ReferenceTotals._fields)), np.nan)
        self.generators: list[np.random.Generator | None] = [None] * count  # sample episodes
        self.seeds: list[int | None] = [None] * count  # of the generators
        self._most_steps = values["max_episode_steps"]
        self.ready = False  # whether an episode has been opened in every environment
        self.action_space = spaces.Discrete(self.window + 1)
        self.observation_space = self._observation_space()

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
        window = self.windows[i] = self.source.sample(generator, options)
        if self.reference is not None:
            self._reference_totals[i] = self.reference.totals(window)
        self.state.counters[i, TRACE] = window.k
        self.job_counts[i] = window.last - window.first
        cluster, truth = cluster_of(self.state, i), truth_of(self.state, self._tables, i)
        ended = warm_up(cluster, truth, self.source.traces[window.k], window)
        first, last = window.first, window.last
        episode.begin_episode(self.state, self._tables, self.rules, i, first, last, ended)
        self.ready = self.ready or bool(self.job_counts.all())
        episode.write_outputs(self.state, self._tables, self.rules, i, buffers)

    def new_buffers(self) -> StepBuffers:
        """Allocate buffers for a step; each step needs its own, as observations must not change."""
        count = len(self)
        return StepBuffers(
            np.empty((count, self.window, len(self.queue_features)), dtype=np.float32),
            np.empty((count, len(PROFILE)), dtype=np.float32),
            np.empty((count, len(CLUSTER)), dtype=np.float32),
            np.empty((count, len(StepTotals._fields))),
        )

    def step(self, actions: np.ndarray) -> StepBuffers:
        """Act in every environment; a truncated episode is charged for what has not started.

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
        if self._most_steps is not None:
            totals = StepTotals(*buffers.totals.T)
            cut = (totals.steps >= self._most_steps) & (totals.unstarted > 0)
            for i in np.flatnonzero(cut).tolist():
                trace = self.source.traces[self.state.counters[i, TRACE]]
                charge_unstarted(self.state, trace, i, totals_of(buffers, i), buffers.totals[i])
        return buffers

    def observations(self, buffers: StepBuffers) -> Observation:
        """Return the observations of all environments, as the observation space has them."""
        if not self.flat:
            return {"queue": buffers.queue, "profile": buffers.profile, "cluster": buffers.cluster}
        queue = buffers.queue.reshape(len(self), -1)
        parts = (queue, buffers.profile, buffers.cluster, self.state.mask.astype(np.float32))
        return np.concatenate(parts, axis=1)

    def observation(self, buffers: StepBuffers, i: int) -> Observation:
        """Copy the observation of environment i, before that of its next episode replaces it."""
        if not self.flat:
            parts = self.observations(buffers)
            return {key: part[i].copy() for key, part in parts.items()}
        mask = self.state.mask[i].astype(np.float32)
        queue, profile, cluster, _ = (part[i] for part in buffers)
        return np.concatenate([queue.ravel(), profile, cluster, mask])

    def rewards(self, rows: np.ndarray) -> np.ndarray:
        """Return the (N,) float64 rewards of the last actions, from StepBuffers.totals."""
        if self.reward.takes_arrays:
            totals = StepTotals(*rows.T)
            before, after = reward_arguments(totals, self.job_counts, self._reference_totals.T)
            return np.asarray(self.reward.function(before, after), dtype=np.float64)
        rewards = [self.reward_of(i, StepTotals(*row)) for i, row in enumerate(rows.tolist())]
        return np.array(rewards)

    def reward_of(self, i: int, totals: StepTotals) -> float:
        """Return the reward of the last action in environment i."""
        reference = self._reference_totals[i].tolist()
        arguments: tuple[Any, ...]
        arguments = reward_arguments(totals, int(self.job_counts[i]), reference)
        if self.reward.takes_ended:
            arguments = (*arguments, self.ended_jobs(i, totals))
        return float(self.reward.function(*arguments))

    def ended_jobs(self, i: int, totals: StepTotals) -> EndedJobs:
        """Return the jobs of the episode that ended since the last decision in environment i."""
        window = self.windows[i]
        assert window is not None, "an episode has been opened"
        cluster, jobs = cluster_of(self.state, i), self.source.traces[window.k].jobs
        end = cluster.end[window.first : window.last]
        since = totals.before_now if totals.steps > 1 else -1
        job = window.first + np.flatnonzero((end >= 0) & (end > since))
        submit, size, estimate = jobs.submit[job], jobs.size[job], jobs.estimate[job]
        return EndedJobs(job, size, estimate, submit, cluster.start[job], cluster.end[job])

    def endings(self, totals: StepTotals) -> tuple[Any, Any]:
        """Return whether episodes are terminated, and whether they are truncated."""
        limit = np.inf if self._most_steps is None else self._most_steps
        return totals.unstarted == 0, totals.steps >= limit

    def info(self, i: int, totals: StepTotals) -> Info:
        """Return the info of environment i; at the end of its episode with the metrics."""
        info = _info(self.state.mask[i], totals, int)
        if any(self.endings(totals)):
            jobs = int(self.job_counts[i])
            info["metrics"] = {
                "mean_wait": totals.wait / jobs,
                "mean_bounded_slowdown": totals.slowdown / jobs,
                "longest_wait": totals.longest,
                "outside_window": totals.outside / max(totals.steps, 1),
                "charged_jobs": int(totals.unstarted),
            }
            if self.reference is not None:
                slowdown, longest = self._reference_totals[i].tolist()
                info["metrics"]["reference_bounded_slowdown"] = slowdown / jobs
                info["metrics"]["reference_longest_wait"] = longest
        return info

    def infos(self, totals: StepTotals) -> dict[str, np.ndarray]:
        """Return the infos of all environments but the metrics, in (N,) and (N, ...) arrays."""
        return _info(self.state.mask, totals, lambda values: values.astype(np.int64))

    def _find_reference(self) -> Reference | None:
        policy = self.settings["reference"]
        if policy is None and self.reward.needs_reference:
            policy = "easy"
        return None if policy is None else Reference(policy, self.source)

    def _set_rules(self) -> None:
        """Derive the rules and the features from the settings and the traces."""
        values, traces = self.settings, self.source.traces
        # A depth beyond the longest trace reserves for all jobs; kernels take 64 bits.
        depth = min(values["reservation_depth"], max(map(len, traces)))
        age = seconds_of(values["max_age"])
        groups = values["job_features"]
        if groups is None:
            groups = _features_of(self.source)
        self.queue_features = job_columns(groups, values["max_age"] is not None)
        reserved = self.window if depth < 0 else min(depth, self.window)
        order = values["window_order"]
        self.rules = EnvRules(
            depth,
            values["head"] == "chosen",
            IDLE.index(values["idle"]),
            age,
            self.every_pass,
            *find_window_rule(order, self.window, reserved),
            user_column=self._column("user_runtime"),
            priority_column=self._column("priority"),
            start_column=self._column("start_in"),
            age_column=self._column("age"),
        )
        self._order = order if order in ORDER_NAMES else None

    def _column(self, name: str) -> int:
        names = [feature.name for feature in self.queue_features]
        return names.index(name) if name in names else -1

    def _observation_space(self) -> spaces.Space[Any]:
        queue = _box(self.queue_features, self.window)
        parts: dict[str, spaces.Box] = {
            "queue": queue,
            "profile": _box(PROFILE),
            "cluster": _box(CLUSTER),
        }
        if not self.flat:
            return spaces.Dict(dict[str, spaces.Space[Any]](parts))
        low = [part.low.ravel() for part in parts.values()] + [np.zeros(self.window + 1)]
        high = [part.high.ravel() for part in parts.values()] + [np.ones(self.window + 1)]
        return spaces.Box(
            np.concatenate(low).astype(np.float32), np.concatenate(high).astype(np.float32)
        )

    def _set_kernel_arguments(self) -> None:
        """Derive the tables, and the plain tuples that `episode.step_and_write` takes."""
        self._tables = new_tables(self.source.traces, self._order)
        self._kernel_arguments = tuple(self.state), tuple(self._tables), tuple(self.rules)


def totals_of(buffers: StepBuffers, i: int) -> StepTotals:
    """Return the totals of environment i, as Python's floats."""
    return StepTotals(*buffers.totals[i].tolist())


def reward_arguments(totals: StepTotals, jobs: Any, reference: Any) -> tuple[Totals, Totals]:
    """Return what a reward compares: the totals at the last decision, and now."""
    before = Totals(
        totals.before_now,
        jobs,
        totals.before_submitted,
        totals.before_wait,
        totals.before_slowdown,
        totals.before_longest,
        *reference,
    )
    after = Totals(
        totals.now,
        jobs,
        totals.submitted,
        totals.wait,
        totals.slowdown,
        totals.longest,
        *reference,
    )
    return before, after


def _info(mask: np.ndarray, totals: StepTotals, integer: Callable[[Any], Any]) -> Info:
    """Return the info of one environment or, in arrays, of all."""
    return {
        "action_mask": mask.copy(),
        "now": integer(totals.now),
        "dt": integer((totals.now - totals.before_now) * (totals.steps > 0)),
        "illegal_action": totals.last_illegal > 0,
        "illegal_actions": integer(totals.illegal_actions),
        "forced_starts": integer(totals.forced_starts),
    }


def _features_of(source: EpisodeSource) -> list[str]:
    """Return the groups of features that vary in some trace."""
    varies = {
        "users": any(bool((trace.jobs.user >= 0).any()) for trace in source.traces),
        "priority": any(bool(trace.jobs.priority.any()) for trace in source.traces),
        "requested_start": any(bool(t.jobs.requested_start.any()) for t in source.traces),
    }
    return [name for name in JOB_FEATURES if varies[name]]


def _box(features: tuple[Feature, ...], *rows: int) -> spaces.Box:
    low = np.broadcast_to([f.low for f in features], (*rows, len(features)))
    high = np.broadcast_to([f.high for f in features], (*rows, len(features)))
    return spaces.Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)
