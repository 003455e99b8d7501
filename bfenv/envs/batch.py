"""EnvBatch: N environments of one configuration, stepped by one kernel call.

Episodes, rewards and infos are here. `backfill`, `vector` and `sb3` put the interfaces of Gymnasium
and of stable-baselines3 on it.
"""

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.utils.seeding import np_random

import bfenv.envs.batch_state as at
from bfenv.baselines.easy import run as run_easy
from bfenv.core.arguments import check_integer
from bfenv.core.cluster import PROCESSORS, expected_ends, now, running, waiting
from bfenv.core.errors import BfenvError
from bfenv.core.events import unknown_jobs
from bfenv.core.jobs import Jobs, Trace
from bfenv.core.kernel import Code
from bfenv.core.schedule import bounded_slowdown
from bfenv.envs.episode import open_episode, step
from bfenv.envs.episode_source import EpisodeSource, EpisodeWindow
from bfenv.envs.features import PROFILE, observation_space
from bfenv.envs.reward import (
    NO_METRICS,
    EndedJobs,
    Info,
    find_reward,
    infos_of,
    metrics_of,
    reward_arguments,
)
from bfenv.envs.rules import find_cluster_features, find_job_features, find_rules
from bfenv.envs.settings import EnvSettings, Workloads, complete_settings
from bfenv.envs.warm_up import Reference, warm_up

Observation = Any  # arrays by the keys of the observation space, or one array if it is flat
MOST_THREADS = 256
HEAD_START = 0.2  # parts that the calling thread takes beyond its own
NO_ACTION = np.zeros(1, dtype=np.int64)  # in an environment that has just been opened
FLOAT32 = np.dtype(np.float32)  # of a type, numpy would look up the dtype at each allocation


class EnvBatch:
    """N environments side by side, and what they share; for the settings see `BackfillEnv`.

    `_state` and `_tables` hold what only the simulator knows: when the running jobs end. So do the
    runtimes of `source.traces`, which are for scoring. An agent that reads them cheats.

    Raises BfenvError if a setting is wrong.
    """

    def __init__(
        self, count: int, workload: Workloads | None, settings: EnvSettings, threads: int = 1
    ) -> None:
        count = check_integer("num_envs", count, 1)
        self.threads = check_integer("threads", threads, 1, MOST_THREADS)
        self.settings = complete_settings(settings)
        values = self.settings
        self.source = EpisodeSource(
            workload, values["load"], values["split"], values["warmup_jobs"], values["episode_jobs"]
        )
        self.window = int(values["window"])
        self.render_mode = values["render_mode"]
        self.reward = find_reward(values["reward"])
        self.reference = Reference(self.source, int(values["tau"]))
        traces = self.source.traces
        self._placeholders = [
            unknown_jobs(trace.requests, trace.processors)[:, -1].copy() for trace in traces
        ]
        self.queue_features = find_job_features(values, self.source.traces)
        self.cluster_features = find_cluster_features(values)
        self.rules = find_rules(values, self.queue_features)
        self._tables = at.new_tables(traces)
        groups = 1 + int(self._tables.group.max())
        self._state = at.new_state(traces, groups, count, self.window, self.rules)
        self._set_kernel_arguments()
        self._reused: at.StepBuffers | None = None
        self._totals = np.empty((len(at.StepTotals._fields), count))  # of the last step or reset
        self._infos = np.empty((len(at.INFOS), count), dtype=np.int64)
        self._illegal = np.empty(count, dtype=np.bool_)
        self._shapes = (
            (count, self.window, len(self.queue_features)),
            (count, len(PROFILE)),
            (count, len(self.cluster_features)),
        )
        self.job_counts = np.zeros(count, dtype=np.int64)  # jobs of the episode in each
        self.windows: list[EpisodeWindow | None] = [None] * count
        self._set_views()
        self._reference_totals[:] = np.nan
        self.generators: list[np.random.Generator | None] = [None] * count  # sample episodes
        self.seeds: list[int | None] = [None] * count  # of the generators
        self.most_steps = values["max_episode_steps"]
        self.ready = False  # whether an episode has been opened in every environment
        self.action_space = spaces.Discrete(self.window + 1)
        self.observation_space = observation_space(
            self.queue_features, self.cluster_features, self.window
        )

    def __len__(self) -> int:
        return len(self.job_counts)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the tables: they copy the traces, and would be unpickled as writeable."""
        derived = (
            "_tables",
            "_kernel_arguments",
            "_step",
            "_run_easy",
            "totals",
            "_columns",
            "_compared",
            "_reference_totals",
            "_parts",
            "_pool",
            "detached",
        )
        return {name: value for name, value in self.__dict__.items() if name not in derived}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._tables = at.new_tables(self.source.traces)
        self._set_kernel_arguments()
        self._set_views()

    def seed(self, i: int, seed: int | None) -> None:
        """Give environment i a new generator if a seed is given or it has none."""
        if seed is not None or self.generators[i] is None:
            self.generators[i], self.seeds[i] = np_random(seed)

    def open_episodes(
        self, options: Mapping[int, Mapping[str, Any] | None], buffers: at.StepBuffers
    ) -> None:
        """Open an episode in some environments, and write what they show into the buffers.

        `options` has those of `reset` by environment; None for none.

        Raises BfenvError as `EpisodeSource.sample`. Then no episode has been opened, but the
        generators may have been drawn from.
        """
        windows = {}
        for i, env_options in options.items():
            generator = self.generators[i]
            if generator is None:
                raise ResetNeeded("an episode needs a seeded environment")
            windows[i] = self.source.sample(generator, env_options)
        for i, window in windows.items():
            self._open(i, window, buffers)

    def _open(self, i: int, window: EpisodeWindow, buffers: at.StepBuffers) -> None:
        if (self._state.known[i, :, -1] != self._placeholders[window.k]).any():
            self._state.known[i].T[:] = self._placeholders[window.k]
        self.windows[i] = window
        self.job_counts[i] = window.last - window.first
        trace = self.source.traces[window.k]
        self._state.counters[i, at.TRACE] = window.k
        cluster, truth = at.cluster_of(self._state, i), at.truth_of(self._state, self._tables, i)
        jobs = at.jobs_of(self._state, self._tables, i)
        machine = cluster, jobs, truth
        self._reference_totals[i] = self.reference.totals(window, self._run_easy.call, *machine)
        warm_up(*machine, trace, window, self._run_easy.call)
        open_episode(self._state, self._tables, self.rules, i, window)
        self._run_kernel(i, NO_ACTION, buffers)
        if not self.ready:
            self.ready = bool(self.job_counts.all())

    def stop_at_every_pass(self) -> None:
        """Stop at every scheduling pass from now on, even if no start is legal.

        Policies need it. What is legal, what is seen and what rewards add up to do not change.
        """
        self.rules = self.rules._replace(every_pass=True)
        self._share()

    def new_buffers(self) -> at.StepBuffers:
        """Allocate observations, which must not change later; all else is the batch's own.

        The totals and infos hold until the next step or reset; after `reuse_buffers`, so do the
        observations.
        """
        if self._reused is not None:
            return self._reused
        queue, profile, cluster = self._shapes
        return at.StepBuffers(
            np.empty(queue, FLOAT32),
            np.empty(profile, FLOAT32),
            np.empty(cluster, FLOAT32),
            self._infos,
            self._illegal,
            self._totals,
        )

    def reuse_buffers(self) -> None:
        """Let every step write its observations to the same arrays."""
        self._reused = self.new_buffers()

    def step(self, actions: np.ndarray) -> at.StepBuffers:
        """Act in every environment; a truncated episode is charged for what has not started.

        * `actions`: (N,) int64

        Raises ResetNeeded if an environment has no episode yet.
        """
        if not self.ready:
            raise ResetNeeded("step needs a reset before it")
        buffers = self.new_buffers()
        self._run_kernel(0, actions, buffers)
        if self.most_steps is not None:
            cut = (self.totals.steps >= self.most_steps) & (self.totals.unstarted > 0)
            for i in np.flatnonzero(cut).tolist():
                k = self._state.counters[i, at.TRACE]
                trace, totals = self.source.traces[k], self.totals_of(i)
                charge_unstarted(
                    self._state, self._tables, self.rules, trace, i, totals, buffers.totals[:, i]
                )
        return buffers

    def _run_kernel(self, first: int, actions: np.ndarray, buffers: at.StepBuffers) -> None:
        """Act in the environments from `first` on; see `step` of `bfenv.envs.episode`.

        If these are all, each thread takes a part of them. The kernel does not hold Python's lock.
        """
        run, outputs = self._step.call, tuple(buffers)
        if self._pool is None or len(actions) < len(self):
            run(*self._kernel_arguments, first, actions, outputs)
            return
        arguments, (first_part, *parts) = self._kernel_arguments, self._parts
        running = [
            self._pool.submit(run, *arguments, part.start, actions[part], outputs) for part in parts
        ]
        run(*arguments, 0, actions[first_part], outputs)
        for future in running:
            future.result()

    def observations(self, buffers: at.StepBuffers) -> Observation:
        """Return the observations of all environments, as the observation space has them."""
        return {"queue": buffers.queue, "profile": buffers.profile, "cluster": buffers.cluster}

    def observation(self, buffers: at.StepBuffers, i: int) -> Observation:
        """Copy the observation of environment i, before that of its next episode replaces it."""
        return {key: part[i].copy() for key, part in self.observations(buffers).items()}

    def totals_of(self, i: int) -> at.StepTotals:
        """Return the totals of environment i, as Python's floats."""
        return at.StepTotals._make(self._columns[i].tolist())

    def rewards(self, buffers: at.StepBuffers, opened: Sequence[int] = ()) -> np.ndarray:
        """Return the (N,) float64 rewards of the last actions.

        A reward function of yours is not called for the environments `opened`: they have not acted
        yet.
        """
        if self.reward.takes_arrays:
            return np.asarray(self.reward.function(*self._compared), dtype=np.float64)
        rewards = np.zeros(len(self))
        for i in range(len(self)):
            if i not in opened:
                rewards[i] = self.reward_of(i, self.totals_of(i))
        return rewards

    def reward_of(self, i: int, totals: at.StepTotals) -> float:
        """Return the reward of the last action in environment i."""
        reference = self._reference_totals[i].tolist()
        arguments: tuple[Any, ...]
        arguments = reward_arguments(totals, self.job_counts.item(i), reference)
        if self.reward.takes_ended:
            arguments = (*arguments, self.ended_jobs(i, totals))
        reward = self.reward.function(*arguments)
        try:
            value = float(reward)
        except (TypeError, ValueError):
            raise BfenvError(f"reward must return a number, got {reward!r}") from None
        if not math.isfinite(value):  # a learner would have weights of NaN soon, without a word
            raise BfenvError(f"reward must return a finite number, got {value}")
        return value

    def ended_jobs(self, i: int, totals: at.StepTotals) -> EndedJobs:
        """Return the jobs of the episode that ended since the last decision in environment i."""
        window = self.windows[i]
        assert window is not None, "an episode has been opened"
        cluster, jobs = at.cluster_of(self._state, i), self.source.traces[window.k].jobs
        end = cluster.end[window.first : window.last]
        since = totals.before_now if totals.steps > 1 else -1
        job = window.first + np.flatnonzero((end >= 0) & (end > since))
        submit, size, estimate = jobs.submit[job], jobs.size[job], jobs.estimate[job]
        return EndedJobs(job, size, estimate, submit, cluster.start[job], cluster.end[job])

    def endings(self, totals: at.StepTotals) -> tuple[Any, Any]:
        """Return whether episodes are terminated, and whether they are truncated."""
        limit = np.inf if self.most_steps is None else self.most_steps
        return totals.unstarted == 0, totals.steps >= limit

    def info(self, i: int, buffers: at.StepBuffers, totals: at.StepTotals | None = None) -> Info:
        """Return the info of environment i; the metrics are known at the end of its episode."""
        totals = totals or self.totals_of(i)
        terminated, truncated = self.endings(totals)
        metrics = NO_METRICS.copy()
        if terminated or truncated:
            reference = self._reference_totals[i].tolist()
            metrics = metrics_of(totals, int(self.job_counts[i]), reference)
        time, duration, illegal_actions, forced_starts = buffers.infos[:, i].tolist()
        return {  # the keys are written out, because `dict` takes longer
            "action_mask": self._state.mask[i].copy(),
            "now": time,
            "dt": duration,
            "illegal_actions": illegal_actions,
            "forced_starts": forced_starts,
            "illegal_action": buffers.illegal.item(i),
            "metrics": metrics,
        }

    def infos(self, buffers: at.StepBuffers) -> dict[str, np.ndarray]:
        """Return the infos of all environments but the metrics, in (N,) and (N, ...) arrays."""
        return infos_of(buffers, self._state.mask)

    def _set_views(self) -> None:
        """Make views of the totals of the last step or reset, and of the reference's."""
        self._reference_totals = self._state.sums[:, at.REFERENCE_SLOWDOWN :]
        self.totals = at.StepTotals(*self._totals)
        self._columns = list(self._totals.T)
        self._compared = reward_arguments(self.totals, self.job_counts, self._reference_totals.T)

    def _set_kernel_arguments(self) -> None:
        """Derive the plain tuples that `episode.step` takes."""
        self._tables = at.with_state(self._tables, self._state)
        self.detached = [
            at.detach_environment(self._state, self._tables, i)
            for i in range(len(self._state.counters))
        ]
        self._share()
        self._step, self._run_easy = Code(step), Code(run_easy)

    def _share(self) -> None:
        """Derive the arguments of each thread's part of the environments."""
        state, tables, rules = tuple(self._state), tuple(self._tables), tuple(self.rules)
        self._kernel_arguments = state, tables, rules
        count = len(self._state.counters)
        threads = min(self.threads, count)
        # The calling thread begins while the others still wake up, so it takes more.
        ends = HEAD_START + np.arange(1, threads + 1)
        bounds = [0, *np.rint(count * ends / ends[-1]).astype(np.int64).tolist()]
        self._parts = [slice(begin, end) for begin, end in pairwise(bounds)]
        self._pool = ThreadPoolExecutor(threads - 1) if threads > 1 else None


def charge_unstarted(
    state: at.BatchState,
    tables: at.TraceTables,
    rules: at.EnvRules,
    trace: Trace,
    i: int,
    totals: at.StepTotals,
    row: np.ndarray,
) -> None:
    """Charge environment i for the jobs of its episode that have not started.

    "Episode End" of `BackfillEnv` says how much, and why truncation never pays.

    `totals` belong to the step that was truncated; `row`, the same as an array in the order of
    StepTotals, is overwritten.
    """
    cluster, jobs = at.cluster_of(state, i), Jobs(*tables.requests[state.counters[i, at.TRACE]])
    first, last = state.counters[i, [at.FIRST, at.LAST]].tolist()
    time, processors = int(now(cluster)), int(cluster.state[PROCESSORS])
    start = cluster.start[first:last]
    unstarted = first + np.flatnonzero((start < 0) | (start > time))  # FOREVER: not yet submitted
    present = np.union1d(waiting(cluster), unstarted)
    remaining = expected_ends(cluster) - time
    work = float(jobs.size[running(cluster)] @ remaining)
    work += float(jobs.size[present].astype(np.float64) @ jobs.estimate[present])
    longest = max(int(jobs.estimate[present].max()), int(remaining.max(initial=0)))
    earliest = np.maximum(jobs.submit[unstarted], jobs.requested_start[unstarted]).clip(time)
    wait = earliest + 2 * work / processors + longest - jobs.submit[unstarted]
    slowdown = bounded_slowdown(wait, trace.runtime[unstarted], rules.tau)
    row[:] = totals._replace(
        wait=state.sums[i, at.WAIT] + wait.sum(),
        slowdown=state.sums[i, at.BOUNDED_SLOWDOWN] + slowdown.sum(),
        longest=max(float(state.sums[i, at.LONGEST_WAIT]), float(wait.max())),
        submitted=float(last - first),
        overdue=0.0,
    )
