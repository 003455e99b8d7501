"""Policy: what a scheduler is, and how a function becomes one."""

import inspect
import operator
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from bfenv.core.errors import BfenvError, PolicyError
from bfenv.core.jobs import Jobs
from bfenv.core.names import import_object


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
        module, name = place_of(self)
        if _imported(module, name) is self:
            return import_object, (f"{module}:{name}",)
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


def make_policy(function: Callable, **options: Any) -> Policy:
    """Make a Policy of a function; see `bfenv.policy`.

    Raises
    ------
    PolicyError
        If the function takes neither two nor three arguments, or an option is no field of Policy.
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
            f"{name} is no policy: a policy is a function of cluster and jobs, or of cluster, "
            "jobs and memory"
        )
    if taken == 3 and options.get("stochastic"):
        options.setdefault("memory", the_generator)
    options.setdefault("name", name.replace("_", "-"))
    options.setdefault("summary", (inspect.getdoc(plain) or "").partition("\n")[0])
    return Policy(decide=function if taken == 3 else Forgetful(function), **options)


def place_of(policy: Policy) -> tuple[str, str]:
    """Module and name of the function that decides."""
    function = getattr(policy.decide, "function", policy.decide)
    return getattr(function, "__module__", ""), getattr(function, "__qualname__", "")


def _imported(module: str, name: str) -> Any:
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
