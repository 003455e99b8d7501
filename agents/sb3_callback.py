"""SaveModel: saves a model with its card when its training ends.

This module needs stable-baselines3; no other module of bfenv imports it when it is loaded.
"""

import os
from pathlib import Path

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
