"""Prices of processors if jobs could be interrupted, and if each could use the whole machine.

There the best order is known (Smith's rule): of the jobs that are there, run the one whose cost
rises most per processor-second. While a job runs, the price falls as its cost rises, so that the
job may as well run earlier or later. Where the machine is idle, processors cost nothing.
"""

import heapq

import numpy as np

from bfenv.analysis.bounds.costs import Costs
from bfenv.core.jobs import Trace

Part = tuple[int, float, float]  # of a job: the job, begin and end in seconds


def preemptive_prices(trace: Trace, costs: Costs, time: np.ndarray) -> np.ndarray:
    """Return the prices (k,) of a processor, per second, at the times (k,) in seconds."""
    area = trace.runtime.astype(np.float64) * trace.jobs.size
    rate = costs.slope / area
    parts = _run_by_rate(costs.release, area / trace.processors, rate)
    value = _values(parts, rate, costs.kink)
    job, begin, end = map(np.array, zip(*parts, strict=True))
    part = np.searchsorted(begin, time, side="right") - 1
    job = job[part]
    price = value[job] - rate[job] * np.maximum(0, time - costs.kink[job])
    return np.where((part >= 0) & (time < end[part]), price, 0.0)


def _run_by_rate(release: np.ndarray, seconds: np.ndarray, rate: np.ndarray) -> list[Part]:
    """Always run the job of the highest rate; on the whole machine, a job takes `seconds` (n,)."""
    order = np.argsort(release, kind="stable").tolist()
    releases = [*release[order].tolist(), np.inf]
    left = seconds.tolist()
    parts = []
    waiting: list[tuple[float, int]] = []
    now, released = 0.0, 0
    while waiting or released < len(order):
        if not waiting:
            now = releases[released]
        while releases[released] <= now:
            heapq.heappush(waiting, (-rate[order[released]], order[released]))
            released += 1
        job = waiting[0][1]
        done = now + left[job]
        end = min(done, releases[released])
        if end == done:
            heapq.heappop(waiting)
        left[job] -= end - now
        parts.append((job, now, end))
        now = end
    return parts


def _values(parts: list[Part], rate: np.ndarray, kink: np.ndarray) -> np.ndarray:
    """Return what a processor-second that costs no wait is worth to each job (n,).

    What keeps a job from running later is the next part with the same rate or a lower one: there
    the price of both is the same. It is 0 when the machine falls idle.
    """

    def wait_cost(job: int, time: float) -> float:
        return float(rate[job] * max(0, time - kink[job]))

    value = np.full(len(rate), np.nan)
    later: list[tuple[float, float, float]] = []  # parts: begin, rate, price; rates descend in time
    next_begin = np.inf
    for job, begin, end in reversed(parts):
        if end < next_begin:
            later = [(end, 0.0, 0.0)]
        while later[-1][1] > rate[job]:
            later.pop()
        if np.isnan(value[job]):  # this is its last part
            time, _, price = later[-1]
            value[job] = price + wait_cost(job, time)
        later.append((begin, rate[job], value[job] - wait_cost(job, begin)))
        next_begin = begin
    return value
