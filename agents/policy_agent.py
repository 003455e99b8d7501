"""PolicyAgent: any policy as an agent with the predict() of stable-baselines3."""

from typing import Any

import numpy as np

from bfenv.baselines.registry import find_policy
from bfenv.core.errors import PolicyError
from bfenv.core.policy import Policy, new_memory
from bfenv.envs.handle import EnvHandle, handles_of


class PolicyAgent:
    """A policy that acts in Backfill-v0 environments.

    It reads the machine from the environments themselves, not from observations, and sees the
    window of the queue that an agent sees. With a window as long as the queue its schedule is that
    of `bfenv.simulate`.

    Parameters
    ----------
    env
        One environment, or a vector of them in this process, see `bfenv.envs.handles_of`.

    Raises
    ------
    PolicyError
        If `env` is anything else, if the policy starts jobs for a trial, which no action does, or
        if it must see every pass and the environment does not stop at each (`every_pass=True`).
    """

    def __init__(self, policy: str | Policy, env: Any, seed: int = 0) -> None:
        self.policy = find_policy(policy)
        self.seed = seed
        self.handles = handles_of(env)
        if self.policy.trials:
            raise PolicyError(f"{self.policy.name} starts jobs for a trial, which no action does")
        if self.policy.stateful and not all(handle.every_pass for handle in self.handles):
            raise PolicyError(
                f"{self.policy.name} must see every pass: make the environment with every_pass=True"
            )
        count = len(self.handles)
        self._memory: list[Any] = [None] * count
        self._actions: list[list[int]] = [[] for _ in range(count)]  # left of this pass
        self._pass_ids: list[tuple[int, int]] = [(-1, -1)] * count

    def predict(
        self,
        observation: dict[str, np.ndarray],
        state: Any = None,
        episode_start: np.ndarray | None = None,
        deterministic: bool = False,
        action_masks: np.ndarray | None = None,
    ) -> tuple[np.ndarray, Any]:
        """Return the next action in every environment, and `state` unchanged.

        Only the observation's shape is read: one action or a batch. A stochastic policy draws from
        its seed whether or not `deterministic` is set, and no policy needs `action_masks`.
        """
        actions = np.array([self._act(i, handle) for i, handle in enumerate(self.handles)])
        return (actions if observation["cluster"].ndim == 2 else actions[0]), state

    def _act(self, i: int, handle: EnvHandle) -> int:
        pass_id, last = handle.pass_id, self._pass_ids[i]
        if pass_id != last:
            if pass_id[0] != last[0]:  # another episode
                trace = handle.trace
                self._memory[i] = new_memory(self.policy, trace.jobs, trace.processors, self.seed)
            self._pass_ids[i] = pass_id
            self._actions[i] = handle.actions_for(self.policy.decide, self._memory[i])
        return self._actions[i].pop(0) if self._actions[i] else handle.window
