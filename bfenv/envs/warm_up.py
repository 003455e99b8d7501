"""What happened before an episode, and what a reference policy makes of its jobs."""

from typing import NamedTuple

import numpy as np

from bfenv.baselines.registry import find_policy
from bfenv.core.cluster import HORIZON, LAST_JOB, Cluster, Truth, advance, new_cluster, reset
from bfenv.core.jobs import FOREVER, Trace
from bfenv.core.kernel import kernel
from bfenv.core.policy import Policy, new_memory
from bfenv.core.schedule import bounded_slowdown
from bfenv.envs.episode_source import EpisodeSource, EpisodeWindow

WARM_UP_POLICY = "easy"  # schedules the jobs before an episode
REQUESTED_START_POLICY = "conservative"  # in its place where jobs have requested start times


@kernel
def begin_warm_up(cluster, jobs, truth, processors, opening, first):
    """Empty the machine; the jobs opening .. first - 1 arrive until job `first` would."""
    reset(cluster, truth, processors, opening, first)
    if opening < first:
        cluster.state[HORIZON] = jobs.submit[first]


@kernel
def end_warm_up(cluster, end):
    """Let the jobs up to `end` - 1 arrive, too."""
    cluster.state[LAST_JOB] = end
    cluster.state[HORIZON] = FOREVER


def is_warmed_by_easy(trace: Trace) -> bool:
    """Tell whether EASY schedules the jobs before an episode; it ignores requested starts."""
    return not bool(trace.jobs.requested_start.any())


def warm_up(cluster: Cluster, truth: Truth, trace: Trace, window: EpisodeWindow) -> np.ndarray:
    """Schedule the jobs before the episode on an empty machine.

    Returns
    -------
    np.ndarray
        (k,) int64: the jobs that have ended, in the order of their ends.
    """
    opening, first = window.opening, window.first
    begin_warm_up(cluster, trace.jobs, truth, trace.processors, opening, first)
    policy = find_policy(WARM_UP_POLICY if is_warmed_by_easy(trace) else REQUESTED_START_POLICY)
    if opening < first:
        _run(policy, cluster, truth, trace, 0)
    end_warm_up(cluster, window.end)
    end = cluster.end[window.opening : window.first]
    ended = np.flatnonzero(end >= 0)
    order: np.ndarray = window.opening + ended[np.argsort(end[ended], kind="stable")]
    return order


class ReferenceTotals(NamedTuple):
    """What a reference policy makes of an episode."""

    slowdown: float  # sum of bounded slowdowns
    longest_wait: float  # seconds


class Reference:
    """A policy that schedules the same jobs from the same warm machine; each window once."""

    def __init__(self, policy: str | Policy, source: EpisodeSource) -> None:
        self.policy = find_policy(policy)
        self._source = source
        self._totals: dict[EpisodeWindow, ReferenceTotals] = {}

    def totals(self, window: EpisodeWindow) -> ReferenceTotals:
        """Return what the policy makes of the window's jobs."""
        if window not in self._totals:
            self._totals[window] = self._simulate(window)
        return self._totals[window]

    def _simulate(self, window: EpisodeWindow) -> ReferenceTotals:
        trace, jobs = self._source.traces[window.k], slice(window.first, window.last)
        wait = start_times(self.policy, trace, window) - trace.jobs.submit[jobs]
        slowdown = bounded_slowdown(wait, trace.runtime[jobs])
        return ReferenceTotals(float(slowdown.sum()), float(wait.max()))


def start_times(policy: Policy, trace: Trace, window: EpisodeWindow) -> np.ndarray:
    """Return when a policy starts the jobs of a window on the warm machine, (n,) int64 seconds."""
    cluster, truth = new_cluster(trace)
    warm_up(cluster, truth, trace, window)
    _run(policy, cluster, truth, trace, 0)
    return cluster.start[window.first : window.last]


def _run(policy: Policy, cluster: Cluster, truth: Truth, trace: Trace, seed: int) -> None:
    memory = new_memory(policy, trace.jobs, trace.processors, seed)
    if policy.run is not None:
        policy.run(cluster, trace.jobs, truth, memory)
        return
    while advance(cluster, trace.jobs, truth):
        policy.decide(cluster, trace.jobs, memory)
