"""Policy: what a scheduler is, how one is made, registered and found by its name (core layer)."""

import ast
import inspect
import operator
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from importlib import import_module
from types import MappingProxyType
from typing import Any

import numpy as np

from bfenv.core.errors import BfenvError, PolicyError, UnknownName
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

    def __reduce__(self):
        """Pickled by name where its function's own name holds the policy, as `@policy` leaves it.

        The function itself could not be pickled then: pickle would find the policy in its place.
        """
        module, name = _place(self)
        if _at(module, name) is self:
            return find_policy, (f"{module}:{name}",)
        return Policy, tuple(getattr(self, field.name) for field in fields(self))


@dataclass(frozen=True)
class Forgetful:
    """A function of cluster and jobs as a `decide`, which has no use for a memory."""

    function: Callable[[Any, Jobs], None]

    def __call__(self, cluster: Any, jobs: Jobs, memory: Any) -> None:
        """Decide."""
        self.function(cluster, jobs)


def the_generator(jobs: Jobs, processors: int, generator: np.random.Generator):
    """The memory of a stochastic policy that remembers nothing: the random generator itself."""
    return generator


_registered: dict[str, Policy] = {}  # by `policy`, in this process


def policy(function: Callable | None = None, /, **options) -> Any:
    """Make a Policy of a function and register it by its name; a decorator, too.

    The function is `decide(cluster, jobs)`, or `decide(cluster, jobs, memory)` for a policy that
    has a memory. One that draws random numbers says `stochastic=True` and is given, as its third
    argument, a numpy Generator made from the seed, unless `memory` makes something else of it::

        @bfenv.policy(stochastic=True)
        def lottery(cluster, jobs, generator):
            "Starts, in random order, whatever fits."
            for job in generator.permutation(waiting(cluster)):
                if may_start(cluster, jobs, job):
                    start(cluster, jobs, job)

    `options` are the fields of Policy. The name is that of the function with dashes for
    underscores, the summary the first line of its docstring, unless they are given.

    Raises PolicyError for a function that takes neither two nor three arguments, an option that
    is no field of Policy, and a name that another policy has.
    """
    if function is None:
        return partial(policy, **options)
    made = _made(function, **options)
    known = policies().get(made.name)
    if known is not None and not (made.name in _registered and _place(known) == _place(made)):
        raise PolicyError(f"there is another policy of the name {made.name!r}")
    _registered[made.name] = made
    return made


def _made(function: Callable, **options) -> Policy:
    plain = getattr(function, "py_func", function)  # of a kernel
    name = options.get("name", getattr(plain, "__name__", type(plain).__name__))
    for option in options:
        if option not in Policy.__dataclass_fields__ or option == "decide":
            raise PolicyError(f"policy {name}: no option {option!r}")
    try:
        taken = len(inspect.signature(plain).parameters)
    except (TypeError, ValueError):
        taken = 0
    if taken not in (2, 3):
        raise PolicyError(
            f"{name} is no policy: a policy is a function of cluster and jobs, or of cluster, "
            "jobs and memory"
        )
    if taken == 3 and options.get("stochastic"):
        options.setdefault("memory", the_generator)
    options.setdefault("name", name.replace("_", "-"))
    options.setdefault("summary", (inspect.getdoc(plain) or "").partition("\n")[0])
    return Policy(decide=function if taken == 3 else Forgetful(function), **options)


def _place(policy: Policy) -> tuple[str, str]:
    """Module and name of the function that decides."""
    function = getattr(policy.decide, "function", policy.decide)
    return getattr(function, "__module__", ""), getattr(function, "__qualname__", "")


def _at(module: str, name: str) -> Any:
    """What a module that has been imported holds under a name; None if nothing."""
    try:
        return operator.attrgetter(name)(sys.modules[module])
    except (KeyError, AttributeError):
        return None


def able(policy: Policy, jobs: Jobs) -> bool:
    """Whether a policy can schedule these jobs: requested start times have to be planned for."""
    return policy.requested_starts or not jobs.requested_start.any()


def new_memory(policy: Policy, jobs: Jobs, processors: int, seed: int) -> Any:
    """The memory of a policy at the beginning of a run.

    Raises BfenvError unless the seed is a whole number that is not negative.
    """
    whole = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
    if not whole or seed < 0:
        raise BfenvError(f"a seed is a whole number from 0 on, not {seed!r}")
    return policy.memory(jobs, processors, np.random.default_rng(seed))


def policies() -> Mapping[str, Policy]:
    """Every registered policy by name: those of `baselines.ALL`, then those of `policy`."""
    return MappingProxyType({**import_module("baselines").ALL, **_registered})


def families() -> Mapping[str, Callable[..., Policy]]:
    """Every function that makes policies from options, from the registries called FAMILIES."""
    return {**import_module("baselines").FAMILIES, **import_module("agents").FAMILIES}


def find_policy(policy: str | Policy | Callable) -> Policy:
    """A policy by name, or made by a family, as in "easy(order=sjf, lookahead=100)".

    "module:object" is a Policy or a function as `policy` takes it in any module that can be
    imported, and "module:function(option=value)" one that a function there makes. A Policy is
    passed through; of a function, one is made.

    Raises UnknownName, with suggestions, for an unknown name, and PolicyError for an expression
    that cannot be read, an option the family does not have, a module that cannot be imported, an
    object that is not there, or anything that is no policy.
    """
    if isinstance(policy, Policy):
        return policy
    if not isinstance(policy, str):
        if callable(policy):
            return _made(policy)
        raise PolicyError(f"a policy is a name, a Policy or a function, not {policy!r}")
    if "(" in policy:
        return _from_family(policy)
    if ":" in policy:
        found = _imported(policy)
        return found if isinstance(found, Policy) else _made(found, name=policy)
    known = policies()
    if policy in families() and policy not in known:
        options = inspect.signature(families()[policy]).parameters
        raise PolicyError(f"{policy} is made of options, as in {policy}({next(iter(options))}=...)")
    if policy not in known:
        raise UnknownName("policy", policy, known)
    return known[policy]


def _from_family(expression: str) -> Policy:
    name, options = _read(expression)
    if name in policies() and name not in families():
        raise PolicyError(f"{name} has no options; {', '.join(families())} have")
    if ":" not in name and name not in families():
        raise UnknownName("family of policies", name, families())
    family = _imported(name) if ":" in name else families()[name]
    if not callable(family):
        raise PolicyError(f"{name} is no function that makes policies")
    known = inspect.signature(family).parameters
    for option in options:
        if option not in known:
            raise PolicyError(f"{name} has no option {option!r}; it has {', '.join(known)}")
    try:
        inspect.signature(family).bind(**options)
    except TypeError as error:
        raise PolicyError(f"{expression}: {error}") from error
    made = family(**options)
    if not isinstance(made, Policy):
        raise PolicyError(f"{name} makes no Policy but a {type(made).__name__}")
    return made


def _imported(expression: str) -> Any:
    """What "module:object" names."""
    module, _, name = expression.partition(":")
    if module.endswith(".py") or "/" in module:
        stem = module.rpartition("/")[2].removesuffix(".py")
        raise PolicyError(f"{expression}: a module is named, not its file, as in {stem}:{name}")
    try:
        return operator.attrgetter(name)(import_module(module))
    except AttributeError as error:
        raise PolicyError(f"no policy {expression}: {error}") from error
    except Exception as error:  # whatever a module does when it is imported
        kind = type(error).__name__
        raise PolicyError(f"no policy {expression}: {module!r}: {kind}: {error}") from error


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
