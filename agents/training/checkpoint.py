"""Checkpoints: all that a training depends on, in one file of numbers and JSON.

This module needs torch.
"""

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from bfenv.agents.training.adam import Adam
from bfenv.agents.training.episodes import Episodes
from bfenv.agents.training.progress import Progress
from bfenv.core.array_file import load_arrays
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
    arrays = network_arrays(network) | {"generator": generator.get_state().numpy()}
    arrays |= {"adam/mean": optimizer.mean, "adam/square": optimizer.square}
    write_state(path, progress, episodes, arrays, {"adam_steps": optimizer.count})


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
    with reading(path, episodes) as (progress, arrays, content):
        network.load_state_dict(tensors(arrays, "network/"))
        optimizer.mean[:] = arrays["adam/mean"]
        optimizer.square[:] = arrays["adam/square"]
        optimizer.count = content["adam_steps"]
        generator.set_state(torch.from_numpy(arrays["generator"]))
    return progress


def write_state(
    path: Path,
    progress: Progress,
    episodes: Episodes,
    arrays: dict[str, Any],
    content: dict[str, Any],
) -> None:
    """Write progress and episodes, and what else a learner depends on: arrays, and JSON."""
    state = episodes.state()
    arrays = arrays | {"actions": state.pop("actions")}
    content = {"progress": asdict(progress), "episodes": state, **content}
    text = json.dumps({"format": FORMAT, **content})
    buffer = io.BytesIO()
    np.savez_compressed(buffer, json=np.array(text), **arrays)
    write_atomically(path, buffer.getvalue())


@contextmanager
def reading(
    path: Path, episodes: Episodes
) -> Iterator[tuple[Progress, dict[str, np.ndarray], dict[str, Any]]]:
    """Bring episodes to the state in a file of `write_state`; yield progress, arrays and JSON.

    Raises
    ------
    BfenvError
        If the file is something else, or what is done with it in the context fails.
    """
    try:
        arrays = load_arrays(path)
        content = json.loads(str(arrays.pop("json")))
        if content["format"] != FORMAT:
            raise ValueError(f"its format is {content['format']!r}")
        yield Progress(**content["progress"]), arrays, content
        episodes.restore({**content["episodes"], "actions": arrays["actions"]})
    except (OSError, KeyError, TypeError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise BfenvError(f"{path}: not a checkpoint of this training: {reason}") from error


def network_arrays(network: nn.Module) -> dict[str, np.ndarray]:
    """Return the weights of a network by name; `tensors` reverses it."""
    return {f"network/{name}": value.cpu().numpy() for name, value in network.state_dict().items()}


def tensors(arrays: dict[str, np.ndarray], prefix: str) -> dict[str, Tensor]:
    """Return the arrays under a prefix as tensors."""
    return {
        name.removeprefix(prefix): torch.from_numpy(value)
        for name, value in arrays.items()
        if name.startswith(prefix)
    }
