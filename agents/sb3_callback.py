"""Callbacks of stable-baselines3: SaveModel keeps a model, ShowProgress draws a progress bar.

This module needs stable-baselines3; no other module of bfenv imports it when it is loaded.
"""

import os
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from stable_baselines3.common.callbacks import BaseCallback

from bfenv.agents.saved_model import save_model
from bfenv.core.arguments import check_integer


class SaveModel(BaseCallback):
    """Call `save_model` at the end of `model.learn(steps, callback=SaveModel("model.zip"))`.

    * `path`: the model's file; its card is written beside it.
    * `every`: also save each time that many calls of `step` have been made; None saves only at the
      end. The file is replaced each time.

    Raises BfenvError if `every` is not an integer from 1, and what `save_model` raises, when
    training begins.
    """

    def __init__(self, path: str | os.PathLike[str], every: int | None = None) -> None:
        super().__init__()
        self.path = Path(path)
        self.every = None if every is None else check_integer("every", every, 1)

    def _on_training_start(self) -> None:
        self._save()  # so that a model that cannot be saved fails before the training

    def _on_step(self) -> bool:
        if self.every is not None and self.n_calls % self.every == 0:
            self._save()
        return True

    def _on_training_end(self) -> None:
        self._save()

    def _save(self) -> None:
        save_model(self.model, self.path, self.training_env)


class ShowProgress(BaseCallback):
    """Draw a progress bar on a terminal during `model.learn(steps, callback=ShowProgress())`.

    Beside it stand the mean reward of the last episodes, once some have ended, and the time that is
    left. Where stderr is not a terminal, nothing is drawn.
    """

    def __init__(self) -> None:
        super().__init__()
        console = Console(stderr=True)
        self._progress = Progress(
            TextColumn("training"),
            BarColumn(),
            TextColumn("{task.completed:,} of {task.total:,} steps{task.fields[reward]}"),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )

    def _on_training_start(self) -> None:
        total = int(self.locals["total_timesteps"])
        self._task = self._progress.add_task("", total=total, reward="")
        self._progress.start()

    def _on_step(self) -> bool:
        self._progress.update(self._task, completed=self.num_timesteps)
        return True

    def _on_rollout_end(self) -> None:
        episodes = self.model.ep_info_buffer or ()
        if episodes:
            mean = sum(episode["r"] for episode in episodes) / len(episodes)
            self._progress.update(self._task, reward=f", reward {mean:.3f}")

    def _on_training_end(self) -> None:
        self._progress.stop()
