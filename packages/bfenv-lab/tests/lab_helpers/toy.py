"""A workload of 20 jobs whose best order is known, by trying all orders."""

from functools import cache
from pathlib import Path

from bfenv.core.durations import TAU
from bfenv.core.jobs import Trace, make_trace
from bfenv.workloads import write_swf

# Size on a machine of 4, estimate and runtime of four kinds of jobs. Jobs run one by one, and the
# estimates mislead: the best order is that of runtimes, which those of size * estimate, of
# estimates and of arrival are not.
KINDS = ((3, 100, 100), (3, 150, 140), (4, 300, 30), (4, 200, 20))
EACH = 5


def toy_trace() -> Trace:
    """Return the 20 jobs, all submitted at once."""
    size, estimate, runtime = zip(*(kind for kind in KINDS for _ in range(EACH)), strict=True)
    return make_trace([0] * len(size), size, runtime, 4, estimate=estimate, name="toy")


def write_toy(folder: Path) -> str:
    """Write the jobs to a file; return its path."""
    path = folder / "toy.swf"
    write_swf(toy_trace(), path)
    return str(path)


def best_slowdown() -> float:
    """Return the least mean bounded slowdown over all orders of the jobs."""

    @cache
    def least(left: tuple[int, ...], time: int) -> float:
        """Return the least sum of slowdowns of the jobs left of each kind, from a time on."""
        if not any(left):
            return 0.0
        sums = []
        for kind, (_, _, runtime) in enumerate(KINDS):
            if left[kind]:
                fewer = (*left[:kind], left[kind] - 1, *left[kind + 1 :])
                slowdown = max(1.0, (time + runtime) / max(runtime, TAU))
                sums.append(slowdown + least(fewer, time + runtime))
        return min(sums)

    return least((EACH,) * len(KINDS), 0) / (EACH * len(KINDS))
