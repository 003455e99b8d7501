"""Adam, on one vector that all weights of a network are views of.

This module needs torch.
"""

import math

import torch
from torch import nn

MEAN_DECAY, SQUARE_DECAY, EPSILON = 0.9, 0.999, 1e-5


class Adam:
    """Kingma and Ba, Adam: a method for stochastic optimization, 2015, with clipped gradients.

    The same steps as those of `torch.optim.Adam`, to rounding, in a fraction of the time: these
    networks have so few weights that keeping account of them takes longer than changing them.

    Parameters
    ----------
    network
        Its weights, and their gradients, become views of `weights` and `gradient`.
    rate
        The learning rate, which can be changed at any time.
    max_norm
        Longer gradients are shortened to it.
    """

    def __init__(self, network: nn.Module, rate: float, max_norm: float) -> None:
        self.rate, self.max_norm = rate, max_norm
        self.weights = torch.cat([each.detach().flatten() for each in network.parameters()])
        self.gradient = torch.zeros_like(self.weights)
        self.mean = torch.zeros_like(self.weights)  # of gradients
        self.square = torch.zeros_like(self.weights)  # mean of their squares
        self.count = 0  # steps so far
        end = 0
        for each in network.parameters():
            begin, end = end, end + each.numel()
            each.data = self.weights[begin:end].view_as(each)
            each.grad = self.gradient[begin:end].view_as(each)

    def step(self) -> None:
        """Go one step down the gradient."""
        self.count += 1
        length = torch.linalg.vector_norm(self.gradient)
        gradient = self.gradient.mul_((self.max_norm / (length + 1e-6)).clamp_(max=1))
        self.mean.lerp_(gradient, 1 - MEAN_DECAY)
        self.square.mul_(SQUARE_DECAY).addcmul_(gradient, gradient, value=1 - SQUARE_DECAY)
        unbiased = math.sqrt(1 - SQUARE_DECAY**self.count)
        divisor = self.square.sqrt().div_(unbiased).add_(EPSILON)
        rate = self.rate / (1 - MEAN_DECAY**self.count)
        self.weights.addcdiv_(self.mean, divisor, value=-rate)
