"""Checkpoints: all that a training depends on, in one file of numbers and JSON.

This module needs torch.
"""

import io
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from bfenv.agents.training.episodes import Episodes
from bfenv.agents.training.settings import TrainSettings
from bfenv.agents.training.validation import STARVES, Score
from bfenv.core.durations import MINUTE
from bfenv.core.errors import BfenvError
from bfenv.core.files import write_atomically

FORMAT = "bfenv checkpoint 1"
TOLERANCE = 0.02  # mean log excess of the longest wait that the Lagrangian tolerates
MEMORY = 0.9  # of the moving average of rewards per second


@dataclass
class Progress:
    """How far a training is, and what it has learned about itself."""

    update: int = 0  # updates made
    seconds: float = 0.0  # they took
    wait_penalty: float = 0.0  # of the reward "log_ratio", in the Lagrangian
    reward_rate: float | None = None  # scaled rewards per second, a moving average
    best: float | None = None  # the best ratio to EASY on validation
    best_wait: float | None = None  # its longest wait over EASY's
    best_update: int = 0
    ratio: float | None = None  # the latest
    wait_ratio: float | None = None
    slowdown: float | None = None
    easy_slowdown: float | None = None
    failures: int = 0  # validations since the best

    def observe(
        self,
        reward: Tensor,
        seconds: Tensor,
        metrics: list[dict[str, float]],
        settings: TrainSettings,
    ) -> None:
        """Follow the average reward, and the longest waits of the episodes that ended.

        The penalty on the longest wait rises while episodes exceed twice that of the reference,
        and falls while they do not: dual ascent on the constraint that they do not.
        """
        rate = float(reward.sum() / seconds.sum().clamp(min=1)) * settings.reward_scale
        if self.reward_rate is None:
            self.reward_rate = rate
        self.reward_rate = MEMORY * self.reward_rate + (1 - MEMORY) * rate
        if settings.wait_penalty_rate and metrics:
            wait = np.array([each["longest_wait"] for each in metrics])
            reference = np.array([each["reference_longest_wait"] for each in metrics])
            excess = np.log(np.maximum(wait / (STARVES * np.maximum(reference, MINUTE)), 1.0))
            change = settings.wait_penalty_rate * (float(excess.mean()) - TOLERANCE)
            self.wait_penalty = max(0.0, self.wait_penalty + change)

    def validated(self, score: Score) -> bool:
        """Note a score; tell whether it is the best so far."""
        self.ratio, self.wait_ratio, self.slowdown, self.easy_slowdown = score
        better = self.best is None or self.best_wait is None
        if not better:
            assert self.best is not None and self.best_wait is not None
            better = score.rank < Score(self.best, self.best_wait, 0.0, 0.0).rank
        self.failures = 0 if better else self.failures + 1
        if better:
            self.best, self.best_wait, self.best_update = score.ratio, score.wait_ratio, self.update
        return better

    def row(self, batch: int, metrics: list[dict[str, float]]) -> dict[str, Any]:
        """Return the row of an update of so many actions, in which these episodes ended."""
        own = [each["mean_bounded_slowdown"] for each in metrics]
        reference = [each.get("reference_bounded_slowdown", np.nan) for each in metrics]
        steps = self.update * batch
        return {
            "update": self.update,
            "steps": steps,
            "seconds": round(self.seconds, 3),
            "steps_per_second": round(steps / self.seconds),
            "episodes": len(metrics),
            "episode_slowdown": sum(own) / sum(reference) if own else None,
            "wait_penalty": self.wait_penalty,
        }

    def scores(self) -> dict[str, Any]:
        """Return the latest score on validation."""
        names = ("ratio", "wait_ratio", "slowdown", "easy_slowdown")
        return {name: getattr(self, name) for name in names}

    def is_over(self, patience: int | None) -> bool:
        """Tell whether validation has not improved for too long."""
        return patience is not None and self.failures >= patience


def save_checkpoint(
    path: Path,
    progress: Progress,
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    generator: torch.Generator,
    episodes: Episodes,
) -> None:
    """Write a checkpoint; a reader sees the old one or all of the new."""
    state = episodes.state()
    arrays = {f"network/{name}": value for name, value in network.state_dict().items()}
    for k, moments in optimizer.state_dict()["state"].items():
        arrays |= {f"adam/{k}/{name}": value for name, value in moments.items()}
    arrays["generator"] = generator.get_state()
    values = {name: value.cpu().numpy() for name, value in arrays.items()}
    values["actions"] = state.pop("actions")
    text = json.dumps({"format": FORMAT, "progress": asdict(progress), "episodes": state})
    buffer = io.BytesIO()
    np.savez_compressed(buffer, json=np.array(text), **values)
    write_atomically(path, buffer.getvalue())


def load_checkpoint(
    path: Path,
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
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
        moments: dict[int, dict[str, Tensor]] = {}
        for name, value in _tensors(arrays, "adam/").items():
            k, _, moment = name.partition("/")
            moments.setdefault(int(k), {})[moment] = value
        optimizer.load_state_dict({**optimizer.state_dict(), "state": moments})
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
