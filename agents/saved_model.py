"""Models of stable-baselines3 and sb3-contrib, saved and opened with all that they depend on."""

import inspect
import io
import os
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from gymnasium import ActionWrapper, ObservationWrapper, spaces

import bfenv.agents.card as cards
from bfenv.agents.legal_choice import LegalChoice, ranks_actions
from bfenv.agents.seen_jobs import spans_of
from bfenv.core.errors import BfenvError
from bfenv.core.files import write_atomically
from bfenv.core.names import import_object
from bfenv.core.policy import COMPLETION
from bfenv.envs.batch import EnvBatch
from bfenv.envs.features import VERSION

PACKAGES = ("bfenv", "numpy", "gymnasium", "torch", "stable-baselines3", "sb3-contrib")


class ModelAgent:
    """A model as an agent: observations are normalized as in training, and masks are kept.

    Args:
        model: Of stable-baselines3 or sb3-contrib.
        card: What it was trained with, see `describe_model`.

    Raises:
        BfenvError: If the statistics of VecNormalize are missing or do not fit the observations.
    """

    def __init__(self, model: Any, card: cards.Card) -> None:
        takes_masks = "action_masks" in inspect.signature(model.predict).parameters
        self.card = card
        self.normalization = decode_normalization(card.normalization, model.observation_space)
        self.samples = hasattr(model.policy, "get_distribution")  # what `deterministic` changes
        self.batched = not hasattr(model.policy, "lstm_hidden_state_shape")  # it has no memory
        self._takes_masks = takes_masks or ranks_actions(model)
        self._model = LegalChoice(model) if self._takes_masks and not takes_masks else model

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of `BackfillEnv` that it was trained with and must act in."""
        return dict(self.card.settings)

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

        Args:
            observation: Of one environment or of a batch, as the environment returns it.
            state, episode_start: Of recurrent models.
            deterministic: Take the most probable action instead of drawing one.
            action_masks: (actions,) or (num_envs, actions) bool, the legal actions. Algorithms
                without masks do not read them.

        Returns:
            tuple:
            * `actions` (np.ndarray): One integer, or (num_envs,) int64 for a batch.
            * `state`: The next one of a recurrent model.
        """
        if self.normalization is not None:
            observation = self.normalization.apply(observation)
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
    """Save a model and its card, with all that `load_agent` must know; return the model's file.

    The card `NAME.card.json` of `NAME.zip` holds the environment's settings, the jobs trained on,
    the statistics of VecNormalize, and versions.

    Args:
        model: Of stable-baselines3 or sb3-contrib.
        path: The file; ".zip" is added unless it is there. It is replaced if it exists.
        env: The environments that the model was trained in, with all wrappers; None for its own.

    Raises:
        BfenvError: If the settings are not known or cannot be restored, see `describe_model`, or a
            file cannot be written.
    """
    path = _zip_path(path)
    card = describe_model(model, env)
    buffer = io.BytesIO()
    model.save(buffer)
    cards.card_path(path).unlink(missing_ok=True)  # never the old card beside the new model
    write_atomically(path, buffer.getvalue())
    cards.write_card(path, card)
    return path


def load_agent(path: str | os.PathLike[str], *, trust: bool = False) -> ModelAgent:
    """Open a saved model with the settings and the normalization that it was trained with.

    Args:
        path: The model's file, with its card beside it, see `save_model`.
        trust: Open the model, which runs whatever code is in it, and imports the modules of its
            algorithm and its policy.

    Returns:
        Its `predict` takes what the environment returns.

    Raises:
        BfenvError: If `trust` is not set, the card is missing or belongs to another file, the model
            cannot be opened, its spaces differ, or its statistics of VecNormalize are missing.
    """
    path = _zip_path(path)
    card = cards.read_card(path, cards.MODEL)
    cards.check_observations(path, card.observation_version)
    if not trust:
        raise BfenvError(
            f"{path}: a saved model, and opening it runs whatever code is in it; pass trust=True, "
            "on the command line --trust, if you know where it comes from"
        )
    replaced = {}
    if not card.policy_class.startswith("__main__:"):  # such a class is pickled in the file
        replaced["policy_class"] = import_object(card.policy_class)
    algorithm = import_object(card.algorithm)
    import torch

    torch.set_num_threads(1)  # one agent, one core
    try:
        model = algorithm.load(path, device="cpu", custom_objects=replaced or None)
    except Exception as error:  # whatever is pickled in it may raise anything
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise BfenvError(f"{path}: cannot be opened: {reason}") from error
    return ModelAgent(model, card)


def describe_model(model: Any, env: Any = None) -> cards.Card:
    """Return the card of a model of stable-baselines3 or sb3-contrib.

    * `model`: the model.
    * `env`: the environments that it was trained in, with all wrappers; None for its own.

    Raises BfenvError if it is no such model, there is no such environment, its environments differ
    in how an agent acts, the model has other spaces or another VecNormalize, or a wrapper changes
    observations or actions (VecNormalize may).
    """
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.vec_env import unwrap_vec_normalize

    if not isinstance(model, BaseAlgorithm):
        raise BfenvError(
            f"expected a model of stable-baselines3 or sb3-contrib, got {type(model).__name__}"
        )
    model_env = model.get_env()
    env = model_env if env is None else model._wrap_env(env, verbose=0, monitor_wrapper=False)
    if env is None:
        raise BfenvError(
            "the model has no environment, so its settings are unknown: give env, or open the file "
            "with bfenv.agents.load_agent"
        )
    only = "of wrappers that change observations or actions only VecNormalize can be restored"
    if any(any(env.env_is_wrapped(kind)) for kind in (ObservationWrapper, ActionWrapper)):
        raise BfenvError(f"a wrapper changes observations or actions: {only}")
    wrapper = unwrap_vec_normalize(env)
    if model_env is not None and unwrap_vec_normalize(model_env) is not wrapper:
        raise BfenvError("env and the model's own environment differ in VecNormalize")
    batches = _batches_of(env)
    settings = [cards.acting_settings(batch) for batch in batches]
    if any(values != settings[0] for values in settings):
        raise BfenvError("the environments of the model have different settings")
    first = batches[0]
    own_spaces = model.observation_space, model.action_space
    if own_spaces != (env.observation_space, env.action_space):
        raise BfenvError(
            "the model's observations or actions are not those of env: give env the settings, such "
            "as window, that the model was trained with"
        )
    if own_spaces != (first.observation_space, first.action_space):
        raise BfenvError(f"the model's spaces are not those of Backfill-v0: {only}")
    last = getattr(model, "_last_obs", None)
    if wrapper is None and last is not None and not _within(last, first.observation_space):
        raise BfenvError("the model was trained under VecNormalize: give env with that wrapper")
    spans = {(span.hash, span.first, span.last): span for b in batches for span in spans_of(b)}
    algorithm, policy = (
        f"{cls.__module__}:{cls.__qualname__}" for cls in (type(model), model.policy_class)
    )
    return cards.Card(
        name="model",
        division=COMPLETION,
        kind=cards.MODEL,
        what=f"a model of {algorithm}",
        found={
            "steps": int(model.num_timesteps),
            "settings": {name: cards.plain(first.settings[name]) for name in cards.TRAINING},  # type: ignore[literal-required]
        },
        trained_on=tuple(spans.values()),
        versions={name: version(name) for name in PACKAGES},
        settings=settings[0],
        observation_version=VERSION,
        algorithm=algorithm,
        policy_class=policy,
        normalization=encode_normalization(wrapper),
    )


def _batches_of(env: Any) -> list[EnvBatch]:
    """Return the batch behind each environment of a VecEnv, in this process or others."""
    try:
        batches = env.get_attr("batch")
    except AttributeError as error:
        raise BfenvError(f"expected Backfill-v0 environments, got {env}") from error
    if not all(isinstance(batch, EnvBatch) for batch in batches):
        raise BfenvError(f"expected Backfill-v0 environments, got {env}")
    return list({id(batch): batch for batch in batches}.values())


def _within(observations: Any, space: Any) -> bool:
    """Tell whether a batch of observations is in the space of one; VecNormalize leads out of it."""
    if isinstance(observations, dict):
        return all(_within(part, space[name]) for name, part in observations.items())
    return bool((observations >= space.low).all() and (observations <= space.high).all())


def _zip_path(path: str | os.PathLike[str]) -> Path:
    path = Path(path)
    return path if path.suffix == ".zip" else path.with_name(f"{path.name}.zip")


class Normalization(NamedTuple):
    """How a VecNormalize of stable-baselines3 scales observations; rewards do not matter here."""

    parts: Mapping[str, tuple[np.ndarray, np.ndarray]]  # mean and variance; "" of a flat Box
    clip: float
    epsilon: float

    def apply(self, observation: Any) -> Any:
        """Return an observation, or a batch of them, scaled exactly as `normalize_obs` does."""
        if not isinstance(observation, dict):
            return self._scale(observation, *self.parts[""])
        scaled = {name: self._scale(observation[name], *part) for name, part in self.parts.items()}
        return {**observation, **scaled}

    def _scale(self, values: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
        scaled = np.clip((values - mean) / np.sqrt(variance + self.epsilon), -self.clip, self.clip)
        single: np.ndarray = scaled.astype(np.float32)
        return single


def encode_normalization(wrapper: Any) -> dict[str, Any]:
    """Return what a VecNormalize does to observations, as JSON has it.

    The wrapper may be None, or scale rewards only.
    """
    if wrapper is None or not wrapper.norm_obs:
        return {"observations": False}
    statistics = wrapper.obs_rms
    parts = statistics if isinstance(statistics, dict) else {"": statistics}
    return {
        "parts": {
            name: {"mean": part.mean.tolist(), "var": part.var.tolist()}
            for name, part in parts.items()
        },
        "clip": float(wrapper.clip_obs),
        "epsilon": float(wrapper.epsilon),
        "observations": True,
    }


def decode_normalization(values: Mapping[str, Any], space: spaces.Space[Any]) -> Any:
    """Read what `encode_normalization` returned.

    * `values`: the part of a card.
    * `space`: of the observations, whose shapes the statistics must have.

    Raises BfenvError if statistics are missing, do not fit the space, or are not numbers.
    """
    if values.get("observations") is False:
        return None
    try:
        parts = {
            str(name): (np.array(part["mean"], dtype=float), np.array(part["var"], dtype=float))
            for name, part in values["parts"].items()
        }
        normalization = Normalization(parts, float(values["clip"]), float(values["epsilon"]))
        boxes = space.spaces if isinstance(space, spaces.Dict) else {"": space}
        fits = bool(parts) and all(
            values.shape == boxes[name].shape and np.isfinite(values).all()
            for name, part in parts.items()
            for values in part
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BfenvError(f"the statistics of VecNormalize are missing: {error!r}") from error
    if not fits:
        raise BfenvError("the statistics of VecNormalize do not fit the observations")
    return normalization
