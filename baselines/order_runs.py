"""Run one trace under many variants of EASY: what a search over orders and options calls.

A variant is an order, or a mapping of options of `bfenv.baselines.easy_orders.easy`::

    results = run_orders(
        trace,
        ["estimate", "size * estimate", {"order": "-expansion", "trial": 180}],
        guard=1.5,
        backfill_estimate="0.9 * prediction",
    )

Orders, expressions and numbers are data for compiled code, which variants with the same kinds of
options share.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bfenv.baselines.easy_orders import easy
from bfenv.core.arguments import check_integer
from bfenv.core.errors import PolicyError
from bfenv.core.jobs import Trace
from bfenv.core.schedule import bounded_slowdown
from bfenv.core.simulator import simulate

METRICS = ("mean_bounded_slowdown", "mean_wait", "max_wait", "utilization", "makespan")


Variant = str | Mapping[str, Any]


def run_orders(
    trace: Trace,
    variants: Sequence[Variant],
    *,
    first: int = 0,
    last: int | None = None,
    seed: int = 0,
    **options: Any,
) -> np.ndarray:
    """Run a trace under each of the variants, in one thread, and measure the schedules.

    Args:
        trace: Is run from its first arrival to its last end.
        variants: Orders, or mappings of options of `easy`.
        first, last: The jobs first .. last - 1 are measured; None is the number of jobs.
        seed: Random seed (stochastic orders only).
        **options: Options of `easy` for all variants; those of a variant take precedence.

    Returns:
        (k, len(METRICS)) float64. METRICS are from `bfenv.metrics`, of the measured jobs: times are
        in seconds; utilization and makespan are from the first submit time to the last end.

    Raises:
        PolicyError: If `easy` does not take the options, or the trace has requested start times,
            which EASY does not plan for.
        BfenvError: If `first`, `last` or `seed` is out of range.

    Examples:
        >>> import bfenv
        >>> from bfenv.baselines import run_orders
        >>> trace = bfenv.load_workload("lublin:jobs=500,load=0.9")
        >>> numbers = run_orders(trace, ["fcfs", "sjf", "estimate * size"])
        >>> numbers.shape[0]
        3
    """
    first = check_integer("first", first, 0, len(trace) - 1)
    last = check_integer("last", len(trace) if last is None else last, first + 1, len(trace))
    results = np.empty((len(variants), len(METRICS)))
    job_range = slice(first, last)
    size, runtime, submit = (
        trace.jobs.size[job_range],
        trace.runtime[job_range],
        trace.jobs.submit[job_range],
    )
    for variant, result in zip(variants, results, strict=True):
        try:
            given = {"order": variant} if isinstance(variant, str) else dict(variant)
            policy = easy(**{**options, **given})
        except TypeError as error:
            raise PolicyError(f"not options of easy: {error}") from None
        schedule = simulate(trace, policy, seed)
        wait, tried = schedule.wait[job_range], schedule.trial_end[job_range] >= 0
        trials = np.where(tried, schedule.trial_end[job_range] - schedule.trial_start[job_range], 0)
        makespan = int(schedule.end[job_range].max() - submit[0])
        busy = float(size @ (runtime + trials))
        result[:] = (
            bounded_slowdown(wait, runtime).mean(),
            wait.mean(),
            wait.max(),
            busy / (trace.processors * makespan),
            makespan,
        )
    return results
