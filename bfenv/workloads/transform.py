"""New traces from old: all steps in order; load, shaking, off-line, parts.

The steps that change what users ask for are in `bfenv.workloads.requests`. The name of a
trace tells what was done to it, as in "log+exact@0.9+offline".

References
----------
D. Tsafrir, K. Ouaknine and D. G. Feitelson, "Reducing performance evaluation sensitivity and
variability by input shaking", MASCOTS, 2007.
"""

import math
from dataclasses import replace
from numbers import Integral, Real

import numpy as np

from bfenv.core.errors import UnknownNameError, WorkloadError
from bfenv.core.jobs import Jobs, Trace
from bfenv.workloads.requests import (
    RANDOM,
    generator,
    with_estimates,
    with_priorities,
    with_requested_starts,
)

DAY = 86_400  # seconds
# Percent of a trace's time span. What is trained on comes first, and is never scored.
SPLITS = {"train": (0, 50), "validation": (50, 60), "test": (60, 100), "all": (0, 100)}
LATEST = 2**53  # seconds; beyond it a float no longer counts seconds


def transformed(
    trace: Trace,
    *,
    split: str = "all",
    first_job: int | None = None,
    job_count: int | None = None,
    estimates: str = "user",
    factor: float | None = None,
    exact_share: float | None = None,
    emax: int | None = None,
    emax_share: float | None = None,
    load: float | None = None,
    arrival_rate: float | None = None,
    shake: int | None = None,
    offline: bool = False,
    high: float | None = None,
    reserved: float | None = None,
    ahead: int | None = None,
    seed: int = 0,
) -> Trace:
    """The trace after any of these, always in this order.

    0. `split`, a part of its time span: `split_range`. Then `first_job`, counted from 0, and
       `job_count`: so many consecutive jobs from there on; all that follow without a number.
    1. `estimates`, a model of `with_estimates`, with its parameters `factor`, `exact_share`,
       `emax`, `emax_share`; it may cut runtimes, which the load has to know.
    2. `load`, an offered load to reach: `with_load`.
    3. `arrival_rate`, a factor on the rate of arrivals, such as 1.25: `with_arrival_rate`.
    4. `shake`, at most so many seconds earlier or later for each job: `shaken`.
    5. `offline`, all jobs at once, in the order they then have: `at_once`.
    6. `high`, the share of jobs of high priority: `with_priorities`.
    7. `reserved`, the share of jobs that ask for a start time, at most `ahead` seconds after
       they are submitted: `with_requested_starts`.

    Raises WorkloadError for a value out of range, and for a parameter of a step not taken.
    """
    parameters = {
        "factor": factor, "exact_share": exact_share, "emax": emax, "emax_share": emax_share,
    }  # fmt: skip
    parameters = {name: value for name, value in parameters.items() if value is not None}
    if split != "all":
        begin, end = split_range(trace, split)
        trace = trace[begin:end]
    if first_job is not None or job_count is not None:
        trace = _consecutive(trace, first_job or 0, job_count)
    if estimates != "user" or parameters:
        trace = with_estimates(trace, estimates, seed=seed, **parameters)
    if load is not None:
        trace = with_load(trace, load)
    if arrival_rate is not None:
        trace = with_arrival_rate(trace, arrival_rate)
    if shake is not None:
        trace = shaken(trace, seed=seed, amount=shake)
    if offline:
        trace = at_once(trace)
    if high is not None:
        trace = with_priorities(trace, high, seed=seed)
    if reserved is not None:
        trace = with_requested_starts(
            trace, reserved, seed=seed, ahead=DAY if ahead is None else ahead
        )
    elif ahead is not None:
        raise WorkloadError(f"{trace.name}: ahead goes with reserved, the share of such jobs")
    return trace


def is_random(estimates: str = "user", shake=None, high=None, reserved=None, **others) -> bool:
    """Whether with these options of `transformed` the seed matters."""
    return estimates in RANDOM or any(value is not None for value in (shake, high, reserved))


def with_load(trace: Trace, load: float) -> Trace:
    """The trace at an offered load, reached by stretching or shrinking the submit times.

    Sizes, runtimes, estimates and their relations stay; the daily cycle becomes 24 h times
    old load / new load (Shmueli 2003, section 4.1). Requested start times move with the submit
    times; the records stay those of the log. The load is reached up to the rounding of submit
    times to seconds.

    Raises WorkloadError unless load is positive and leaves the jobs spread over time.
    """
    if not (isinstance(load, Real) and math.isfinite(load) and load > 0):
        raise WorkloadError(f"load is a positive number, not {load!r}")
    old = trace.offered_load
    if not math.isfinite(old):
        raise WorkloadError(
            f"{trace.name}: all jobs are submitted at once, there is no load to set"
        )
    return _stretched(trace, old / load, f"load {load:g}", f"@{load:g}")


def with_arrival_rate(trace: Trace, factor: float) -> Trace:
    """The trace with `factor` times as many arrivals in the same time, like `with_load`.

    Lawson and Smirni (2002), section 3.2, take 1.25 and 1.5.

    Raises WorkloadError unless factor is positive and leaves the jobs spread over time.
    """
    if not (isinstance(factor, Real) and math.isfinite(factor) and factor > 0):
        raise WorkloadError(f"arrival_rate is a positive number, not {factor!r}")
    if not math.isfinite(trace.offered_load):
        raise WorkloadError(f"{trace.name}: all jobs are submitted at once, at no rate")
    return _stretched(trace, 1 / factor, f"arrival_rate {factor:g}", f"@x{factor:g}")


def shaken(trace: Trace, *, seed: int, amount: int) -> Trace:
    """The trace with each job submitted a little earlier or later, in the order of the new times.

    By whole seconds, uniform from -amount to +amount; jobs that then share a second stay in their
    order, and the first job is submitted when the first job was. Runs with several seeds show
    how much of a result is due to the accident of exact submit times (Tsafrir, Ouaknine and
    Feitelson 2007).

    Raises WorkloadError when amount is no whole number of seconds from 0 up.
    """
    if not (isinstance(amount, Integral) and 0 <= amount < LATEST):
        raise WorkloadError(f"shake is whole seconds from 0 up, not {amount!r}")
    jobs = trace.jobs
    submit = jobs.submit + generator("shake", seed).integers(
        -amount, amount, len(trace), endpoint=True
    )
    origin = int(submit.min() - jobs.submit[0])
    moved = _submitted(trace, submit - origin)
    order = np.argsort(submit, kind="stable")
    return replace(
        trace,
        jobs=Jobs(*(values[order] for values in moved)),
        runtime=trace.runtime[order],
        name=f"{trace.name}+shaken-{amount}",
        time_of_day=(trace.time_of_day + origin) % DAY,
        records=None if trace.records is None else trace.records[order],
    )


def at_once(trace: Trace) -> Trace:
    """The trace with all jobs submitted at the start, queued in the order they had.

    The off-line case of Zotkin, Keleher and Perkovic (2000), section 4: the scheduler sees all
    jobs from the beginning. Requested start times keep their distance from the submit times.
    """
    return replace(
        trace,
        jobs=_submitted(trace, np.full(len(trace), trace.jobs.submit[0])),
        name=f"{trace.name}+offline",
    )


def windows(trace: Trace, jobs: int) -> list[Trace]:
    """The trace cut into parts of so many consecutive jobs; the last part holds the rest.

    Raises WorkloadError unless jobs is a positive whole number.
    """
    if not (isinstance(jobs, Integral) and jobs >= 1):
        raise WorkloadError(f"a window holds a whole number of jobs from 1 up, not {jobs!r}")
    return [trace[begin : begin + jobs] for begin in range(0, len(trace), jobs)]


def _consecutive(trace: Trace, first: int, count: int | None) -> Trace:
    """The jobs from `first` on, `count` of them; WorkloadError where there are not so many."""
    end = len(trace) if count is None else first + count
    if not 0 <= first < end <= len(trace):
        raise WorkloadError(
            f"{trace.name} has jobs 0 to {len(trace) - 1}: no {'job' if count is None else count} "
            f"from first_job={first} on"
        )
    return trace[first:end]


def split_range(trace: Trace, split: str) -> tuple[int, int]:
    """First job and one past the last job of a named part of the trace's time span.

    "train" is the first half, "validation" the next tenth, "test" the last 40 %, "all" everything.
    Raises UnknownNameError on another name and WorkloadError when no job is in the part.
    """
    if not isinstance(split, str) or split not in SPLITS:
        raise UnknownNameError("split", str(split), SPLITS)
    first, last = (_jobs_before(trace, percent) for percent in SPLITS[split])
    if first >= last:
        raise WorkloadError(f"{trace.name}: no job in the split {split!r}")
    return first, last


def _jobs_before(trace: Trace, percent: int) -> int:
    """How many jobs are submitted before that part of the time span is over; at 100 %, all."""
    if percent == 100:
        return len(trace)
    submit = trace.jobs.submit
    begin, end = int(submit[0]), int(submit[-1])
    instant = begin - (begin - end) * percent // 100  # rounded up
    return int(np.searchsorted(submit, instant))


def _stretched(trace: Trace, stretch: float, told: str, suffix: str) -> Trace:
    """The trace with submit times so many times as large; for errors and the name, what for."""
    jobs = trace.jobs
    if not int(jobs.submit[-1]) * stretch < LATEST:
        raise WorkloadError(f"{trace.name}: at {told} the jobs come later than ever")
    submit = np.rint(jobs.submit * stretch).astype(np.int64)
    if submit[0] == submit[-1]:
        raise WorkloadError(f"{trace.name}: at {told} all jobs come in the same second")
    return replace(trace, jobs=_submitted(trace, submit), name=f"{trace.name}{suffix}")


def _submitted(trace: Trace, submit: np.ndarray) -> Jobs:
    """The jobs with other submit times; requested start times move with them."""
    jobs = trace.jobs
    delay = np.maximum(jobs.requested_start - jobs.submit, 0)
    wish = np.where(jobs.requested_start > 0, submit + delay, 0)
    return jobs._replace(submit=submit, requested_start=wish)
