"""Adam: its steps are those of torch's."""

import copy

import pytest
import torch
from torch import nn

from bfenv.agents.training.adam import EPSILON, Adam

pytestmark = pytest.mark.torch


def test_steps():
    """Weights are those of torch's Adam with clipped gradients, also after the rate changes."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    other = copy.deepcopy(network)
    own = Adam(network, 0.01, max_norm=0.5)
    torchs = torch.optim.Adam(other.parameters(), 0.01, eps=EPSILON)
    shortened = []
    for k in range(60):
        own.rate = torchs.param_groups[0]["lr"] = 0.01 / (1 + k)
        x = torch.randn(16, 4)
        for each in (network, other):
            for weight in each.parameters():
                weight.grad.zero_() if weight.grad is not None else None
            (0.8**k * each(x).square().sum()).backward()
        shortened.append(bool(nn.utils.clip_grad_norm_(other.parameters(), 0.5) > 0.5))
        own.step()
        torchs.step()
    assert 0 < sum(shortened) < 60
    for weight, expected in zip(network.parameters(), other.parameters(), strict=True):
        assert torch.allclose(weight, expected, rtol=1e-4, atol=1e-6)
