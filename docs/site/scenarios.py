"""Small scenarios, solved by hand, that the pages show as tables and drawings.

`starts` has the start of each job under each policy as worked out by hand; the drawings are of
what `bfenv.simulate` does, which `schedules` compares with it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import bfenv
from bfenv import Schedule, Trace


@dataclass(frozen=True)
class Scenario:
    """Jobs on a small machine, and when each starts under some policies."""

    processors: int
    submit: Sequence[int]
    size: Sequence[int]
    estimate: Sequence[int]
    starts: Mapping[str, Sequence[int]]  # by policy
    runtime: Sequence[int] = ()  # if it is not the estimate

    def trace(self) -> Trace:
        """Return the jobs."""
        runtime = self.runtime or self.estimate
        return bfenv.make_trace(
            self.submit, self.size, runtime, self.processors, estimate=self.estimate
        )

    def schedules(self) -> list[Schedule]:
        """Simulate the scenario under each policy, and check that it is as solved by hand."""
        trace = self.trace()
        schedules = [bfenv.simulate(trace, policy).check() for policy in self.starts]
        for schedule, expected in zip(schedules, self.starts.values(), strict=True):
            found = tuple(schedule.start.tolist())
            if found != expected:
                raise AssertionError(f"{schedule.policy}: {found}, solved by hand: {expected}")
        return schedules


# All jobs but the first wait when it ends at second 10.
FIVE_JOBS = {
    "processors": 4,
    "submit": (0, 1, 2, 3, 4),
    "size": (4, 2, 4, 1, 3),
    "estimate": (10, 8, 2, 4, 6),
}

SCENARIOS = {
    "reservation": Scenario(
        processors=10,
        submit=(0, 0, 1, 2, 3, 3),
        size=(6, 2, 7, 2, 2, 2),
        estimate=(8, 4, 4, 6, 10, 6),
        starts={"easy": (0, 0, 8, 2, 4, 12)},
    ),
    "fcfs": Scenario(
        **FIVE_JOBS, starts={"fcfs": (0, 10, 18, 20, 20), "easy": (0, 10, 18, 10, 20)}
    ),
    "orders": Scenario(
        **FIVE_JOBS, starts={"easy-sjf": (0, 18, 10, 12, 12), "easy-saf": (0, 16, 14, 10, 24)}
    ),
    "conservative": Scenario(
        processors=6,
        submit=(0, 1, 2, 3),
        size=(4, 5, 6, 1),
        estimate=(10, 4, 6, 20),
        starts={"easy": (0, 10, 23, 3), "conservative": (0, 10, 14, 20)},
    ),
    "los": Scenario(
        processors=10,
        submit=(0, 3, 3, 3),
        size=(5, 7, 3, 5),
        estimate=(6, 4, 3, 3),
        starts={"easy": (0, 6, 3, 10), "los": (0, 6, 6, 3)},
    ),
    "trials": Scenario(
        processors=2,
        submit=(0, 1, 2, 2),
        size=(1, 2, 1, 1),
        estimate=(5, 6, 9, 9),
        runtime=(5, 6, 2, 9),
        starts={
            "easy": (0, 5, 11, 11),
            "easy-speculative(speculation=3, tried_above=6)": (0, 5, 2, 14),
        },
    ),
    "selective": Scenario(
        processors=2,
        submit=(0, 1, 2, 4, 5, 8, 8),
        size=(1, 2, 1, 1, 1, 1, 1),
        estimate=(4, 6, 5, 5, 5, 5, 3),
        starts={
            "selective(threshold=2)": (0, 12, 2, 4, 7, 18, 9),
            "selective(threshold=10)": (0, 15, 2, 4, 7, 9, 12),
        },
    ),
    "relaxed": Scenario(
        processors=2,
        submit=(0, 1, 1),
        size=(1, 2, 1),
        estimate=(4, 4, 5),
        starts={"easy": (0, 4, 8), "relaxed(factor=0.5)": (0, 6, 1)},
    ),
    "slurm": Scenario(
        processors=6,
        submit=(0, 0, 0, 1, 2),
        size=(2, 2, 1, 4, 2),
        estimate=(60, 120, 120, 60, 90),
        starts={"conservative-replan": (0, 0, 0, 120, 60), "slurm": (0, 0, 0, 120, 120)},
    ),
}
