"""Card: what an agent is, how it was found, on which jobs, how it scores, where it fails.

A card is JSON, with nothing in it that could run. One of the kind "policy" names a policy, in the
grammar of `bfenv.core.names`; in one of the kind "network" the weights stand beside the card
(`bfenv.agents.network_agent`); one of the kind "model" lies beside a file of stable-baselines3
(`bfenv.agents.saved_model`).
"""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import numpy as np

from bfenv.agents.seen_jobs import Span, decode_span, encode_span
from bfenv.core.durations import format_duration
from bfenv.core.errors import BfenvError, PolicyError, UnknownNameError
from bfenv.core.files import read_file, write_atomically
from bfenv.core.names import LARGEST
from bfenv.core.policy import COMPLETION, DIVISIONS, Policy
from bfenv.core.text import shown
from bfenv.envs.batch import EnvBatch
from bfenv.envs.features import JOB_FEATURES, VERSION
from bfenv.envs.settings import SETTINGS

FORMAT = "bfenv agent 1"
LARGEST_MODEL = 2**28  # bytes of a saved network, as packed; most have a hundredth of that
LARGEST_CARD = 2**28  # bytes; those of bfenv have a thousandth of that
CARDS = "agent"  # the policies whose names are on cards
SHIPPED = f"{CARDS}:"  # begins the names of the agents that bfenv comes with
SUFFIX, MODEL_SUFFIX = ".json", ".card.json"  # that of model.zip is model.card.json
POLICY, NETWORK, MODEL = KINDS = ("policy", "network", "model")
MODELS = files("bfenv.agents").joinpath("models")
TRAINING = ("reward", "tau", "episode_jobs", "warmup_jobs", "split", "load")
# All others are how an agent sees and acts. They must be the same wherever the agent is used.
ACTING = tuple(
    name for name in SETTINGS if name not in (*TRAINING, "render_mode", "max_episode_steps")
)


@dataclass(frozen=True)
class Card:
    """What an agent is, which jobs it was trained on, its scores and its weaknesses."""

    name: str  # without "agent:"
    division: str  # of DIVISIONS; "clairvoyant" only if it needs exact estimates
    kind: str  # of KINDS
    what: str  # it is, in a sentence or two
    policy: str = ""  # the expression of a policy
    found: Mapping[str, Any] = field(default_factory=dict)  # how: command, settings, steps
    trained_on: tuple[Span, ...] = ()  # the jobs that it has seen
    scores: tuple[Mapping[str, Any], ...] = ()  # one for each workload or kind of jobs
    failures: tuple[str, ...] = ()  # where it does badly, in sentences
    versions: Mapping[str, str] = field(default_factory=dict)  # of the programs that found it
    # Of networks and models
    settings: Mapping[str, Any] = field(default_factory=dict)  # those of ACTING
    observation_version: int = 0  # of `bfenv.envs.features`
    # Of networks
    network: str = ""  # of `bfenv.agents.network_agent.NETWORKS`
    hidden: int = 0  # units per layer
    queue_features: tuple[str, ...] = ()  # names of the columns of the observation's "queue"
    cluster_features: tuple[str, ...] = ()  # and of its "cluster"
    validated_on: tuple[Span, ...] = ()  # the jobs that it was chosen on
    # Of models
    algorithm: str = ""  # "module:class"
    policy_class: str = ""  # "module:class"
    normalization: Mapping[str, Any] = field(default_factory=dict)  # of VecNormalize

    @property
    def seen_jobs(self) -> tuple[Span, ...]:
        """The jobs that it was trained or chosen on, on which it is not scored."""
        return self.trained_on + self.validated_on

    def score_cells(self) -> list[tuple[str, ...]]:
        """Return texts for each score: workload, load, seen, ratio, range, longest wait, mean wait.

        "seen" says whether other jobs of that log were in the training. Their users and machine are
        the same, so a log that was not seen is the harder test. The mean wait stands beside EASY's.
        """
        logs = {span.trace for span in self.seen_jobs}
        cells: list[tuple[str, ...]] = []
        for score in self.scores:
            workload = score.get("workload") or score["on"]
            load = score.get("load", "")
            load = "own" if load is None else str(load)
            ratio = score["ratio"] if self.kind == NETWORK else score["slowdown_ratio"]
            wide = f"{score['lowest']:.3f} to {score['highest']:.3f}" if "lowest" in score else ""
            means = [score[name] for name in ("mean_wait", "easy_mean_wait") if name in score]
            mean = " / ".join(map(format_duration, means))
            seen = "yes" if workload in logs else "no"
            cells.append(
                (workload, load, seen, f"{ratio:.3f}", wide, f"{score['wait_ratio']:.2f}", mean)
            )
        return cells

    def training_lines(self) -> list[str]:
        """Return the jobs that the agent was trained on, a line for each trace and part of it."""
        parts = Counter(
            f"jobs {span.first:,} to {span.last - 1:,} of {span.trace}" for span in self.trained_on
        )
        return [
            f"{part}, {count} traces" if count > 1 else part  # of several seeds
            for part, count in parts.items()
        ]


# The fields of each kind, in the order of its files
FIELDS = {
    POLICY: (
        "name",
        "division",
        "kind",
        "what",
        "policy",
        "found",
        "trained_on",
        "scores",
        "failures",
        "versions",
    ),
    NETWORK: (
        "kind",
        "division",
        "name",
        "what",
        "network",
        "hidden",
        "settings",
        "queue_features",
        "cluster_features",
        "found",
        "scores",
        "failures",
        "versions",
        "observation_version",
        "trained_on",
        "validated_on",
    ),
    MODEL: (
        "name",
        "division",
        "kind",
        "what",
        "algorithm",
        "policy_class",
        "settings",
        "found",
        "trained_on",
        "normalization",
        "observation_version",
        "versions",
    ),
}
TYPES = {name: type(value) for name, value in vars(Card("", COMPLETION, "", "")).items()}
SPANS = ("trained_on", "validated_on")


@cache
def shipped_agents() -> tuple[dict[str, Any], ...]:
    """Return the name, kind, division and description of each agent that bfenv comes with.

    Those of the kind "policy" are policies; a "network" acts in an environment.
    """
    cards = []
    for file in MODELS.iterdir() if MODELS.is_dir() else ():
        if file.name.endswith(SUFFIX):
            content = json.loads(file.read_bytes())
            cards.append({key: content[key] for key in ("name", "kind", "division", "what")})
    return tuple(sorted(cards, key=lambda card: str(card["name"])))


def shipped_names(kind: str | None = None) -> list[str]:
    """Return the names of the agents that bfenv comes with; None for all kinds."""
    return [card["name"] for card in shipped_agents() if kind in (None, card["kind"])]


def is_network(name: str) -> bool:
    """Tell whether a card is a network's; `name` as of `read_content`.

    Raises PolicyError as `read_content`.
    """
    shipped = {card["name"]: card["kind"] for card in shipped_agents()}
    return bool((shipped.get(name) or read_content(name)["kind"]) == NETWORK)


def read_card(name: str | Path, kind: str | None = None) -> Card:
    """Return the card of an agent; runs no code.

    Args:
        name: The name of an agent that bfenv comes with, or the path of a card (.json) or model
            (.zip).
        kind: One of KINDS, if the card must be of that kind.

    Raises:
        UnknownNameError: If there is no such agent; the message suggests others.
        PolicyError: If the file cannot be read, is not a card of that kind or another file's, or is
            damaged.
    """
    name = str(name)
    return decode_card(_label(name), read_content(name, kind))


def _label(name: str) -> str:
    """Return what errors call a card: its name, or its own file if `name` is a model's."""
    return str(card_path(Path(name))) if name.endswith(".zip") else name


def read_content(name: str, kind: str | None = None) -> dict[str, Any]:
    """Read the JSON of a card; see `read_card`."""
    file: Path | Traversable = Path(name)
    if name.endswith(".zip"):
        file = card_path(Path(name))
        if not file.exists():
            raise PolicyError(
                f"{name}: no card {file.name} beside it, so the settings that it was trained with "
                "are unknown: save it with bfenv.agents.save_model(model, path, env), where env "
                "has the settings of its training"
            )
    elif not name.endswith(SUFFIX):
        if name not in shipped_names():
            raise UnknownNameError("agent", name, shipped_names(kind))
        file = MODELS.joinpath(name + SUFFIX)
    label = _label(name)
    try:
        data = read_file(file, LARGEST_CARD) if isinstance(file, Path) else file.read_bytes()
        content = json.loads(data)
    except OSError as error:
        raise PolicyError(f"{label}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise PolicyError(f"{label}: is not a card of format {FORMAT!r}: {error}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise PolicyError(f"{label}: is not a card of format {FORMAT!r}")
    if name.endswith(".zip") and content.get("model") != hash_of(Path(name)):
        raise PolicyError(f"{file}: is the card of another file, not of {Path(name).name}")
    card_kind = content.get("kind")
    if card_kind not in KINDS:
        raise PolicyError(f"{label}: this version does not know agents of the kind {card_kind!r}")
    if kind not in (None, card_kind):
        hint = f"; use --policy {SHIPPED}{name}" if card_kind == POLICY else ""
        raise PolicyError(f"{name} is a {card_kind}, not a {kind}{hint}")
    return content


def decode_card(name: str, content: Mapping[str, Any]) -> Card:
    """Return the card in the JSON of a file; errors begin with `name`.

    Raises BfenvError if a field is missing or of the wrong kind.
    """
    kind = content["kind"]
    try:
        values = {key: content[key] for key in FIELDS[kind]}
        for key, value in values.items():
            wanted = list if TYPES[key] is tuple else TYPES[key]
            if not isinstance(value, wanted):
                raise ValueError(f"{key} is not a {wanted.__name__}")
            values[key] = tuple(value) if wanted is list else value
        if kind != POLICY:  # no other setting: a reward could name code
            if values["settings"].get("trial_limit") is not None:
                raise ValueError("it makes trials, which the environment no longer has")
            if values["settings"].get("guard") is not None:
                raise ValueError("it acts under a guard, which the environment no longer has")
            values["settings"] = {setting: values["settings"][setting] for setting in ACTING}
        for key in SPANS:
            values[key] = tuple(map(decode_span, values.get(key, ())))
        for key in ("failures", "queue_features", "cluster_features"):
            if not all(isinstance(text, str) for text in values.get(key, ())):
                raise ValueError(f"{key} must be a list of texts")
        for score in values.get("scores", ()):
            _check_score(kind, score)
        for key, wanted in (("command", str), ("settings", dict)):
            if not isinstance(values["found"].get(key, wanted()), wanted):
                raise ValueError(f"{key} of found is not a {wanted.__name__}")
        for score in values["found"].get("left_out", ()):
            if not (isinstance(score, dict) and isinstance(score.get("workload"), str)):
                raise ValueError("a score on a workload that was left out needs its name")
            _check_number(score, "penalized_slowdown")
        if values["division"] not in DIVISIONS:
            raise ValueError(f"division must be one of {', '.join(DIVISIONS)}")
        return Card(**values)
    except KeyError as error:
        raise PolicyError(f"{name}: its card is damaged: {error} is missing") from error
    except (TypeError, ValueError) as error:
        raise PolicyError(f"{name}: its card is damaged: {error}") from error


def check_observations(path: str | os.PathLike[str], version: Any) -> None:
    """Check that an agent was trained on observations as they are now.

    * `path`: the agent's file, for the message.
    * `version`: of the observations, on its card.

    Raises BfenvError if it was not.
    """
    if version != VERSION:
        raise BfenvError(
            f"{path}: was trained on observations of version {version}, these have version "
            f"{VERSION}"
        )


def _check_score(kind: str, score: Any) -> None:
    """Check what tables show of a score of a card; ValueError if it is missing or of another kind.

    The score that chose a network is of other jobs than a workload's split: those that it is "on".
    """
    if not isinstance(score, dict):
        raise ValueError("scores must be a list of objects")
    names = ("on",) if "workload" not in score else ("workload", "split")
    if not all(isinstance(score.get(name), str) for name in names):
        raise ValueError(f"a score needs texts in {' and '.join(names)}")
    numbers = {"wait_ratio", "ratio" if kind == NETWORK else "slowdown_ratio"}
    numbers |= {"load"} if score.get("load") is not None else set()
    numbers |= {"lowest", "highest"} if "lowest" in score else set()
    numbers |= score.keys() & {"mean_wait", "easy_mean_wait", "slowdown_ratio"}
    for name in sorted(numbers):
        _check_number(score, name)


def _check_number(score: Any, name: str) -> None:
    """Raise ValueError unless a score has a number from 0 of this name."""
    value = score.get(name)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= float(value) < LARGEST:
        raise ValueError(f"a score needs a number from 0 in {name}, got {shown(value)}")


def write_card(path: Path, card: Card, **more: Any) -> None:
    """Write a card to a file, which is replaced if it exists; a model's goes beside its file.

    Args:
        path: The file, or the model's.
        card: The card.
        **more: What else the file holds, such as the weights of a network.

    Raises:
        BfenvError: If JSON cannot hold it, or the file cannot be written.
    """
    values = dict(vars(card))
    for name in SPANS:
        values[name] = [encode_span(span) for span in values[name]]
    content: dict[str, Any] = {"format": FORMAT}
    if card.kind == MODEL:
        content["model"], path = hash_of(path), card_path(path)
    content |= {name: values[name] for name in FIELDS[card.kind]} | more
    try:
        text = json.dumps(content, indent=1, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise BfenvError(f"{path}: a card must be JSON: {error}") from error
    write_atomically(path, text.encode() + b"\n")


def card_path(path: Path) -> Path:
    """Return the file of a model's card."""
    return path.with_name(path.name.removesuffix(".zip") + MODEL_SUFFIX)


def hash_of(path: Path) -> str:
    """Return the hash of a model's file.

    Raises BfenvError if the file cannot be read, or has more than LARGEST_MODEL bytes.
    """
    try:
        return f"sha256:{hashlib.sha256(read_file(path, LARGEST_MODEL)).hexdigest()}"
    except OSError as error:
        raise BfenvError(f"{path}: cannot be read: {error.strerror}") from error


def acting_settings(batch: EnvBatch) -> dict[str, Any]:
    """Return the settings of ACTING, with the groups of features that the observations have."""
    settings = {name: batch.settings[name] for name in ACTING}  # type: ignore[literal-required]
    present = set(batch.queue_features)
    groups = [name for name, features in JOB_FEATURES.items() if present >= set(features)]
    return settings | {"job_features": groups}


def plain(value: Any) -> Any:
    """Return the value of a setting as JSON and YAML can hold it."""
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Policy):
        return value.name
    if callable(value):
        return f"{value.__module__}:{getattr(value, '__qualname__', type(value).__qualname__)}"
    return [plain(item) for item in value]


def geometric_means(scores: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the geometric mean of the slowdown ratios at each load, by "own" or the load."""
    by_load: dict[str, list[float]] = {}
    for score in scores:
        load = "own" if score["load"] is None else f"{score['load']:g}"
        by_load.setdefault(load, []).append(float(score["slowdown_ratio"]))
    return {load: float(np.exp(np.mean(np.log(ratios)))) for load, ratios in by_load.items()}
