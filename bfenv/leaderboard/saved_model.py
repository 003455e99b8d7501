"""Saved models of stable-baselines3 and sb3-contrib, opened as agents."""

import json
import zipfile
from typing import Any

from bfenv.core.errors import BfenvError
from bfenv.core.names import import_object

# The algorithm that a saved model is of, by the module of its policy class and a hyperparameter.
ALGORITHMS = (
    ("sb3_contrib.common.maskable.", "", "sb3_contrib:MaskablePPO"),
    ("sb3_contrib.common.recurrent.", "", "sb3_contrib:RecurrentPPO"),
    ("sb3_contrib.qrdqn.", "", "sb3_contrib:QRDQN"),
    ("stable_baselines3.dqn.", "", "stable_baselines3:DQN"),
    ("stable_baselines3.common.", "clip_range", "stable_baselines3:PPO"),
    ("stable_baselines3.common.", "", "stable_baselines3:A2C"),
)


def load_model(path: str) -> Any:
    """Open a saved model. This runs whatever code is pickled in it.

    Raises
    ------
    BfenvError
        If the file is not a saved model, or is one of an unknown algorithm.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            data = json.loads(archive.read("data"))
        module = data["policy_class"]["__module__"]
        names = [
            name
            for prefix, parameter, name in ALGORITHMS
            if module.startswith(prefix) and (not parameter or parameter in data)
        ]
    except (OSError, AttributeError, KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
        raise BfenvError(f"{path}: not a saved model of stable-baselines3") from error
    if not names:
        known = ", ".join(name.partition(":")[2] for _, _, name in ALGORITHMS)
        raise BfenvError(f"{path}: a model of {module}, which is none of {known}")
    import torch

    torch.set_num_threads(1)  # one row, one core
    return import_object(names[0]).load(path, device="cpu")
