"""sampled_copy: a copy of an environment for planners that must not be clairvoyant."""

from copy import copy, deepcopy
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded

import bfenv.envs.batch_state as at
from bfenv.core.arguments import check_integer
from bfenv.core.cluster import LAST_JOB, now, waiting
from bfenv.core.errors import BfenvError
from bfenv.core.events import new_cluster, renew_ends
from bfenv.core.jobs import Trace
from bfenv.core.schedule import bounded_slowdown
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.batch import EnvBatch
from bfenv.envs.episode import learn_users, write_totals
from bfenv.envs.episode_source import EpisodeWindow
from bfenv.envs.warm_up import Reference
from bfenv.knowledge.runtime_sampler import ended_jobs, sample_future


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
    copied = copy(original)
    copied._actions = original._actions.copy()
    copied._np_random = deepcopy(original._np_random)
    future = sample_future(original.cluster, original.trace, generator)
    copied.batch = _copied_batch(original.batch, future, waiting(original.cluster))
    return copied


def _copied_batch(batch: EnvBatch, future: Trace, queue: np.ndarray) -> EnvBatch:
    """Return a batch of one environment that stands where `batch` does, but on another trace."""
    opened = batch.windows[0]
    assert opened is not None, "an episode has been opened"
    first = min([opened.first, *queue[:1].tolist()])
    window = EpisodeWindow(0, opened.opening, first, len(future), len(future))
    source = copy(batch.source)
    source.traces, source.episode_jobs = [future], None
    source.narrow([(window.opening, window.end)])
    kept = {id(batch.source): source, id(batch._state): batch._state}  # instead of copies
    copied = deepcopy(batch, kept)
    copied.reference = Reference(source, batch.rules.tau)
    copied._placeholders = [batch._placeholders[opened.k]]
    copied.windows[0], copied.job_counts[0] = window, window.last - window.first
    groups = 1 + int(copied._tables.group.max())
    copied._state = at.new_state([future], groups, 1, batch.window, batch.rules)
    for target, values in zip(copied._state, batch._state, strict=True):
        target[...] = values[tuple(map(slice, target.shape))]  # without the jobs to come
    copied._state.known[:, :, -1] = batch._state.known[:, :, -1]  # placeholders
    copied._set_kernel_arguments()
    copied._set_views()
    machine = new_cluster(future)
    copied._reference_totals[0] = copied.reference.totals(window, batch._run_easy.call, *machine)
    _renew_state(copied, future, window)
    return copied


def _renew_state(batch: EnvBatch, trace: Trace, window: EpisodeWindow) -> None:
    """Let the episode have the window's jobs and runtimes; nothing of the true ones is left."""
    state, tables, jobs = batch._state, batch._tables, trace.jobs
    cluster, counters, sums = at.cluster_of(state, 0), state.counters[0], state.sums[0]
    counters[[at.TRACE, at.FIRST, at.LAST]] = window.k, window.first, window.last
    cluster.state[LAST_JOB] = window.end
    renew_ends(cluster, at.truth_of(state, tables, 0))
    count = counters[at.DUE]
    heap = state.heap[0, :, :count]
    state.heap[0, :, :count] = heap[:, np.lexsort(heap[::-1])]  # what is sorted is a heap
    state.heap[0, :, count:] = 0
    state.per_job[0, [at.TAKEN, at.CHOSEN]] = 0
    state.value[0], state.best[0] = 0, 0
    learn_users(state, tables, batch.rules, 0, ended_jobs(cluster))

    job = np.arange(window.first, window.last)
    has_started = cluster.start[job] >= 0
    wait = np.where(has_started, cluster.start[job], now(cluster)) - jobs.submit[job]  # so far
    shown_runtime = np.where(cluster.end[job] >= 0, trace.runtime[job], jobs.estimate[job])
    slowdown = bounded_slowdown(wait, trace.runtime[job], batch.rules.tau)
    shown_slowdown = bounded_slowdown(wait, shown_runtime, batch.rules.tau)
    counters[at.UNSTARTED] = len(job) - has_started.sum()
    sums[at.WAIT] = wait[has_started].sum()
    sums[at.BOUNDED_SLOWDOWN] = slowdown[has_started].sum()
    sums[at.SHOWN_SLOWDOWN] = shown_slowdown[has_started].sum()
    sums[at.LONGEST_WAIT] = wait[has_started].max(initial=0)
    sums[at.BEFORE_OVERDUE] = 0.0  # rests on EASY's longest wait with the true runtimes
    write_totals(state, batch.rules, cluster, jobs, 0, batch.new_buffers())
