"""The spaces of observations and actions."""

from typing import Any

import numpy as np
from gymnasium import spaces

from bfenv.envs.features import PROFILE, Feature


def observation_space(
    queue: tuple[Feature, ...], cluster: tuple[Feature, ...], window: int, actions: int, flat: bool
) -> spaces.Space[Any]:
    """Return the space of an environment's observations.

    Parameters
    ----------
    queue, cluster
        Columns of these parts.
    window
        Slots.
    actions
        Length of the mask.
    flat
        One box of all parts and the mask, in place of a Dict.
    """
    parts: dict[str, spaces.Box] = {
        "queue": _box(queue, window),
        "profile": _box(PROFILE),
        "cluster": _box(cluster),
    }
    if not flat:
        return spaces.Dict(dict[str, spaces.Space[Any]](parts))
    low = [part.low.ravel() for part in parts.values()] + [np.zeros(actions)]
    high = [part.high.ravel() for part in parts.values()] + [np.ones(actions)]
    return spaces.Box(
        np.concatenate(low).astype(np.float32), np.concatenate(high).astype(np.float32)
    )


def _box(features: tuple[Feature, ...], *rows: int) -> spaces.Box:
    low = np.broadcast_to([f.low for f in features], (*rows, len(features)))
    high = np.broadcast_to([f.high for f in features], (*rows, len(features)))
    return spaces.Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)
