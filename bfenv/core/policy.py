"""Policy: what a scheduler is, and how one is found by its name (core layer)."""

import ast
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from bfenv.core.errors import PolicyError, UnknownName
from bfenv.core.jobs import Jobs


def no_memory(jobs: Jobs, processors: int, generator: np.random.Generator) -> tuple:
    """The memory of a policy that decides afresh in every pass."""
    return ()


def no_records(memory: Any) -> dict[str, np.ndarray]:
    """The records of a policy that writes none."""
    return {}


@dataclass(frozen=True)
class Policy:
    """A scheduler: one function that looks at the machine and starts jobs.

    `decide(cluster, jobs, memory)` is called once per scheduling pass; its one effect on the
    machine is through the verbs of `bfenv.core.cluster`. It may be plain Python or a kernel. A
    kernel runs a hundred times faster when it comes with `run`, the event loop in three lines::

        @kernel
        def run(cluster, jobs, truth, memory):
            while advance(cluster, jobs, truth):
                decide(cluster, jobs, memory)

    The loop cannot be written once with `decide` as an argument: numba does not cache that.
    """

    name: str
    decide: Callable[[Any, Jobs, Any], None]
    run: Callable[[Any, Jobs, Any, Any], None] | None = None
    memory: Callable[[Jobs, int, np.random.Generator], Any] = no_memory
    records: Callable[[Any], dict[str, np.ndarray]] = no_records  # per job, from its memory
    summary: str = ""  # one line for tables
    source: str = ""  # paper and section
    stochastic: bool = False  # the schedule depends on the seed
    stateful: bool = False  # must see every pass, for it remembers what happened in earlier ones
    trials: bool = False  # starts jobs for a trial (`try_start`)
    requested_starts: bool = False  # plans for jobs that ask to start at a certain time


def policies() -> Mapping[str, Policy]:
    """Every registered policy by name, from the registry `baselines.ALL`."""
    return import_module("baselines").ALL


def families() -> Mapping[str, Callable[..., Policy]]:
    """Every function that makes policies from options, from the registries called FAMILIES."""
    return {**import_module("baselines").FAMILIES, **import_module("agents").FAMILIES}


def find_policy(policy: str | Policy) -> Policy:
    """A policy by name, or made by a family, as in "easy(order=sjf, lookahead=100)".

    A Policy is passed through. Raises UnknownName, with suggestions, for an unknown name, and
    PolicyError for an expression that cannot be read, an option the family does not have, or
    anything that is neither text nor a Policy.
    """
    if isinstance(policy, Policy):
        return policy
    if not isinstance(policy, str):
        raise PolicyError(f"a policy is a name or a Policy, not {type(policy).__name__}")
    if "(" in policy:
        return _from_family(policy)
    if policy not in policies():
        raise UnknownName("policy", policy, policies())
    return policies()[policy]


def _from_family(expression: str) -> Policy:
    name, options = _read(expression)
    if name not in families():
        raise UnknownName("family of policies", name, families())
    family = families()[name]
    known = inspect.signature(family).parameters
    for option in options:
        if option not in known:
            raise PolicyError(f"{name} has no option {option!r}; it has {', '.join(known)}")
    return family(**options)


def _read(expression: str) -> tuple[str, dict[str, Any]]:
    """Name and options of "name(option=value, ...)"; bare words, dashes included, are text."""
    try:
        name, _, rest = expression.strip().partition("(")
        if not rest.endswith(")"):
            raise ValueError("no closing parenthesis")
        options = {}
        pairs = re.split(r",(?![^()]*\))", rest[:-1])  # not at the commas within a tuple
        for pair in filter(None, map(str.strip, pairs)):
            option, equals, value = map(str.strip, pair.partition("="))
            if not (equals and option and value):
                raise ValueError(f"{pair!r} is not option=value")
            try:
                options[option] = ast.literal_eval(value)
            except (ValueError, SyntaxError, TypeError):
                options[option] = value
            plain = options[option]
            for part in plain if isinstance(plain, tuple) else (plain,):
                if not isinstance(part, str | int | float | None):
                    raise ValueError(f"{value!r} is neither text nor a number")
                if isinstance(part, int | float) and not abs(part) < 2**53:
                    raise ValueError(f"{value} is out of range")
        return name.strip(), options
    except ValueError as error:
        raise PolicyError(f"cannot read the policy {expression!r}: {error}") from error
