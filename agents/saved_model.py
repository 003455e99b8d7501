"""Models of stable-baselines3 and sb3-contrib, saved and opened with all that they depend on."""

import inspect
import io
import os
from pathlib import Path
from typing import Any

import numpy as np

from bfenv.agents.legal_choice import LegalChoice, ranks_actions
from bfenv.agents.model_card import (
    ModelCard,
    card_path,
    describe_model,
    read_card,
    write_card,
)
from bfenv.core.errors import BfenvError
from bfenv.core.files import write_atomically
from bfenv.core.names import import_object


class ModelAgent:
    """A model as an agent: observations are normalized as in training, and masks are kept.

    Parameters
    ----------
    model
        Of stable-baselines3 or sb3-contrib.
    card
        What it was trained with.
    """

    def __init__(self, model: Any, card: ModelCard) -> None:
        takes_masks = "action_masks" in inspect.signature(model.predict).parameters
        self.card = card
        self.samples = hasattr(model.policy, "get_distribution")  # what `deterministic` changes
        self._takes_masks = takes_masks or ranks_actions(model)
        self._model = LegalChoice(model) if self._takes_masks and not takes_masks else model

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of `BackfillEnv` that it was trained with and must act in."""
        return self.card.settings

    @property
    def replaced_actions(self) -> int:
        """How many illegal choices have been replaced so far."""
        return getattr(self._model, "replaced_actions", 0)

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: np.ndarray | None = None,
        deterministic: bool = False,
        action_masks: np.ndarray | None = None,
    ) -> tuple[np.ndarray, Any]:
        """Choose an action, as the model's own `predict` does.

        Parameters
        ----------
        observation
            Of one environment or of a batch, as the environment returns it.
        state, episode_start
            Of recurrent models.
        deterministic
            Take the most probable action instead of drawing one.
        action_masks
            (actions,) or (num_envs, actions) bool, the legal actions. Algorithms without masks do
            not read them.

        Returns
        -------
        actions : np.ndarray
            One integer, or (num_envs,) int64 for a batch.
        state
            The next one of a recurrent model.
        """
        if self.card.normalization is not None:
            observation = self.card.normalization.apply(observation)
        masks = {"action_masks": action_masks} if self._takes_masks else {}
        actions: np.ndarray
        actions, state = self._model.predict(
            observation,
            state=state,
            episode_start=episode_start,
            deterministic=deterministic,
            **masks,
        )
        return actions, state


def save_model(model: Any, path: str | os.PathLike[str], env: Any = None) -> Path:
    """Save a model, and beside it a card with all that `load_agent` must know.

    The card `NAME.card.json` of `NAME.zip` holds the environment's settings, the jobs trained on,
    the statistics of VecNormalize, and versions.

    Parameters
    ----------
    model
        Of stable-baselines3 or sb3-contrib.
    path
        The file; ".zip" is added unless it is there. It is replaced if it exists.
    env
        The environments that the model was trained in, with all wrappers; None for its own.

    Returns
    -------
    Path
        The model's file.

    Raises
    ------
    BfenvError
        If the settings are not known or cannot be restored, see `describe_model`, or a file cannot
        be written.
    """
    path = _zip_path(path)
    card = describe_model(model, env)
    buffer = io.BytesIO()
    model.save(buffer)
    card_path(path).unlink(missing_ok=True)  # never the old card beside the new model
    write_atomically(path, buffer.getvalue())
    write_card(path, card)
    return path


def load_agent(path: str | os.PathLike[str], *, trust: bool = False) -> ModelAgent:
    """Open a saved model with the settings and the normalization that it was trained with.

    Parameters
    ----------
    path
        The model's file, with its card beside it, see `save_model`.
    trust
        Open the model, which runs whatever code is in it, and imports the modules of its algorithm
        and its policy.

    Returns
    -------
    ModelAgent
        Its `predict` takes what the environment returns.

    Raises
    ------
    BfenvError
        If `trust` is not set, the card is missing or not that of the file, the model cannot be
        opened, its spaces are others, or its statistics of VecNormalize are missing.
    """
    path = _zip_path(path)
    card = read_card(path)
    _check_trust(path, trust)
    replaced = {}
    if not card.policy_class.startswith("__main__:"):  # such a class is pickled in the file
        replaced["policy_class"] = import_object(card.policy_class)
    model = _open(path, import_object(card.algorithm), replaced)
    card = read_card(path, model.observation_space)
    return ModelAgent(model, card)


def _open(path: Path, algorithm: Any, replaced: dict[str, Any]) -> Any:
    import torch

    torch.set_num_threads(1)  # one agent, one core
    try:
        return algorithm.load(path, device="cpu", custom_objects=replaced or None)
    except Exception as error:  # whatever is pickled in it may raise anything
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise BfenvError(f"{path}: cannot be opened: {reason}") from error


def _check_trust(path: Path, trust: bool) -> None:
    if not trust:
        raise BfenvError(
            f"{path}: a saved model, and opening it runs whatever code is in it; pass trust=True, "
            "on the command line --trust, if you know where it comes from"
        )


def _zip_path(path: str | os.PathLike[str]) -> Path:
    path = Path(path)
    return path if path.suffix == ".zip" else path.with_name(f"{path.name}.zip")
