"""The settings of a search, and the command that makes the same search again."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from bfenv.core.arguments import check_choice, check_integer, check_number
from bfenv.core.durations import MINUTE
from bfenv.core.errors import BfenvError
from bfenv_lab.search.evolution import COVARIANCES, MOST_UNITS
from bfenv_lab.search.objective import OBJECTIVES

METHODS = ("gp", "cma-es")
OPTIONS = (  # of the command that are written alike
    "split",
    "slice_jobs",
    "shakes",
    "shake_seconds",
    "warmup_jobs",
    "method",
    "options",
    "hidden",
    "covariance",
    "population",
    "cases",
    "tolerated_wait",
    "objective",
)


@dataclass(frozen=True)
class SearchSettings:
    """What a search depends on, except for its length.

    Args:
        workloads, loads, split, slice_jobs, shakes, shake_seconds, warmup_jobs: The jobs, see
            `make_cases`.
        method: "gp" or "cma-es".
        options: Options of `easy` that candidates have, see `read_template`.
        starts: Orders to start from, besides the built-in ones of "gp". "cma-es" tunes the numbers
            of one instead of the weights of a scorer.
        hidden: Hidden units of the scorer of "cma-es"; 0 is linear.
        covariance: Of the distribution that "cma-es" draws from: "full", or "diagonal" for many
            weights.
        population: Candidates of a generation.
        cases: Cases of each workload that a generation is scored on.
        tolerated_wait: Multiple of EASY's longest wait up to which there is no penalty, see
            `combine`.
        objective: What is minimized: "slowdown" or "penalized", see `combine`.
        seed: Random seed.
    """

    workloads: tuple[str, ...]
    loads: tuple[float | None, ...] = (None, 0.9)
    split: str = "train"
    slice_jobs: int = 10_000
    shakes: int = 4
    shake_seconds: int = 5 * MINUTE
    warmup_jobs: int = 0
    method: str = "gp"
    options: str = ""
    starts: tuple[str, ...] = ()
    hidden: int = 0
    covariance: str = "full"
    population: int = 40
    cases: int = 2
    tolerated_wait: float = 1.5
    objective: str = "slowdown"
    seed: int = 1

    def __post_init__(self) -> None:
        """Check the numbers; what they are used for checks the rest."""
        if not (isinstance(self.loads, Sequence) and self.loads):
            raise BfenvError(f"loads must be a list with at least one load, got {self.loads!r}")
        for load in self.loads:
            if load is not None:
                check_number("load", load, positive=True)
        check_choice("method", self.method, METHODS)
        check_choice("objective", self.objective, OBJECTIVES)
        check_number("tolerated_wait", self.tolerated_wait, 1)
        check_choice("covariance", self.covariance, COVARIANCES)
        check_integer("hidden", self.hidden, 0, MOST_UNITS)
        if self.hidden and self.method != "cma-es":
            raise BfenvError("hidden units belong to the method cma-es")
        if self.covariance != "full" and self.method != "cma-es":
            raise BfenvError("a covariance belongs to the method cma-es")
        for name, least in (
            ("slice_jobs", 1),
            ("shakes", 1),
            ("shake_seconds", 0),
            ("warmup_jobs", 0),
            ("population", 4),
            ("cases", 1),
            ("seed", 0),
        ):
            check_integer(name, getattr(self, name), least)

    def command(self, generations: int) -> str:
        """Return the shell command that makes the same search again, with "DIR" as the folder.

        Args:
            generations: How many the search has made.
        """
        words = ["bfenv", "search"]
        for workload in self.workloads:
            words += ["-w", workload]
        for load in self.loads:
            words += ["--load", "own" if load is None else str(load).removesuffix(".0")]
        defaults = SearchSettings(self.workloads)
        for name in OPTIONS:
            if getattr(self, name) != getattr(defaults, name):
                option = "--" + name.removesuffix("_seconds").replace("_", "-")
                words += [option, str(getattr(self, name))]
        for start in self.starts:
            words += ["--start", start]
        words += ["--seed", str(self.seed), "--generations", str(generations), "--out", "DIR"]
        return shlex.join(words)
