"""Checkpoints: all that a training depends on, in one file of numbers and JSON.

This module needs torch.
"""

import io
import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from torch import nn

from bfenv.agents.training.adam import Adam
from bfenv.agents.training.episodes import Episodes
from bfenv.agents.training.run_folder import Progress
from bfenv.core.errors import BfenvError
from bfenv.core.files import load_arrays, write_atomically

FORMAT = "bfenv checkpoint 3"
NETWORK = "network/"  # begins the names of weights


def save_checkpoint(
    path: Path,
    progress: Progress,
    network: nn.Module,
    optimizer: Adam,
    generator: torch.Generator,
    episodes: Episodes,
) -> None:
    """Write a checkpoint; a reader sees the old one or all of the new."""
    state = episodes.state()
    arrays = {NETWORK + name: part.cpu().numpy() for name, part in network.state_dict().items()}
    arrays |= {"adam/mean": optimizer.mean, "adam/square": optimizer.square}
    arrays |= {"actions": state.pop("actions"), "generator": generator.get_state().numpy()}
    content = {"format": FORMAT, "progress": asdict(progress), "episodes": state}
    text = json.dumps(content | {"adam_steps": optimizer.count})
    buffer = io.BytesIO()
    np.savez_compressed(buffer, json=np.array(text), **arrays)
    write_atomically(path, buffer.getvalue())


def load_checkpoint(
    path: Path, network: nn.Module, optimizer: Adam, generator: torch.Generator, episodes: Episodes
) -> Progress:
    """Bring everything to the state of a checkpoint. No code in the file is run.

    Raises BfenvError if the file is not a checkpoint of this training.
    """
    try:
        arrays = load_arrays(path)
        content = json.loads(str(arrays.pop("json")))
        if content["format"] != FORMAT:
            raise ValueError(f"its format is {content['format']!r}")
        progress = Progress(**content["progress"])
        weights = {
            name.removeprefix(NETWORK): torch.from_numpy(part)
            for name, part in arrays.items()
            if name.startswith(NETWORK)
        }
        network.load_state_dict(weights)
        optimizer.mean[:] = arrays["adam/mean"]
        optimizer.square[:] = arrays["adam/square"]
        optimizer.count = content["adam_steps"]
        generator.set_state(torch.from_numpy(arrays["generator"]))
        episodes.restore({**content["episodes"], "actions": arrays["actions"]})
        return progress
    except (OSError, KeyError, TypeError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise BfenvError(f"{path}: not a checkpoint of this training: {reason}") from error
