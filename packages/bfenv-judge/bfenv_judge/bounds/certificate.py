"""Prices on processors, and the lower bound that they certify.

Let a processor cost p(t) >= 0 per second at time t. Charge each job, wherever it starts, its cost
plus the price of the processors that it holds, and give back the price of the whole machine. No
schedule pays more for processors than the machine is worth, so the sum over jobs of the *least*
charge, minus the worth of the machine, is at most the total cost of any non-preemptive schedule
(Lagrangian relaxation of the capacity). This holds for any prices: they are the certificate.
Trials that are killed hold processors as well, so the bound holds for them, too.

Prices are integers in units of 2**-exponent. All their sums are exact, and what remains of
rounding is subtracted from the bound.
"""

import math
from typing import NamedTuple

import numpy as np

from bfenv.core.arguments import check_choice
from bfenv.core.durations import TAU
from bfenv.core.errors import BfenvError
from bfenv.core.jobs import FOREVER, Trace
from bfenv.core.kernel import inlined, kernel

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


LATEST = 2**62  # seconds; sums with a runtime are exact
LARGEST_EXPONENT = 900  # of either sign; no charge is too large or too small for a float
ROUNDING = 8 * 2.0**-53  # relative error of a charge: four operations, with a factor of two


class Certificate(NamedTuple):
    """Prices of a processor over time; none before the first edge and after the last."""

    edges: np.ndarray  # (k + 1,) int64 seconds, ascending
    price: np.ndarray  # (k,) int64 per processor and second, at least 0, in 2**-exponent
    exponent: int  # at most LARGEST_EXPONENT, and at least its negative


def certify(trace: Trace, certificate: Certificate, metric: str = COSTS[0]) -> float:
    """Return the lower bound that prices certify for a trace.

    * `trace`: the jobs, with their true runtimes.
    * `certificate`: any prices. Bad prices give a low bound, never a wrong one.
    * `metric`: as in `job_costs`.

    No non-preemptive schedule of the trace is below it. Raises BfenvError if edges do not ascend or
    are out of range, a price is negative, or sums would not be exact.
    """
    edges, price, exponent = certificate
    if ((edges < 0) | (edges >= LATEST)).any() or abs(exponent) > LARGEST_EXPONENT:
        raise BfenvError("an edge or the exponent of the certificate is out of range")
    if len(edges) != len(price) + 1 or (np.diff(edges) <= 0).any():
        raise BfenvError("a certificate needs ascending edges, one more than prices")
    if (price < 0).any():
        raise BfenvError(f"price {int(np.argmax(price < 0))} of the certificate is negative")
    worth = sum(int(p) * int(s) for p, s in zip(price, np.diff(edges), strict=True))
    if worth * int(trace.jobs.size.max()) >= 2**62:
        raise BfenvError("the certificate's prices are too large to be summed exactly")
    charge, start = np.empty(len(trace)), np.empty(len(trace), dtype=np.int64)
    costs = job_costs(trace, metric)
    least_charges(costs, trace.jobs.size, trace.runtime, *priced(certificate), charge, start)
    charged = math.fsum(charge)
    total = charged - math.ldexp(worth * trace.processors, -exponent)
    bound = (total - ROUNDING * (charged + abs(total))) / len(trace)
    return max(bound, float(costs.base.mean()))


def priced(certificate: Certificate) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Return edges (k + 1,), prices (k,), their sums up to each edge (k + 1,), and the unit."""
    edges, price, exponent = certificate
    paid = np.concatenate([[0], np.cumsum(price * np.diff(edges))])
    return edges, price, paid, math.ldexp(1.0, -exponent)


@kernel
def least_charges(costs: Costs, size, runtime, edges, price, paid, unit, charge, start):
    """Write the least charge of each job to `charge` (n,), and where it starts to `start` (n,).

    A charge is piecewise linear in the start. Its corners are the kink of the cost and the starts
    at which the job begins or ends at an edge, so the least one is at a corner. The scan ends where
    the cost alone reaches the least charge.
    """
    last = len(edges) - 1
    for job in range(len(size)):
        t = costs.release[job]
        begin = np.searchsorted(edges, t, side="right")  # first edges behind begin and end
        end = np.searchsorted(edges, t + runtime[job], side="right")
        charge[job] = np.inf
        while True:
            job_cost = cost(costs, job, t)
            if job_cost >= charge[job]:
                break
            area = _paid(edges, price, paid, end, t + runtime[job])
            area -= _paid(edges, price, paid, begin, t)
            if job_cost + unit * (size[job] * area) < charge[job]:
                charge[job] = job_cost + unit * (size[job] * area)
                start[job] = t
            corner = costs.kink[job] if costs.kink[job] > t else FOREVER
            if begin <= last:
                corner = min(corner, edges[begin])
            if end <= last:
                corner = min(corner, edges[end] - runtime[job])
            if corner == FOREVER:
                break
            t = corner
            while begin <= last and edges[begin] <= t:
                begin += 1
            while end <= last and edges[end] <= t + runtime[job]:
                end += 1


@inlined
def _paid(edges, price, paid, edge, t):
    """Return the price of one processor up to time `t`; `edge` is the first edge behind it."""
    if edge == 0:
        return np.int64(0)
    if edge == len(edges):
        return paid[edge - 1]
    return paid[edge - 1] + price[edge - 1] * (t - edges[edge - 1])
