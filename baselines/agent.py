"""Any policy as an agent with the predict() of stable-baselines3 (baselines)."""

from typing import Any

import numpy as np

from bfenv.core.errors import PolicyError
from bfenv.core.policy import Policy, find_policy, new_memory


class PolicyAgent:
    """A policy that acts in Backfill-v0 environments.

    It reads the machine from the environments themselves, of which the observation is a summary,
    and is shown the window of the queue that an agent sees: with a window as long as the queue its
    schedule is that of `bfenv.simulate`.
    """

    def __init__(self, policy: str | Policy, env: Any, seed: int = 0):
        """`env`: the environment to act in, or a stable-baselines3 VecEnv of them in this process.

        Raises PolicyError for a policy that starts jobs for a trial, which no action does, or that
        must see every pass while the environment does not stop at each (`every_pass=True`).
        """
        self.policy = find_policy(policy)
        self.env = env
        self.seed = seed
        if self.policy.trials:
            raise PolicyError(f"{self.policy.name} starts jobs for a trial, which no action does")
        if self.policy.stateful and not all(self._get("every_pass")):
            raise PolicyError(
                f"{self.policy.name} must see every pass: make the environment with every_pass=True"
            )
        environments = len(self._get("pass_id"))
        self._memory: list[Any] = [None] * environments
        self._actions: list[list[int]] = [[] for _ in range(environments)]
        self._seen: list[tuple[int, int]] = [(-1, -1)] * environments

    def predict(
        self,
        observation: dict[str, np.ndarray],
        state: tuple[np.ndarray, ...] | None = None,
        episode_start: np.ndarray | None = None,
        deterministic: bool = False,
    ) -> tuple[np.ndarray, tuple[np.ndarray, ...] | None]:
        """The next action in every environment, and `state` as it came.

        The observation only tells whether one action or a batch is asked for. A stochastic policy
        draws from its seed whether or not `deterministic` is set.
        """
        passes = self._get("pass_id")
        window = self._get("window")
        actions = np.array([self._act(i, passes[i], window[i]) for i in range(len(passes))])
        return (actions if observation["cluster"].ndim == 2 else actions[0]), state

    def _act(self, i: int, pass_id: tuple[int, int], window: int) -> int:
        if pass_id != self._seen[i]:
            if pass_id[0] != self._seen[i][0]:
                trace = self._get("trace", i)[0]
                self._memory[i] = new_memory(self.policy, trace.jobs, trace.processors, self.seed)
            self._seen[i] = pass_id
            self._actions[i] = self._plan(i)
        return self._actions[i].pop(0) if self._actions[i] else window

    def _plan(self, i: int) -> list[int]:
        arguments = self.policy.decide, self._memory[i]
        if hasattr(self.env, "env_method"):
            return self.env.env_method("plan", *arguments, indices=[i])[0]
        return self.env.get_wrapper_attr("plan")(*arguments)

    def _get(self, attribute: str, i: int | None = None) -> list[Any]:
        if hasattr(self.env, "get_attr"):
            return self.env.get_attr(attribute, None if i is None else [i])
        return [self.env.get_wrapper_attr(attribute)]


def agent(policy: str | Policy, env: Any, seed: int = 0) -> PolicyAgent:
    """`policy`, by name or itself, as an agent in `env`; see PolicyAgent."""
    return PolicyAgent(policy, env, seed)
