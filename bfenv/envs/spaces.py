"""The spaces of observations and actions."""

from typing import Any

import numpy as np
from gymnasium import spaces

from bfenv.envs.features import PROFILE, Feature


def observation_space(
    queue: tuple[Feature, ...], cluster: tuple[Feature, ...], window: int
) -> spaces.Space[Any]:
    """Return the space of an environment's observations.

    Parameters
    ----------
    queue, cluster
        Columns of these parts.
    window
        Slots.
    """
    return spaces.Dict(
        {"queue": _box(queue, window), "profile": _box(PROFILE), "cluster": _box(cluster)}
    )


def _box(features: tuple[Feature, ...], *rows: int) -> spaces.Box:
    low = np.broadcast_to([f.low for f in features], (*rows, len(features)))
    high = np.broadcast_to([f.high for f in features], (*rows, len(features)))
    return spaces.Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)
