"""Actor: draws actions with a network, and evaluates drawn ones for the learner.

`Actor` computes with torch's operations, on any device, and finds gradients by autograd.
`bfenv.agents.training.packed_passes` has the same interface for a CPU, and is twice as fast.

This module needs torch.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from bfenv.agents.training.networks import MASKED, Scorer
from bfenv.core.kernel import kernel


class States(NamedTuple):
    """What is seen in M states."""

    queue: np.ndarray  # (M, window, job_features) float32
    profile: np.ndarray  # (M, PROFILE) float32
    cluster: np.ndarray  # (M, cluster_features) float32
    mask: np.ndarray  # (M, window + 1) bool: which actions are legal


class Actor:
    """Acts with any network on any device.

    * `network`: its weights are read at each call.
    """

    def __init__(self, network: Scorer) -> None:
        self.network = network
        self.device = next(network.parameters()).device

    def act(
        self, states: States, chosen: np.ndarray, uniform: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Draw actions, as likely as exp(score) among the legal ones.

        * `states`: m states.
        * `chosen`: (B,) int64: in which of them.
        * `uniform`: (B,) float64 random numbers from [0, 1).

        Returns (B,) actions, the logarithms of their probabilities, and the values of the states.
        """
        scores, values = self.score(states, chosen)
        actions, log_probs = np.empty(len(chosen), np.int64), np.empty(len(chosen), np.float32)
        draw(scores, states.mask, chosen, uniform, actions, log_probs)
        return actions, log_probs, values

    def score(self, states: States, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the (B, window + 1) scores and the (B,) values of the chosen states.

        Scores of illegal actions can be anything.
        """
        with torch.inference_mode():
            scores, values = self.network(*self._tensors(part[chosen] for part in states[:3]))
        return scores.cpu().numpy(), values.cpu().numpy()

    def load(self, states: States) -> None:
        """Take the states that `evaluate` is asked about."""
        self._loaded = self._tensors(states)

    def evaluate(
        self, chosen: np.ndarray, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Evaluate actions.

        * `chosen`: (B,) int64: which of the states that were loaded.
        * `actions`: (B,) int64, legal ones.

        Returns (B,) logarithms of probabilities, entropies of the choices, and values of the
        states.
        """
        rows, taken = self._tensors((chosen, actions))
        # `index_select` copies whole rows, which indexing does number by number
        *observation, mask = (part.index_select(0, rows) for part in self._loaded)
        scores, values = self.network(*observation)
        log_probs = scores.masked_fill(~mask, MASKED).log_softmax(dim=1)
        entropy = -(log_probs.exp() * log_probs).sum(dim=1)
        self._results = log_probs.gather(1, taken.unsqueeze(1)).squeeze(1), entropy, values
        log_prob, entropies, estimates = (each.detach().cpu().numpy() for each in self._results)
        return log_prob, entropies, estimates

    def backward(self, *d_results: np.ndarray) -> None:
        """Set the gradients of the weights, given those by the three results of `evaluate`."""
        for weight in self.network.parameters():
            if weight.grad is not None:
                weight.grad.zero_()
        torch.autograd.backward(self._results, self._tensors(d_results))

    def _tensors(self, arrays: Iterable[np.ndarray]) -> list[Tensor]:
        """Return arrays as tensors on the device of the network."""
        return [torch.from_numpy(each).to(self.device) for each in arrays]


@kernel
def draw(
    scores: np.ndarray,
    mask: np.ndarray,
    chosen: np.ndarray,
    uniform: np.ndarray,
    actions: np.ndarray,
    log_probs: np.ndarray,
) -> None:
    """Draw actions as likely as exp(score) among the legal ones.

    * `scores`: (B, window + 1) of the chosen states.
    * `mask`: (M, window + 1) bool: which actions are legal.
    * `chosen`: (B,) int64: which of the M states.
    * `uniform`: (B,) random numbers from [0, 1).
    * `actions`, `log_probs`: (B,) are filled.
    """
    for i in range(len(chosen)):
        legal = mask[chosen[i]]
        largest = -np.inf
        for k in range(len(legal)):
            if legal[k]:
                largest = max(largest, np.float64(scores[i, k]))
        total = 0.0
        for k in range(len(legal)):
            if legal[k]:
                total += math.exp(scores[i, k] - largest)
        left = uniform[i] * total
        for k in range(len(legal)):
            if legal[k]:
                actions[i] = k  # the last legal one, if rounding leaves anything
                left -= math.exp(scores[i, k] - largest)
                if left < 0:
                    break
        log_probs[i] = scores[i, actions[i]] - largest - math.log(total)
