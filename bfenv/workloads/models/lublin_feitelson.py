"""The Lublin-Feitelson statistical model of rigid parallel jobs.

Sizes follow a two-stage uniform distribution of log2(size) that favours powers of two; the
logarithm of the runtime follows a hyper-Gamma distribution whose mix depends on the size; the
logarithm of the gap between arrivals follows a Gamma distribution, and time runs faster or
slower with the hour of the day.

The arrival process counts *points*: half hours of an average day. A half-hour slot b is worth
w[b] points (`daily_weights`), so a gap of g points is short by the clock when w is large. With
W(t) the points passed from midnight to t, job i arrives when W(t_i) = W(t_(i-1)) + g_i. The time
t is rounded to whole seconds only at the end. The authors' program rounds it down at every arrival,
but not its position in the day, so that its days drift by 1.4 hours in 10,000 jobs.

References:
    U. Lublin and D. G. Feitelson, "The workload on parallel supercomputers: modeling the
    characteristics of rigid jobs", J. Parallel and Distributed Computing 63(11), 1105-1122, 2003,
    doi:10.1016/S0743-7315(03)00108-4. The numbers and the names in `Parameters` come from the
    authors' program m_lublin99.c.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from bfenv.core.arguments import check_integer, check_number
from bfenv.core.durations import HOUR
from bfenv.core.errors import WorkloadError
from bfenv.workloads.arguments import LARGEST_EXACT

SLOTS = 48  # per day
SLOT = HOUR // 2  # seconds
CYCLE_START = 10  # slot at which the daily Gamma density begins: 05:00
LONGEST_LOG_RUNTIME = 12.0  # exp(12) s = 45.2 h
LONGEST_LOG_GAP = 13.0  # exp(13) s = 5.1 days, in points of SLOT seconds


@dataclass(frozen=True)
class Parameters:
    """One class of jobs: its sizes, runtimes and arrivals."""

    p_serial: float  # probability of a serial job
    p_pow2: float  # probability of a parallel job whose size is a power of two by intent
    u_low: float  # log2 of the smallest parallel size
    u_med: float  # log2 of the size between the two stages of the uniform distribution
    u_hi: float  # log2 of the largest size
    u_prob: float  # probability of the first stage, u_low to u_med
    a1: float  # shape, short jobs' ln(runtime in seconds)
    b1: float  # scale, short jobs' ln(runtime in seconds)
    a2: float  # shape, long jobs' ln(runtime in seconds)
    b2: float  # scale, long jobs' ln(runtime in seconds)
    pa: float  # slope of P(short) = pa * size + pb; nearer 0 ties runtime to size less
    pb: float  # intercept of P(short)
    a_arr: float  # shape in rush hours, ln(gap in seconds)
    b_arr: float  # scale, ln(gap in seconds)
    a_rar: float  # ratio of the whole day's shape to the rush hours'
    a_num: float  # shape of the daily cycle, in slots from CYCLE_START
    b_num: float  # scale of the daily cycle, in slots


TYPELESS = Parameters(
    p_serial=0.244, p_pow2=0.576, u_low=0.8, u_med=4.5, u_hi=7.0, u_prob=0.86,
    a1=4.2, b1=0.94, a2=312.0, b2=0.03, pa=-0.0054, pb=0.78,
    a_arr=10.2303, b_arr=0.4871, a_rar=1.0225, a_num=8.1737, b_num=3.9631,
)  # fmt: skip
BATCH = Parameters(
    p_serial=0.2927, p_pow2=0.6686, u_low=1.2, u_med=5.0, u_hi=7.0, u_prob=0.875,
    a1=6.57, b1=0.823, a2=639.1, b2=0.0156, pa=-0.003, pb=0.6986,
    a_arr=6.0415, b_arr=0.8531, a_rar=1.0519, a_num=6.1271, b_num=5.2740,
)  # fmt: skip
INTERACTIVE = Parameters(
    p_serial=0.1541, p_pow2=0.625, u_low=1.0, u_med=3.0, u_hi=5.5, u_prob=0.705,
    a1=3.8351, b1=0.6605, a2=7.073, b2=0.6856, pa=-0.0118, pb=0.9156,
    a_arr=6.5510, b_arr=0.6621, a_rar=0.9797, a_num=8.9186, b_num=3.6680,
)  # fmt: skip


class LublinJobs(NamedTuple):
    """A sample of the model, in order of arrival."""

    submit: np.ndarray  # (n,) int64 seconds since start_hour, ascending
    size: np.ndarray  # (n,) int64 processors, 1 .. processors
    runtime: np.ndarray  # (n,) int64 seconds, 1 .. 162754
    interactive: np.ndarray  # (n,) bool; all False in a sample without types


def scaled(parameters: Parameters, processors: int) -> Parameters:
    """Scale a class of jobs to a machine of another size.

    As the authors advise, only the sizes change: u_hi = log2(processors), u_med = u_hi - 2.5. The
    machine that the parameters were fitted to keeps its own u_med. On a machine of fewer than 14
    processors, u_med would fall below u_low, or u_low exceed u_hi; they are then equal.

    Raises WorkloadError if processors < 1.
    """
    check_integer("processors", processors, 1, error=WorkloadError)
    u_hi = math.log2(processors)
    if u_hi == parameters.u_hi:
        return parameters
    u_low = min(parameters.u_low, u_hi)
    return replace(parameters, u_low=u_low, u_med=max(u_low, u_hi - 2.5), u_hi=u_hi)


def generate(
    jobs: int,
    processors: int,
    rng: np.random.Generator,
    *,
    load: float | None = None,
    longest: int | None = None,
    typed: bool = False,
    start_hour: int = 0,
    parameters: Sequence[Parameters] | None = None,
) -> LublinJobs:
    """Draw a sample of the model.

    Raises WorkloadError if an argument is out of range.

    * `jobs`: number of jobs, at least 1.
    * `processors`: size of the machine, at least 1. Rounding to powers of two can yield a larger
      job if the machine's size is not one; it is cut to the machine.
    * `rng`: Source of all randomness.
    * `load`: offered load: sum(runtime * size) / (processors * last submit time). This very sample
      reaches it, up to the rounding of submit times to seconds (the last is at least 1). All gaps
      are divided, in points, by the same number, so that days keep their 24 hours. None keeps the
      model's own load: in the long run 0.72 for 128 processors, 0.87 for 256; typed 0.40 for 128.
    * `longest`: longest runtime, in seconds. Longer ones are cut to it before `load` applies.
    * `typed`: merge two independent streams by submit time, interactive and batch jobs, at equal
      times interactive jobs first. The first `jobs` jobs are taken before `load` applies.
    * `start_hour`: hour of the day at time 0, 0 .. 23.
    * `parameters`: streams to use exactly as given: (typeless,), or (interactive, batch) if
      `typed`. By default the published ones, `scaled` to the machine; interactive jobs only to a
      smaller machine, so that they stay below 46 processors.

    Returns the sample.
    """
    jobs = check_integer("jobs", jobs, 1, error=WorkloadError)
    processors = check_integer("processors", processors, 1, error=WorkloadError)
    check_integer("start_hour", start_hour, 0, 23, error=WorkloadError)
    if load is not None:
        check_number("load", load, positive=True, error=WorkloadError)
    if longest is not None:
        check_integer("longest", longest, 1, error=WorkloadError)
    streams = _default_streams(processors, typed) if parameters is None else tuple(parameters)
    if len(streams) != 1 + typed:
        raise WorkloadError(
            f"parameters must be {1 + typed} streams if typed={typed}, got {len(streams)}"
        )
    clocks = [_Clock(stream, start_hour) for stream in streams]
    points = [np.cumsum(gaps(jobs, stream, rng)) for stream in streams]
    order, label = _merge([clock.submit(p) for clock, p in zip(clocks, points, strict=True)])
    label = label[:jobs]
    points = [p[: np.count_nonzero(label == s)] for s, p in enumerate(points)]

    size = [sizes(len(p), stream, rng) for stream, p in zip(streams, points, strict=True)]
    size = [np.minimum(n, processors) for n in size]
    runtime = [runtimes(n, stream, rng) for stream, n in zip(streams, size, strict=True)]
    if longest is not None:
        runtime = [np.minimum(r, longest) for r in runtime]
    if load is not None:
        area = sum(float(r @ n) for r, n in zip(runtime, size, strict=True))
        last = max(1.0, area / (processors * load))
        if last > LARGEST_EXACT:
            raise WorkloadError(f"load {load:g} would push submit times beyond 2**53 s")
        # Divided by the number with which the stream that ends last ends at `last` s
        pairs = zip(clocks, points, strict=True)
        squeeze = max(p[-1] / clock.points(last) for clock, p in pairs if len(p))
        points = [p / squeeze for p in points]

    submit = [clock.submit(p) for clock, p in zip(clocks, points, strict=True)]
    order, label = _merge(submit)
    return LublinJobs(
        submit=np.concatenate(submit)[order],
        size=np.concatenate(size)[order],
        runtime=np.concatenate(runtime)[order],
        interactive=(label == 0) & typed,
    )


def sizes(jobs: int, parameters: Parameters, rng: np.random.Generator) -> np.ndarray:
    """Draw (jobs,) int64 processors; some exceed 2 ** u_hi unless that is a power of two."""
    kind = rng.random(jobs)
    first = rng.random(jobs) < parameters.u_prob
    low = np.where(first, parameters.u_low, parameters.u_med)
    high = np.where(first, parameters.u_med, parameters.u_hi)
    log_size = low + (high - low) * rng.random(jobs)
    # The other parallel jobs may hit a power of two as well, by the rounding of small sizes.
    power = kind <= parameters.p_serial + parameters.p_pow2
    log_size[power] = np.floor(log_size[power] + 0.5)
    size: np.ndarray = np.floor(np.exp2(log_size) + 0.5).astype(np.int64)
    size[kind <= parameters.p_serial] = 1
    return size


def runtimes(size: np.ndarray, parameters: Parameters, rng: np.random.Generator) -> np.ndarray:
    """Draw (n,) int64 seconds for jobs of (n,) sizes; larger jobs tend to run longer."""
    short = np.clip(parameters.pa * size + parameters.pb, 0.0, 1.0)
    log_runtime = np.full(len(size), np.inf)
    # A runtime beyond the longest is drawn again, as is whether the job is short or long.
    while len(todo := np.flatnonzero(log_runtime > LONGEST_LOG_RUNTIME)):
        is_short = rng.random(len(todo)) < short[todo]
        shape = np.where(is_short, parameters.a1, parameters.a2)
        scale = np.where(is_short, parameters.b1, parameters.b2)
        log_runtime[todo] = rng.gamma(shape, scale)
    runtime: np.ndarray = np.exp(log_runtime).astype(np.int64)
    return runtime


def gaps(jobs: int, parameters: Parameters, rng: np.random.Generator) -> np.ndarray:
    """Draw (jobs,) float64 points before each arrival: from the one before, or from the start."""
    shape = parameters.a_arr * parameters.a_rar
    log_gap = np.full(jobs, np.inf)
    while len(todo := np.flatnonzero(log_gap > LONGEST_LOG_GAP)):
        log_gap[todo] = rng.gamma(shape, parameters.b_arr, len(todo))
    points: np.ndarray = np.exp(log_gap) / SLOT
    return points


def daily_weights(parameters: Parameters) -> np.ndarray:
    """Return the points that each half hour of the day is worth, (48,) float64, mean 1."""
    edges = np.arange(SLOTS + 1) + CYCLE_START + 0.5
    mass = np.diff(_gamma_cdf(edges / parameters.b_num, parameters.a_num))
    weights: np.ndarray = np.roll(mass, CYCLE_START) / mass.mean()
    return weights


class _Clock:
    """The time of day of one stream: converts points to seconds since the start, and back."""

    def __init__(self, parameters: Parameters, start_hour: int):
        self.worth = np.concatenate([[0.0], np.cumsum(daily_weights(parameters))])
        self.worth[-1] = SLOTS
        self.start = float(start_hour * HOUR)
        self.origin = 0.0
        self.origin = self.points(0.0)

    def points(self, seconds: float) -> float:
        """Return the points that have passed at a time, in seconds from the start."""
        day, slot = divmod((self.start + seconds) / SLOT, SLOTS)
        return SLOTS * day + float(np.interp(slot, np.arange(SLOTS + 1), self.worth)) - self.origin

    def submit(self, points: np.ndarray) -> np.ndarray:
        """Return the seconds from the start by which the points have passed, (n,) int64."""
        day, remainder = np.divmod(self.origin + points, SLOTS)
        slot = SLOTS * day + np.interp(remainder, self.worth, np.arange(SLOTS + 1))
        submit: np.ndarray = np.rint(slot * SLOT - self.start).astype(np.int64)
        return submit


def _default_streams(processors: int, typed: bool) -> tuple[Parameters, ...]:
    if not typed:
        return (scaled(TYPELESS, processors),)
    shrink = math.log2(processors) < INTERACTIVE.u_hi
    interactive = scaled(INTERACTIVE, processors) if shrink else INTERACTIVE
    return interactive, scaled(BATCH, processors)


def _merge(submit: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the order of the joined streams by time, ties by stream, and each job's stream."""
    order = np.argsort(np.concatenate(submit), kind="stable")
    return order, np.repeat(np.arange(len(submit)), [len(s) for s in submit])[order]


def _gamma_cdf(x: np.ndarray, shape: float) -> np.ndarray:
    """Compute the standard Gamma law's distribution function by its power series; x > 0."""
    term: np.ndarray = np.exp(shape * np.log(x) - x - math.lgamma(shape + 1))
    total = term.copy()
    for k in range(1, 200):  # the terms fall once k > x; here x < 20
        term = term * x / (shape + k)
        total += term
    return total
