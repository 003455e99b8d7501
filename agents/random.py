"""RandomAgent: legal actions at random."""

from typing import Any

import numpy as np

from bfenv.agents.policy_agent import is_batch
from bfenv.envs.handle import handles_of


class RandomAgent:
    """Takes each legal action, the pass included, with the same probability.

    Args:
        env: One environment, or a vector of them in this process, see `handles_of`.
        seed: Random seed.
    """

    samples = False  # `deterministic` changes nothing

    def __init__(self, env: Any, seed: int = 0) -> None:
        self.handles = handles_of(env)
        self.generator = np.random.default_rng(seed)

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: np.ndarray | None = None,
        deterministic: bool = False,
        action_masks: np.ndarray | None = None,
    ) -> tuple[np.ndarray, Any]:
        """Draw a legal action for every environment.

        The parameters are those of stable-baselines3.

        Args:
            observation: Of one environment or of a batch; only its shape is read.
            state: Is returned unchanged.
            episode_start, deterministic, action_masks: Are not read; the masks come from the
                environments themselves.

        Returns:
            tuple:
            * `actions` (np.ndarray): One integer, or (num_envs,) int64 for a batch.
            * `state`: As it was given.
        """
        legal = [np.flatnonzero(handle.action_masks()) for handle in self.handles]
        # Nothing is drawn where there is no choice, so more stops of the clock change nothing.
        actions = np.array(
            [each[0] if len(each) == 1 else self.generator.choice(each) for each in legal]
        )
        return (actions if is_batch(observation) else actions[0]), state
