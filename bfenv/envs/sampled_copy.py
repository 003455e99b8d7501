"""sampled_copy: a copy of an environment for planners that must not be clairvoyant."""

from copy import copy, deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded

import bfenv.envs.batch_state as at
import bfenv.knowledge.runtime_sampler as rs
from bfenv.baselines.easy import run as run_easy
from bfenv.core.arguments import check_integer
from bfenv.core.cluster import LAST_JOB, NEXT_JOB, Cluster, now, running, waiting
from bfenv.core.errors import BfenvError
from bfenv.core.events import new_cluster, renew_ends
from bfenv.core.jobs import Jobs, Trace
from bfenv.core.schedule import bounded_slowdown
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.batch import EnvBatch
from bfenv.envs.batch_state import cluster_of, history_of, jobs_of, truth_of
from bfenv.envs.episode_source import EpisodeWindow
from bfenv.envs.warm_up import Reference
from bfenv.knowledge.user_history import learn_jobs


def sampled_copy(env: Any, seed: int) -> BackfillEnv:
    """Return a copy of an environment that knows no more than a scheduler at this decision.

    The copy stands at the same decision, with the same observation and mask. The runtimes of
    running and waiting jobs are sampled from the history of their users, given how long they have
    run (`bfenv.knowledge.runtime_sampler`). No more jobs arrive. Its episode consists of the jobs
    submitted so far, from the first of the episode on or, if that is older, the oldest waiting job.
    Its rewards count from this decision on. `reset` plays these jobs once more from the warm-up on.

    Args:
        env: A `BackfillEnv`, with or without wrappers.
        seed: Of the samples, an integer >= 0.

    Raises:
        BfenvError: If `env` is anything else, or the seed is not such an integer.
        ResetNeeded: If there is no episode, or it is over.

    Examples:
        >>> import gymnasium
        >>> import bfenv
        >>> from bfenv.envs import sampled_copy
        >>> env = gymnasium.make("Backfill-v0", episode_jobs=20)
        >>> observation, info = env.reset(seed=0)
        >>> future = sampled_copy(env, seed=1)
        >>> bool((future.action_masks() == info["action_mask"]).all())
        True
    """
    original = getattr(env, "unwrapped", env)
    if not isinstance(original, BackfillEnv):
        raise BfenvError(f"expected a BackfillEnv, got {type(env).__name__}")
    if not original.batch.ready or original.unstarted == 0:
        raise ResetNeeded("a sampled copy needs an episode that is not over")
    generator = np.random.default_rng(check_integer("seed", seed, 0))
    window, queue = original.batch.windows[0], waiting(original.cluster)
    assert window is not None, "an episode has been opened"
    future = _sampled_trace(original, generator)
    first = min([window.first, *queue[:1].tolist()])
    copied = copy(original)
    copied._np_random = deepcopy(original._np_random)
    copied._actions = original._actions.copy()
    copied.batch = _copied_batch(
        original.batch, future, EpisodeWindow(0, window.opening, first, len(future), len(future))
    )
    return copied


def _sampled_trace(env: BackfillEnv, generator: np.random.Generator) -> Trace:
    """Return the jobs submitted so far, with sampled runtimes for those that have not ended."""
    cluster, trace = env.cluster, env.trace
    known = int(cluster.state[NEXT_JOB])
    jobs = Jobs(*(column[:known].copy() for column in trace.jobs))
    chosen = np.sort(np.concatenate([running(cluster), waiting(cluster)]))
    history, ran = rs.history_of_ended(cluster, jobs), rs.known_runtimes(cluster, jobs, chosen)
    ended, runtime = rs.ended_jobs(cluster), jobs.estimate.copy()
    runtime[ended] = cluster.end[ended] - cluster.start[ended]
    runtime[chosen] = rs.sample_runtimes(history, jobs, chosen, ran, generator)[0]
    name = f"{trace.name}, a future"
    return replace(trace, jobs=jobs, runtime=runtime, name=name, records=None)


def _copied_batch(batch: EnvBatch, future: Trace, window: EpisodeWindow) -> EnvBatch:
    """Return a batch of one environment that continues on the trace of a future."""
    source = copy(batch.source)
    source.traces, source.episode_jobs = [future], None
    source.narrow([(window.opening, window.end)])
    k = int(batch._state.counters[0, at.TRACE])
    copied = object.__new__(EnvBatch)
    copied.__setstate__(
        batch.__getstate__()
        | {
            "source": source,
            "reference": Reference(source, batch.rules.tau),
            "windows": [window],
            "job_counts": np.array([window.last - window.first]),
            "generators": deepcopy(batch.generators),
            "_placeholders": [batch._placeholders[k]],
            "_state": _known_state(batch._state, future),
            "_totals": batch._totals.copy(),
            "_infos": batch._infos.copy(),
            "_illegal": batch._illegal.copy(),
            "_reused": None,
        }
    )
    groups = 1 + int(copied._tables.group.max())
    copied._state = copied._state._replace(
        by_estimate=np.zeros((1, groups, 3)), by_size=np.zeros((1, groups, 2))
    )
    copied._set_kernel_arguments()
    state, tables = copied._state, copied._tables
    cluster = cluster_of(state, 0)
    cluster.state[LAST_JOB] = window.end
    state.counters[0, at.TRACE] = 0
    renew_ends(cluster, truth_of(state, tables, 0))
    _forget_order(state)
    _write_sums(state, cluster, future, window, copied.rules.tau)
    if copied.rules.users is not None:  # the groups of users' jobs have other numbers
        state.user_ended[0], state.user_sums[0], state.user_recent[0] = 0, 0, 0
        history, jobs = history_of(state, tables, 0), jobs_of(state, tables, 0)
        learn_jobs(history, cluster, jobs, rs.ended_jobs(cluster))
    totals = copied.reference.totals(window, run_easy, *new_cluster(future))
    copied._reference_totals = np.array([totals])
    copied._set_views()
    return copied


def _known_state(state: at.BatchState, future: Trace) -> at.BatchState:
    """Copy what is known of the jobs submitted so far."""
    copied = at.BatchState(*(part.copy() for part in state))
    jobs = len(future)
    return copied._replace(
        known=np.concatenate([copied.known[:, :, :jobs], copied.known[:, :, -1:]], axis=2),
        per_job=copied.per_job[:, :, :jobs].copy(),
        value=copied.value[:, :jobs].copy(),
    )


def _forget_order(state: at.BatchState) -> None:
    """Leave nothing that follows from true runtimes: not the order of events, nor old entries."""
    count = state.counters[0, at.DUE]
    times, entries = state.heap[0, at.DUE_TIME], state.heap[0, at.DUE_JOB]
    order = np.lexsort((entries[:count], times[:count]))  # what is sorted is a heap
    state.heap[0, :, :count] = state.heap[0][:, order]
    state.heap[0, :, count:] = 0
    state.per_job[0, [at.TAKEN, at.CHOSEN]] = 0
    state.value[0], state.best[0] = 0, 0


def _write_sums(
    state: at.BatchState, cluster: Cluster, trace: Trace, window: EpisodeWindow, tau: int
) -> None:
    """Count the jobs of the copy's episode, which are all submitted. Writes: counters, sums."""
    jobs, counters, sums = trace.jobs, state.counters[0], state.sums[0]
    job = np.arange(window.first, window.last)
    started, queue = job[cluster.start[job] >= 0], waiting(cluster)
    wait, waited = cluster.start[started] - jobs.submit[started], now(cluster) - jobs.submit[queue]
    shown = np.where(cluster.end[started] >= 0, trace.runtime[started], jobs.estimate[started])
    counters[at.FIRST], counters[at.LAST] = window.first, window.last
    counters[at.UNSTARTED] = len(queue)
    sums[at.WAIT] = wait.sum()
    sums[at.LONGEST_WAIT] = wait.max(initial=0)
    sums[at.BOUNDED_SLOWDOWN] = bounded_slowdown(wait, trace.runtime[started], tau).sum()
    sums[at.SHOWN_SLOWDOWN] = bounded_slowdown(wait, shown, tau).sum()
    sums[at.LAST_NOW], sums[at.LAST_SUBMITTED] = now(cluster), len(job)
    sums[at.LAST_WAIT] = wait.sum() + waited.sum()
    sums[at.LAST_SLOWDOWN] = (
        sums[at.SHOWN_SLOWDOWN] + bounded_slowdown(waited, jobs.estimate[queue], tau).sum()
    )
    sums[at.LAST_LONGEST] = max(sums[at.LONGEST_WAIT], waited.max(initial=0))
