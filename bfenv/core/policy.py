"""Policy: a scheduler, and how to make one from a function."""

import inspect
import operator
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol

import numpy as np

from bfenv.core.arguments import check_integer
from bfenv.core.cluster import Cluster
from bfenv.core.errors import PolicyError
from bfenv.core.events import Truth
from bfenv.core.jobs import Jobs, Trace
from bfenv.core.kernel import Code
from bfenv.core.names import import_object

Watch = Callable[[Callable[[], float]], None]  # is given what returns the share of started jobs

# Schedulers play different games, and are ranked apart: some run every job to completion, others
# kill jobs at the end of a trial and queue them again, and some know the runtimes of jobs.
COMPLETION, TRIALS, CLAIRVOYANT = DIVISIONS = ("completion", "trials", "clairvoyant")


def no_memory(jobs: Jobs, processors: int, generator: np.random.Generator) -> tuple[()]:
    """Return the memory of a policy that remembers nothing.

    Args:
        jobs: The requests; placeholders for jobs to come.
        processors: Of the machine.
        generator: Source of random numbers; a stochastic policy keeps it in its memory.
    """
    return ()


@dataclass(frozen=True)
class Policy:
    """A scheduler: one function that looks at the machine and starts jobs.

    `decide(cluster, jobs, memory)` is called once per scheduling pass. It acts on the machine only
    through the functions of `bfenv.core.cluster`. It may be plain Python or a kernel. A kernel runs
    a hundred times faster if you add `run`, the event loop in three lines::

        @kernel
        def run(cluster, jobs, truth, memory):
            while advance(cluster, jobs, truth):
                decide(cluster, jobs, memory)

    Write these lines for each policy: numba does not cache a loop that takes `decide` as an
    argument.

    Args:
        name: What users type to choose the policy.
        decide: Makes one scheduling pass.
        run: Runs all passes, compiled; None calls `decide` from Python.
        memory: Makes the policy's memory, which it keeps between passes, from the jobs, the number
            of processors and a random generator that the seed determines.
        records: Returns the policy's records of the jobs from its memory: arrays of n values by
            name; None for a policy that keeps none.
        summary: What the policy does, in one line.
        source: Paper and section.
        stochastic: Whether the schedule depends on the seed.
        stateful: Whether the policy must see every pass, because its memory depends on earlier
            ones.
        trials: Whether it starts jobs for a trial (`try_start`).
        requested_starts: Whether it plans for jobs with requested start times.
        partitions: Returns the partitions of a trace as text for
            `bfenv.core.partitions.with_partitions`, "" for a single partition. Give it if the
            policy knows the nodes of partitions. Without it, the policy runs on each partition
            separately.
    """

    name: str
    decide: Callable[[Cluster, Jobs, Any], None]
    run: Callable[[Cluster, Jobs, Truth, Any], None] | None = None
    memory: Callable[[Jobs, int, np.random.Generator], Any] = no_memory
    records: Callable[[Any], dict[str, np.ndarray]] | None = None
    summary: str = ""
    source: str = ""
    stochastic: bool = False
    stateful: bool = False
    trials: bool = False
    requested_starts: bool = False
    partitions: Callable[[Trace], str] | None = None

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Pickle by name if the name of the function holds the policy, as `@policy` leaves it.

        The function cannot be pickled then, because pickle finds the policy under its name.
        """
        module, name = place_of(self)
        try:
            held = operator.attrgetter(name)(sys.modules[module])
        except (KeyError, AttributeError):
            held = None
        if held is self:
            return import_object, (f"{module}:{name}",)
        if isinstance(held, Policy) and replace(held, name=self.name) == self:
            return _renamed, (f"{module}:{name}", self.name)
        return Policy, tuple(getattr(self, field.name) for field in fields(self))


@dataclass(frozen=True)
class TwoArguments:
    """The `decide` of a function that takes only cluster and jobs."""

    function: Callable[[Cluster, Jobs], None]

    def __call__(self, cluster: Cluster, jobs: Jobs, memory: Any) -> None:
        """Call the function without the memory."""
        self.function(cluster, jobs)


def pass_of(policy: Policy, cluster: Cluster, jobs: Jobs, memory: Any) -> Callable[[], None]:
    """Return a function that makes one pass of a policy.

    A kernel is called as machine code: to find the types of its arguments would take several times
    as long as a simple decision.
    """
    if isinstance(policy.decide, TwoArguments):
        function = Code(policy.decide.function)
        return lambda: function.call(cluster, jobs)
    decide = Code(policy.decide)
    return lambda: decide.call(cluster, jobs, memory)


def generator_memory(
    jobs: Jobs, processors: int, generator: np.random.Generator
) -> np.random.Generator:
    """Return the memory of a stochastic policy that remembers nothing: the random generator."""
    return generator


def make_policy(function: Callable[..., None], **options: Any) -> Policy:
    """Return a Policy of a function, without registering it; see `bfenv.policy`.

    Args:
        function: `decide(cluster, jobs)` or `decide(cluster, jobs, memory)`, plain Python or a
            kernel.
        options: Fields of Policy. By default, the name is the function's, and the summary is the
            first line of its docstring.

    Raises:
        PolicyError: If the function takes neither two nor three arguments, or Policy has no such
            field.
    """
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
            f"{name} is not a policy: expected a function of cluster and jobs, or of cluster, "
            "jobs and memory"
        )
    if taken == 3 and options.get("stochastic"):
        options.setdefault("memory", generator_memory)
    options.setdefault("name", name.replace("_", "-"))
    options.setdefault("summary", (inspect.getdoc(plain) or "").partition("\n")[0])
    return Policy(decide=function if taken == 3 else TwoArguments(function), **options)


def place_of(policy: Policy) -> tuple[str, str]:
    """Return module and name of the function that decides."""
    function = getattr(policy.decide, "function", policy.decide)
    return getattr(function, "__module__", ""), getattr(function, "__qualname__", "")


def _renamed(place: str, name: str) -> Policy:
    """Return the policy that a module holds, under another name."""
    held: Policy = import_object(place)
    return replace(held, name=name)


def division_of(trials: bool, trace: Trace) -> str:
    """Return the division of a run, one of DIVISIONS, with trials or without.

    If the estimates are the runtimes, every scheduler is clairvoyant.
    """
    if bool((trace.jobs.estimate == trace.runtime).all()):
        return CLAIRVOYANT
    return TRIALS if trials else COMPLETION


class Scheduler(Protocol):
    """The properties that policies and other competitors have in common."""

    @property
    def name(self) -> str:
        """What users type to choose it."""

    @property
    def requested_starts(self) -> bool:
        """Whether it plans for jobs with requested start times."""


def plans_for(policy: Scheduler, jobs: Jobs) -> bool:
    """Return whether a policy can schedule these jobs, which may request start times."""
    return policy.requested_starts or not bool(jobs.requested_start.any())


def check_plans_for(policy: Scheduler, trace: Trace) -> None:
    """Check that a policy can schedule the jobs of a trace.

    Raises PolicyError if a job has a requested start time, and the policy does not plan for them.
    """
    if not plans_for(policy, trace.jobs):
        job = np.argmax(trace.jobs.requested_start > 0)
        raise PolicyError(
            f"{policy.name} does not plan for requested start times, and job {job} of "
            f"{trace.name} has one"
        )


def new_memory(policy: Policy, jobs: Jobs, processors: int, seed: int) -> Any:
    """Make the memory of a policy at the beginning of a run.

    Raises BfenvError if the seed is not an integer >= 0.
    """
    seed = check_integer("seed", seed, 0)
    return policy.memory(jobs, processors, np.random.default_rng(seed))
