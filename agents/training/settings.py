"""The settings of `bfenv train`: their meanings, the presets in YAML, and changes by name."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from bfenv.core.arguments import check_choice, check_integer, check_number
from bfenv.core.durations import in_seconds
from bfenv.core.errors import BfenvError, UnknownNameError
from bfenv.envs.settings import SETTINGS

ALGORITHMS = ("ppo", "maskable-ppo")
NETWORKS = ("scorer", "attention", "ranker")
CREDITS = ("discount", "average", "group")
DEFAULT = "scorer"  # the preset
ORDER = "order:"  # begins the name of a teacher that is an expression
LARGEST_SEED = 2**32 - 1  # that stable-baselines3 takes
MOST_THREADS = 1024  # of torch, which would begin them all
UNTRAINED = ("test", "all")  # splits with jobs that agents are scored on


@dataclass(frozen=True)
class TrainSettings:
    """How an agent is trained.

    Raises
    ------
    BfenvError
        If a value is of the wrong kind or out of range.
    """

    workload: Sequence[str] = ("lublin",)  # what episodes are taken from
    environment: Mapping[str, Any] = field(default_factory=dict)  # settings of Backfill-v0
    algo: str = "ppo"  # one of ALGORITHMS
    network: str = "scorer"  # one of NETWORKS
    hidden: int = 32  # units per layer
    seed: int = 0  # of networks, choices and episodes
    device: str = "cpu"  # as torch names it; "cuda" for a GPU
    threads: int = 1  # of torch
    steps: int = 1_000_000  # actions, over all environments

    num_envs: int = 64  # environments that one kernel call steps
    num_steps: int = 128  # actions in each between two updates
    epochs: int = 4  # passes over the collected states in an update
    minibatches: int = 8  # of an epoch
    learning_rate: float = 3e-3  # of Adam
    anneal: bool = True  # let the learning rate fall to 0 linearly
    clip: float = 0.2  # of the ratio of probabilities
    entropy: float = 0.01  # weight of the entropy bonus
    value_weight: float = 0.5  # weight of the squared error of the value
    max_grad_norm: float = 0.5  # longer gradients are shortened to it
    target_kl: float | None = None  # end an update beyond this divergence; None for never

    credit: str = "discount"  # "average": rewards count beyond the average per second; "group":
    # beyond those of other environments that play the same jobs
    group_size: int = 4  # environments that play the same jobs, with credit="group"
    gamma: float = 1.0  # discount per choice
    horizon: str | float | None = None  # discount exp(-dt / horizon), a duration; None for none
    gae_lambda: float = 0.95  # of generalized advantage estimation
    reward_scale: float = 1.0  # rewards are multiplied by it
    wait_penalty_rate: float = 0.0  # of the Lagrangian; 0 keeps wait_penalty as it is

    warm_start: str | None = None  # a policy to imitate before training, or "order:EXPRESSION"
    warm_start_age: float = 0.0  # share of the age guard's limit, from which age counts there
    warm_start_age_weight: float = 0.0  # how much it counts, see `order_teacher`
    warm_start_steps: int = 32_768  # its actions
    warm_start_epochs: int = 8  # passes over them
    critic_updates: int = 2  # first updates after a warm start, which train the value only

    validation_traces: int = 8  # how many of the traces are validated on
    validate_every: int = 16  # updates
    patience: int | None = None  # validations without improvement before the end; None for no end

    def __post_init__(self) -> None:
        for name in ("steps", "num_envs", "num_steps", "epochs", "minibatches", "hidden"):
            check_integer(name, getattr(self, name), 1)
        check_integer("threads", self.threads, 1, MOST_THREADS)
        for name in ("validation_traces", "validate_every", "warm_start_steps"):
            check_integer(name, getattr(self, name), 1)
        for name in ("warm_start_epochs", "critic_updates"):
            check_integer(name, getattr(self, name), 0)
        check_integer("seed", self.seed, 0, LARGEST_SEED)
        for name in ("learning_rate", "clip", "max_grad_norm", "reward_scale"):
            check_number(name, getattr(self, name), positive=True)
        for name in ("entropy", "value_weight", "wait_penalty_rate"):
            check_number(name, getattr(self, name), 0)
        for name in ("gamma", "gae_lambda"):
            check_number(name, getattr(self, name), 0, 1)
        for name in ("warm_start_age", "warm_start_age_weight"):
            check_number(name, getattr(self, name), 0)
        if self.patience is not None:
            check_integer("patience", self.patience, 1)
        if self.target_kl is not None:
            check_number("target_kl", self.target_kl, positive=True)
        check_choice("anneal", self.anneal, (False, True))
        check_choice("algo", self.algo, ALGORITHMS)
        check_choice("network", self.network, NETWORKS)
        check_choice("credit", self.credit, CREDITS)
        several = isinstance(self.workload, Sequence) and not isinstance(self.workload, str)
        if not (several and all(isinstance(name, str) for name in self.workload)):
            raise BfenvError(f"workload must be a list of names, got {self.workload!r}")
        for name in self.environment:
            if name not in SETTINGS:
                raise UnknownNameError("setting of the environment", name, SETTINGS)
        split = self.environment.get("split", "train")
        if split in UNTRAINED:
            raise BfenvError(f"split={split!r} has jobs that agents are scored on: train on others")
        if self.environment.get("flat"):
            raise BfenvError("flat=True hides which numbers are of a job: train with flat=False")
        trials = self.environment.get("trial_limit"), self.environment.get("trial_above")
        if trials[0] is not None and trials[1] is None:
            raise BfenvError(
                "trial_limit needs trial_above: these networks have no actions for trials"
            )
        check_integer("group_size", self.group_size, 2)
        if self.credit == "group" and self.num_envs % self.group_size:
            raise BfenvError(
                f"num_envs must be a multiple of group_size={self.group_size}, got {self.num_envs}"
            )
        if self.wait_penalty_rate and self.environment.get("reward") != "log_ratio":
            raise BfenvError("wait_penalty_rate needs the environment's reward 'log_ratio'")
        _ = self.horizon_seconds, self.as_dict()  # which check them

    @property
    def horizon_seconds(self) -> float:
        """The time in which a reward loses its weight; infinite without a horizon."""
        if self.horizon is None:
            return math.inf
        seconds = in_seconds("horizon", self.horizon)
        return check_number("horizon", seconds, positive=True)

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as YAML and JSON have them.

        Raises
        ------
        BfenvError
            If YAML has no such value.
        """
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        own = {name: _plain(name, value) for name, value in values.pop("environment").items()}
        plain = {name: _plain(name, value) for name, value in values.items()}
        return {name: own if name == "environment" else plain[name] for name in NAMES}


NAMES = tuple(each.name for each in fields(TrainSettings))


def presets() -> dict[str, dict[str, Any]]:
    """Return the contents of `presets.yaml`."""
    return _read(files(__package__).joinpath("presets.yaml").read_text("utf-8"), "presets.yaml")


def find_settings(preset: str = DEFAULT) -> TrainSettings:
    """Find the settings of a preset, or of a file that is written like `presets.yaml`.

    Parameters
    ----------
    preset
        A name; "FILE.yaml" for a file with one preset, or "FILE.yaml:NAME".

    Returns
    -------
    TrainSettings
        Checked; see `change` to alter some.

    Raises
    ------
    UnknownNameError
        If there is no such preset.
    BfenvError
        If the file cannot be read, has several presets and none is named, or a setting is unknown
        or has a bad value.
    """
    path, _, name = preset.rpartition(":") if ".yaml:" in preset else (preset, "", "")
    known = presets()
    if path.endswith(".yaml"):
        own = _read_file(Path(path))
        if not name and len(own) > 1:
            raise BfenvError(
                f"{path} has several presets: {', '.join(map(str, own))}; choose one, as in "
                f"{path}:{next(iter(own))}"
            )
        name = name or next(iter(own))
        known |= own
    else:
        name = preset
    return change(TrainSettings(), _resolve(name, known))


def change(settings: TrainSettings, changes: Mapping[str, Any]) -> TrainSettings:
    """Change some of the settings of a training.

    Parameters
    ----------
    settings
        Is not changed itself.
    changes
        New values by name of the field. Those of `environment` are merged with the old ones.

    Returns
    -------
    TrainSettings
        Checked.

    Raises
    ------
    UnknownNameError
        If there is no such setting.
    BfenvError
        If a value is of the wrong kind or out of range.

    Examples
    --------
    >>> from bfenv.agents.training import change, find_settings
    >>> settings = change(find_settings("scorer"), {"steps": 10_000, "environment": {"window": 32}})
    >>> settings.steps, settings.environment["window"]
    (10000, 32)
    """
    for name in changes:
        if name not in NAMES:
            raise UnknownNameError("setting of the training", name, NAMES)
    values = dict(changes)
    if "environment" in values:
        if not isinstance(values["environment"], Mapping):
            raise BfenvError(f"environment must be a mapping, got {values['environment']!r}")
        values["environment"] = {**settings.environment, **values["environment"]}
    if isinstance(values.get("workload"), str):
        values["workload"] = [values["workload"]]
    return replace(settings, **values)


def read_changes(assignments: Sequence[str]) -> dict[str, Any]:
    """Read changes such as "learning_rate=3e-4" and "environment.window=64"; values are YAML.

    Raises
    ------
    BfenvError
        If one cannot be read.
    """
    changes: dict[str, Any] = {}
    for text in assignments:
        name, equals, value = text.partition("=")
        if not equals:
            raise BfenvError(f"a setting is changed by NAME=VALUE, got {text!r}")
        read = _value(_parse(value, text))
        if name.startswith("environment."):
            changes.setdefault("environment", {})[name.removeprefix("environment.")] = read
        else:
            changes[name] = read
    return changes


def write_settings(settings: TrainSettings) -> str:
    """Return the settings as YAML, which `find_settings` reads."""
    import yaml

    return str(yaml.safe_dump({"settings": settings.as_dict()}, sort_keys=False))


def _resolve(name: str, known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the changes of a preset, after those of the presets that it is like."""
    changes: dict[str, Any] = {}
    chain: list[str] = []
    while name is not None:
        if name not in known:
            raise UnknownNameError("preset", name, known)
        if name in chain:
            raise BfenvError(
                f"preset {name!r} is defined by itself: {' is like '.join([*chain, name])}"
            )
        chain.append(name)
        name = known[name].get("like")
    for each in reversed(chain):
        own = {key: _value(value) for key, value in known[each].items() if key != "like"}
        environment = {**changes.get("environment", {}), **own.pop("environment", {})}
        changes |= own | {"environment": environment}
    return changes


def _plain(name: str, value: Any) -> Any:
    """Return the value of a setting as YAML has it."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(name, one) for one in value]
    raise BfenvError(f"{name} must be text, a number or a list of these, got {value!r}")


def _value(value: Any) -> Any:
    """Take numbers like 3e-4, which YAML 1.1 reads as text, for numbers."""
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return value
    return value


def _read_file(path: Path) -> dict[str, dict[str, Any]]:
    try:
        return _read(path.read_text("utf-8"), str(path))
    except OSError as error:
        raise BfenvError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BfenvError(f"{path}: cannot be read: {error}") from error


def _read(text: str, source: str) -> dict[str, dict[str, Any]]:
    content = _parse(text, source)
    mappings = isinstance(content, dict) and all(isinstance(v, dict) for v in content.values())
    if not content or not mappings:
        raise BfenvError(f"{source}: expected presets, each a name with its settings")
    return dict(content)


def _parse(text: str, source: str) -> Any:
    try:
        import yaml
    except ImportError as error:
        raise BfenvError("training needs PyYAML: pip install 'bfenv[agents]'") from error
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        problem = " ".join(str(error).split())
        raise BfenvError(f"{source}: cannot be read as YAML: {problem}") from error
