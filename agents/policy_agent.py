"""Any policy as an agent with the predict() of stable-baselines3."""

from typing import Any

import numpy as np

from bfenv.baselines.registry import find_policy
from bfenv.core.errors import PolicyError
from bfenv.core.policy import Policy, new_memory


class PolicyAgent:
    """A policy that acts in Backfill-v0 environments.

    It reads the machine from the environments themselves, of which the observation is a summary,
    and is shown the window of the queue that an agent sees: with a window as long as the queue its
    schedule is that of `bfenv.simulate`.
    """

    def __init__(self, policy: str | Policy, env: Any, seed: int = 0):
        """`env`: one environment, or a vector of them in this process.

        A vector is one of bfenv's own, a SyncVectorEnv of Gymnasium, or a DummyVecEnv of
        stable-baselines3, with or without wrappers. Raises PolicyError for another, for a policy
        that starts jobs for a trial, which no action does, or that must see every pass while the
        environment does not stop at each (`every_pass=True`).
        """
        self.policy = find_policy(policy)
        self.seed = seed
        self.machines = machines_of(env)
        if self.policy.trials:
            raise PolicyError(f"{self.policy.name} starts jobs for a trial, which no action does")
        if self.policy.stateful and not all(machine.every_pass for machine in self.machines):
            raise PolicyError(
                f"{self.policy.name} must see every pass: make the environment with every_pass=True"
            )
        count = len(self.machines)
        self._memory: list[Any] = [None] * count
        self._actions: list[list[int]] = [[] for _ in range(count)]
        self._seen: list[tuple[int, int]] = [(-1, -1)] * count

    def predict(
        self,
        observation: dict[str, np.ndarray],
        state: tuple[np.ndarray, ...] | None = None,
        episode_start: np.ndarray | None = None,
        deterministic: bool = False,
        action_masks: np.ndarray | None = None,
    ) -> tuple[np.ndarray, tuple[np.ndarray, ...] | None]:
        """The next action in every environment, and `state` as it came.

        The observation only tells whether one action or a batch is asked for. A stochastic policy
        draws from its seed whether or not `deterministic` is set; it needs no `action_masks`.
        """
        actions = np.array([self._act(i, machine) for i, machine in enumerate(self.machines)])
        return (actions if observation["cluster"].ndim == 2 else actions[0]), state

    def _act(self, i: int, machine: Any) -> int:
        pass_id = machine.pass_id
        if pass_id != self._seen[i]:
            if pass_id[0] != self._seen[i][0]:
                trace = machine.trace
                self._memory[i] = new_memory(self.policy, trace.jobs, trace.processors, self.seed)
            self._seen[i] = pass_id
            self._actions[i] = machine.plan(self.policy.decide, self._memory[i])
        return self._actions[i].pop(0) if self._actions[i] else machine.window


def machines_of(env: Any) -> list[Any]:
    """What can look into each environment, a `bfenv.envs.handle.Machine`; see PolicyAgent.

    Raises PolicyError where there is nothing of the kind in this process.
    """
    inside = getattr(env, "unwrapped", None)
    machines = getattr(inside, "machines", None)
    if machines is None:
        machines = [each.unwrapped for each in getattr(inside, "envs", [inside])]
    if not all(hasattr(machine, "plan") for machine in machines):
        raise PolicyError(f"no Backfill-v0 environments of this process in {env}")
    return machines
