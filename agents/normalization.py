"""The observation statistics of VecNormalize, without its pickle."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from bfenv.core.errors import BfenvError


class Normalization(NamedTuple):
    """How a VecNormalize of stable-baselines3 scales observations; rewards do not matter here."""

    parts: Mapping[str, tuple[np.ndarray, np.ndarray]]  # mean and variance; "" of a flat Box
    clip: float
    epsilon: float

    def apply(self, observation: Any) -> Any:
        """Return an observation, or a batch of them, scaled exactly as `normalize_obs` does."""
        if not isinstance(observation, dict):
            return self._scale(observation, *self.parts[""])
        scaled = {name: self._scale(observation[name], *part) for name, part in self.parts.items()}
        return {**observation, **scaled}

    def _scale(self, values: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
        scaled = np.clip((values - mean) / np.sqrt(variance + self.epsilon), -self.clip, self.clip)
        single: np.ndarray = scaled.astype(np.float32)
        return single


def encode_normalization(wrapper: Any) -> dict[str, Any]:
    """Return what a VecNormalize does to observations, as JSON has it.

    The wrapper may be None, or scale rewards only.
    """
    if wrapper is None or not wrapper.norm_obs:
        return {"observations": False}
    statistics = wrapper.obs_rms
    parts = statistics if isinstance(statistics, dict) else {"": statistics}
    return {
        "parts": {
            name: {"mean": part.mean.tolist(), "var": part.var.tolist()}
            for name, part in parts.items()
        },
        "clip": float(wrapper.clip_obs),
        "epsilon": float(wrapper.epsilon),
        "observations": True,
    }


def decode_normalization(values: Mapping[str, Any], space: spaces.Space[Any]) -> Any:
    """Read what `encode_normalization` returned.

    Parameters
    ----------
    values
        The part of a card.
    space
        Of the observations, whose shapes the statistics must have.

    Returns
    -------
    Normalization or None

    Raises
    ------
    BfenvError
        If statistics are missing, do not fit the space, or are not numbers.
    """
    if values.get("observations") is False:
        return None
    try:
        parts = {
            str(name): (np.array(part["mean"], dtype=float), np.array(part["var"], dtype=float))
            for name, part in values["parts"].items()
        }
        normalization = Normalization(parts, float(values["clip"]), float(values["epsilon"]))
        boxes = space.spaces if isinstance(space, spaces.Dict) else {"": space}
        fits = bool(parts) and all(
            values.shape == boxes[name].shape and np.isfinite(values).all()
            for name, part in parts.items()
            for values in part
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BfenvError(f"the statistics of VecNormalize are missing: {error!r}") from error
    if not fits:
        raise BfenvError("the statistics of VecNormalize do not fit the observations")
    return normalization
