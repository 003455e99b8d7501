"""The policies by name: those of this room, those of installed packages, and those you register.

`find_policy` understands the grammar of `bfenv.core.names`. A package can offer policies by name
with entry points of the group "bfenv.policies", each a Policy or a function that makes one.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Any

from bfenv.baselines import conservative_replan, easy_variants, los
from bfenv.baselines.cons_rs import CONS_RS, cons_rs
from bfenv.baselines.conservative import (
    CONSERVATIVE,
    CONSERVATIVE_RANDOM,
    CONSERVATIVE_RANDOM_SJF,
    CONSERVATIVE_SJF,
    conservative,
)
from bfenv.baselines.easy import EASY
from bfenv.baselines.fcfs import FCFS
from bfenv.baselines.multiqueue.figure2 import MULTIQUEUE, multiqueue
from bfenv.baselines.selective import SELECTIVE, selective
from bfenv.baselines.slack import RELAXED, SLACK, relaxed, slack
from bfenv.baselines.speculative import EASY_SPECULATIVE, easy_speculative
from bfenv.core import simulator
from bfenv.core.errors import PolicyError, UnknownNameError
from bfenv.core.jobs import Trace
from bfenv.core.names import import_object, parse_name, read_value
from bfenv.core.policy import Policy, make_policy, place_of
from bfenv.core.schedule import Schedule

ALL: Mapping[str, Policy] = MappingProxyType(
    {
        policy.name: policy
        for policy in (
            FCFS,
            EASY,
            *easy_variants.POLICIES,
            CONSERVATIVE,
            CONSERVATIVE_SJF,
            CONSERVATIVE_RANDOM,
            CONSERVATIVE_RANDOM_SJF,
            conservative_replan.CONSERVATIVE_REPLAN,
            conservative_replan.CONSERVATIVE_REPLAN_SJF,
            conservative_replan.CONSERVATIVE_REPLAN_RANDOM,
            conservative_replan.CONSERVATIVE_REPLAN_RANDOM_SJF,
            conservative_replan.CONSERVATIVE_REPLAN_AGED_SJF,
            conservative_replan.CONSERVATIVE_REPLAN_AGED_RANDOM,
            CONS_RS,
            MULTIQUEUE,
            EASY_SPECULATIVE,
            los.LOS,
            los.LOS_BASIC,
            los.LOS_SELECTED_FIRST,
            los.LOS_MAXJOBS,
            los.LOS_MAX_SLOWDOWN,
            SELECTIVE,
            SLACK,
            RELAXED,
        )
    }
)
FAMILIES: Mapping[str, Callable[..., Policy]] = MappingProxyType(
    {
        family.__name__.replace("_", "-"): family
        for family in (
            easy_variants.queue,
            easy_variants.easy,
            conservative,
            cons_rs,
            multiqueue,
            easy_speculative,
            los.los,
            selective,
            slack,
            relaxed,
        )
    }
)
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
    made = make_policy(function, **options)
    known = policies().get(made.name)
    if known is not None and not (made.name in _registered and place_of(known) == place_of(made)):
        raise PolicyError(f"there is another policy of the name {made.name!r}")
    _registered[made.name] = made
    return made


def policies() -> Mapping[str, Policy]:
    """Every policy that has a name: the baselines, then those registered by `policy`."""
    return MappingProxyType({**ALL, **_registered})


def families() -> Mapping[str, Callable[..., Policy]]:
    """Every function that makes policies from options: the baselines', then installed ones."""
    installed = {name: _installed(name) for name in _entry_points()}
    return FAMILIES | {name: found for name, found in installed.items() if callable(found)}


def find_policy(policy: str | Policy | Callable) -> Policy:
    """A policy by name, or made by a family, as in "easy(order=sjf, lookahead=100)".

    "module:object" is a Policy or a function as `policy` takes it in any module that can be
    imported, and "module:function(option=value)" one that a function there makes. A Policy is
    passed through; of a function, one is made.

    Raises UnknownNameError, with suggestions, for an unknown name, and PolicyError for an
    expression that cannot be read, an option the family does not have, a module that cannot be
    imported, an object that is not there, or anything that is no policy.
    """
    if isinstance(policy, Policy):
        return policy
    if not isinstance(policy, str):
        if callable(policy):
            return make_policy(policy)
        raise PolicyError(f"expected a policy's name, a Policy or a function, got {policy!r}")
    name, options = parse_name(policy, PolicyError)
    if options or policy.rstrip().endswith(")"):
        return _from_family(policy, name, options)
    if name in policies():
        return policies()[name]
    found = import_object(name, PolicyError) if ":" in name else _named(name)
    if isinstance(found, Policy):
        return found
    if ":" in name:
        return make_policy(found, name=name)
    example = next(iter(inspect.signature(found).parameters))
    raise PolicyError(f"{name} needs options, as in {name}({example}=...)")


def _named(name: str) -> Any:
    """The family or the installed policy of a name."""
    found = FAMILIES.get(name) or _installed(name)
    if found is None:
        raise UnknownNameError("policy", name, {*policies(), *FAMILIES, *_entry_points()})
    return found


def _from_family(expression: str, name: str, options: Mapping[str, str]) -> Policy:
    if name in policies() and name not in FAMILIES:
        raise PolicyError(f"{name} has no options; {', '.join(families())} have")
    family = import_object(name, PolicyError) if ":" in name else _named(name)
    if not callable(family):
        raise PolicyError(f"{name} is not a function that makes policies")
    known = inspect.signature(family).parameters
    for option in options:
        if option not in known:
            raise PolicyError(f"{name} has no option {option!r}; it has {', '.join(known)}")
    try:
        values = {option: read_value(value) for option, value in options.items()}
        inspect.signature(family).bind(**values)
    except (TypeError, ValueError) as error:
        raise PolicyError(f"cannot read the policy {expression!r}: {error}") from error
    made = family(**values)
    if not isinstance(made, Policy):
        raise PolicyError(f"{name} made a {type(made).__name__}, expected a Policy")
    return made


@cache
def _entry_points() -> Mapping[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group="bfenv.policies")}


def _installed(name: str) -> Any:
    """What an installed package offers under a name; None if there is nothing."""
    entry = _entry_points().get(name)
    return import_object(entry.value, PolicyError) if entry else None


def simulate(
    trace: Trace, policy: str | Policy | Callable, seed: int = 0, *, event_order: str = "standard"
) -> Schedule:
    """The schedule that `policy`, anything that `find_policy` takes, makes of `trace`.

    `seed` matters to stochastic policies only. `event_order="pyss"` follows the event order of
    the simulator pyss, for comparison with published schedules.

    Raises UnknownNameError for a policy nobody registered, BfenvError for a seed that is none,
    WorkloadError for a trace that is none, and PolicyError when the policy makes an illegal start,
    leaves jobs waiting for ever, or does not plan for requested start times while the trace has
    some.
    """
    return simulator.simulate(trace, find_policy(policy), seed, event_order=event_order)
