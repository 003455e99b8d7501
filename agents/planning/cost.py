"""The cost of planning in a run: decisions, futures and seconds."""

import time
from dataclasses import dataclass, replace
from typing import Any

from bfenv.core.jobs import Trace
from bfenv.core.policy import Policy
from bfenv.core.schedule import Schedule
from bfenv.core.simulator import simulate


@dataclass
class RolloutCost:
    """The cost of planning in a run."""

    decisions: int = 0  # passes in which some job could start
    planned: int = 0  # decisions for which futures were run
    futures: int = 0  # runs of a candidate on a future
    seconds: float = 0.0  # spent in the policy, all passes
    run_seconds: float = 0.0  # of the whole run

    @property
    def decisions_per_second(self) -> float:
        """Decisions per second of time in the policy."""
        return self.decisions / self.seconds if self.seconds else float("inf")

    @property
    def share_of_time(self) -> float:
        """The part of the run's time that was spent in the policy."""
        return self.seconds / self.run_seconds if self.run_seconds else 0.0

    def __str__(self) -> str:
        """Write one line: decisions, futures, and the time that they took."""
        return (
            f"{self.decisions:,} decisions, {self.planned:,} of them by {self.futures:,} futures: "
            f"{self.seconds:.1f} s, {self.decisions_per_second:,.0f} decisions/s, "
            f"{self.share_of_time:.0%} of the run"
        )


def simulate_with_cost(trace: Trace, policy: Policy, seed: int = 0) -> tuple[Schedule, RolloutCost]:
    """Run a trace under a rollout, and measure the cost of planning.

    Parameters
    ----------
    trace
        The jobs and the machine.
    policy
        A policy that `rollout` has made.
    seed
        Random seed.

    Returns
    -------
    schedule : Schedule
        That of `simulate`.
    cost : RolloutCost
        Number of decisions and time spent on them.
    """
    memories: list[Any] = []

    def kept(*arguments: Any) -> Any:
        memories.append(policy.memory(*arguments))
        return memories[0]

    begin = time.perf_counter()
    schedule = simulate(trace, replace(policy, memory=kept), seed)
    cost: RolloutCost = memories[0].cost
    cost.run_seconds = time.perf_counter() - begin
    return schedule, cost
