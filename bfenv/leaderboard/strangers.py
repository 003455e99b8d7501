"""Which names refer to code that is not bfenv's own, decided without importing any of it."""

import importlib
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

from bfenv.agents.agent_names import ALL as AGENTS
from bfenv.agents.agent_names import read_agent
from bfenv.agents.card import CARDS
from bfenv.core.distributions import is_own, offers
from bfenv.core.errors import BfenvError, PolicyError
from bfenv.core.names import parse_name, split_object_name


def installed_policies() -> Mapping[str, str]:
    """Return the policies and families that installed packages offer: "module:object" by name."""
    return {name: entry.value for name, entry in offers("bfenv.policies").items()}


def is_strange_policy(name: str) -> bool:
    """Whether a policy is decided by code that is not bfenv's own.

    "module:object" always is, even in a module of bfenv, because that can have imported others.

    Raises PolicyError if the name cannot be read.
    """
    base, options = parse_name(name, PolicyError)
    prefix, colon, _ = base.partition(":")
    installed = installed_policies()
    if prefix not in installed:
        return bool(colon)  # others are registered, or unknown
    if not is_own(installed[prefix]):
        return True
    if prefix == CARDS:  # a card names policies of bfenv only
        return False
    return any(":" in text for text in options.values())  # policies that it chose


def is_strange_agent(name: str) -> bool:
    """Whether an agent acts by code that is not bfenv's own; a saved model may hold any code.

    Raises BfenvError if the name cannot be read.
    """
    agent = read_agent(name)
    if ":" not in agent.base and not agent.is_saved and not agent.is_card:
        return False
    return agent.base not in AGENTS and not agent.is_card


def source_of(name: str) -> Path | None:
    """Return the source of a stranger's module; None if it has none in Python.

    * `name`: "module:object", or of an installed policy, with or without options.

    Raises BfenvError if the name is not of that form, or there is no such module.
    """
    origin = _specs(name)[-1].origin
    return Path(origin) if origin and origin.endswith(".py") else None


def package_of(name: str) -> list[Path]:
    """Return the folders of the outermost package that a stranger's module is in, or its file.

    See `source_of` for the parameters and errors.
    """
    spec = _specs(name)[0]
    if spec.submodule_search_locations is not None:
        return list(map(Path, spec.submodule_search_locations))
    return [Path(spec.origin)] if spec.origin and spec.has_location else []


def _specs(name: str) -> list[ModuleSpec]:
    """Find a stranger's module and the packages it is in, without importing any of them."""
    text = parse_name(name).base
    module, _ = split_object_name(installed_policies().get(text.partition(":")[0], text))
    importlib.invalidate_caches()
    parts = module.split(".")
    finders: list[Any] = list(sys.meta_path)
    specs: list[ModuleSpec] = []
    path: Sequence[str] | None = None
    for i in range(len(parts)):
        candidates = (finder.find_spec(".".join(parts[: i + 1]), path) for finder in finders)
        spec = next((candidate for candidate in candidates if candidate is not None), None)
        if spec is None or (i and path is None):
            raise BfenvError(f"{text}: cannot import {module!r}: there is no such module")
        specs.append(spec)
        path = spec.submodule_search_locations
    return specs
