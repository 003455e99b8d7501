"""Policies by name: bfenv's policies, policies of installed packages, and policies you register.

`find_policy` uses the grammar of `bfenv.core.names`. A package can offer policies by name with
entry points of the group "bfenv.policies". An entry point is a Policy or a family: a function that
makes policies from options.
"""

import copy
import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from types import MappingProxyType
from typing import Any, Protocol, overload

from bfenv.baselines import (
    cons_rs,
    conservative,
    conservative_replan,
    easy,
    fcfs,
    los,
    selective,
    slack,
    speculative,
)
from bfenv.baselines.easy_orders import options as easy_orders
from bfenv.baselines.multiqueue import figure2
from bfenv.baselines.policy_names import family_name
from bfenv.core import simulator
from bfenv.core.arguments import check_integer
from bfenv.core.competitor import Competitor, PolicyCompetitor
from bfenv.core.distributions import load_offer, offers
from bfenv.core.errors import PolicyError, UnknownNameError
from bfenv.core.jobs import Trace, check_trace
from bfenv.core.names import import_object, naming_advice, parse_name, read_value
from bfenv.core.partitions import per_partition, runs_by_partition
from bfenv.core.policy import Policy, Watch, check_plans_for, make_policy, place_of
from bfenv.core.schedule import Schedule
from bfenv.core.text import shown, suggest

Family = Callable[..., Policy | Competitor]


class PolicyFile(Protocol):
    """The contents of a module of policies: published policies, and families."""

    @property
    def POLICIES(self) -> tuple[Policy, ...]:
        """The published policies."""

    @property
    def FAMILIES(self) -> tuple[Family, ...]:
        """The functions that make policies from options."""


# Every file with policies, in the order of the tables that list them; a new one is added here.
FILES: tuple[PolicyFile, ...] = (
    fcfs,
    easy,
    easy_orders,
    conservative,
    conservative_replan,
    cons_rs,
    figure2,
    speculative,
    los,
    selective,
    slack,
)
ALL: Mapping[str, Policy] = MappingProxyType(
    {policy.name: policy for file in FILES for policy in file.POLICIES}
)
FAMILIES: Mapping[str, Family] = MappingProxyType(
    {family_name(family): family for file in FILES for family in file.FAMILIES}
)
GROUP = "bfenv.policies"  # of entry points
ELSEWHERE = {
    "slurm": "site",
    "rlscheduler": "lab",
}  # the distributions of bfenv that have the others, by name
_registered: dict[str, Policy] = {}  # by `policy`, in this process


@overload
def policy(function: Callable[..., Any], /, **options: Any) -> Policy: ...


@overload
def policy(function: None = None, /, **options: Any) -> Callable[[Callable[..., Any]], Policy]: ...


def policy(
    function: Callable[..., Any] | None = None, /, **options: Any
) -> Policy | Callable[[Callable[..., Any]], Policy]:
    """Return a Policy of a function, registered by its name; also a decorator.

    The function is `decide(cluster, jobs)`, or `decide(cluster, jobs, memory)` for a policy that
    has a memory. For random numbers, pass `stochastic=True`. The third argument is then a numpy
    Generator made from the seed, or the result of `memory` if you pass it.

    Args:
        function: The function that decides; without one, a decorator with these options is
            returned.
        **options: Fields of Policy. By default the name is the function's, with dashes for
            underscores, the summary the first line of its docstring.

    Raises:
        PolicyError: If the function takes neither two nor three arguments, an option is not a field
            of Policy, or another policy has the name.

    Examples:
        >>> import bfenv
        >>> from bfenv.scheduling import may_start, start, waiting
        >>> @bfenv.policy(stochastic=True)
        ... def lottery(cluster, jobs, generator):
        ...     "Starts, in random order, whatever fits."
        ...     for job in generator.permutation(waiting(cluster)):
        ...         if may_start(cluster, jobs, job):
        ...             start(cluster, jobs, job)
        >>> trace = bfenv.load_workload("lublin:jobs=200")
        >>> bfenv.simulate(trace, "lottery", seed=1).policy
        'lottery'
    """
    if function is None:
        return partial(policy, **options)
    made = make_policy(function, **options)
    namesake = _listed(made.name)
    if namesake is not None and not (
        made.name in _registered and place_of(namesake) == place_of(made)
    ):
        raise PolicyError(f"another policy has the name {made.name!r}; pass name=...")
    _registered[made.name] = made
    return made


def policies() -> Mapping[str, Policy]:
    """Return the policies by name: bfenv's policies, then policies registered by `policy`.

    bfenv's policies are the baselines and the policies of its installed distributions. Policies of
    other packages are imported when `find_policy` gets their name.

    Examples:
        >>> import bfenv
        >>> bfenv.policies()["easy"].source
        'Lifka 1995; Shmueli 2003, Algorithm 8'
    """
    return MappingProxyType({**own_policies(), **_registered})


def _listed(name: str) -> Policy | None:
    """Return the policy of `policies` that has a name, without importing the others; or None."""
    if name in ELSEWHERE:
        return _of_distribution(name)
    return _registered.get(name) or ALL.get(name)


@cache
def own_policies() -> Mapping[str, Policy]:
    """Return the baselines and the policies of bfenv's installed distributions, by name."""
    offered = {name: _of_distribution(name) for name in ELSEWHERE}
    return MappingProxyType(
        {**ALL, **{name: policy for name, policy in offered.items() if policy is not None}}
    )


@cache
def _of_distribution(name: str) -> Policy | None:
    """Return the policy that a family of ELSEWHERE makes without options, if it has its name."""
    if name not in offers(GROUP):
        return None
    policy: Policy = _installed(name)()
    return policy if policy.name == name else None


def families() -> Mapping[str, Family]:
    """Return the families, functions that make policies from options: baselines, then packages.

    Raises:
        PolicyError: If a family of an installed package cannot be imported.
    """
    installed = {name: _installed(name) for name in offers(GROUP)}
    return MappingProxyType(
        {**FAMILIES, **{name: maker for name, maker in installed.items() if callable(maker)}}
    )


def find_policy(policy: str | Policy | Competitor | Callable[..., Any]) -> Policy:
    """Return the policy that a name, an expression or a function refers to.

    Args:
        policy: One of: a name, as in "easy"; a family with options, as in "easy(order=sjf,
            lookahead=100)"; "module:object", a Policy or a function as `policy` takes it, in any
            module that can be imported; "module:function(option=value)", which calls a function
            that makes a policy; "family:argument", for an installed family that takes one, as in
            "agent:NAME", and with options if it makes a family of that; a Policy, which is passed
            through; a function, of which a policy is made.
            A policy that is found by "module:object" has this text as its name.

    Raises:
        UnknownNameError: If no policy has the name; the message suggests others.
        PolicyError: If an expression cannot be read, the family does not have an option, a module
            cannot be imported or lacks the object, or the argument is none of the above. Also if
            the name refers to a competitor that makes whole schedules, such as a network.

    Examples:
        >>> import bfenv
        >>> bfenv.find_policy("easy").name
        'easy'
        >>> trace = bfenv.load_workload("lublin:jobs=200")
        >>> bfenv.simulate(trace, bfenv.find_policy("easy(order=sjf, lookahead=100)")).policy
        'easy(order=sjf, lookahead=100)'
    """
    competitor = find_competitor(policy)
    if isinstance(competitor, PolicyCompetitor):
        return competitor.policy
    raise PolicyError(f"{competitor.name} makes whole schedules: it cannot decide pass by pass")


def find_competitor(competitor: str | Policy | Competitor | Callable[..., Any]) -> Competitor:
    """Return the competitor that a name, an expression or an object refers to.

    Args:
        competitor: A Competitor, which is passed through, or an argument of `find_policy`. A name
            may also refer to a competitor that makes whole schedules, such as "agent:NAME" for a
            network and "slurm(conf=...)".

    Raises:
        PolicyError: As for `find_policy`.

    Examples:
        >>> from bfenv.baselines import find_competitor
        >>> find_competitor("easy").kind
        'policy'
    """
    target = _find(competitor)
    return PolicyCompetitor(target) if isinstance(target, Policy) else target


def _find(policy: str | Policy | Competitor | Callable[..., Any]) -> Policy | Competitor:
    """Return what a name, an expression or an object refers to, see `find_competitor`."""
    if isinstance(policy, Policy | Competitor):
        return policy
    if not isinstance(policy, str):
        if callable(policy):
            return make_policy(policy)
        raise PolicyError(f"expected a policy's name, a Policy or a function, got {policy!r}")
    if (listed := _listed(policy.strip())) is not None:
        return listed
    name, options = parse_name(policy, PolicyError)
    if options or policy.rstrip().endswith(")"):
        return _from_family(policy, name, options)
    target = _target(name)
    is_imported = ":" in name and not _has_installed_prefix(name)
    if isinstance(target, Policy | Competitor):
        return _renamed(target, name) if is_imported else target
    if is_imported:
        return make_policy(target, name=name)
    parameters = inspect.signature(target).parameters
    if all(parameter.default is not parameter.empty for parameter in parameters.values()):
        return _from_family(policy, name, {})
    example = next(iter(parameters))
    raise PolicyError(f"{name} is a family of policies: give options, as in {name}({example}=...)")


def _renamed(competitor: Policy | Competitor, name: str) -> Policy | Competitor:
    """Return a policy or a competitor under the name by which it was found."""
    if isinstance(competitor, Policy):
        return replace(competitor, name=name)
    renamed = copy.copy(competitor)
    object.__setattr__(renamed, "name", name)  # it may be frozen
    return renamed


def _target(name: str) -> Any:
    """Return the policy, the competitor or the family that a name without options refers to.

    The name is that of a family or of an installed policy, or "module:object", or an installed
    prefix and its argument, such as "agent:formula".
    """
    if ":" not in name:
        return _named(name)
    if _has_installed_prefix(name):
        prefix, _, argument = name.partition(":")
        return _installed(prefix)(argument)
    return import_object(name, PolicyError)


def _has_installed_prefix(name: str) -> bool:
    """Tell whether a package offers what stands before a colon, as of "agent:formula"."""
    prefix, colon, _ = name.partition(":")
    return bool(colon) and prefix in offers(GROUP)


def _named(name: str) -> Any:
    """Return the family or the installed policy of a name."""
    entry = FAMILIES.get(name) or _installed(name)
    module = name.removesuffix(".py")
    if entry is None and os.path.isfile(f"{module}.py"):
        advice = naming_advice(module, "OBJECT")
        raise PolicyError(f"unknown policy {name!r}; {module}.py is here: {advice}")
    if entry is None:
        raise UnknownNameError("policy", name, {*policies(), *FAMILIES, *offers(GROUP), *ELSEWHERE})
    return entry


def _from_family(expression: str, name: str, options: Mapping[str, str]) -> Policy | Competitor:
    """Return the policy that a family makes of options as they were written."""
    if name not in {**FAMILIES, **offers(GROUP)} and _listed(name) is not None:
        names = ", ".join([*FAMILIES, *offers(GROUP)])
        raise PolicyError(f"{name} has no options; the names with options are {names}")
    family = _target(name)
    if _has_installed_prefix(name) and isinstance(family, Policy | Competitor):
        raise PolicyError(f"{name} has no options")
    if not callable(family) or isinstance(family, Policy | Competitor):
        raise PolicyError(f"{name} does not make policies from options: it is {_kind(family)}")
    parameters = inspect.signature(family).parameters
    for option in options:
        if option not in parameters:
            hint = suggest(option, parameters) or f"it has {', '.join(parameters)}"
            raise PolicyError(f"{name} has no option {shown(option)}; {hint}")
    try:
        values = {option: read_value(value) for option, value in options.items()}
        inspect.signature(family).bind(**values)
    except (TypeError, ValueError) as error:
        raise PolicyError(f"cannot read the policy {shown(expression)}: {error}") from error
    made = family(**values)
    if not isinstance(made, Policy | Competitor):
        raise PolicyError(f"{name} made {_kind(made)}, expected a Policy")
    return _renamed(made, expression.strip()) if ":" in name else made


def _kind(value: Any) -> str:
    return f"a {type(value).__name__}"


def _installed(name: str) -> Any:
    """Return what an installed package offers under a name; None if there is nothing."""
    return load_offer(GROUP, name, ELSEWHERE.get(name, ""), f"the policy {name}", PolicyError)


def simulate(
    trace: Trace,
    policy: str | Policy | Competitor | Callable[..., Any],
    seed: int = 0,
    *,
    event_order: str = "standard",
    watch: Watch = simulator.ignore,
) -> Schedule:
    """Run a trace under a policy, and return the starts and ends of all jobs.

    Args:
        trace: The jobs and the machine, as `bfenv.load_workload` returns them.
        policy: Anything that `find_policy` takes, or a Competitor or its name.
        seed: Random seed (stochastic policies only).
        event_order: "standard", or "pyss" for the event order of the simulator pyss, to compare
            with published schedules.
        watch: Progress hook, called once before the first pass with a function that returns the
            fraction of jobs started. Call this function from another thread during the run.

    Raises:
        UnknownNameError: If no policy has the name.
        WorkloadError: If `trace` is not a Trace, or has outages and the event order is not the
            standard one.
        IllegalStartError: If the policy starts a job that may not start; it holds the job, the time
            and the reason.
        StarvationError: If the policy leaves jobs waiting after the last event.
        PolicyError: If jobs have requested start times and the policy does not plan for them, or a
            Python policy overwrites `cluster.start` or `cluster.end`.
        BfenvError: If the seed is not an integer >= 0, or there is no such event order.
        KeyboardInterrupt: On Ctrl-C, also inside a compiled policy.

    Examples:
        Job 2 fits beside job 0, and ends before job 1 could start: EASY backfills it.

        >>> import bfenv
        >>> trace = bfenv.make_trace(
        ...     submit=[0, 1, 2], size=[3, 4, 1], runtime=[60, 60, 30], processors=4
        ... )
        >>> bfenv.simulate(trace, "fcfs").start
        array([  0,  60, 120])
        >>> bfenv.simulate(trace, "easy").start
        array([ 0, 60,  2])
    """
    entrant = _find(policy)
    if isinstance(entrant, PolicyCompetitor):
        entrant = entrant.policy
    if isinstance(entrant, Policy):
        return simulator.simulate(trace, entrant, seed, event_order=event_order, watch=watch)
    competitor: Competitor = entrant
    check_trace(trace)
    check_plans_for(competitor, trace)
    if event_order != "standard":
        raise PolicyError(f"{competitor.name} has no event order {event_order!r}")
    seed = check_integer("seed", seed, 0)
    if runs_by_partition(competitor.partitions, trace):

        def run(part: Trace, watch: Watch) -> Schedule:
            return competitor.run(part, seed, watch)

        return per_partition(trace, competitor.name, run, watch)
    return competitor.run(trace, seed, watch)
