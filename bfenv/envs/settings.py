"""The settings of Backfill-v0: name, type, default and meaning, each written once.

`EnvSettings` types the keyword arguments for type checkers. What `help`, completion and the
environment's page show is derived from it.
"""

import inspect
import textwrap
from collections.abc import Callable, Iterable, Sequence, Set
from typing import (
    Annotated,
    Any,
    NamedTuple,
    TypedDict,
    TypeVar,
    cast,
    get_type_hints,
)

import numpy as np

from bfenv.core.arguments import check_choice, check_integer, check_number
from bfenv.core.durations import LONGEST, in_seconds
from bfenv.core.errors import BfenvError, UnknownNameError
from bfenv.core.jobs import Trace
from bfenv.core.policy import Policy
from bfenv.envs.features import JOB_FEATURES
from bfenv.envs.legal_actions import IDLE
from bfenv.envs.reward import Reward

RENDER_MODES = ("ansi", "rgb_array")
FRAMES_PER_SECOND = 8
LARGEST_WINDOW = 2**20  # slots; the observation then has 46 MB
WORKLOAD = "lublin"  # the default of all splits but "train"
# The default of "train": each seed at each load. The default of the other splits has seed 0.
TRAINING_SEEDS = (1, 2, 3, 4)
TRAINING_LOADS = (0.7, 0.8, 0.9)
HEADS = ("oldest", "chosen")
GUARD_SCALES = ("backlog", "scaled_backlog")  # the guard by EASY needs a second machine

Workloads = str | Trace | Sequence[str | Trace]
Init = TypeVar("Init", bound=Callable[..., None])


class UnknownSettingError(UnknownNameError, TypeError):
    """A keyword argument that is not a setting; a TypeError, as of any function.

    Parameters
    ----------
    name
        The unknown name; without `known`, the whole message, with which `gymnasium.make` raises
        the error again.
    known
        The settings.
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

    window: Annotated[
        int,
        Setting(64, "how many waiting jobs the agent sees and can start."),
    ]
    window_order: Annotated[
        str,
        Setting(
            "mixed",
            'which jobs are in slots when more wait than the window holds: "mixed" (a quarter each '
            "the oldest, the shortest estimates, the smallest sizes, the largest expansion "
            'factors), "oldest", or the oldest job and the first ones of an order: the '
            "name of one of `bfenv.knowledge.priorities.ORDERS`, or an expression as in "
            '`easy(order=...)`, such as "size*estimate", the smallest values first.',
        ),
    ]
    head: Annotated[
        str,
        Setting(
            "oldest", '"chosen": the agent may choose the head of each pass, see Action Space.'
        ),
    ]
    reservation_depth: Annotated[
        int,
        Setting(1, "how many of the oldest waiting jobs no start may delay; -1 for all."),
    ]
    idle: Annotated[
        str,
        Setting(
            "never",
            'when the pass is illegal: "never" while a start is legal, "reserved" while the start '
            'of a job with a reservation is, "always" for never illegal at reservation_depth=0 (at '
            'other depths it is "reserved").',
        ),
    ]
    max_age: Annotated[
        float | str | None,
        Setting(
            None,
            'age guard, in seconds or text like "1d": a job that has waited longer than this plus '
            "the largest backlog so far comes first; None for no guard.",
        ),
    ]
    guard: Annotated[
        float | None,
        Setting(
            None,
            "age guard in place of `max_age`, the one of `easy(guard=...)`: a job that has waited "
            "longer than this times (one day plus the largest backlog so far) comes first; None "
            "for no guard.",
        ),
    ]
    guard_scale: Annotated[
        str,
        Setting(
            "scaled_backlog",
            'the backlog of `guard`, by predicted runtimes: "backlog" or "scaled_backlog", see '
            "`bfenv.baselines.age_guard`. It counts from the begin of the episode on.",
        ),
    ]
    trial_limit: Annotated[
        float | str | None,
        Setting(
            None,
            'length of trials, in seconds or text like "15min": further actions then start jobs '
            "for a trial, see Action Space; None for no trials.",
        ),
    ]
    trial_above: Annotated[
        float | str | None,
        Setting(
            None,
            "estimate, in seconds or text: a job with one above it starts for a trial of "
            "`trial_limit` first, and there are no further actions; as in `easy(trial_above=...)`.",
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
    flat: Annotated[
        bool,
        Setting(False, "observe one Box, of queue, profile, cluster and mask in a row."),
    ]
    reward: Annotated[
        str | Reward,
        Setting("bounded_slowdown", "see Rewards."),
    ]
    reference: Annotated[
        str | Policy | None,
        Setting(
            None,
            'policy that rewards compare with on the same jobs; None is "easy" for '
            'reward="log_ratio", and no policy for others.',
        ),
    ]
    wait_penalty: Annotated[
        float,
        Setting(1.0, 'weight of the longest wait in reward="log_ratio".'),
    ]
    episode_jobs: Annotated[
        int | None,
        Setting(256, "jobs per episode; None for all of the split after the warm-up."),
    ]
    warmup_jobs: Annotated[
        int,
        Setting(256, "jobs before the episode's, scheduled by EASY."),
    ]
    split: Annotated[
        str,
        Setting(
            "train",
            'the part of the workload, by time, that episodes come from: "train" the first half, '
            '"validation" the next tenth, "test" the last 40 %, "all" everything.',
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
    every_pass: Annotated[
        bool,
        Setting(False, "stop at every scheduling pass, even if no start is legal."),
    ]
    render_mode: Annotated[
        str | None,
        Setting(None, 'what `render` returns: "ansi", a text, or "rgb_array", an image.'),
    ]
    max_episode_steps: Annotated[
        int | None,
        Setting(None, "after how many actions an episode is truncated; None for never."),
    ]


_HINTS = get_type_hints(EnvSettings, include_extras=True)
SETTINGS: dict[str, Setting] = {name: hint.__metadata__[0] for name, hint in _HINTS.items()}
# The defaults have the types of their annotations, which a test checks.
DEFAULTS = cast(EnvSettings, {name: setting.default for name, setting in SETTINGS.items()})


def complete_settings(settings: EnvSettings) -> EnvSettings:
    """Add the defaults, and check what can be checked without the workload.

    Raises
    ------
    UnknownSettingError
        If a setting does not exist.
    BfenvError
        If a value is of the wrong kind or out of range, or two do not go together.
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
    check_integer("reservation_depth", values["reservation_depth"], -1)
    check_integer("warmup_jobs", values["warmup_jobs"], 0)
    if values["episode_jobs"] is not None:
        check_integer("episode_jobs", values["episode_jobs"], 1)
    if values["max_episode_steps"] is not None:
        check_integer("max_episode_steps", values["max_episode_steps"], 1)
    check_choice("render_mode", values["render_mode"], (None, *RENDER_MODES))
    check_choice("idle", values["idle"], IDLE)
    check_choice("head", values["head"], HEADS)
    check_choice("flat", values["flat"], (False, True))
    check_choice("every_pass", values["every_pass"], (False, True, 0, 1))
    check_number("wait_penalty", values["wait_penalty"], 0)
    if not isinstance(values["window_order"], str):
        raise BfenvError(f"window_order must be text, got {values['window_order']!r}")
    _check_groups(values["job_features"])
    _check_guard(values)
    _check_trials(values)
    if values["head"] == "chosen" and values["reservation_depth"] != 0:
        raise BfenvError(
            "head='chosen' needs reservation_depth=0, because the chosen job has the only "
            f"reservation, got reservation_depth={values['reservation_depth']}"
        )
    return values


def _check_guard(values: EnvSettings) -> None:
    """Check the guard, which is an alternative to `max_age`."""
    check_choice("guard_scale", values["guard_scale"], GUARD_SCALES)
    if values["guard"] is None:
        return
    check_number("guard", values["guard"], positive=True)
    if values["max_age"] is not None:
        raise BfenvError("max_age and guard are two age guards: set one of them")


def _check_trials(values: EnvSettings) -> None:
    """Check that jobs which start for a trial may be killed before their estimate."""
    if values["trial_above"] is None:
        return
    if values["trial_limit"] is None:
        raise BfenvError("trial_above needs a trial_limit, the length of the trials")
    limit, above = first_trial_of(values["trial_limit"], values["trial_above"])
    if above < limit:
        raise BfenvError(f"trial_above must be at least trial_limit={limit}, got {above}")
    if values["reservation_depth"] not in (0, 1):
        raise BfenvError(
            "trial_above needs reservation_depth=0 or 1, "
            f"got reservation_depth={values['reservation_depth']}"
        )


def _check_groups(groups: Any) -> None:
    """Check that groups of features are named in a list, or are None."""
    if groups is None:
        return
    if isinstance(groups, str) or not isinstance(groups, Sequence | Set):
        known = ", ".join(map(repr, JOB_FEATURES))
        raise BfenvError(f"job_features must be None or a list of {known}; got {groups!r}")
    for group in groups:
        check_choice("job_features", group, JOB_FEATURES)


def seconds_of(max_age: float | str) -> int:
    """Return the age guard's seconds.

    Raises
    ------
    BfenvError
        If it is neither a number from 0 nor a duration as text.
    """
    seconds = in_seconds("max_age", max_age)
    return round(check_number("max_age", seconds, 0, LONGEST))


def trial_seconds_of(trial_limit: float | str) -> int:
    """Return the length of trials in seconds.

    Raises
    ------
    BfenvError
        If it is neither a number from 1 nor such a duration as text.
    """
    seconds = in_seconds("trial_limit", trial_limit)
    return round(check_number("trial_limit", seconds, 1, LONGEST))


def first_trial_of(trial_limit: float | str, trial_above: float | str) -> tuple[int, int]:
    """Return the length (s) of trials that jobs start with, and the estimate (s) above which.

    Raises
    ------
    BfenvError
        If one of them is neither a number from 1 nor such a duration as text.
    """
    above = check_number("trial_above", in_seconds("trial_above", trial_above), 1, LONGEST)
    return trial_seconds_of(trial_limit), round(above)


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
