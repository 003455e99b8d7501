"""EnvHandle: one environment of a batch, with its machine and its episode."""

from typing import Any

import numpy as np

import bfenv.core.cluster as c
import bfenv.envs.batch_state as at
from bfenv.core.cluster import Cluster, free, now, retract, started, waiting
from bfenv.core.errors import PolicyError
from bfenv.core.illegal_start import raise_illegal_start
from bfenv.core.jobs import Jobs, Trace
from bfenv.core.policy import Policy
from bfenv.envs.batch import EnvBatch


class EnvHandle:
    """One environment of a batch: what policies and renderings read, beside the observation.

    `handles_of` returns the handles of an environment or of a vector of them.

    Args:
        batch: The environments that one kernel call steps.
        i: Index of the environment in it.
    """

    def __init__(self, batch: EnvBatch, i: int) -> None:
        self.batch = batch
        self.i = i
        self.render_mode = batch.render_mode

    @property
    def trace(self) -> Trace:
        """The episode's trace; its runtimes are for scoring, not for agents."""
        return self.batch.source.traces[self._counter(at.TRACE)]

    @property
    def jobs(self) -> Jobs:
        """The requests of the jobs submitted so far, and placeholders for the others."""
        _, requests, _ = self.batch.detached[self.i]
        return Jobs(*(column[: len(self.trace)] for column in requests))

    @property
    def cluster(self) -> Cluster:
        """The machine as a scheduler sees it; the environment's own arrays, not copies."""
        return self.batch.detached[self.i][0]

    @property
    def window(self) -> int:
        """How many waiting jobs the agent sees and can start."""
        return self.batch.window

    @property
    def slots(self) -> np.ndarray:
        """The job in each slot, (window,) int64; -1 for none; the environment's own array."""
        return self.batch.detached[self.i][2]

    @property
    def outside(self) -> int:
        """How many waiting jobs are outside the window."""
        return max(len(waiting(self.cluster)) - self.window, 0)

    @property
    def pass_id(self) -> tuple[int, int]:
        """Number of the episode, and of the scheduling pass in it, warm-up included."""
        return self._counter(at.EPISODES), int(self.batch._state.cluster_state[self.i, c.PASSES])

    @property
    def episode_jobs(self) -> range:
        """The jobs that the episode's reward is about, by index in the trace."""
        return range(self._counter(at.FIRST), self._counter(at.LAST))

    @property
    def unstarted(self) -> int:
        """How many of the episode's jobs have not started."""
        return self._counter(at.UNSTARTED)

    @property
    def illegal_actions(self) -> int:
        """How many actions of the episode were illegal."""
        return self._counter(at.ILLEGAL)

    @property
    def forced_starts(self) -> int:
        """How many starts the environment made because nothing else could happen."""
        return self._counter(at.FORCED)

    def action_masks(self) -> np.ndarray:
        """Return (actions,) bool: which are legal; action `window` is the pass."""
        mask: np.ndarray = self.batch._state.mask[self.i].astype(bool)
        return mask

    @property
    def head(self) -> int:
        """The job that was named as the head in this pass, else the oldest; -1 if none waits."""
        if (named := self._counter(at.HEAD)) >= 0:
            return named
        line = waiting(self.cluster)
        return int(line[0]) if len(line) else -1

    def startable(self) -> np.ndarray:
        """Return (window,) bool: in which slots a job fits now, and may start by its request."""
        cluster, jobs, slots = self.cluster, self.jobs, self.slots
        fits = jobs.size[slots] <= free(cluster)
        startable: np.ndarray = (slots >= 0) & fits & (jobs.requested_start[slots] <= now(cluster))
        return startable

    @property
    def started_jobs(self) -> int:
        """How many of the jobs submitted so far have started. Jobs of the warm-up count, too."""
        state = self.cluster.state
        return int(state[c.NEXT_JOB] - state[c.FIRST_JOB]) - len(waiting(self.cluster))

    def skip_pass(self) -> None:
        """Leave out the number of a scheduling pass.

        A policy that keeps a plan from pass to pass sees that not all of it was carried out, and
        looks at the whole machine in the next pass.
        """
        self.cluster.state[c.PASSES] += 1

    def starts_of(self, policy: Policy, memory: Any, whole: bool = False) -> list[int]:
        """Ask a policy which jobs it would start in this pass, and start none.

        The jobs in slots are the queue that the policy sees, or all that wait. A wake-up that the
        policy requests takes effect. Once the returned jobs have been started, the policy would
        start nothing more until `pass_id` changes.

        Args:
            policy: The policy.
            memory: Its memory, made for `jobs`; it may change.
            whole: Let the policy see the jobs outside the window, too.

        Returns:
            The jobs in the order of their starts.

        Raises:
            IllegalStartError: If the policy makes an illegal start.
        """
        cluster, jobs = self.cluster, self.jobs
        begin, end = cluster.state[[c.QUEUE_BEGIN, c.QUEUE_END]].tolist()
        queue = cluster.queue[begin:end].copy()
        seen = queue if whole else self.slots[: min(self.window, end - begin)]
        cluster.queue[begin : begin + len(seen)] = seen
        cluster.state[c.QUEUE_END] = begin + len(seen)
        try:
            policy.decide(cluster, jobs, memory)
            planned: list[int] = started(cluster).tolist()
            return planned
        except ValueError as error:
            raise_illegal_start(error, cluster, jobs, "")
        finally:
            wake = cluster.state[c.WAKE]
            retract(cluster, jobs)
            cluster.state[c.WAKE] = wake
            cluster.state[c.QUEUE_END] = end
            cluster.queue[begin:end] = queue

    def _counter(self, column: int) -> int:
        return int(self.batch._state.counters[self.i, column])


def handles_of(env: Any) -> list[EnvHandle]:
    """Return the handle of each environment, in the order of the vector, to look inside.

    Args:
        env: One environment, or a vector of them in this process: bfenv's own, a SyncVectorEnv of
            Gymnasium, or a DummyVecEnv of stable-baselines3, with or without wrappers.

    Raises:
        PolicyError: If it is anything else.

    Examples:
        >>> import gymnasium
        >>> from bfenv.envs import handles_of
        >>> env = gymnasium.make("Backfill-v0", window=16)
        >>> observation, info = env.reset(seed=0)
        >>> handle = handles_of(env)[0]
        >>> handle.window, handle.trace.processors
        (16, 352)
    """
    inner = getattr(env, "unwrapped", None)
    handles = getattr(inner, "handles", None)
    if handles is None:
        handles = [getattr(member, "unwrapped", None) for member in getattr(inner, "envs", [inner])]
    if not all(isinstance(handle, EnvHandle) for handle in handles):
        raise PolicyError(f"expected Backfill-v0 environments of this process, got {env}")
    return list(handles)
