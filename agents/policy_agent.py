"""PolicyAgent: any policy as an agent with the predict() of stable-baselines3."""

from typing import Any

import numpy as np

from bfenv.baselines.easy import EASY
from bfenv.baselines.fcfs import FCFS
from bfenv.baselines.registry import find_policy
from bfenv.core.cluster import now, shadow
from bfenv.core.errors import PolicyError
from bfenv.core.policy import Policy, new_memory
from bfenv.envs.handle import EnvHandle, handles_of
from bfenv.parallel.failures import as_policy_error


class HandleAgent:
    """An agent that reads the machine from the environments themselves, not from observations.

    Args:
        env: One environment, or a vector of them in this process, see `bfenv.envs.handles_of`.

    Raises:
        PolicyError: If `env` is anything else.
    """

    samples = False  # `deterministic` changes nothing

    def __init__(self, env: Any) -> None:
        self.handles = handles_of(env)

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: np.ndarray | None = None,
        deterministic: bool = False,
        action_masks: np.ndarray | None = None,
    ) -> tuple[np.ndarray, Any]:
        """Choose the next action in every environment.

        The parameters are those of stable-baselines3.

        Args:
            observation: Of one environment or of a batch; only its shape is read.
            state: Is returned unchanged.
            episode_start, action_masks: Ignored.
            deterministic: Ignored; a stochastic policy always draws from its seed.

        Returns:
            tuple:
            * `actions` (np.ndarray): One integer, or (num_envs,) int64 for a batch.
            * `state`: The argument `state`, unchanged.

        Raises:
            PolicyError: If the policy raises an exception.
        """
        actions = np.array([self._act(i, handle) for i, handle in enumerate(self.handles)])
        return (actions if is_batch(observation) else actions[0]), state

    def _act(self, i: int, handle: EnvHandle) -> int:
        """Choose the next action in the i-th environment."""
        raise NotImplementedError


class PolicyAgent(HandleAgent):
    """A policy that acts in Backfill-v0 environments.

    It reads the machine from the environments themselves, not from observations. If the environment
    allows all starts of the policy, and the window has a slot for every waiting job, the schedule
    is the same as under `bfenv.simulate`. Otherwise the agent follows the policy as far as the
    rules allow:

    * If more jobs wait than there are slots, the policy plans only with the jobs in slots. It plans
      again after each start, which brings another job into a slot. A policy with a memory plans
      with all jobs, and the agent leaves out starts of jobs without a slot.
    * The agent leaves out starts that are illegal because of a reservation. If the pass is
      illegal, it names a head that forbids all further starts, or takes the first legal action.

    `replaced_actions` counts the starts that were left out. A policy with a memory then makes a new
    plan from the machine. If a policy has a memory, or if the environment may forbid its starts, it
    must see every pass, so the environments stop at each pass.

    Args:
        policy: A policy or its name.
        env: One environment, or a vector of them in this process, see `bfenv.envs.handles_of`.
        seed: Random seed (stochastic policies only).

    Raises:
        PolicyError: If `env` is anything else, or if the policy starts jobs for a trial: the
            environment has no trials.

    Examples:
        Play an episode as EASY would.

        >>> import gymnasium
        >>> import bfenv
        >>> env = gymnasium.make("Backfill-v0", episode_jobs=50)
        >>> agent = bfenv.PolicyAgent("easy", env)
        >>> observation, info = env.reset(seed=0)
        >>> over = False
        >>> while not over:
        ...     action, _ = agent.predict(observation)
        ...     observation, reward, terminated, truncated, info = env.step(action)
        ...     over = terminated or truncated
        >>> info["illegal_actions"]
        0
    """

    def __init__(self, policy: str | Policy, env: Any, seed: int = 0) -> None:
        super().__init__(env)
        self.policy = find_policy(policy)
        if self.policy.trials:
            raise PolicyError(
                f"{self.policy.name} starts jobs for a trial, and environments have no trials; "
                "use bfenv.simulate"
            )
        self.seed = seed
        for handle in self.handles:
            rules = handle.batch.rules
            # Whether no start of the policy can be illegal, so that none is lost unseen
            is_legal = self.policy in (FCFS, EASY) or not rules.oldest_is_head
            if self.policy.stateful or not is_legal:
                handle.batch.stop_at_every_pass()
        self.replaced_actions = 0
        count = len(self.handles)
        self._memory: list[Any] = [None] * count
        self._starts: list[list[int]] = [[] for _ in range(count)]  # left of this pass
        self._partial = [False] * count  # whether to plan again after these starts
        self._pass_ids: list[tuple[int, int]] = [(-1, -1)] * count
        self._planned = [(0, np.empty(0, dtype=np.int64))] * count  # see `_was_followed`

    def _act(self, i: int, handle: EnvHandle) -> int:
        if handle.unstarted == 0:
            return handle.window
        if handle.pass_id != self._pass_ids[i] or (self._partial[i] and not self._starts[i]):
            self._plan(i, handle)
        mask, window, starts = handle.action_masks(), handle.window, self._starts[i]
        slots = handle.slots.tolist() if starts else []
        for k, job in enumerate(starts):
            if job in slots and mask[slot := slots.index(job)]:
                del starts[k]
                return slot
        if mask[window]:
            self.replaced_actions += len(starts)
            starts.clear()
            return window
        head = self._choose_head(handle, mask)
        if head is None:
            self.replaced_actions += 1
            return int(mask.argmax())
        return head

    def _plan(self, i: int, handle: EnvHandle) -> None:
        """Let the policy decide on the starts of this pass."""
        beyond = handle.outside > 0 and not self.policy.stateful
        if handle.pass_id[0] != self._pass_ids[i][0]:  # another episode
            self._memory[i] = self._new_memory(handle)
        elif self.policy.stateful and not self._was_followed(i, handle):
            handle.skip_pass()
        # A memory of waiting jobs would not hold for those that leave the window unstarted.
        memory = self._new_memory(handle) if beyond else self._memory[i]
        with as_policy_error(self.policy.name):
            starts = handle.starts_of(self.policy, memory, whole=self.policy.stateful)
        self._pass_ids[i] = handle.pass_id
        self._planned[i] = handle.started_jobs + len(starts), np.array(starts, dtype=np.int64)
        self._starts[i] = starts[:1] if beyond else starts
        self._partial[i] = beyond and bool(starts)  # a start brings another job into a slot

    def _was_followed(self, i: int, handle: EnvHandle) -> bool:
        """Tell whether exactly the jobs that the policy planned to start have started since."""
        started, jobs = self._planned[i]
        return started == handle.started_jobs and bool((handle.cluster.start[jobs] >= 0).all())

    def _new_memory(self, handle: EnvHandle) -> Any:
        return new_memory(self.policy, handle.jobs, handle.trace.processors, self.seed)

    def _choose_head(self, handle: EnvHandle, mask: np.ndarray) -> int | None:
        """Return the slot of a job whose reservation allows no further start; None for none."""
        cluster, jobs, slots = handle.cluster, handle.jobs, handle.slots
        startable = handle.startable()
        left = slots[startable]
        for slot in np.flatnonzero(mask[: handle.window] & ~startable).tolist():
            shadow_time, extra_nodes = shadow(cluster, jobs, slots[slot])
            over = now(cluster) + jobs.estimate[left] <= shadow_time
            if not (over | (jobs.size[left] <= extra_nodes)).any():
                return int(slot)
        return None


def is_batch(observation: Any) -> bool:
    """Return whether an observation belongs to several environments."""
    if isinstance(observation, dict):
        return bool(np.ndim(observation["cluster"]) == 2)
    return bool(np.ndim(observation) == 2)
