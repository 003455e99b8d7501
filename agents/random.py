"""RandomAgent: legal actions at random."""

from typing import Any

import numpy as np

from bfenv.agents.policy_agent import HandleAgent
from bfenv.envs.handle import EnvHandle


class RandomAgent(HandleAgent):
    """Takes each legal action, the pass included, with the same probability.

    Args:
        env: One environment, or a vector of them in this process, see `handles_of`.
        seed: Random seed.
    """

    def __init__(self, env: Any, seed: int = 0) -> None:
        super().__init__(env)
        self.generator = np.random.default_rng(seed)

    def _act(self, i: int, handle: EnvHandle) -> int:
        legal = np.flatnonzero(handle.action_masks())
        # Nothing is drawn where there is no choice, so more stops of the clock change nothing.
        return int(legal[0] if len(legal) == 1 else self.generator.choice(legal))
