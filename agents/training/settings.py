"""The settings of `bfenv train`: their meanings, the presets in YAML, and changes by name."""

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from bfenv.agents.network_agent import NETWORKS
from bfenv.core.arguments import check_choice, check_integer, check_number
from bfenv.core.durations import in_seconds
from bfenv.core.errors import BfenvError, UnknownNameError
from bfenv.envs.settings import SETTINGS, trials_of

ALGORITHMS = ("ppo", "es")
CREDITS = ("discount", "group")
DEFAULT = "evolved"  # the preset
ORDER = "order:"  # begins a warm start
LARGEST_SEED = 2**32 - 1  # that torch and stable-baselines3 take
MOST_THREADS = 1024  # of torch, which would begin them all
UNTRAINED = ("test", "all")  # splits with jobs that agents are scored on
MOST_BITS = 64  # of an integer in YAML; Python would not write one of thousands of digits
LEAST_ONE = (
    "steps", "num_envs", "num_steps", "epochs", "minibatches", "hidden", "validation_traces",
    "validate_every", "warm_start_steps", "generations",
)  # fmt: skip


@dataclass(frozen=True)
class TrainSettings:
    """How an agent is trained.

    Raises:
        BfenvError: If a value is of the wrong kind or out of range.
    """

    workload: Sequence[str] = ("lublin",)  # what episodes are taken from
    environment: Mapping[str, Any] = field(default_factory=dict)  # settings of Backfill-v0
    algo: str = "ppo"  # one of ALGORITHMS
    network: str = "scorer"  # one of NETWORKS
    hidden: int = 32  # units per layer
    seed: int = 0  # of networks, choices and episodes
    device: str = "cpu"  # as torch names it; "cuda" for a GPU
    threads: int = 1  # of torch; worker processes of algo="es"
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

    credit: str = "discount"  # "group": rewards count beyond those of environments that play the
    # same jobs
    group_size: int = 4  # environments that play the same jobs, with credit="group"
    gamma: float = 1.0  # discount per choice
    horizon: str | float | None = None  # discount exp(-dt / horizon), a duration; None for none
    gae_lambda: float = 0.95  # of generalized advantage estimation
    reward_scale: float = 1.0  # rewards are multiplied by it

    warm_start: str | None = None  # an order to imitate before training, "order:EXPRESSION"
    warm_start_age: float = 0.0  # share of the age guard's limit, from which age counts there
    warm_start_age_weight: float = 0.0  # how much it counts, see `order_teacher`
    warm_start_steps: int = 32_768  # its actions
    warm_start_epochs: int = 8  # passes over them

    validation_traces: int = 8  # how many of the traces are validated on
    validate_every: int = 16  # updates
    patience: int | None = None  # validations without improvement before the end; None for no end

    # Of algo="es", which takes only workload, load, seed and threads from the settings above
    generations: int = 40  # of candidates
    population: int = 24  # candidates of a generation
    units: int = 0  # hidden units of the score; 0 is linear
    options: str = "guard={1.1:1.5}, reservations=0"  # of `easy`, which takes the order

    def __post_init__(self) -> None:
        for name in LEAST_ONE:
            check_integer(name, getattr(self, name), 1)
        check_integer("threads", self.threads, 1, MOST_THREADS)
        check_integer("warm_start_epochs", self.warm_start_epochs, 0)
        check_integer("seed", self.seed, 0, LARGEST_SEED)
        check_integer("group_size", self.group_size, 2)
        check_integer("population", self.population, 4)
        for name in ("learning_rate", "clip", "max_grad_norm", "reward_scale"):
            check_number(name, getattr(self, name), positive=True)
        for name in ("entropy", "value_weight", "warm_start_age", "warm_start_age_weight"):
            check_number(name, getattr(self, name), 0)
        for name in ("gamma", "gae_lambda"):
            check_number(name, getattr(self, name), 0, 1)
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
        trials = self.environment.get("trial_limit")
        if trials is not None and trials_of(trials)[1] is None:
            raise BfenvError(
                f"trial_limit={trials!r}: these networks have no actions for trials, only for "
                'those of "5min above 35min"'
            )
        if self.credit == "group" and self.num_envs % self.group_size:
            raise BfenvError(
                f"num_envs must be a multiple of group_size={self.group_size}, got {self.num_envs}"
            )
        if self.warm_start is not None and not str(self.warm_start).startswith(ORDER):
            raise BfenvError(f"warm_start must be {ORDER}EXPRESSION, got {self.warm_start!r:.60}")
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

        Raises:
            BfenvError: If YAML has no such value.
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
    """Return the settings of a preset, or of a file that is written like `presets.yaml`.

    Args:
        preset: A name; "FILE.yaml" for a file with one preset, or "FILE.yaml:NAME".

    Raises:
        UnknownNameError: If there is no such preset.
        BfenvError: If the file cannot be read, has several presets and none is named, or a setting
            is unknown or has a bad value.
    """
    path, _, name = preset.rpartition(":") if ".yaml:" in preset else (preset, "", "")
    known = presets()
    if path.endswith(".yaml"):
        try:
            own = _read(Path(path).read_text("utf-8"), path)
        except OSError as error:
            raise BfenvError(f"{path}: cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise BfenvError(f"{path}: cannot be read: {error}") from error
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
    """Return the settings of a training with some of them changed, and checked.

    Args:
        settings: Is not changed itself.
        changes: New values by name of the field. Those of `environment` are merged with the old
            ones.

    Raises:
        UnknownNameError: If there is no such setting.
        BfenvError: If a value is of the wrong kind or out of range.

    Examples:
        >>> from bfenv.agents.training import change, find_settings
        >>> changes = {"steps": 10_000, "environment": {"window": 32}}
        >>> settings = change(find_settings("scorer"), changes)
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

    Raises BfenvError if one cannot be read.
    """
    changes: dict[str, Any] = {}
    for text in assignments:
        name, equals, value = text.partition("=")
        if not equals:
            raise BfenvError(f"a setting is changed by NAME=VALUE, got {text!r}")
        read = _parse(value, f"{text:.40}")
        if name.startswith("environment."):
            changes.setdefault("environment", {})[name.removeprefix("environment.")] = read
        else:
            changes[name] = read
    return changes


def command(settings: TrainSettings) -> str:
    """Return the command that trains the same agent again."""
    import yaml

    default, given = find_settings().as_dict(), settings.as_dict()
    own = default.pop("environment")
    changes = {f"environment.{name}": value for name, value in given.pop("environment").items()}
    default |= {f"environment.{name}": value for name, value in own.items()}
    words = ["bfenv", "train"]
    for name, value in (given | changes).items():
        if name not in default or value != default[name]:
            text = str(yaml.safe_dump(value, default_flow_style=True, width=10**6))
            words += ["--set", f"{name}={text.removesuffix(chr(10)).removesuffix(chr(10) + '...')}"]
    return shlex.join([*words, "--out", "DIR"])


def write_settings(settings: TrainSettings) -> str:
    """Return the settings as YAML, which `find_settings` reads."""
    import yaml

    return str(yaml.safe_dump({"settings": settings.as_dict()}, sort_keys=False))


def _resolve(name: str, known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the changes of a preset. The presets that it builds on come first."""
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
        own = {key: value for key, value in known[each].items() if key != "like"}
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


def _read(text: str, source: str) -> dict[str, dict[str, Any]]:
    content = _parse(text, source)
    mappings = isinstance(content, dict) and all(isinstance(v, dict) for v in content.values())
    if not content or not mappings:
        raise BfenvError(f"{source}: expected presets, each a name with its settings")
    return dict(content)


def _parse(text: str, source: str) -> Any:
    """Read YAML; numbers like 3e-4, which YAML 1.1 reads as text, are numbers."""
    try:
        import yaml
    except ImportError as error:
        raise BfenvError("training needs PyYAML: pip install 'bfenv[agents]'") from error

    def read(value: Any) -> Any:
        """Return a value with numbers where YAML has texts such as 1e-3."""
        if isinstance(value, dict):
            return {key: read(one) for key, one in value.items()}
        if isinstance(value, list):
            return [read(one) for one in value]
        if isinstance(value, int) and value.bit_length() > MOST_BITS:
            raise ValueError("too large")
        try:
            return float(value) if isinstance(value, str) else value
        except ValueError:
            return value

    try:
        return read(yaml.safe_load(text))
    except yaml.YAMLError as error:
        problem = " ".join(str(error).split())
        raise BfenvError(f"{source}: cannot be read as YAML: {problem:.200}") from error
    except (AttributeError, LookupError, RecursionError, ValueError) as error:
        # which YAML raises for text such as '!!int ""'
        raise BfenvError(f"{source}: is no value, or too large or deep a one") from error
