"""Snapshots of an environment for planning: what is known of it, and futures made of that.

A snapshot holds nothing that a scheduler may not know. A future made of it has runtimes sampled by
`bfenv.knowledge.runtime_sampler` in place of the true ones, and no jobs to come.
"""

from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from gymnasium.error import ResetNeeded

import bfenv.envs.batch_state as at
import bfenv.knowledge.runtime_sampler as rs
from bfenv.core.arguments import check_integer
from bfenv.core.cluster import LAST_JOB, NEXT_JOB, running, waiting
from bfenv.core.errors import BfenvError
from bfenv.core.jobs import Jobs, Outage
from bfenv.core.schedule import bounded_slowdown
from bfenv.envs.batch import EnvBatch, Observation
from bfenv.envs.batch_state import BatchState, EnvRules, cluster_of
from bfenv.envs.episode_source import EpisodeWindow
from bfenv.envs.future_events import future_events
from bfenv.envs.handle import EnvHandle
from bfenv.envs.infos import Info
from bfenv.envs.rules import plain_rules

# The fields of BatchState that are a UserHistory. They follow from the jobs that have ended, but
# number groups of jobs to come as well.
OF_USERS = ("user_ended", "user_sums", "user_recent", "user_jobs", "by_estimate", "by_size")


@dataclass(frozen=True, eq=False)
class EnvSnapshot:
    """What is known of an environment at a decision."""

    jobs: Jobs  # (k,) the requests submitted so far, those before the warm-up included
    state: BatchState  # of one environment, without the events to come and what is OF_USERS
    window: EpisodeWindow  # up to the last job submitted
    outages: tuple[Outage, ...]  # of the trace: they have been announced
    history: rs.RuntimeHistory  # of the jobs that have ended
    rules: EnvRules  # by which the slots and the mask have been written, see `plain_rules`


class PlanningHandle(EnvHandle):
    """An environment that can be taken into sampled futures, and back."""

    def __init__(self, batch: EnvBatch, i: int) -> None:
        super().__init__(batch, i)
        self._episode: EnvBatch | None = None  # while in a future, where the episode stands
        self._futures = 0  # restored so far

    @property
    def in_future(self) -> bool:
        """Whether this is a future that `restore` has made, not the episode."""
        return self._episode is not None

    def snapshot(self) -> EnvSnapshot:
        """Return what is known at this decision: no true runtime of an unfinished job.

        Raises ResetNeeded if there is no episode, or it is over.
        """
        if not self.batch.ready or self.unstarted == 0:
            raise ResetNeeded("a snapshot needs an episode that is not over")
        jobs = self.trace.jobs
        known = int(self.cluster.state[NEXT_JOB])
        own = slice(self.i, self.i + 1)
        kept = {name: part[own].copy() for name, part in _arrays(self.batch._state).items()}
        state = self.batch._state._replace(**kept)
        state = state._replace(**{name: getattr(state, name)[:0] for name in OF_USERS})
        state.heap[:] = 0
        # They may come from earlier episodes, with what was then known. -1 says that none is known.
        state.per_job[:, [at.TAKEN, at.KEY]] = 0
        state.per_job[:, at.VERSIONS :] = -1
        state.counters[0, at.DUE] = 0
        state.sums[0, at.BOUNDED_SLOWDOWN] = 0
        window = self.batch.windows[self.i]
        assert window is not None, "an episode has been opened"
        submitted = Jobs(*(column[:known].copy() for column in jobs))
        return EnvSnapshot(
            submitted,
            state,
            window._replace(last=min(window.last, known), end=known),
            self.trace.outages,
            rs.history_of_ended(self.cluster, submitted),
            plain_rules(self.batch.rules),
        )

    def restore(self, snapshot: EnvSnapshot, seed: int) -> tuple[Observation, Info]:
        """Go into a future of a snapshot: runtimes are sampled, and no more jobs arrive.

        The episode of the future consists of the submitted jobs of the snapshot's episode and of
        all jobs from the oldest waiting one on. `resume` goes back to the episode of this
        environment, `reset` opens another one.

        * `snapshot`: of this environment, or of one with the same workloads and settings.
        * `seed`: every seed is another future.

        Returns observation and info, as `reset` returns them. Raises BfenvError if the snapshot is
        of other workloads or settings, or the seed is not an integer >= 0.
        """
        generator = np.random.default_rng(check_integer("seed", seed, 0))
        episode = self._episode or self.batch
        self._check(snapshot, episode)
        of_users = {name: np.zeros_like(getattr(episode._state, name)[:1]) for name in OF_USERS}
        copied = {name: part.copy() for name, part in _arrays(snapshot.state).items()}
        state = snapshot.state._replace(**copied | of_users)
        cluster, trace = cluster_of(state, 0), episode.source.traces[snapshot.window.k]
        runtime = _sample(snapshot, trace.jobs.estimate, generator)
        jobs = Jobs(*episode._tables.requests[snapshot.window.k])
        future = replace(trace, runtime=runtime, name=f"{trace.name}, a future", records=None)
        queue = waiting(cluster)
        first = min([snapshot.window.first, *queue[:1].tolist()])
        window = snapshot.window._replace(first=first, last=snapshot.window.end)
        self._futures += 1
        _write_future(state, jobs, runtime, window, self._futures)
        self._episode, self.batch = (
            episode,
            episode.branch(future, state, window, rs.ended_jobs(cluster)),
        )
        buffers = self.batch.outputs()
        parts = self.batch.observation(buffers, 0)
        return parts, self.batch.info(0, buffers)

    def resume(self) -> None:
        """Go back from a future to the episode, as it was when the first future was restored."""
        if self._episode is not None:
            self.batch, self._episode = self._episode, None

    def copy_with_foresight(self) -> Self:
        """Return a copy that continues exactly as this environment will: it knows the runtimes.

        A plan made with it sees the future; its results are clairvoyant. The same
        holds for `copy.deepcopy` and for pickling, which are there to move environments.
        """
        return deepcopy(self)

    def _check(self, snapshot: Any, episode: EnvBatch) -> None:
        """Check that a snapshot belongs to the workloads and settings of this environment."""
        if not isinstance(snapshot, EnvSnapshot):
            raise BfenvError(f"expected a snapshot, got {type(snapshot).__name__}")
        k, known, traces = snapshot.window.k, snapshot.window.end, episode.source.traces
        shapes = [
            {name: part.shape[1:] for name, part in _arrays(state).items() if name not in OF_USERS}
            for state in (episode._state, snapshot.state)
        ]
        alike = k < len(traces) and shapes[0] == shapes[1]
        alike = alike and traces[k].outages == snapshot.outages
        pairs: list[tuple[Any, Any]] = []
        if alike:
            pairs += zip(plain_rules(episode.rules), snapshot.rules, strict=True)
            requests = (column[:known] for column in traces[k].jobs)
            pairs += zip(requests, snapshot.jobs, strict=True)
        if not (alike and all(np.array_equal(own, other) for own, other in pairs)):
            raise BfenvError("the snapshot is of an environment with other workloads or settings")


def _arrays(state: BatchState) -> dict[str, np.ndarray]:
    """Return what a state has; outages and plans may be None."""
    return {name: part for name, part in state._asdict().items() if part is not None}


def _sample(
    snapshot: EnvSnapshot, estimate: np.ndarray, generator: np.random.Generator
) -> np.ndarray:
    """Return (n,) int64 seconds: known runtimes, sampled ones, and estimates of all other jobs."""
    cluster = cluster_of(snapshot.state, 0)
    chosen = np.sort(np.concatenate([running(cluster), waiting(cluster)]))
    chosen = chosen[chosen < len(estimate)]  # without outages
    known = rs.known_runtimes(cluster, snapshot.jobs, chosen)
    sampled = rs.sample_runtimes(snapshot.history, snapshot.jobs, chosen, known, generator)
    ended = rs.ended_jobs(cluster)
    runtime = estimate.copy()
    runtime[ended] = cluster.end[ended] - cluster.start[ended]
    runtime[chosen] = sampled[0]
    return runtime


def _write_future(
    state: BatchState, jobs: Jobs, runtime: np.ndarray, window: EpisodeWindow, number: int
) -> None:
    """Write the events of a future and the sums over its episode into the state.

    `jobs` are the requests with those of outages, `runtime` the runtimes of the other jobs.
    """
    cluster, counters, sums = cluster_of(state, 0), state.counters[0], state.sums[0]
    lengths = jobs.estimate[len(runtime) :]  # of outages
    times, entries = future_events(cluster, jobs, np.concatenate([runtime, lengths]))
    coming = np.arange(counters[at.COMING], counters[at.LAST_OUTAGE])
    times = np.concatenate([times, jobs.submit[coming]])
    entries = np.concatenate([entries, ~coming])
    order = np.lexsort((entries, times))
    state.heap[0, at.DUE_TIME, : len(times)] = times[order]
    state.heap[0, at.DUE_JOB, : len(entries)] = entries[order]
    counters[at.DUE] = len(times)
    counters[at.EPISODES] = -number  # agents with a memory see that this is another episode
    cluster.state[LAST_JOB] = window.end
    counters[[at.TRACE, at.FIRST, at.LAST]] = window.k, window.first, window.last
    job = np.arange(window.first, window.last)
    started = job[cluster.start[job] >= 0]
    wait = cluster.start[started] - jobs.submit[started]
    ended = cluster.end[started] >= 0
    on_trial = (cluster.trial_start[started] >= 0) & (cluster.trial_end[started] < 0) & ~ended
    counters[at.UNSTARTED] = len(job) - np.count_nonzero(~on_trial)
    shown = np.where(ended, runtime[started], jobs.estimate[started])
    sums[at.WAIT] = wait.sum()
    sums[at.LONGEST_WAIT] = wait.max(initial=0)
    sums[at.BOUNDED_SLOWDOWN] = bounded_slowdown(wait, runtime[started])[~on_trial].sum()
    sums[at.SHOWN_SLOWDOWN] = bounded_slowdown(wait, shown).sum()
