"""Agents by name ("random", "easy", "module:object", a saved model's path), opened for use.

A policy's name also names the policy as an agent, see `PolicyAgent`.

A path that ends in .json names an exported network. It is opened without running code.
"""

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from bfenv.agents.card import (
    ACTING,
    MODEL,
    POLICY,
    SHIPPED,
    SUFFIX,
    is_network,
    read_card,
    shipped_names,
)
from bfenv.agents.legal_choice import ranks_actions
from bfenv.agents.network_agent import load_network
from bfenv.agents.policy_agent import PolicyAgent
from bfenv.agents.random import RandomAgent
from bfenv.agents.saved_model import ModelAgent, describe_model, load_agent
from bfenv.agents.seen_jobs import Span, check_unseen
from bfenv.baselines.registry import families, find_policy, policies
from bfenv.core.errors import BfenvError, PolicyError, UnknownNameError
from bfenv.core.jobs import Trace, make_trace
from bfenv.core.names import import_object, parse_name, read_value
from bfenv.core.policy import Policy
from bfenv.core.text import suggest
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.settings import DEFAULTS, EnvSettings

ALL = MappingProxyType({"random": RandomAgent})
# What a name may choose of its environment: how the agent sees and acts, not what it is scored on.
OPTIONS = tuple(name for name in ACTING if name != "job_features")
ELSEWHERE = {"rlscheduler": "lab"}  # agents of other distributions of bfenv, by name
POLICY_SUFFIX = " (agent)"  # ends the name of a policy that acts in the environment
DETERMINISTIC = "deterministic"  # the option of how it acts in that environment
WHOLE_TRACE: EnvSettings = {
    "episode_jobs": None,
    "warmup_jobs": 0,
    "split": "all",
    "reward": "bounded_slowdown",  # the first reward by "log_ratio" rests on jobs to come
}


class AgentName(NamedTuple):
    """An agent's name taken apart."""

    base: str  # a name of ALL, a policy, "module:object", "agent:NAME", or a saved model's path
    options: dict[str, Any]  # of BackfillEnv
    deterministic: bool = True  # passed to `predict`

    @property
    def is_saved(self) -> bool:
        """Whether it is a saved model; to open one runs whatever code is in it."""
        return self.base.endswith(".zip")

    @property
    def is_card(self) -> bool:
        """Whether a card describes it: a network or a policy, by its path or as "agent:NAME"."""
        return self.base.endswith(SUFFIX) or self.base.startswith(SHIPPED)


class OpenAgent(NamedTuple):
    """An agent that is ready to act, once in its environment."""

    name: str  # for tables and messages
    make: Callable[[BackfillEnv, int], Any]  # of the environment and a seed
    settings: dict[str, Any]  # that it needs, from its training or its name
    trained_on: Sequence[Span] | None  # None if it is unknown
    batched: bool = False  # whether its `predict` takes masks and observations of many environments

    def settings_with(self, settings: EnvSettings) -> EnvSettings:
        """Return settings completed by those that the agent needs.

        Args:
            settings: Settings of `BackfillEnv`.

        Raises:
            BfenvError: If they contradict each other.
        """
        for setting, needed in self.settings.items():
            if setting not in settings:
                continue
            value = settings[setting]  # type: ignore[literal-required]
            if setting == "job_features":
                same = value is None or sorted(value) == sorted(needed)
            else:
                same = value == needed
            if not same:
                raise BfenvError(f"{self.name} needs {setting}={needed!r}, got {value!r}")
        merged: EnvSettings = {**settings, **self.settings}  # type: ignore[typeddict-item]
        return merged

    def check_unseen(self, trace: Trace, first: int = 0, last: int | None = None) -> None:
        """Check that the agent was not trained on jobs of a trace.

        Args:
            trace: The trace to score the agent on.
            first, last: First of its jobs, and one past the last; None is the end of the trace.

        Raises:
            BfenvError: If it was trained on any of them.
        """
        check_unseen(self.name, self.trained_on or (), trace, first, last)


def read_agent(name: str) -> AgentName:
    """Read an agent's name, like "random", "module:object" or "model.zip:deterministic=false".

    The grammar is that of `bfenv.core.names`; the options are OPTIONS of the environment, and
    `deterministic`.

    Raises BfenvError if the name is empty or cannot be read, an option is unknown or has a bad
    value, or the file of a saved model is missing.
    """
    if not name:
        raise BfenvError("an agent needs a name; this one is empty")
    if name.endswith((".zip", SUFFIX)) and os.path.isfile(name):  # there may be parentheses in it
        return AgentName(name, {})
    base, texts = parse_name(name)
    if name.strip()[len(base) :].lstrip().startswith("(") and _is_policy(base):
        base, texts = name.strip(), {}  # the options are the policy's
    options = _read_options(name, texts)
    deterministic = options.pop(DETERMINISTIC, True)
    if not isinstance(deterministic, bool):
        raise BfenvError(f"agent {name}: deterministic must be true or false")
    agent = AgentName(base, options, deterministic)
    if agent.is_saved and not os.path.isfile(base):
        raise BfenvError(f"no such saved model: {base}")
    return agent


def find_agent(name: str) -> Any:
    """Return the object with this name. Saved models are not found here.

    Raises UnknownNameError if the name is not registered. Raises BfenvError if it cannot be
    imported, and what `read_agent` raises.
    """
    agent = read_agent(name)
    base = agent.base
    if base in ALL:
        return ALL[base]
    if agent.is_card:
        card = base.removeprefix(SHIPPED)
        return load_network(card) if is_network(card) else find_policy(SHIPPED + card)
    if _is_policy(base.partition("(")[0]):
        return find_policy(base)
    if ":" not in base:
        shipped = (SHIPPED + name for name in shipped_names())
        raise UnknownNameError("agent", base, [*ALL, *policies(), *shipped])
    return import_object(base)


def _is_policy(base: str) -> bool:
    """Tell whether a name is that of a policy or a family that bfenv knows."""
    return base not in ALL and base in {**policies(), **families()}


def is_stochastic(name: str) -> bool:
    """Whether a seed may change what the agent does: its `stochastic`, or that it takes a seed."""
    agent_name = read_agent(name)
    if agent_name.is_saved:
        return not agent_name.deterministic
    agent = find_agent(name)
    return bool(getattr(agent, "stochastic", callable(agent)))


def training_of(name: str) -> Sequence[Span] | None:
    """Return the jobs that an agent was trained on; None if they are unknown. Opens no model.

    The agents of bfenv are not trained. A saved model has a card, and an object may say it in its
    attribute `trained_on`, a sequence of `span_of(trace, first, last)`.
    """
    agent_name = read_agent(name)
    if agent_name.is_saved:
        return read_card(agent_name.base, MODEL).trained_on
    if agent_name.base in ALL:
        return ()
    agent = find_agent(name)
    opened = _as_agent(agent) if isinstance(agent, Policy) else agent
    return getattr(opened, "trained_on", None)


def window_of(name: str) -> int | None:
    """Return how many slots an agent sees, by its card or its name; None of a policy.

    No model is opened. What an object of yours says in its `settings` is not looked at.
    """
    agent = read_agent(name)
    settings: Mapping[str, Any] = agent.options
    if agent.is_saved or agent.is_card:
        card = read_card(agent.base.removeprefix(SHIPPED))
        if card.kind == POLICY:
            return None
        settings = {**card.settings, **settings}
    elif _is_policy(agent.base.partition("(")[0]):
        return None
    return int(settings.get("window", DEFAULTS["window"]))


def open_agent(agent: Any, *, trust: bool = False) -> OpenAgent:
    """Open an agent by its name, or take an object as one.

    Args:
        agent: A name for `read_agent`, or the path of a file; a Policy; a model of
            stable-baselines3 or sb3-contrib; another object with its `predict`; or a function that
            makes one from an environment, or from it and a seed. An object may say in `settings`
            what environment it needs, and in `trained_on` which jobs it was trained on.
        trust: Open saved models, which may run any code.

    Returns:
        Call its `make` with an environment and a seed.

    Raises:
        BfenvError: If there is no such agent, options contradict what it was trained with, or a
            model has no environment to read its settings from.
    """
    if isinstance(agent, os.PathLike):  # as `save_model` returns it
        agent = os.fspath(agent)
    if not isinstance(agent, str):
        return _open_object("agent", agent)
    name = read_agent(agent)
    if not name.is_saved:
        opened = _open_object(agent, find_agent(agent))
        trained_on = training_of(agent)
    else:
        opened = _open_object(agent, load_agent(name.base, trust=trust))
        trained_on = opened.trained_on
    options: EnvSettings = name.options  # type: ignore[assignment]
    return opened._replace(settings=dict(opened.settings_with(options)), trained_on=trained_on)


def _as_agent(policy: Policy) -> OpenAgent:
    """Return a policy that acts in the environment, under a name that is not the policy's."""
    trained_on: Sequence[Span] = ()
    if policy.name.startswith(SHIPPED):
        trained_on = read_card(policy.name.removeprefix(SHIPPED)).seen_jobs

    def make(env: BackfillEnv, seed: int) -> PolicyAgent:
        try:
            return PolicyAgent(policy, env, seed)
        except PolicyError as error:  # a player's environment has no machine
            hint = "a policy of yours takes part in a leaderboard by --policy"
            raise PolicyError(f"{error}; {hint}") from error

    return OpenAgent(policy.name + POLICY_SUFFIX, make, {}, trained_on)


def _open_object(name: str, agent: Any) -> OpenAgent:
    if isinstance(agent, Policy):
        return _as_agent(agent)
    trained_on = getattr(agent, "trained_on", None)
    if inspect.isclass(agent) or not hasattr(agent, "predict"):
        if not callable(agent):
            raise BfenvError(
                f"{name} must have a method predict, or be a function that makes such an agent, "
                f"got {agent!r}"
            )
        return OpenAgent(name, lambda env, seed: _make(agent, env, seed), {}, trained_on)
    if ranks_actions(agent):
        agent = ModelAgent(agent, describe_model(agent))
    if isinstance(agent, ModelAgent):
        trained_on = agent.card.trained_on
    settings, batched = getattr(agent, "settings", {}), getattr(agent, "batched", False)
    return OpenAgent(name, lambda env, seed: agent, settings, trained_on, batched)


def _make(factory: Any, env: Any, seed: int) -> Any:
    """Make an agent with a function of the environment and the seed, or of the environment."""
    try:
        inspect.signature(factory).bind(env, seed)
    except TypeError:
        agent = factory(env)
    else:
        agent = factory(env, seed)
    opened = _open_object("the agent of the function", agent)
    is_remote = not isinstance(env, BackfillEnv)  # the jobs are then unknown here
    opened.settings_with({**DEFAULTS, **(env.settings if is_remote else env.batch.settings)})
    if not is_remote:
        for trace, bounds in zip(env.batch.source.traces, env.batch.source.splits, strict=True):
            opened.check_unseen(trace, *bounds)
    return opened.make(env, seed)


def _read_options(name: str, texts: Mapping[str, str]) -> dict[str, Any]:
    """Read the options' values; the environment checks its own settings."""
    options: dict[str, Any] = {}
    names = (*OPTIONS, DETERMINISTIC)
    for option, text in texts.items():
        if option not in names:
            hint = suggest(option, names) or f"there are {', '.join(names)}"
            raise BfenvError(f"agent {name}: no option {option!r}; {hint}")
        try:
            options[option] = read_value(text)
        except ValueError as error:
            raise BfenvError(f"agent {name}: {option}: {error}") from error
    settings = {key: value for key, value in options.items() if key != DETERMINISTIC}
    if settings:
        try:
            BackfillEnv(make_trace([0], [1], [1], 1), **WHOLE_TRACE, **settings)
        except BfenvError as error:
            raise BfenvError(f"agent {name}: {error}") from error
    return options
