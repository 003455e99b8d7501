"""ScorerPolicy: the networks of `bfenv train` for MaskablePPO.

This module needs torch and sb3-contrib; no other module of bfenv imports it when it is loaded.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.distributions import MaskableDistribution
from sb3_contrib.common.maskable.policies import MaskableMultiInputActorCriticPolicy
from torch import Tensor

from bfenv.agents.network_agent import JOB_SCALE, LOG_SMALLEST_SIZE
from bfenv.agents.training.networks import NETWORKS, OBSERVATION, Ranker, Scorer
from bfenv.core.errors import BfenvError
from bfenv.envs.features import JOB_ESTIMATE, LOG_LONGEST


class ScorerPolicy(MaskableMultiInputActorCriticPolicy):
    """A policy of MaskablePPO that scores every waiting job with the same weights.

    Its network, `scorer`, is one of `bfenv.agents.training.networks`. It has as many weights for
    any window, and what it learns of a job holds in every slot.

    * `network`, `hidden`: as those of `TrainSettings`.
    * `saf`: the network "ranker" begins with probabilities in proportion to (size x estimate) **
      -saf, so the smallest area first; 0 for equal ones.

    Raises BfenvError if the environment has actions for trials, or another network is to begin so.

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
            raise BfenvError("ScorerPolicy has no actions for trials: trial_limit=None")
        jobs, cluster = parts["queue"].shape[1], parts["cluster"].shape[0]
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
