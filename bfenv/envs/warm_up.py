"""What happened before an episode, and what a reference policy makes of its jobs."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from bfenv.baselines.easy import run as run_by_easy
from bfenv.baselines.registry import find_policy
from bfenv.core.cluster import HORIZON, LAST_JOB, Cluster
from bfenv.core.durations import HOUR
from bfenv.core.errors import StarvationError
from bfenv.core.events import Truth, new_cluster, reset
from bfenv.core.illegal_start import raise_illegal_start
from bfenv.core.jobs import FOREVER, REQUESTED_START, SUBMIT, Jobs, Trace
from bfenv.core.passes import run_here
from bfenv.core.policy import Policy, new_memory
from bfenv.core.schedule import bounded_slowdown
from bfenv.envs.episode_source import EpisodeSource, EpisodeWindow

# How far behind the last arrival of an episode a policy is simulated at first. While jobs of the
# episode wait, this is doubled; after that many horizons, the policy runs to the end.
BEYOND, HORIZONS = 6 * HOUR, 10
REQUESTED_START_POLICY = "conservative"  # in EASY's place where jobs have requested start times


RunEasy = Callable[..., None]


def warm_up(
    cluster: Cluster,
    jobs: Jobs,
    truth: Truth,
    trace: Trace,
    window: EpisodeWindow,
    run_easy: RunEasy,
) -> None:
    """Schedule the jobs before the episode on an empty machine.

    * `cluster`, `jobs`, `truth`: the machine, in any state.
    * `trace`: the episode's.
    * `window`: the episode.
    * `run_easy`: EASY's event loop, or its machine code.
    """
    reset(cluster, truth, trace.processors, window.opening, window.first)
    cluster.state[HORIZON] = truth.requests[SUBMIT, window.first]
    # EASY ignores requested starts; the placeholder tells whether there are any
    if truth.known[REQUESTED_START, -1]:
        policy = find_policy(REQUESTED_START_POLICY)
        run_here(policy, cluster, jobs, truth, new_memory(policy, jobs, trace.processors, 0))
    else:
        run_easy(cluster, jobs, truth, ())
    cluster.state[LAST_JOB] = window.end
    cluster.state[HORIZON] = FOREVER


def ended_before(cluster: Cluster, window: EpisodeWindow) -> np.ndarray:
    """Return the jobs that have ended on a warm machine, (k,) int64, in the order of their ends."""
    end = cluster.end[window.opening : window.first]
    ended = np.flatnonzero(end >= 0)
    order: np.ndarray = window.opening + ended[np.argsort(end[ended], kind="stable")]
    return order


class ReferenceTotals(NamedTuple):
    """What a reference policy makes of an episode."""

    slowdown: float  # sum of bounded slowdowns
    longest_wait: float  # seconds


class Reference:
    """EASY on the same jobs from the same warm machine; each window once.

    Where jobs have requested start times, conservative backfilling takes its place.
    """

    def __init__(self, source: EpisodeSource, tau: int) -> None:
        self._source = source
        self._tau = tau  # seconds, of bounded slowdowns
        self._totals: dict[EpisodeWindow, ReferenceTotals] = {}

    def totals(
        self,
        window: EpisodeWindow,
        run_easy: RunEasy,
        cluster: Cluster,
        jobs: Jobs,
        truth: Truth,
    ) -> ReferenceTotals:
        """Return what it makes of the window's jobs; the other parameters as of `warm_up`.

        EASY has nothing to remember, so it runs on the machine that is given.
        """
        if window not in self._totals:
            trace, in_window = self._source.traces[window.k], slice(window.first, window.last)
            if trace.jobs.requested_start.any():
                start = start_times(find_policy(REQUESTED_START_POLICY), trace, window)
            else:
                warm_up(cluster, jobs, truth, trace, window, run_easy)
                run = partial(run_easy, cluster, jobs, truth, ())
                start = run_to_starts(run, cluster, trace, window)
            wait = start - trace.jobs.submit[in_window]
            slowdown = bounded_slowdown(wait, trace.runtime[in_window], self._tau)
            self._totals[window] = ReferenceTotals(float(slowdown.sum()), float(wait.max()))
        return self._totals[window]


def run_to_starts(
    run: Callable[[], None], cluster: Cluster, trace: Trace, window: EpisodeWindow
) -> np.ndarray:
    """Run a policy until the jobs of a window have started, and return when, (n,) int64 seconds.

    A job that is left when nothing else can happen has -1.

    * `run`: the policy's event loop, which ends at the horizon and goes on when called again.
    * `cluster`: the warm machine.
    """
    in_window = slice(window.first, window.last)
    start, trial_start, trial_end, end = (
        column[in_window]
        for column in (cluster.start, cluster.trial_start, cluster.trial_end, cluster.end)
    )
    last_submit = int(trace.jobs.submit[window.last - 1])
    for horizon in (*(last_submit + (BEYOND << k) for k in range(HORIZONS)), FOREVER):
        cluster.state[HORIZON] = horizon
        run()
        on_trial = (trial_start == start) & (trial_end < 0) & (end < 0)  # it may start again
        if not ((start < 0) | (start == FOREVER) | on_trial).any():
            break
    return start


def start_times(policy: Policy, trace: Trace, window: EpisodeWindow, seed: int = 0) -> np.ndarray:
    """Return when a policy starts the jobs of a window on the warm machine, (n,) int64 seconds.

    The seed is that of a stochastic policy.

    Raises IllegalStartError if the policy starts a job that may not start before all jobs of the
    window have started. Raises StarvationError if it leaves jobs of the window waiting although
    nothing else is left to happen.
    """
    cluster, jobs, truth = new_cluster(trace)
    warm_up(cluster, jobs, truth, trace, window, run_by_easy)
    memory = new_memory(policy, jobs, trace.processors, seed)
    try:
        run = partial(run_here, policy, cluster, jobs, truth, memory)
        start = run_to_starts(run, cluster, trace, window)
    except ValueError as error:
        raise_illegal_start(error, cluster, jobs, policy.name)
    lost = window.first + np.flatnonzero(start < 0)
    if len(lost):
        raise StarvationError(lost.tolist(), policy.name)
    return start
