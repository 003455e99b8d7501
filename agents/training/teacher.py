"""Teacher: a classical policy that a network imitates before it is trained."""

import numpy as np
import torch
from torch import Tensor

from bfenv.agents.policy_agent import PolicyAgent
from bfenv.core.errors import PolicyError
from bfenv.envs.handle import EnvHandle, PlannedStart

UNKNOWN = -1


class Teacher(PolicyAgent):
    """A policy that acts in the environments of a training, as far as they allow it.

    Where a guard of the environment forbids what the policy wants, any legal action is taken, and
    nothing is to be learned from it.

    Parameters
    ----------
    policy
        A name for `bfenv.find_policy`.
    envs
        A vector of environments.
    seed
        For stochastic policies.
    """

    def act(self, mask: np.ndarray) -> tuple[Tensor, Tensor]:
        """Return an action in every environment, and where it is the policy's, (N,) each."""
        empty = np.empty((len(mask), 0))
        actions, _ = self.predict({"cluster": empty})
        known = actions != UNKNOWN
        actions = np.where(known, actions, mask.argmax(axis=1))
        return torch.from_numpy(actions), torch.from_numpy(known)

    def _respects(self, handle: EnvHandle) -> bool:
        return True

    def _start(self, handle: EnvHandle, mask: np.ndarray, start: PlannedStart) -> int:
        try:
            return super()._start(handle, mask, start)
        except PolicyError:
            return UNKNOWN

    def _choose_head(self, handle: EnvHandle, mask: np.ndarray) -> int:
        try:
            return super()._choose_head(handle, mask)
        except PolicyError:
            return UNKNOWN
