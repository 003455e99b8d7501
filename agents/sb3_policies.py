"""SlotSharedPolicy: a network for MaskablePPO that scores every slot with the same weights.

This module needs torch and sb3-contrib; no other module of bfenv imports it when it is loaded.
"""

from itertools import pairwise
from typing import Any

import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.policies import MaskableMultiInputActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

from bfenv.core.errors import BfenvError

PARTS = ("queue", "cluster", "profile")
SLOT_LAYERS = (32, 16, 8)  # as the kernel network of Zhang et al. 2020 (RLScheduler), section IV
VALUE_LAYERS = (64, 32)


class FlatParts(BaseFeaturesExtractor):
    """Lays the parts of an observation in a row, in the order of PARTS."""

    def __init__(self, observation_space: spaces.Dict) -> None:
        if not isinstance(observation_space, spaces.Dict):
            raise BfenvError("SlotSharedPolicy needs observations by part: flat=False")
        sizes = [spaces.flatdim(observation_space[part]) for part in PARTS]
        super().__init__(observation_space, sum(sizes))

    def forward(self, observations: dict[str, torch.Tensor]) -> torch.Tensor:
        """Return (N, features_dim) values."""
        return torch.cat([observations[part].flatten(1) for part in PARTS], dim=1)


class SlotSharedNetwork(nn.Module):
    """Scores of all actions, and features for the value.

    A slot's score depends on its row of "queue" and on "cluster", through the same small network
    for every slot. The score of the pass depends on "cluster" and "profile".
    """

    def __init__(self, rows: tuple[int, int], cluster: int, profile: int) -> None:
        super().__init__()
        self.rows = rows  # slots, and features of each
        self.sizes = [rows[0] * rows[1], cluster, profile]
        self.slot = _layers((rows[1] + cluster, *SLOT_LAYERS, 1))
        self.skip = _layers((cluster + profile, 16, 1))
        self.value = _layers((2 * rows[1] + cluster + profile, *VALUE_LAYERS))
        self.value.append(nn.ReLU())
        self.latent_dim_pi, self.latent_dim_vf = rows[0] + 1, VALUE_LAYERS[-1]

    def forward(self, features: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the scores, (N, slots + 1), and the features for the value."""
        return self.forward_actor(features), self.forward_critic(features)

    def forward_actor(self, features: torch.Tensor) -> torch.Tensor:
        """Return the scores, (N, slots + 1); the last is that of the pass."""
        queue, cluster, profile = self._split(features)
        context = cluster.unsqueeze(1).expand(-1, self.rows[0], -1)
        scores = self.slot(torch.cat([queue, context], dim=2)).squeeze(2)
        return torch.cat([scores, self.skip(torch.cat([cluster, profile], dim=1))], dim=1)

    def forward_critic(self, features: torch.Tensor) -> torch.Tensor:
        """Return features of the mean and the largest values of all slots, and of the machine."""
        queue, cluster, profile = self._split(features)
        parts = [queue.mean(dim=1), queue.amax(dim=1), cluster, profile]
        values: torch.Tensor = self.value(torch.cat(parts, dim=1))
        return values

    def _split(self, features: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        queue, cluster, profile = torch.split(features, self.sizes, dim=1)
        return queue.reshape(-1, *self.rows), cluster, profile


class SlotSharedPolicy(MaskableMultiInputActorCriticPolicy):
    """Policy of MaskablePPO with a `SlotSharedNetwork`: `MaskablePPO(SlotSharedPolicy, env)`.

    It has as many weights for any window. What it learns of a job holds in every slot.

    Raises
    ------
    BfenvError
        If the observation is flat, or the environment has actions for trials.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{**kwargs, "features_extractor_class": FlatParts})

    def _build_mlp_extractor(self) -> None:
        space = self.observation_space
        assert isinstance(space, spaces.Dict), "FlatParts has checked it"
        slots, features = space["queue"].shape or (0, 0)
        if spaces.flatdim(self.action_space) != slots + 1:
            raise BfenvError("SlotSharedPolicy has no actions for trials: trial_limit=None")
        machine = [spaces.flatdim(space[part]) for part in PARTS[1:]]
        network = SlotSharedNetwork((slots, features), *machine).to(self.device)
        self.mlp_extractor = network  # type: ignore[assignment]  # has the same methods

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        self.action_net = nn.Identity()  # the scores are the logits
        network: Any = self.mlp_extractor
        for scorer in (network.slot, network.skip):
            self.init_weights(scorer[-1], gain=0.01)  # at first all actions are as likely
        make: Any = self.optimizer_class
        self.optimizer = make(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)


def _layers(sizes: tuple[int, ...]) -> nn.Sequential:
    """Return linear layers of these sizes with ReLU between them."""
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-1])
