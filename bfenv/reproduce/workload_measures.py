"""What is measured of a workload without any policy, by name."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from bfenv.core.durations import HOUR, MINUTE
from bfenv.core.jobs import Trace
from bfenv.reproduce.examples import PLANES, queue_cell, table_cell
from bfenv.reproduce.measures import POINTS, cdf
from bfenv.workloads.summary import popular_estimates

CRASH_ESTIMATE, CRASH_RUNTIME = 1000, 180  # seconds, Lawson and Smirni 2002, Table 1
ASKED = {"15min": 15 * MINUTE, "2h": 2 * HOUR, "18h": 18 * HOUR}  # Zotkin et al., Figures 13-15


def _jobs(trace: Trace) -> float:
    return float(len(trace))


def _crashed(trace: Trace) -> float:
    crashed = (trace.jobs.estimate > CRASH_ESTIMATE) & (trace.runtime < CRASH_RUNTIME)
    return float(crashed.sum())


def _lengths(trace: Trace) -> tuple[Any, Any]:
    """Jobs by runtime, in steps of 5 minutes: runtimes (s) and counts."""
    step = 5 * MINUTE
    longest = float(np.percentile(trace.runtime, 99.5)) + step
    counts, edges = np.histogram(trace.runtime, np.arange(0, longest + step, step))
    return edges[:-1], counts


def _shorter_than_a_minute(trace: Trace) -> float:
    return float((trace.runtime < MINUTE).mean())


def _runtimes(trace: Trace) -> tuple[Any, Any]:
    return cdf(trace.runtime)


def _estimates(trace: Trace) -> tuple[Any, Any]:
    return cdf(trace.jobs.estimate)


def _popular(trace: Trace) -> tuple[Any, Any]:
    """The 20 most popular estimates (s), ascending, and their jobs."""
    found = sorted(popular_estimates(trace, 20), key=lambda one: one["estimate"])
    count = len(trace)
    return (
        [_label(one["estimate"]) for one in found],
        [round(one["share"] * count) for one in found],
    )


def _label(seconds: int) -> str:
    hours = seconds / HOUR
    return f"{hours:g} h" if hours >= 1 else f"{seconds / MINUTE:g} min"


def _popular_share(trace: Trace) -> float:
    return float(sum(one["share"] for one in popular_estimates(trace, 20)))


def _round_share(trace: Trace) -> float:
    """Share of estimates that are multiples of 5 minutes below an hour, or of an hour."""
    estimate = trace.jobs.estimate
    step = np.where(estimate < HOUR, 5 * MINUTE, HOUR)
    return float((estimate % step == 0).mean())


def _share_of(estimate: int, trace: Trace) -> float:
    return float((trace.jobs.estimate == estimate).mean())


def _runtimes_of(estimate: int, trace: Trace) -> tuple[Any, Any]:
    runtime = trace.runtime[trace.jobs.estimate == estimate]
    return cdf(runtime, POINTS) if len(runtime) else ([], [])


def _overestimation(estimate: int, percent: float, trace: Trace) -> float:
    runtime = trace.runtime[trace.jobs.estimate == estimate]
    return float(np.percentile(estimate / runtime, percent)) if len(runtime) else float("nan")


WORKLOAD_MEASURES: Mapping[str, Callable[[Trace], Any]] = MappingProxyType(
    {
        "jobs": _jobs,
        "processors": lambda trace: float(trace.processors),
        "offered-load": lambda trace: float(trace.offered_load),
        "crashed": _crashed,
        "crashed-share": lambda trace: _crashed(trace) / len(trace),
        "lengths": _lengths,
        "below-a-minute": _shorter_than_a_minute,
        "runtimes": _runtimes,
        "estimates": _estimates,
        "popular": _popular,
        "popular-share": _popular_share,
        "round-share": _round_share,
        **{f"share-{name}": partial(_share_of, seconds) for name, seconds in ASKED.items()},
        **{f"runtimes-{name}": partial(_runtimes_of, seconds) for name, seconds in ASKED.items()},
        **{
            f"overestimation-{name}-{percent}": partial(_overestimation, seconds, percent)
            for name, seconds in ASKED.items()
            for percent in (50, 80)
        },
        **{
            f"table-3.{table}-{i}-{j}": partial(table_cell, table, i, j)
            for table in (1, 2, 3, *PLANES)
            for i in range(6)
            for j in range(6)
        },
        **{
            f"table-3.8-{job}-{column}": partial(queue_cell, job, column)
            for job in range(2, 6)
            for column in ("job", "size", "ssize")
        },
    }
)
