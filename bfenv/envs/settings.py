"""The settings of Backfill-v0: name, type, default and meaning, each written once.

`EnvSettings` types the keyword arguments for type checkers. What `help`, completion and the
environment's page show is derived from it.
"""

import inspect
import textwrap
from collections.abc import Callable, Iterable, Sequence, Set
from typing import Annotated, Any, NamedTuple, TypedDict, TypeVar, cast, get_type_hints

import numpy as np

from bfenv.core.arguments import check_choice, check_integer
from bfenv.core.durations import TAU
from bfenv.core.errors import BfenvError, UnknownNameError
from bfenv.core.jobs import Trace
from bfenv.envs.features import JOB_FEATURES
from bfenv.envs.reward import Reward

RENDER_MODES = ("ansi", "rgb_array")
FRAMES_PER_SECOND = 8
LARGEST_WINDOW = 2**20  # slots; the observation then has 46 MB
# The default workload: traces of one model, each at each of the loads; each split has other seeds.
# Only 2 % of the jobs ask for the longest time, so that estimates tell more about runtimes.
MODEL = "lublin:procs=352,emax_share=0.02"
SEEDS = {"train": (1, 2, 3, 4), "validation": (11, 12, 13, 14), "test": (5, 6, 7, 8)}
LOADS = (0.9, 1.0, 1.1)
RESERVATIONS = ("chosen", 1, 0)
IDLE = ("never", "allowed", "every_pass")

Workloads = str | Trace | Sequence[str | Trace]
Init = TypeVar("Init", bound=Callable[..., None])


class UnknownSettingError(UnknownNameError, TypeError):
    """A keyword argument that is not a setting; a TypeError, as of any function.

    Args:
        name: The unknown name; without `known`, the whole message, with which `gymnasium.make`
            raises the error again.
        known: The settings.
    """

    def __init__(self, name: str, known: Iterable[str] = ()) -> None:
        super().__init__("setting", name, known)
        self.args = (name, self.known)  # of this class, for pickle

    def __str__(self) -> str:
        if not self.known:
            return self.name
        # TorchRL reads these words, as Python has them.
        return super().__str__().replace("unknown setting", "unexpected keyword argument", 1)


class Setting(NamedTuple):
    """What is said of a setting beside its name and type."""

    default: Any
    meaning: str


class EnvSettings(TypedDict, total=False):
    """The keyword arguments of the environments, beside `workload`; see `BackfillEnv`."""

    split: Annotated[
        str,
        Setting(
            "train",
            'the part of the workload, by time, that episodes come from: "train" the first half, '
            '"validation" the next tenth, "test" the last 40 %, "all" everything. Of the default '
            "workload, each split has traces of other seeds.",
        ),
    ]
    load: Annotated[
        float | Sequence[float] | None,
        Setting(
            None,
            "offered load to scale the workload to; None leaves it as it is. With a list, every "
            "episode is at one load drawn by seed.",
        ),
    ]
    episode_jobs: Annotated[
        int | None, Setting(640, "jobs per episode; None for all of the split after the warm-up.")
    ]
    warmup_jobs: Annotated[int, Setting(256, "jobs before the episode's, scheduled by EASY.")]
    window: Annotated[int, Setting(64, "how many waiting jobs the agent sees and can start.")]
    window_order: Annotated[
        str,
        Setting(
            "mixed",
            'which jobs are in slots when more wait than the window holds: "mixed" (a quarter each '
            "the oldest, the shortest estimates, the smallest sizes, the largest expansion "
            'factors), "oldest", or "saf" (the oldest, and those with the smallest size x '
            "estimate).",
        ),
    ]
    reservations: Annotated[
        int | str,
        Setting(
            "chosen",
            'which waiting job has a reservation that no start may delay: "chosen" for the head, '
            "which the agent names; 1 for the oldest, as in EASY; 0 for none.",
        ),
    ]
    idle: Annotated[
        str,
        Setting(
            "never",
            'when passing is legal. "never": only when no job can start. "allowed": always, except '
            'when a job with a reservation can start now. "every_pass": as "allowed", and the '
            "environment stops at every scheduling pass, even if no start is legal.",
        ),
    ]
    job_features: Annotated[
        Sequence[str] | None,
        Setting(
            None,
            'which of the groups "users", "priority" and "requested_start" are in the '
            "observation; None for those that a workload has.",
        ),
    ]
    reward: Annotated[
        str | Reward,
        Setting(
            "penalized_shaped",
            'this, "penalized_product", "penalized", "log_ratio", "bounded_slowdown", "wait" or '
            "your own, see Rewards.",
        ),
    ]
    tau: Annotated[
        int,
        Setting(TAU, "seconds; in bounded slowdowns, a shorter runtime counts as this."),
    ]
    render_mode: Annotated[
        str | None,
        Setting(None, 'what `render` returns: "ansi", a text, or "rgb_array", an image.'),
    ]
    max_episode_steps: Annotated[
        int | None, Setting(None, "after how many actions an episode is truncated; None for never.")
    ]


_HINTS = get_type_hints(EnvSettings, include_extras=True)
SETTINGS: dict[str, Setting] = {name: hint.__metadata__[0] for name, hint in _HINTS.items()}
# The defaults have the types of their annotations, which a test checks.
DEFAULTS = cast(EnvSettings, {name: setting.default for name, setting in SETTINGS.items()})


def complete_settings(settings: EnvSettings) -> EnvSettings:
    """Add the defaults, and check what can be checked without the workload.

    Raises UnknownSettingError if a setting does not exist. Raises BfenvError if a value is of the
    wrong kind or out of range, or two do not go together.
    """
    for name in settings:
        if name not in SETTINGS:
            raise UnknownSettingError(name, ["workload", *SETTINGS])
    given = {
        name: value.item() if isinstance(value, np.generic) else value  # JSON has no others
        for name, value in settings.items()
    }
    values = cast(EnvSettings, {**DEFAULTS, **given})
    check_integer("window", values["window"], 1, LARGEST_WINDOW)
    check_integer("warmup_jobs", values["warmup_jobs"], 0)
    check_integer("tau", values["tau"], 1)
    if values["episode_jobs"] is not None:
        check_integer("episode_jobs", values["episode_jobs"], 1)
    if values["max_episode_steps"] is not None:
        check_integer("max_episode_steps", values["max_episode_steps"], 1)
    check_choice("render_mode", values["render_mode"], (None, *RENDER_MODES))
    check_choice("idle", values["idle"], IDLE)
    check_choice("reservations", values["reservations"], RESERVATIONS)
    groups = values["job_features"]
    if isinstance(groups, str) or not isinstance(groups, Sequence | Set | None):
        choices = ", ".join(map(repr, JOB_FEATURES))
        raise BfenvError(f"job_features must be None or a list of {choices}; got {groups!r}")
    for group in groups or ():
        check_choice("job_features", group, JOB_FEATURES)
    return values


def lists_settings(init: Init) -> Init:
    """Show the settings in the signature of `init`, in place of its `**settings`."""
    signature = inspect.signature(init)
    parameters = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    types = get_type_hints(EnvSettings)
    parameters += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=type_)
        for (name, (default, _)), type_ in zip(SETTINGS.items(), types.values(), strict=True)
    ]
    shown = signature.replace(parameters=parameters)
    init.__signature__ = shown  # type: ignore[attr-defined]  # read by inspect.signature
    return init


def settings_page() -> str:
    """List the settings in Markdown, with defaults and meanings."""
    items = [f"* `{name}={s.default!r}`: {s.meaning}" for name, s in SETTINGS.items()]
    return "\n".join(textwrap.fill(item, 94, subsequent_indent="  ") for item in items)
