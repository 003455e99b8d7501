"""Search for prices that certify a high lower bound.

Subgradient ascent: where the cheapest starts of all jobs need more processors than there are, the
price rises, and where they need fewer it falls. Steps follow Polyak's rule, with a target that
comes closer whenever the ascent stalls, and moves away while it is quick.

One ascent begins without prices, on coarse intervals of time that are then halved: from flat prices
on fine intervals it would take a hundred times as long. Jobs that are alike make it jump, because
they all move at once. Another begins near the end, with the prices of a simpler machine. The better
result is kept.

That machine could interrupt jobs, and give each all of its processors. There the best order is
known (Smith's rule): of the jobs that are there, run the one whose cost rises most per
processor-second. While a job runs, the price falls as its cost rises, so that the job may as well
run earlier or later. Where the machine is idle, processors cost nothing.
"""

import heapq
import math
from operator import itemgetter

import numpy as np

import bfenv_judge.bounds.certificate as ct
from bfenv.core.arguments import check_integer
from bfenv.core.jobs import Trace
from bfenv.core.kernel import kernel

Part = tuple[int, float, float]  # of a job: the job, begin and end in seconds


def preemptive_prices(trace: Trace, costs: ct.Costs, time: np.ndarray) -> np.ndarray:
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


COARSEST = 128  # intervals
SMOOTHING = 0.7  # weight of the newest subgradient
PATIENCE = 8  # steps without progress until the target comes closer
CLOSER = 0.6
FARTHER = 1.5
CLOSE_ENOUGH = 1e-5  # of the bound
FINEST = 60  # exponent


def lower_bound(
    trace: Trace, metric: str = ct.COSTS[0], *, intervals: int | None = None, steps: int = 200
) -> tuple[float, ct.Certificate]:
    """Return a lower bound on the metric over all non-preemptive schedules, and its certificate.

    * `trace`: the jobs, with their true runtimes.
    * `metric`: as in `job_costs`.
    * `intervals`: intervals of time with a price each. More give a higher bound. The default is the
      number of jobs, between 128 and 16,384.
    * `steps`: most steps of the ascent at each of the resolutions.

    Raises BfenvError if an argument is out of range.
    """
    costs = ct.job_costs(trace, metric)
    intervals = min(max(len(trace), COARSEST), 16_384) if intervals is None else intervals
    check_integer("intervals", intervals, 1)
    check_integer("steps", steps, 1)
    begin, ascent = int(trace.jobs.submit[0]), _Ascent(trace, costs)
    work = float(np.dot(trace.runtime.astype(np.float64), trace.jobs.size))
    last = int((costs.release + trace.runtime).max())
    # By then the machine could have run all jobs, half of it idle.
    horizon = max(last, int(begin + 2 * work / trace.processors)) + 1
    edges = _edges(begin, horizon, intervals)
    prices = preemptive_prices(trace, costs, (edges[:-1] + edges[1:]) / 2)
    certificates = [ascent.certificate(edges, ascent.climb(edges, prices, steps))]
    ascent, count = _Ascent(trace, costs), min(intervals, COARSEST)
    edges = _edges(begin, horizon, count)
    prices = ascent.climb(edges, np.zeros(len(edges) - 1), steps)
    while count < intervals:
        count = min(2 * count, intervals)
        finer = _edges(begin, horizon, count)
        middle = (finer[:-1] + finer[1:]) / 2
        prices = prices[np.searchsorted(edges, middle, side="right") - 1]
        edges = finer
        prices = ascent.climb(edges, prices, steps)
    certificates.insert(0, ascent.certificate(edges, prices))
    bounds = [(ct.certify(trace, certificate, metric), certificate) for certificate in certificates]
    return max(bounds, key=itemgetter(0))


def _edges(begin: int, end: int, count: int) -> np.ndarray:
    """Return the ends (k + 1,) of `count` equal intervals, or of every second if there are less."""
    return np.unique(np.linspace(begin, end, count + 1).astype(np.int64))


class _Ascent:
    """The state of the search that outlasts a resolution."""

    def __init__(self, trace: Trace, costs: ct.Costs) -> None:
        self.trace, self.costs = trace, costs
        self.target = float(len(trace))  # how far above the best bound
        self.charge = np.empty(len(trace))
        self.start = np.empty(len(trace), dtype=np.int64)

    def certificate(self, edges: np.ndarray, prices: np.ndarray) -> ct.Certificate:
        """Round prices per second to the finest unit whose sums are exact."""
        worth = float(np.dot(prices, np.diff(edges))) * float(self.trace.jobs.size.max())
        exponent = min(FINEST, 60 - math.frexp(worth + 1e-9)[1])
        return ct.Certificate(edges, np.rint(np.ldexp(prices, exponent)).astype(np.int64), exponent)

    def climb(self, edges: np.ndarray, prices: np.ndarray, steps: int) -> np.ndarray:
        """Return the best prices of these intervals that the ascent finds."""
        length = np.diff(edges).astype(np.float64)
        best, best_prices = -math.inf, prices
        used, direction = np.empty(len(prices)), np.zeros(len(prices))
        stalled = 0
        for _ in range(steps):
            bound = self._bound(edges, prices, used)
            stalled = 0 if bound > best + 0.02 * self.target else stalled + 1
            if bound > best + self.target / 2 and best > -math.inf:
                self.target *= FARTHER
            if bound > best:
                best, best_prices = bound, prices
            if self.target < CLOSE_ENOUGH * max(best, 1.0):
                break
            if stalled > PATIENCE:
                self.target *= CLOSER
                prices, direction, stalled = best_prices, 0 * direction, 0
                continue
            excess = used / length - self.trace.processors
            excess[(prices <= 0) & (excess < 0)] = 0
            direction = SMOOTHING * excess + (1 - SMOOTHING) * direction
            direction[(prices <= 0) & (direction < 0)] = 0
            slope = float(np.dot(direction * excess, length))
            if slope <= 0:
                direction, slope = excess, float(np.dot(excess * excess, length))
            if slope == 0:  # no price would rise or fall: this is the best bound
                break
            prices = np.maximum(0, prices + (best + self.target - bound) / slope * direction)
        self.target *= 2  # finer prices can move again
        return best_prices

    def _bound(self, edges: np.ndarray, prices: np.ndarray, used: np.ndarray) -> float:
        """Return the bound on the total cost, and write (k,) processor-seconds used."""
        trace = self.trace
        table = ct.priced(self.certificate(edges, prices))
        size = trace.jobs.size
        ct.least_charges(self.costs, size, trace.runtime, *table, self.charge, self.start)
        _usage(self.start, size, trace.runtime, edges, used)
        return float(self.charge.sum() - trace.processors * table[3] * float(table[2][-1]))


@kernel
def _usage(start, size, runtime, edges, used):
    """Write the processor-seconds in each interval (k,) to `used`."""
    used[:] = 0
    for job in range(len(start)):
        i = np.searchsorted(edges, start[job], side="right") - 1
        begin, end = start[job], start[job] + runtime[job]
        while i < len(used) and edges[i] < end:
            until = min(end, edges[i + 1])
            used[i] += size[job] * (until - begin)
            begin = until
            i += 1
