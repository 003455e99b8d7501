"""Cases: the jobs that competitors are compared on, as whole traces or as episodes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np

from bfenv.baselines.registry import find_policy
from bfenv.core.arguments import check_integer
from bfenv.core.durations import TAU
from bfenv.core.errors import BfenvError, WorkloadError
from bfenv.core.jobs import Trace
from bfenv.core.policy import Policy
from bfenv.core.schedule import bounded_slowdown
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.episode_source import EpisodeWindow
from bfenv.envs.settings import DEFAULTS, EnvSettings, Workloads
from bfenv.envs.warm_up import REQUESTED_START_POLICY, start_times
from bfenv.evaluation.summary import REFERENCE
from bfenv.workloads.load import load_workload, takes_seed
from bfenv.workloads.transform import split_range

LEAST_JOBS = 8  # of an episode


class Case(NamedTuple):
    """A trace on which competitors are compared, and a seed for their decisions."""

    source: str | Trace  # what `load_workload` takes, or the trace itself
    options: tuple[tuple[str, Any], ...] = ()  # of `load_workload`
    seed: int = 0  # of the decisions, and of the jobs if they are generated
    label: str = ""  # name of the workload in its rows; "" for the trace's own
    is_generated: bool = False  # its seed has made the jobs as well
    is_frozen: bool = False  # known by its hash: all competitors run on it exactly as it is

    def trace(self) -> Trace:
        """Return the trace, loaded once in a process."""
        if isinstance(self.source, Trace):
            return self.source
        return load_workload(self.source, **dict(self.options))

    @property
    def workloads(self) -> list[tuple[str, dict[str, Any]]]:
        """What is loaded by name, with its options."""
        return [(self.source, dict(self.options))] if isinstance(self.source, str) else []

    @property
    def jobs(self) -> int:
        """How many jobs competitors schedule in it."""
        return len(self.trace())


class Waits(NamedTuple):
    """The waits of an episode's jobs, from which all metrics follow."""

    wait: np.ndarray  # (n,) int64 seconds
    bounded_slowdown: np.ndarray  # (n,) float64


@dataclass(frozen=True)
class Episodes:
    """Episodes of the environment, on whose jobs competitors are compared.

    The machine of each episode is warm: EASY has scheduled the jobs before it. An agent acts in the
    environment. A policy sees every waiting job and needs no masks.

    Args:
        workload: As of `BackfillEnv`.
        count: How many episodes. With `episode_jobs=None` in the settings, each trace is played
            once instead, from the warm-up to the end of the split.
        seed: Episode k has the seed `seed + k`.
        settings: Of `BackfillEnv`. Agents add those that they need.

    Raises:
        BfenvError: If `count` or `seed` is out of range.
    """

    workload: Workloads | None = None
    count: int = 16
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_integer("episodes", self.count, 1)
        object.__setattr__(self, "seed", check_integer("seed", self.seed, 0))

    def __getstate__(self) -> dict[str, Any]:
        """Pickle what the episodes are drawn from, and not the episodes."""
        return {name: vars(self)[name] for name in self.__dataclass_fields__}

    @property
    def env_settings(self) -> EnvSettings:
        """The settings with their type."""
        return cast(EnvSettings, self.settings)

    @cached_property
    def traces(self) -> list[Trace]:
        """The traces that the episodes are taken from."""
        return self._env.batch.source.traces

    @cached_property
    def bounds(self) -> list[tuple[int, int]]:
        """The jobs of each trace that episodes may have: the first, and one past the last."""
        return self._env.batch.source.splits

    @cached_property
    def resets(self) -> list[tuple[int, dict[str, Any] | None]]:
        """Seed and options of the `reset` that opens each episode."""
        if self.settings.get("episode_jobs", 0) is None:
            return [(self.seed, {"trace": k}) for k in range(len(self.traces))]
        return [(self.seed + k, None) for k in range(self.count)]

    @cached_property
    def windows(self) -> list[EpisodeWindow]:
        """The jobs of each episode."""
        windows = []
        for seed, options in self.resets:
            self._env.reset(seed=seed, options=options)
            windows += [window for window in self._env.batch.windows if window is not None]
        return windows

    @property
    def workloads(self) -> list[tuple[str, dict[str, Any]]]:
        """What is loaded by name, with its options."""
        if isinstance(self.workload, str):
            return [(self.workload, {})]
        if self.workload is None or isinstance(self.workload, Trace):
            return []
        return [(name, {}) for name in self.workload if isinstance(name, str)]

    @property
    def jobs(self) -> int:
        """How many jobs competitors schedule in them."""
        return sum(window.last - window.first for window in self.windows)

    @cached_property
    def reference(self) -> Policy:
        """EASY; conservative backfilling where jobs have requested start times."""
        has_requests = any(trace.jobs.requested_start.any() for trace in self.traces)
        return find_policy(REQUESTED_START_POLICY if has_requests else REFERENCE)

    @cached_property
    def reference_waits(self) -> list[Waits]:
        """What the reference makes of each episode."""
        return [self.policy_waits(self.reference, k) for k in range(len(self.windows))]

    def policy_waits(self, policy: Policy, k: int) -> Waits:
        """Return what a policy makes of the jobs of an episode.

        Args:
            policy: The policy, which gets the seed of the episode.
            k: Index of the episode.
        """
        window, (seed, _) = self.windows[k], self.resets[k]
        return self.waits_of(k, start_times(policy, self.traces[window.k], window, seed))

    def waits_of(self, k: int, start: np.ndarray) -> Waits:
        """Return the waits of an episode's jobs.

        Args:
            k: Index of the episode.
            start: (n,) int64 seconds, when its jobs start.
        """
        window = self.windows[k]
        trace, jobs = self.traces[window.k], slice(window.first, window.last)
        wait = start - trace.jobs.submit[jobs]
        tau = self.settings.get("tau", TAU)
        return Waits(wait, bounded_slowdown(wait, trace.runtime[jobs], tau))

    @cached_property
    def _env(self) -> BackfillEnv:
        return BackfillEnv(self.workload, **self.env_settings)


def workload_cases(
    workload: str, seeds: int = 1, load: float | None = None, **options: Any
) -> list[Case]:
    """Return a case of a workload for each seed.

    Args:
        workload: Name or path, for `load_workload`.
        seeds: How many seeds, from 0. A seed determines the jobs of a generated workload and the
            decisions of a stochastic policy.
        load: Offered load to scale the workload to; None for its own.
        **options: Others of `load_workload`.

    Raises:
        BfenvError: If the workload is unknown, or `seeds` is below 1.
    """
    options |= {} if load is None else {"load": load}
    is_generated = takes_seed(workload)
    return [
        Case(
            workload,
            tuple((options | ({"seed": seed} if is_generated else {})).items()),
            seed,
            is_generated=is_generated,
        )
        for seed in range(check_integer("seeds", seeds, 1))
    ]


def variant_cases(variants: Mapping[str, Trace]) -> list[Case]:
    """Return a case of each of several traces, in this order.

    Args:
        variants: The traces by label.
    """
    return [Case(trace, label=label) for label, trace in variants.items()]


def short_length(trace: Trace | None, split: str) -> int:
    """Return the default `episode_jobs`, or half of what a small split has after the warm-up.

    Args:
        trace: The trace; None for the traces of the default workload.
        split: The part of it that episodes are taken from.

    Raises:
        WorkloadError: If that would be fewer than LEAST_JOBS.
    """
    usual, warmup_jobs = DEFAULTS["episode_jobs"], DEFAULTS["warmup_jobs"]
    assert usual is not None
    if trace is None:
        return usual
    first, last = split_range(trace, split)
    room = last - first - warmup_jobs
    if room // 2 < LEAST_JOBS:
        raise WorkloadError(
            f"{trace.name}: the split {split!r} has {last - first} jobs, too few for a warm-up of "
            f"{warmup_jobs} jobs and episodes of {LEAST_JOBS}; use a longer workload"
        )
    return usual if room >= usual else room // 2


def check_whole(settings: Mapping[str, Any]) -> None:
    """Check that settings of the environment do not cut episodes off.

    Raises BfenvError if they do.
    """
    steps = settings.get("max_episode_steps")
    if steps is not None:
        raise BfenvError(
            "max_episode_steps must be None, because agents are scored on whole episodes, "
            f"got {steps!r}"
        )
