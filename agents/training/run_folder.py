"""RunFolder: the files of one training, and Progress: how far it is."""

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from bfenv.agents.player import Choose, play_traces
from bfenv.agents.search.objective import WAIT_MARGIN
from bfenv.agents.training.episodes import separate_splits
from bfenv.agents.training.settings import TrainSettings, find_settings, write_settings
from bfenv.core.durations import MINUTE
from bfenv.core.errors import BfenvError
from bfenv.core.files import write_atomically
from bfenv.envs.settings import EnvSettings
from bfenv.envs.vector import BackfillVectorEnv


class Score(NamedTuple):
    """How an agent did on all validation traces."""

    ratio: float  # geometric mean of its mean bounded slowdown over EASY's
    wait_ratio: float  # its longest wait over EASY's, the worst of the traces
    slowdown: float  # mean of the mean bounded slowdowns
    easy_slowdown: float

    @property
    def rank(self) -> tuple[bool, float]:
        """What agents are chosen by, the lowest first; those beyond WAIT_MARGIN come last."""
        return self.wait_ratio > WAIT_MARGIN, self.ratio


class Validation:
    """The validation split of some of the traces of a training, each one episode."""

    def __init__(self, settings: TrainSettings) -> None:
        environment = {
            **settings.environment,
            "split": "validation",
            "episode_jobs": None,
            "max_episode_steps": None,
        }
        load = settings.environment.get("load")
        loads = len(load) if isinstance(load, list | tuple) else 1
        count = min(len(settings.workload) * loads, settings.validation_traces)
        self.envs = BackfillVectorEnv(
            count, list(settings.workload), "disabled", **cast(EnvSettings, environment)
        )
        separate_splits(self.envs.batch.source)
        traces = len(self.envs.batch.source.traces)
        self.traces = np.unique(np.linspace(0, traces - 1, count).round().astype(int)).tolist()

    def score(self, choose: Choose) -> Score:
        """Play every trace once, with actions chosen from observations and masks."""
        metrics = play_traces(self.envs, self.traces, choose)
        own, wait, easy, easy_wait = (
            np.array([each[name] for each in metrics])
            for name in (
                "mean_bounded_slowdown", "longest_wait",
                "reference_bounded_slowdown", "reference_longest_wait",
            )
        )  # fmt: skip
        return Score(
            float(np.exp(np.log(own / easy).mean())),
            float((wait / np.maximum(easy_wait, MINUTE)).max()),
            float(own.mean()),
            float(easy.mean()),
        )


COLUMNS = (
    "update",
    "steps",
    "seconds",
    "steps_per_second",
    "episodes",
    "episode_slowdown",  # mean bounded slowdown of the episodes that ended, over the reference's
    "policy_loss",
    "value_loss",
    "entropy",
    "approx_kl",
    "clip_fraction",
    "ratio",  # on validation: mean bounded slowdown over EASY's
    "wait_ratio",  # on validation: longest wait over EASY's
    "slowdown",
    "easy_slowdown",
)


Report = Callable[[dict[str, Any]], None]  # is called with a row of the progress, per update


@dataclass
class Progress:
    """How far a training is, and its scores on validation."""

    update: int = 0  # updates made
    seconds: float = 0.0  # they took
    best: float | None = None  # the best ratio to EASY on validation
    best_wait: float | None = None  # its longest wait over EASY's
    ratio: float | None = None  # the latest
    wait_ratio: float | None = None
    slowdown: float | None = None
    easy_slowdown: float | None = None
    failures: int = 0  # validations since the best

    def validated(self, score: Score) -> bool:
        """Note a score; tell whether it is the best so far."""
        self.ratio, self.wait_ratio, self.slowdown, self.easy_slowdown = score
        if self.best is not None and self.best_wait is not None:
            if score.rank >= Score(self.best, self.best_wait, 0.0, 0.0).rank:
                self.failures += 1
                return False
        self.best, self.best_wait, self.failures = score.ratio, score.wait_ratio, 0
        return True

    def row(self, batch: int, metrics: list[dict[str, float]]) -> dict[str, Any]:
        """Return the row of the latest update.

        * `batch`: number of actions in an update.
        * `metrics`: of the episodes that ended in it.
        """
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
        }

    def scores(self) -> dict[str, Any]:
        """Return the latest score on validation."""
        return {name: getattr(self, name) for name in Score._fields}

    def is_over(self, patience: int | None) -> bool:
        """Tell whether validation has not improved for too long."""
        return patience is not None and self.failures >= patience


class RunFolder:
    """The settings, the progress, the checkpoint and the agent of one training.

    * `path`: is created if needed.
    * `settings`: are written to it, or compared with those that are there.
    * `resume`: whether the folder may have a training of these settings in it.
    * `tensorboard`: also write the progress for TensorBoard, which must be installed.

    Raises BfenvError if the folder has another training in it, any if `resume` is not set, or other
    files.
    """

    def __init__(
        self, path: Path, settings: TrainSettings, resume: bool, tensorboard: bool = False
    ) -> None:
        self.path = path
        self.progress = path / "progress.csv"
        self.checkpoint = path / "checkpoint.npz"
        self.agent = path / "agent.json"
        self._settings = path / "settings.yaml"
        writer: Any = None
        if tensorboard:  # before the folder: if it fails, nothing is left behind
            try:
                from torch.utils.tensorboard import SummaryWriter as writer
            except ImportError as error:
                raise BfenvError(
                    "--tensorboard needs TensorBoard: pip install tensorboard"
                ) from error
        path.mkdir(parents=True, exist_ok=True)
        if self._settings.exists():
            if not resume:
                raise BfenvError(f"{path} has a training in it: use --resume, or another folder")
            there, given = find_settings(str(self._settings)).as_dict(), settings.as_dict()
            for name, value in given.items():
                if there[name] != value:
                    raise BfenvError(
                        f"{path} has a training with {name}={there[name]!r} in it, got {value!r}"
                    )
        elif any(not each.name.startswith(".") for each in path.iterdir()):
            raise BfenvError(f"{path} is neither empty nor a training: choose another folder")
        write_atomically(self._settings, write_settings(settings).encode())
        if not self.checkpoint.is_file():
            self.keep_rows(-1)
        self._board = writer and writer(str(path / "tensorboard"))

    def keep_rows(self, update: int) -> None:
        """Drop the rows behind an update, which will be made again."""
        rows = [row for row in read_progress(self.progress) if int(row["update"]) <= update]
        buffer = io.StringIO()
        writer = csv.DictWriter(buffer, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        write_atomically(self.progress, buffer.getvalue().encode())

    def write_row(self, row: dict[str, Any]) -> None:
        """Append a row to the progress."""
        with self.progress.open("a", newline="") as file:
            csv.DictWriter(file, COLUMNS, lineterminator="\n").writerow(row)
        if self._board is not None:
            for name, value in row.items():
                if name not in ("update", "steps") and value is not None:
                    self._board.add_scalar(f"train/{name}", value, row["steps"])

    def close(self) -> None:
        """Write what TensorBoard has not written yet."""
        if self._board is not None:
            self._board.close()


def read_progress(path: Path) -> list[dict[str, str]]:
    """Read the rows of a progress file; [] if there is none."""
    if not path.is_file():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))
