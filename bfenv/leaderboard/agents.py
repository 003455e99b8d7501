"""Agents by name: "random", "module:object", or the path of a saved model."""

import hashlib
import inspect
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bfenv.agents import ALL
from bfenv.baselines.registry import find_policy
from bfenv.core.errors import BfenvError, UnknownNameError
from bfenv.core.jobs import make_trace
from bfenv.core.names import import_object, parse_name, read_value
from bfenv.core.policy import Policy
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.settings import EnvSettings

# What a name may choose of its environment: how the agent sees and acts, not what it is scored on.
OPTIONS = (
    "window",
    "window_order",
    "reservation_depth",
    "head",
    "idle",
    "max_age",
    "every_pass",
)
WHOLE_TRACE: EnvSettings = {"episode_jobs": None, "warmup_jobs": 0, "split": "all"}


class AgentName(NamedTuple):
    """An agent's name taken apart."""

    base: str  # a name of bfenv.agents.ALL, "module:object", or the path of a saved model
    options: dict[str, Any]  # of BackfillEnv

    @property
    def is_saved(self) -> bool:
        """Whether it is a saved model; to open one runs whatever code is in it."""
        return self.base.endswith(".zip")


def read_agent(name: str) -> AgentName:
    """Read an agent's name, like "random", "module:object" or "model.zip:window=32".

    The grammar is that of `bfenv.core.names`; the options are OPTIONS of the environment.

    Raises
    ------
    BfenvError
        If the name is empty or cannot be read, an option is unknown or has a bad value, or the
        file of a saved model is missing.
    """
    if not name:
        raise BfenvError("an agent needs a name; this one is empty")
    if name.endswith(".zip") and Path(name).is_file():  # there may be parentheses in it
        return AgentName(name, {})
    base, texts = parse_name(name)
    agent = AgentName(base, _read_options(name, texts))
    if agent.is_saved and not Path(base).is_file():
        raise BfenvError(f"no such saved model: {base}")
    return agent


def _read_options(name: str, texts: Mapping[str, str]) -> dict[str, Any]:
    """Read the options' values; the environment checks its own settings."""
    options: dict[str, Any] = {}
    for option, text in texts.items():
        if option not in OPTIONS:
            raise BfenvError(f"agent {name}: no option {option!r}; there are {', '.join(OPTIONS)}")
        try:
            options[option] = read_value(text)
        except ValueError as error:
            raise BfenvError(f"agent {name}: {option}: {error}") from error
    if options:
        try:
            BackfillEnv(make_trace([0], [1], [1], 1), **WHOLE_TRACE, **options)
        except BfenvError as error:
            raise BfenvError(f"agent {name}: {error}") from error
    return options


def find_agent(name: str) -> Any:
    """Return the object that a name stands for; not for saved models.

    Raises
    ------
    UnknownNameError
        If the name is not registered.
    BfenvError
        If it cannot be imported, and what `read_agent` raises.
    """
    base = read_agent(name).base
    if base in ALL:
        return ALL[base]
    if ":" not in base:
        raise UnknownNameError("agent", base, ALL)
    return import_object(base)


def is_stochastic(name: str) -> bool:
    """Whether a seed may change what the agent does: its `stochastic`, or that it takes a seed."""
    if read_agent(name).is_saved:
        return False
    agent = find_agent(name)
    return bool(getattr(agent, "stochastic", callable(agent)))


def card_of(policy: Policy) -> str | None:
    """Return the name or path of the card that a policy was loaded from; None of other policies."""
    prefix, _, card = policy.name.partition(":")
    return card if prefix == "agent" and card else None


def code_hash(kind: str, name: str) -> str | None:
    """Return the hash of the code of a policy or agent that is not bfenv's own.

    That is the file of a saved model or of an agent's card, or the source of the module in
    "module:object". A row made with other code is another row. None for what bfenv comes with.
    """
    if kind == "agent" and read_agent(name).is_saved:
        file: str | None = read_agent(name).base
    elif kind == "policy" and (card := card_of(find_policy(name))):
        file = card if card.endswith(".json") else None
    else:
        module, colon, _ = parse_name(name).base.partition(":")
        if not colon:
            return None
        import_object(parse_name(name).base)
        file = inspect.getsourcefile(sys.modules[module])
    return f"sha256:{hashlib.sha256(Path(file).read_bytes()).hexdigest()}" if file else None
