"""What a start costs a job: the metrics that can be bounded."""

from typing import NamedTuple

import numpy as np

from bfenv.core.arguments import check_choice
from bfenv.core.jobs import Trace
from bfenv.core.kernel import inlined
from bfenv.core.schedule import TAU

COSTS = ("mean_bounded_slowdown", "mean_wait")


class Costs(NamedTuple):
    """The cost of each job by its start: base + slope * max(0, start - kink)."""

    base: np.ndarray  # (n,) float64
    slope: np.ndarray  # (n,) float64 per second
    kink: np.ndarray  # (n,) int64 seconds, until when waiting costs nothing
    release: np.ndarray  # (n,) int64 seconds, earliest start allowed


def job_costs(trace: Trace, metric: str = COSTS[0]) -> Costs:
    """Return the costs whose mean over jobs is the metric.

    * `trace`: the jobs.
    * `metric`: "mean_bounded_slowdown" or "mean_wait", as in `bfenv.analysis.metrics`.

    Raises BfenvError if the metric is another one.
    """
    check_choice("metric", metric, COSTS)
    jobs = trace.jobs
    release = np.maximum(jobs.submit, jobs.requested_start)
    ones = np.ones(len(trace))
    if metric == "mean_wait":
        return Costs(0 * ones, ones, jobs.submit, release)
    kink = jobs.submit + np.maximum(TAU - trace.runtime, 0)
    return Costs(ones, 1.0 / np.maximum(trace.runtime, TAU), kink, release)


@inlined
def cost(costs, job, start):
    """Return the cost of one job that starts at `start`."""
    return costs.base[job] + costs.slope[job] * max(0, start - costs.kink[job])


def cost_of_starts(costs: Costs, start: np.ndarray) -> np.ndarray:
    """Return the costs (n,) of jobs that start at `start` (n,), in seconds."""
    values: np.ndarray = costs.base + costs.slope * np.maximum(0, start - costs.kink)
    return values
