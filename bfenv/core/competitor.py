"""Competitor: what makes the schedule of a trace; a policy does it pass by pass."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from bfenv.core.jobs import Trace
from bfenv.core.policy import Policy, Watch
from bfenv.core.schedule import Schedule
from bfenv.core.simulator import simulate


class Competitor(ABC):
    """A scheduler as a comparison sees it: it makes the schedule of a trace.

    A policy is one, see `PolicyCompetitor`. Others are agents, which act in the environment, and
    schedulers that need more of a log than the requests of its jobs. `run` gets the runtimes of all
    jobs, so only trusted code is a competitor.
    """

    name: str  # what users type to choose it
    kind: str = "policy"  # that of its rows
    summary: str = ""  # what it is, in one line
    source: str = ""  # paper and section
    stochastic: bool = False  # whether its schedule depends on the seed
    trials: bool = False  # whether it starts jobs for a trial
    is_compiled: bool = True  # whether it is worth a run that loads its code before it is timed
    requested_starts: bool = True  # whether it plans for jobs with requested start times
    partitions: Callable[[Trace], str] | None = None  # as of `Policy`

    @abstractmethod
    def run(self, trace: Trace, seed: int, watch: Watch) -> Schedule:
        """Return the schedule of all jobs, from an empty machine.

        Args:
            trace: The jobs and the machine.
            seed: Of its random decisions.
            watch: Is called once, with a function that returns the fraction of jobs started.
        """


@dataclass(frozen=True)
class PolicyCompetitor(Competitor):
    """A policy, whose schedule is simulated.

    Args:
        policy: The policy.
    """

    policy: Policy

    def __post_init__(self) -> None:
        for name in (
            "name",
            "summary",
            "source",
            "stochastic",
            "trials",
            "requested_starts",
            "partitions",
        ):
            object.__setattr__(self, name, getattr(self.policy, name))

    def run(self, trace: Trace, seed: int, watch: Watch) -> Schedule:
        """Simulate the policy, see `bfenv.simulate`.

        Args:
            trace, seed, watch: As of `Competitor.run`.
        """
        return simulate(trace, self.policy, seed, watch=watch)


@dataclass(frozen=True)
class BoundPolicy(Competitor):
    """A policy that is made for one trace, because it needs more than the requests of jobs.

    Args:
        name, summary, source, stochastic, requested_starts, partitions: As of `Competitor`.
        bind: Returns the policy for a trace. It may read the log's records of jobs, and must keep
            to those that a scheduler knew at each moment.
    """

    name: str
    bind: Callable[[Trace], Policy]
    summary: str = ""
    source: str = ""
    stochastic: bool = False
    requested_starts: bool = False
    partitions: Callable[[Trace], str] | None = None

    def run(self, trace: Trace, seed: int, watch: Watch) -> Schedule:
        """Simulate the policy that is made for the trace.

        Args:
            trace, seed, watch: As of `Competitor.run`.
        """
        return simulate(trace, self.bind(trace), seed, watch=watch)
