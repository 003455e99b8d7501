"""Checkpoints: all that a training depends on, in one file of numbers and JSON.

This module needs torch.
"""

import io
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from bfenv.agents.training.adam import Adam
from bfenv.agents.training.episodes import Episodes
from bfenv.agents.training.progress import Progress
from bfenv.core.errors import BfenvError
from bfenv.core.files import write_atomically

FORMAT = "bfenv checkpoint 2"


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
    arrays = {f"network/{name}": value for name, value in network.state_dict().items()}
    arrays["generator"] = generator.get_state()
    values = {name: value.cpu().numpy() for name, value in arrays.items()}
    values |= {"adam/mean": optimizer.mean, "adam/square": optimizer.square}
    values["actions"] = state.pop("actions")
    content = {"progress": asdict(progress), "episodes": state, "adam_steps": optimizer.count}
    text = json.dumps({"format": FORMAT, **content})
    buffer = io.BytesIO()
    np.savez_compressed(buffer, json=np.array(text), **values)
    write_atomically(path, buffer.getvalue())


def load_checkpoint(
    path: Path,
    network: nn.Module,
    optimizer: Adam,
    generator: torch.Generator,
    episodes: Episodes,
) -> Progress:
    """Bring everything to the state of a checkpoint. No code in the file is run.

    Raises
    ------
    BfenvError
        If the file is not a checkpoint of this training.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        content = json.loads(str(arrays.pop("json")))
        if content["format"] != FORMAT:
            raise ValueError(f"its format is {content['format']!r}")
        network.load_state_dict(_tensors(arrays, "network/"))
        optimizer.mean[:] = arrays["adam/mean"]
        optimizer.square[:] = arrays["adam/square"]
        optimizer.count = content["adam_steps"]
        generator.set_state(torch.from_numpy(arrays["generator"]))
        episodes.restore({**content["episodes"], "actions": arrays["actions"]})
        return Progress(**content["progress"])
    except (OSError, KeyError, TypeError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise BfenvError(f"{path}: not a checkpoint of this training: {reason}") from error


def _tensors(arrays: dict[str, Any], prefix: str) -> dict[str, Tensor]:
    """Return the arrays under a prefix as tensors."""
    return {
        name.removeprefix(prefix): torch.from_numpy(value)
        for name, value in arrays.items()
        if name.startswith(prefix)
    }
