"""Masks for models without masks: the best legal action in place of an illegal one."""

from typing import Any

import numpy as np


class LegalChoice:
    """A model of stable-baselines3 that takes no masks, kept to legal actions.

    If the model chooses an illegal action, the legal action that it ranks highest replaces it: by
    probability for actor-critic policies (PPO, A2C, RecurrentPPO), by value for DQN and QRDQN.

    * `model`: its policy must be one of these kinds, see `ranks_actions`.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.replaced_actions = 0  # so far

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: np.ndarray | None = None,
        deterministic: bool = False,
        action_masks: np.ndarray | None = None,
    ) -> tuple[np.ndarray, Any]:
        """Return what the model does, or the best legal action in its place.

        `action_masks` are (window + 1,) or (N, window + 1) bool; None leaves illegal actions as
        they are.
        """
        actions, next_state = self.model.predict(observation, state, episode_start, deterministic)
        if action_masks is None:
            return actions, next_state
        masks = np.atleast_2d(action_masks)
        chosen = np.atleast_1d(actions).copy()
        illegal = ~masks[np.arange(len(chosen)), chosen]
        if illegal.any():
            self.replaced_actions += int(illegal.sum())
            ranks = np.where(masks, self._ranks(observation, state, episode_start), -np.inf)
            chosen[illegal] = ranks[illegal].argmax(axis=1)
        return chosen.reshape(np.shape(actions)), next_state

    def _ranks(self, observation: Any, state: Any, episode_start: Any) -> np.ndarray:
        """Return how much the model likes each action, (N, window + 1)."""
        import torch

        policy = self.model.policy
        policy.set_training_mode(False)
        tensors, _ = policy.obs_to_tensor(observation)
        with torch.no_grad():
            if hasattr(policy, "quantile_net"):
                ranks = policy.quantile_net(tensors).mean(dim=1)
            elif hasattr(policy, "q_net"):
                ranks = policy.q_net(tensors)
            else:
                memory = _memory(policy, state, episode_start)
                distribution = policy.get_distribution(tensors, *memory)
                if memory:
                    distribution, _ = distribution
                ranks = distribution.distribution.logits
        values: np.ndarray = ranks.cpu().numpy()
        return values


def ranks_actions(model: Any) -> bool:
    """Tell whether `LegalChoice` can rank the actions of a model."""
    policy = getattr(model, "policy", None)
    kinds = ("get_distribution", "q_net", "quantile_net")
    return hasattr(policy, "obs_to_tensor") and any(hasattr(policy, kind) for kind in kinds)


def _memory(policy: Any, state: Any, episode_start: Any) -> tuple[Any, ...]:
    """Return the arguments that a recurrent policy needs besides the observation."""
    if not hasattr(policy, "lstm_hidden_state_shape"):
        return ()
    import torch

    if state is None:
        layers, _, size = policy.lstm_hidden_state_shape
        state = (np.zeros((layers, len(np.atleast_1d(episode_start)), size)),) * 2
    hidden = tuple(torch.as_tensor(part, dtype=torch.float32) for part in state)
    return hidden, torch.as_tensor(episode_start, dtype=torch.float32)
