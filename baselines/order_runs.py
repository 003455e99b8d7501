"""Run one trace under many variants of EASY: what a search over orders and options calls.

A variant is an order, or a mapping of options of `bfenv.baselines.easy_variants.easy`::

    results = run_orders(
        trace,
        ["estimate", "size * estimate", {"order": "-expansion", "trial": 180}],
        guard=1.5,
        backfill_estimate="0.9 * prediction",
    )

Orders, expressions and option values are data for compiled code. Nothing is compiled for a
variant that it has not been compiled for before.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bfenv.baselines.easy_variants import easy
from bfenv.core.arguments import check_integer
from bfenv.core.errors import PolicyError
from bfenv.core.events import new_cluster
from bfenv.core.jobs import Trace
from bfenv.core.kernel import kernel
from bfenv.core.policy import Policy, new_memory
from bfenv.core.schedule import bounded_slowdown

METRICS = ("mean_bounded_slowdown", "mean_wait", "max_wait", "utilization", "makespan")


@kernel
def measure(cluster, jobs, runtime, first, last, processors, result):
    """Write the METRICS of the jobs first .. last - 1 of a run to `result`.

    Sums are in trace order. Times are in seconds; utilization and makespan are from the first
    submit time to the last end of these jobs.
    """
    slowdowns, busy, waits, longest, end = 0.0, 0.0, 0, 0, 0
    for job in range(first, last):
        waited = cluster.start[job] - jobs.submit[job]
        slowdowns += bounded_slowdown(waited, runtime[job])
        held = runtime[job]
        if cluster.trial_end[job] >= 0:
            held += cluster.trial_end[job] - cluster.trial_start[job]
        busy += float(jobs.size[job]) * held
        waits += waited
        longest = max(longest, waited)
        end = max(end, cluster.end[job])
    makespan = end - jobs.submit[first]
    result[0] = slowdowns / (last - first)
    result[1] = waits / (last - first)
    result[2] = longest
    result[3] = busy / (processors * makespan)
    result[4] = makespan


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
        (k, len(METRICS)) float64. METRICS are from `bfenv.metrics`, in seconds, of the measured
        jobs. The mean bounded slowdown may differ from it in the last digits, as it is summed in
        another order.

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
    if trace.jobs.requested_start.any():
        raise PolicyError(f"EASY does not plan for the requested start times of {trace.name}")
    policies = [_policy_of(variant, options) for variant in variants]
    results = np.empty((len(policies), len(METRICS)))
    for policy, result in zip(policies, results, strict=True):
        cluster, jobs, truth = new_cluster(trace)
        memory = new_memory(policy, jobs, trace.processors, seed)
        if policy.run is not None:
            policy.run(cluster, jobs, truth, memory)
        measure(cluster, trace.jobs, trace.runtime, first, last, trace.processors, result)
    return results


def _policy_of(variant: Variant, options: Mapping[str, Any]) -> Policy:
    given = {"order": variant} if isinstance(variant, str) else dict(variant)
    try:
        return easy(**{**options, **given})
    except TypeError as error:
        raise PolicyError(f"not options of easy: {error}") from None
