"""ScorerPolicy: networks for MaskablePPO, and `export_network`: one as a file without code.

This module needs torch and sb3-contrib; no other module of bfenv imports it when it is loaded.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.distributions import MaskableDistribution
from sb3_contrib.common.maskable.policies import MaskableMultiInputActorCriticPolicy
from torch import Tensor

from bfenv.agents.card import NETWORK
from bfenv.agents.network_agent import JOB_SCALE, LOG_SMALLEST_SIZE, save_network
from bfenv.agents.networks import NETWORKS, OBSERVATION, Ranker, Scorer
from bfenv.agents.saved_model import describe_model
from bfenv.core.arguments import check_choice, check_integer
from bfenv.core.errors import BfenvError
from bfenv.envs.features import JOB_ESTIMATE, LOG_LONGEST


class ScorerPolicy(MaskableMultiInputActorCriticPolicy):
    """A policy of MaskablePPO that scores every waiting job with the same weights.

    Its network, `scorer`, is one of `bfenv.agents.networks`. It has as many weights for
    any window, and what it learns of a job holds in every slot.

    * `network`: "scorer" or "ranker".
    * `hidden`: units of each layer.
    * `saf`: the network "ranker" begins with probabilities in proportion to (size x estimate) **
      -saf, so the smallest area first; 0 for equal ones.

    Raises BfenvError if the actions are not slots and a pass, or another network is to begin so.

    Examples:
        >>> from bfenv.envs.sb3 import BackfillVecEnv
        >>> from sb3_contrib import MaskablePPO
        >>> model = MaskablePPO(ScorerPolicy, BackfillVecEnv(2, window=8))
        >>> model.policy.scorer.score
        Linear(in_features=8, out_features=1, bias=False)
    """

    def __init__(
        self,
        observation_space: spaces.Dict,
        action_space: spaces.Discrete,
        lr_schedule: Callable[[float], float],
        network: str = "scorer",
        hidden: int = 32,
        saf: float = 0.0,
        **kwargs: Any,
    ) -> None:
        parts: Any = observation_space
        if spaces.flatdim(action_space) != parts["queue"].shape[0] + 1:
            raise BfenvError("ScorerPolicy needs one action per slot and one for the pass")
        jobs, cluster = parts["queue"].shape[1], parts["cluster"].shape[0]
        check_choice("network", network, NETWORKS)
        self.network, self.hidden = network, check_integer("hidden", hidden, 1)
        self._make: Callable[[], Scorer] = lambda: NETWORKS[network](jobs, cluster, hidden)
        super().__init__(observation_space, action_space, lr_schedule, **kwargs)
        if isinstance(self.scorer, Ranker):
            weight = saf / JOB_SCALE  # of logarithms, which the columns are parts of
            with torch.no_grad():
                self.scorer.linear.weight[0, JOB_ESTIMATE] = -weight * LOG_LONGEST
                self.scorer.linear.weight[0, -1] = weight * LOG_SMALLEST_SIZE
        elif saf:
            raise BfenvError(f"saf={saf} needs network='ranker', got {network!r}")

    def _build(self, lr_schedule: Callable[[float], float]) -> None:
        self.scorer = self._make()
        optimizer: Any = self.optimizer_class
        self.optimizer = optimizer(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)

    def forward(
        self, obs: Any, deterministic: bool = False, action_masks: np.ndarray | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return actions, values and the logarithms of the actions' probabilities."""
        distribution, values = self._evaluate(obs, action_masks)
        actions = distribution.get_actions(deterministic=deterministic)
        return actions, values, distribution.log_prob(actions)

    def evaluate_actions(
        self, obs: Any, actions: Tensor, action_masks: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return values, the logarithms of the actions' probabilities, and entropies."""
        distribution, values = self._evaluate(obs, action_masks)
        return values, distribution.log_prob(actions), distribution.entropy()

    def get_distribution(self, obs: Any, action_masks: Any = None) -> Any:
        """Return the distribution of the actions."""
        return self._evaluate(obs, action_masks)[0]

    def predict_values(self, obs: Any) -> Tensor:
        """Return the values."""
        return self._evaluate(obs, None)[1]

    def _evaluate(self, obs: Any, masks: Any) -> tuple[MaskableDistribution, Tensor]:
        scores, values = self.scorer(*(obs[part] for part in OBSERVATION))
        distribution = self.action_dist.proba_distribution(action_logits=scores)
        if masks is not None:
            distribution.apply_masking(masks)
        return distribution, values.unsqueeze(1)


def export_network(model: Any, path: str | os.PathLike[str], env: Any = None) -> Path:
    """Write the network of a model, which then acts without torch; opening the file runs no code.

    Such a file is an agent (`--agent FILE.json`) and a policy (`--policy agent:FILE.json`).

    Args:
        model: Of MaskablePPO, with `ScorerPolicy`.
        path: The file, which must end in .json. It is replaced if it exists.
        env: The environments that the model was trained in, with all wrappers; None for its own.

    Returns:
        The file.

    Raises:
        BfenvError: If the model has another policy or another name, was trained under VecNormalize,
            has weights that are not finite, or cannot be described, see
            `bfenv.agents.saved_model.describe_model`.
    """
    path = Path(path)
    if path.suffix != ".json":
        raise BfenvError(f"the file of a network must end in .json, got {path}")
    policy = getattr(model, "policy", model)
    if not isinstance(policy, ScorerPolicy):
        raise BfenvError(f"only a ScorerPolicy can be exported, got {type(policy).__name__}")
    card = describe_model(model, env)
    if card.normalization["observations"]:
        raise BfenvError("a network that was trained under VecNormalize cannot be exported")
    batch = (model.get_env() if env is None else env).get_attr("batch")[0]
    card = replace(
        card,
        kind=NETWORK,
        name=path.stem,
        what=f"the network {policy.network!r}, trained by {card.algorithm}",
        network=policy.network,
        hidden=policy.hidden,
        queue_features=tuple(feature.name for feature in batch.queue_features),
        cluster_features=tuple(feature.name for feature in batch.cluster_features),
    )
    weights = {name: part.cpu().numpy() for name, part in policy.scorer.state_dict().items()}
    save_network(path, card, weights)
    return path
