"""The logs of the papers: which edition is read here, and what stands in for it in quick runs."""

from typing import Any

from bfenv.reproduce.item import Line, Log, Run, Step, Value

QUICK_JOBS = 5000  # of a generated workload


def stand_in(processors: int, load: float = 0.8, jobs: int = QUICK_JOBS) -> str:
    """Return a generated workload for a machine of this size."""
    return f"lublin(procs={processors}, jobs={jobs}, load={load:g})"


def run_of(
    log: Log,
    policy: str,
    quick: bool,
    *,
    seeds: int = 1,
    reference: str = "",
    **steps: Any,
) -> Run:
    """Return the run of a policy on a log, after steps of `transformed`."""
    ordered: tuple[Step, ...] = tuple(steps.items())
    return Run(log.source(quick), policy, ordered, seeds, reference)


def value_of(log: Log, policy: str, measure: str, quick: bool, **options: Any) -> Value:
    """Return a value of such a run; `scale` is from our unit to the printed one."""
    scale = options.pop("scale", 1.0)
    return Value(run_of(log, policy, quick, **options), measure, scale)


def workload_value(log: Log, measure: str, quick: bool, scale: float = 1.0) -> Value:
    """Return a value of the workload itself."""
    return Value(Run(log.source(quick)), measure, scale)


def curve(label: str, value: Value, **options: Any) -> Line:
    """Return a line from a measure that is a curve."""
    return Line(label, (value,), **options)


def example(name: str, label: str) -> Log:
    """Return a worked example of a paper, which is the same in quick runs."""
    return Log(label, name, name, True, "the paper's own example")
