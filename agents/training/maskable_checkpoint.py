"""Checkpoints of MaskablePPO: its weights, moments, random numbers and environments.

This module needs torch and sb3-contrib.
"""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO

from bfenv.agents.training.checkpoint import network_arrays, reading, tensors, write_state
from bfenv.agents.training.episodes import Episodes
from bfenv.agents.training.progress import Progress


def save_maskable(path: Path, progress: Progress, model: MaskablePPO, episodes: Episodes) -> None:
    """Write a checkpoint between two rollouts; a reader sees the old one or all of the new."""
    arrays = network_arrays(model.policy)
    for i, moments in model.policy.optimizer.state_dict()["state"].items():
        arrays |= {f"adam/{i}/{name}": value.cpu().numpy() for name, value in moments.items()}
    name, keys, *rest = np.random.get_state()  # stable-baselines3 draws from the global generators
    arrays |= {"numpy": np.asarray(keys), "torch": torch.get_rng_state().numpy()}
    if torch.device(model.device).type == "cuda":
        arrays["cuda"] = torch.cuda.get_rng_state(model.device).numpy()
    content = {
        "steps": model.num_timesteps,
        "updates": model._n_updates,
        "numpy": [name, *rest],
    }
    write_state(path, progress, episodes, arrays, content)


def load_maskable(path: Path, model: MaskablePPO, episodes: Episodes) -> Progress:
    """Bring a model and its episodes to the state of a checkpoint. No code in the file is run.

    Raises
    ------
    BfenvError
        If the file is not a checkpoint of this training.
    """
    with reading(path, episodes) as (progress, arrays, content):
        model.policy.load_state_dict(tensors(arrays, "network/"))
        moments: dict[int, dict[str, Any]] = {}
        for key, value in tensors(arrays, "adam/").items():
            i, _, name = key.partition("/")
            moments.setdefault(int(i), {})[name] = value
        optimizer = model.policy.optimizer
        optimizer.load_state_dict(optimizer.state_dict() | {"state": moments})
        model.num_timesteps, model._n_updates = content["steps"], content["updates"]
        name, *rest = content["numpy"]
        np.random.set_state((name, arrays["numpy"], *rest))
        torch.set_rng_state(torch.from_numpy(arrays["torch"]))
        if "cuda" in arrays:
            torch.cuda.set_rng_state(torch.from_numpy(arrays["cuda"]), model.device)
    return progress
