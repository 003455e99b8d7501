"""ModelCard: what must be known of a saved model to use it as it was trained, as JSON beside it."""

import hashlib
import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from gymnasium import ActionWrapper, ObservationWrapper

from bfenv.agents.card_file import read_json
from bfenv.agents.normalization import (
    Normalization,
    decode_normalization,
    encode_normalization,
    normalization_of,
)
from bfenv.agents.seen_jobs import Span, decode_span, encode_span, spans_of
from bfenv.core.errors import BfenvError
from bfenv.core.files import write_atomically
from bfenv.core.policy import Policy
from bfenv.envs.batch import EnvBatch
from bfenv.envs.features import JOB_FEATURES, VERSION, has_same_columns
from bfenv.envs.settings import DEFAULTS, SETTINGS

FORMAT = "bfenv model card 1"
SUFFIX = ".card.json"  # of model.zip is model.card.json
TRAINING = ("reward", "reference", "wait_penalty", "episode_jobs", "warmup_jobs", "split", "load")
# All others are how an agent sees and acts. They must be the same wherever the agent is used.
ACTING = tuple(
    name for name in SETTINGS if name not in (*TRAINING, "render_mode", "max_episode_steps")
)
LATER = ("guard", "guard_scale", "trial_above")  # of ACTING, those that older cards do not have
PACKAGES = ("bfenv", "numpy", "gymnasium", "torch", "stable-baselines3", "sb3-contrib")


class ModelCard(NamedTuple):
    """What a model was trained with."""

    algorithm: str  # "module:class"
    policy_class: str  # "module:class"
    settings: dict[str, Any]  # those of ACTING
    training: dict[str, Any]  # those of TRAINING, for people
    trained_on: list[Span]  # the jobs, so that it is not scored on them
    normalization: Normalization | None  # that of VecNormalize; None without one
    steps: int  # actions in training
    observation_version: int  # of `bfenv.envs.features`
    versions: dict[str, str]  # of packages


def describe_model(model: Any, env: Any = None) -> ModelCard:
    """Return the card of a model of stable-baselines3 or sb3-contrib.

    Parameters
    ----------
    model
        The model.
    env
        The environments that it was trained in, with all wrappers; None for its own.

    Raises
    ------
    BfenvError
        If there is no such environment, its environments differ in how an agent acts, the model has
        other spaces or another VecNormalize, or a wrapper changes observations or actions
        (VecNormalize may).
    """
    from stable_baselines3.common.vec_env import unwrap_vec_normalize

    own = model.get_env()
    env = own if env is None else model._wrap_env(env, verbose=0, monitor_wrapper=False)
    if env is None:
        raise BfenvError(
            "the model has no environment, so its settings are unknown: give env, or open the file "
            "with bfenv.agents.load_agent"
        )
    if any(any(env.env_is_wrapped(kind)) for kind in (ObservationWrapper, ActionWrapper)):
        raise _not_restored("a wrapper changes observations or actions")
    wrapper = unwrap_vec_normalize(env)
    if own is not None and unwrap_vec_normalize(own) is not wrapper:
        raise BfenvError("env and the model's own environment differ in VecNormalize")
    batches = _batches_of(env)
    settings = [acting_settings(batch) for batch in batches]
    if any(each != settings[0] for each in settings):
        raise BfenvError("the environments of the model have different settings")
    first = batches[0]
    spaces = model.observation_space, model.action_space
    if spaces != (env.observation_space, env.action_space):
        raise BfenvError(
            "the model's observations or actions are not those of env: give env the settings, such "
            "as window, that the model was trained with"
        )
    if spaces != (first.observation_space, first.action_space):
        raise _not_restored("the model's spaces are not those of Backfill-v0")
    last = getattr(model, "_last_obs", None)
    if wrapper is None and last is not None and not _within(last, first.observation_space):
        raise BfenvError("the model was trained under VecNormalize: give env with that wrapper")
    spans = {(span.hash, span.first, span.last): span for b in batches for span in spans_of(b)}
    return ModelCard(
        _path_of(type(model)),
        _path_of(model.policy_class),
        settings[0],
        {name: _plain(first.settings[name]) for name in TRAINING},  # type: ignore[literal-required]
        list(spans.values()),
        normalization_of(wrapper),
        int(model.num_timesteps),
        VERSION,
        {name: version(name) for name in PACKAGES},
    )


def _not_restored(why: str) -> BfenvError:
    return BfenvError(
        f"{why}: of wrappers that change observations or actions only VecNormalize can be restored"
    )


def acting_settings(batch: EnvBatch) -> dict[str, Any]:
    """Return the settings of ACTING, with the groups of features that the observations have."""
    settings = {name: batch.settings[name] for name in ACTING}  # type: ignore[literal-required]
    present = set(batch.queue_features)
    groups = [name for name, features in JOB_FEATURES.items() if present >= set(features)]
    return settings | {"job_features": groups}


def card_path(path: Path) -> Path:
    """Return the file of a model's card."""
    return path.with_name(path.name.removesuffix(".zip") + SUFFIX)


def write_card(path: Path, card: ModelCard) -> None:
    """Write the card of the model in the file `path` beside it.

    Raises
    ------
    BfenvError
        If a file cannot be read or written.
    """
    content = {
        "format": FORMAT,
        "model": _hash_of(path),
        **card._asdict(),
        "trained_on": [encode_span(span) for span in card.trained_on],
        "normalization": encode_normalization(card.normalization),
    }
    text = json.dumps(content, indent=1, allow_nan=False)
    write_atomically(card_path(path), text.encode() + b"\n")


def read_card(path: Path, space: Any = None) -> ModelCard:
    """Read the card of a saved model; runs no code.

    Parameters
    ----------
    path
        The model's file.
    space
        Of the model's observations, to check the statistics of VecNormalize; None leaves them out.

    Returns
    -------
    ModelCard
        What the model was trained with.

    Raises
    ------
    BfenvError
        If there is no card, it is damaged, or it is that of another file.
    """
    file = card_path(path)
    if not file.exists():
        raise BfenvError(
            f"{path}: no card {file.name} beside it, so the settings that it was trained with are "
            "unknown: save it with bfenv.agents.save_model(model, path, env), where env has the "
            "settings of its training"
        )
    content = read_json(file, str(file), FORMAT)
    if content.get("model") != _hash_of(path):
        raise BfenvError(f"{file}: is the card of another file, not of {path.name}")
    try:
        card = _card_of(content, space)
        is_readable = has_same_columns(card.observation_version, card.settings["job_features"])
    except (KeyError, TypeError, ValueError) as error:
        raise BfenvError(f"{file}: damaged: {error}") from error
    if not is_readable:
        raise BfenvError(
            f"{path}: was trained on observations of version {card.observation_version}, these "
            f"have version {VERSION}"
        )
    return card


def _card_of(content: Mapping[str, Any], space: Any) -> ModelCard:
    values = {name: content[name] for name in ModelCard._fields}
    later = {name: DEFAULTS[name] for name in LATER}  # type: ignore[literal-required]
    settings = later | values["settings"]
    values["settings"] = {name: settings[name] for name in ACTING}
    values["trained_on"] = [decode_span(span) for span in values["trained_on"]]
    saved = values["normalization"]
    values["normalization"] = None if space is None else decode_normalization(saved, space)
    return ModelCard(**values)


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


def _hash_of(path: Path) -> str:
    try:
        return f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
    except OSError as error:
        raise BfenvError(f"{path}: cannot be read: {error.strerror}") from error


def _path_of(class_: type) -> str:
    return f"{class_.__module__}:{class_.__qualname__}"


def _plain(value: Any) -> Any:
    """Return a setting as JSON can hold it."""
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Policy):
        return value.name
    if callable(value):
        return f"{value.__module__}:{getattr(value, '__qualname__', type(value).__qualname__)}"
    return [_plain(one) for one in value]
