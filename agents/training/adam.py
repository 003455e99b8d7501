"""Adam, on one vector that all weights of a network are views of.

This module needs torch.
"""

import math

import numpy as np
import torch
from torch import nn

from bfenv.core.kernel import kernel

MEAN_DECAY, SQUARE_DECAY, EPSILON = 0.9, 0.999, 1e-5


class Adam:
    """Kingma and Ba, Adam: a method for stochastic optimization, 2015, with clipped gradients.

    The same steps as those of `torch.optim.Adam`, to rounding, in a fraction of the time: these
    networks have so few weights that torch takes longer to keep account of them than to change
    them. It works on the CPU, wherever the network is.

    * `network`: its weights, and their gradients, become views of `weights` and `gradient`.
    * `rate`: the learning rate, which can be changed at any time.
    * `max_norm`: longer gradients are shortened to it.
    """

    def __init__(self, network: nn.Module, rate: float, max_norm: float) -> None:
        self.rate, self.max_norm = rate, max_norm
        self.weights = torch.cat([each.detach().flatten() for each in network.parameters()])
        self.gradient = torch.zeros_like(self.weights)
        self.mean = np.zeros(len(self.weights), np.float32)  # of gradients
        self.square = np.zeros_like(self.mean)  # mean of their squares
        self.count = 0  # steps so far
        end = 0
        for each in network.parameters():
            begin, end = end, end + each.numel()
            each.data = self.weights[begin:end].view_as(each)
            each.grad = self.gradient[begin:end].view_as(each)

    def step(self) -> None:
        """Go one step down the gradient."""
        self.count += 1
        rate = self.rate / (1 - MEAN_DECAY**self.count)
        unbiased = math.sqrt(1 - SQUARE_DECAY**self.count)
        weights, gradient = (each.cpu().numpy() for each in (self.weights, self.gradient))
        change(weights, gradient, self.mean, self.square, rate, unbiased, self.max_norm)
        if not self.weights.is_cpu:  # there it is a copy
            self.weights.copy_(torch.from_numpy(weights))


@kernel
def change(
    weights: np.ndarray,
    gradient: np.ndarray,
    mean: np.ndarray,
    square: np.ndarray,
    rate: float,
    unbiased: float,
    max_norm: float,
) -> None:
    """Change the weights, and both means."""
    length = 0.0
    for i in range(len(gradient)):
        length += np.float64(gradient[i]) ** 2
    scale = min(1.0, max_norm / (math.sqrt(length) + 1e-6))
    for i in range(len(gradient)):
        g = gradient[i] * scale
        mean[i] += (1 - MEAN_DECAY) * (g - mean[i])
        square[i] += (1 - SQUARE_DECAY) * (g * g - square[i])
        weights[i] -= rate * mean[i] / (math.sqrt(square[i]) / unbiased + EPSILON)
