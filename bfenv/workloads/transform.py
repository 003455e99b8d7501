"""New traces from old: parts of them, other loads, other submit times, and all steps in order.

The steps that change what users request are in `bfenv.workloads.requests`. The name of a trace
records what was done to it, as in "log+exact@0.9+offline".

In all functions, `trace` (Trace) is not changed; the result is another trace.

References:
    D. Tsafrir, K. Ouaknine and D. G. Feitelson, "Reducing performance evaluation sensitivity and
    variability by input shaking", MASCOTS, 2007.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np

import bfenv.workloads.requests as rq
from bfenv.core.arguments import check_integer, check_number
from bfenv.core.durations import DAY
from bfenv.core.errors import UnknownNameError, WorkloadError
from bfenv.core.jobs import Jobs, Outage, Trace, check_trace
from bfenv.core.partitions import partitions_of, traces_of_machines, with_partitions
from bfenv.core.text import listed
from bfenv.workloads.arguments import LARGEST_EXACT, check_load
from bfenv.workloads.options import Seconds

# Percent of a trace's time span. Agents are trained on the first part, which is never scored.
SPLITS = {"train": (0, 50), "validation": (50, 60), "test": (60, 100), "all": (0, 100)}


def transformed(
    trace: Trace,
    *,
    partitions: str | None = None,
    partition: str | None = None,
    split: str = "all",
    first_job: int | None = None,
    job_count: int | None = None,
    estimates: str = "user",
    factor: float | None = None,
    exact_share: float | None = None,
    emax: Seconds | None = None,
    emax_share: float | None = None,
    popular_values: int | None = None,
    popular_share: float | None = None,
    repeat_share: float | None = None,
    load: float | None = None,
    arrival_rate: float | None = None,
    burst: float | None = None,
    burst_period: Seconds | None = None,
    shake_seconds: Seconds | None = None,
    all_at_once: bool = False,
    high_priority_share: float | tuple[float, ...] | None = None,
    requested_start_share: float | None = None,
    max_advance: Seconds | None = None,
    restartable_share: float | None = None,
    seed: int = 0,
) -> Trace:
    """Return a trace after any of these steps, always in this order.

    Args:
        partitions: Sizes of the partitions of the log, as in "cpu=512,gpu=64": each is a machine by
            itself, see `bfenv.core.partitions`.
        partition: Keep only the jobs of this partition, on its own processors.
        split: Part of the time span to keep, see `split_range`.
        first_job: First job to keep, counted from 0.
        job_count: Number of consecutive jobs to keep. None keeps all from `first_job` on.
        estimates: Model of `with_estimates`. It comes before the load because it may cut runtimes.
        factor, exact_share, emax_share, popular_values, popular_share, repeat_share: Parameters of
            that model.
        emax: Longest estimate of that model, in seconds.
        load: Offered load to reach, at most 5, see `with_load`.
        arrival_rate: Factor on the rate of arrivals, such as 1.25, see `with_arrival_rate`.
        burst: How many times faster jobs arrive in the bursts, at least 1, see `with_bursts`.
        burst_period: Time from one burst to the next, in seconds. None is a day.
        shake_seconds: Longest time by which a job is submitted earlier or later, see `shaken`.
        all_at_once: Submit all jobs at once, in the order they then have, see `at_once`.
        high_priority_share: Share of the jobs of high priority, or of each level above the lowest,
            as in (0.3, 0.1), see `with_priorities`.
        requested_start_share: Share of the jobs with a requested start time, see
            `with_requested_starts`.
        max_advance: Longest time from submission to the requested start, in seconds. None is a day.
        restartable_share: Share of the jobs that may be killed and run again, as after a trial, see
            `with_restartable_jobs`. None is all of them.
        seed: Random seed of all steps.

    Raises:
        UnknownNameError: If there is no such split or model of estimates.
        WorkloadError: If a value is out of range, or belongs to a step that is not taken.

    Examples:
        >>> import bfenv
        >>> from bfenv.workloads import transformed
        >>> trace = bfenv.load_workload("lublin:jobs=1000")
        >>> busier = transformed(trace, split="test", load=0.9, estimates="exact")
        >>> round(busier.offered_load, 3), bool((busier.jobs.estimate == busier.runtime).all())
        (0.9, True)
    """
    check_trace(trace)
    optional = {
        "factor": factor,
        "exact_share": exact_share,
        "emax": emax,
        "emax_share": emax_share,
        "popular_values": popular_values,
        "popular_share": popular_share,
        "repeat_share": repeat_share,
    }
    parameters = {name: value for name, value in optional.items() if value is not None}
    if partitions is not None:
        trace = with_partitions(trace, partitions)
    if partition is not None:
        trace = part_of(trace, partition)
    if split != "all":
        trace = trace[slice(*split_range(trace, split))]
    if first_job is not None or job_count is not None:
        first = first_job or 0
        end = len(trace) if job_count is None else first + job_count
        if not 0 <= first < end <= len(trace):
            extent = f"{trace.name} has jobs 0 to {len(trace) - 1}"
            raise WorkloadError(f"{extent}; got first_job={first}, job_count={job_count}")
        trace = trace[first:end]
    if estimates != "user" or parameters:
        trace = rq.with_estimates(trace, estimates, seed=seed, **parameters)
    if load is not None:
        trace = with_load(trace, check_load("load", load))
    if arrival_rate is not None:
        trace = with_arrival_rate(trace, arrival_rate)
    if burst is not None:
        trace = with_bursts(trace, burst, DAY if burst_period is None else burst_period)
    elif burst_period is not None:
        raise WorkloadError(f"{trace.name}: burst_period={burst_period} needs burst")
    if shake_seconds is not None:
        trace = shaken(trace, shake_seconds, seed=seed)
    if all_at_once:
        trace = at_once(trace)
    if high_priority_share is not None:
        trace = rq.with_priorities(trace, high_priority_share, seed=seed)
    if requested_start_share is not None:
        most = DAY if max_advance is None else max_advance
        trace = rq.with_requested_starts(trace, requested_start_share, seed=seed, max_advance=most)
    elif max_advance is not None:
        raise WorkloadError(f"{trace.name}: max_advance={max_advance} needs requested_start_share")
    if restartable_share is not None:
        trace = rq.with_restartable_jobs(trace, restartable_share, seed=seed)
    return trace


def part_of(trace: Trace, partition: str) -> Trace:
    """Return the trace of one partition, on its own processors.

    Raises:
        WorkloadError: If the sizes of the partitions are not known, some nodes are in several of
            them, or none has the name or a job.
    """
    machines = partitions_of(trace).machines
    if not machines:
        raise WorkloadError(
            f"{trace.name}: the sizes of its partitions are not known; give them as in "
            "partitions='cpu=512,gpu=64'"
        )
    names = [machine.name for machine in machines if partition in machine.partitions]
    for _, part in traces_of_machines(trace):
        if names and part.name == f"{trace.name}:{names[0]}":
            return part
    raise WorkloadError(
        f"{trace.name} has no jobs in a partition {partition!r:.40}; it has "
        f"{listed([machine.name for machine in machines])}"
    )


def is_random(**options: Any) -> bool:
    """Return whether the seed matters with these options of `transformed`."""
    drawn = (
        "shake_seconds",
        "high_priority_share",
        "requested_start_share",
        "restartable_share",
    )
    return options.get("estimates") in rq.RANDOM or any(
        options.get(name) is not None for name in drawn
    )


def with_load(trace: Trace, load: float) -> Trace:
    """Stretch or shrink the submit times so that the trace has an offered load.

    Sizes, runtimes and estimates stay. The daily cycle becomes 24 h times old load / new load
    (Shmueli 2003, section 4.1). Requested start times and outages move with the submit times. The
    records do not change.

    Args:
        load: Work of the jobs over processors x time between the first and the last submission. It
            is reached up to the rounding of submit times to seconds.

    Raises:
        WorkloadError: If the load is not a positive number, if all jobs are submitted at once, or
            if the submit times would exceed 2**53 s or all become the same.

    Examples:
        >>> import bfenv
        >>> from bfenv.workloads import with_load
        >>> trace = bfenv.load_workload("lublin:jobs=1000")
        >>> round(with_load(trace, 0.9).offered_load, 3)
        0.9
    """
    check_trace(trace)
    own_load = _own_load(trace)  # first: without it, a load relative to it is infinite
    load = check_number("load", load, positive=True, error=WorkloadError)
    return _stretched(trace, own_load / load, f"load {load:g}", f"@{load:g}")


def with_arrival_rate(trace: Trace, arrival_rate: float) -> Trace:
    """Let jobs arrive faster or slower; otherwise like `with_load`.

    Lawson and Smirni (2002), section 3.2, use 1.25 and 1.5.

    Args:
        arrival_rate: Factor on the number of jobs that arrive in the same time.

    Raises:
        WorkloadError: If the rate is not a positive number, if all jobs are submitted at once, or
            if the submit times would exceed 2**53 s or all become the same.
    """
    check_trace(trace)
    rate = check_number("arrival_rate", arrival_rate, positive=True, error=WorkloadError)
    _own_load(trace)
    return _stretched(trace, 1 / rate, f"arrival_rate {rate:g}", f"@x{rate:g}")


def with_bursts(trace: Trace, burst: float, period: int = DAY) -> Trace:
    """Let jobs arrive in bursts: all jobs of a period in its first part, and then none.

    With a burst of 4 and a period of a day, a day's jobs arrive in the first six hours, four times
    as fast. Order, sizes, runtimes and the number of jobs in a period stay. Tsafrir (2010), section
    3.3, introduces burstiness to the log of CTC, but does not say how; this is our way. Requested
    start times move with the submit times; outages stay.

    Args:
        burst: How many times as long as the burst the period is; 1 changes nothing.
        period: Time from the begin of one burst to the next, in seconds from the first submission.

    Raises:
        WorkloadError: If the burst is not a number >= 1, or the period is not an integer from 1 up
            to 2**53.

    Examples:
        >>> import bfenv
        >>> from bfenv.workloads import with_bursts
        >>> trace = bfenv.make_trace([0, 40, 80, 100, 150], [1] * 5, [9] * 5, processors=4)
        >>> with_bursts(trace, 4, period=100).jobs.submit
        array([  0,  10,  20, 100, 112])
    """
    check_trace(trace)
    burst = check_number("burst", burst, 1, error=WorkloadError)
    period = check_integer("burst_period", period, 1, LARGEST_EXACT - 1, error=WorkloadError)
    first = trace.jobs.submit[0]
    begin, passed = np.divmod(trace.jobs.submit - first, period)
    submit = first + begin * period + (passed / burst).astype(np.int64)
    name = f"{trace.name}+burst-{burst:g}"
    return replace(trace, jobs=_resubmitted(trace, submit), name=name)


def shaken(trace: Trace, shake_seconds: int, *, seed: int) -> Trace:
    """Submit each job a little earlier or later, and order the jobs by the new times.

    Jobs that then share a second keep their order. Time 0 moves such that the first job is
    submitted when the first job was. Runs with several seeds show how much of a result depends on
    exact submit times (Tsafrir, Ouaknine and Feitelson 2007).

    Args:
        shake_seconds: Largest change. It is uniform in whole seconds, from -shake_seconds to
            +shake_seconds.
        seed: Random seed.

    Raises:
        WorkloadError: If shake_seconds is not an integer from 0 up to 2**53.
    """
    check_trace(trace)
    check_integer("shake_seconds", shake_seconds, 0, LARGEST_EXACT - 1, error=WorkloadError)
    jobs = trace.jobs
    submit = jobs.submit + rq.generator("shake", seed).integers(
        -shake_seconds, shake_seconds, len(trace), endpoint=True
    )
    origin = int(submit.min() - jobs.submit[0])
    return trace.select(
        np.argsort(submit, kind="stable"),
        _resubmitted(trace, submit - origin),
        name=f"{trace.name}+shaken-{shake_seconds}",
        time_of_day=(trace.time_of_day + origin) % DAY,
        outages=_moved(trace, 1.0, -origin),
    )


def at_once(trace: Trace) -> Trace:
    """Submit all jobs at the start, queued in the order they had.

    This is the off-line case of Zotkin, Keleher and Perkovic (2000), section 4: the scheduler knows
    all jobs from the beginning. Requested start times keep their distance from the submit times.
    """
    check_trace(trace)
    return replace(
        trace,
        jobs=_resubmitted(trace, np.full(len(trace), trace.jobs.submit[0])),
        name=f"{trace.name}+offline",
    )


def windows(trace: Trace, jobs: int) -> list[Trace]:
    """Return parts of consecutive jobs of a trace, each of which begins at time 0.

    Args:
        jobs: Jobs in a part; the last part holds the rest.

    Raises:
        WorkloadError: If `jobs` is not an integer >= 1.

    Examples:
        >>> import bfenv
        >>> from bfenv.workloads import windows
        >>> [len(part) for part in windows(bfenv.load_workload("lublin:jobs=1000"), 400)]
        [400, 400, 200]
    """
    check_trace(trace)
    jobs = check_integer("jobs", jobs, 1, error=WorkloadError)
    return [trace[begin : begin + jobs] for begin in range(0, len(trace), jobs)]


def split_range(trace: Trace, split: str) -> tuple[int, int]:
    """Find the jobs in a part of a trace's time span.

    Args:
        split: "train" is the first half, "validation" the next tenth, "test" the last 40 %, "all"
            everything.

    Returns:
        tuple:
        * `first` (int): Index of the first job.
        * `last` (int): One past the index of the last job.

    Raises:
        UnknownNameError: If there is no such split.
        WorkloadError: If no job is in the part.

    Examples:
        >>> import bfenv
        >>> from bfenv.workloads import split_range
        >>> trace = bfenv.make_trace(range(0, 100, 10), [1] * 10, [5] * 10, processors=4)
        >>> split_range(trace, "train"), split_range(trace, "test")
        ((0, 5), (6, 10))
    """
    check_trace(trace)
    if not isinstance(split, str) or split not in SPLITS:
        if isinstance(split, str) and split.partition(":")[0] in SPLITS:
            raise WorkloadError(f"split={split}: separate options by commas, not colons")
        raise UnknownNameError("split", str(split), SPLITS)
    first, last = (_jobs_before(trace, percent) for percent in SPLITS[split])
    if first >= last:
        raise WorkloadError(f"{trace.name}: no job in the split {split!r}")
    return first, last


def _jobs_before(trace: Trace, percent: int) -> int:
    """Count the jobs submitted before that part of the time span is over; at 100 %, all."""
    if percent == 100:
        return len(trace)
    submit = trace.jobs.submit
    begin, end = int(submit[0]), int(submit[-1])
    instant = begin - (begin - end) * percent // 100  # rounded up
    return int(np.searchsorted(submit, instant))


def _own_load(trace: Trace) -> float:
    """Return the offered load; WorkloadError if all jobs are submitted at once."""
    load = trace.offered_load
    if not math.isfinite(load):
        raise WorkloadError(f"{trace.name}: all jobs have the same submit time, so it has no load")
    return load


def _stretched(trace: Trace, stretch: float, setting: str, suffix: str) -> Trace:
    """Multiply the submit times; for the message, what for, and for the name, its suffix."""
    jobs = trace.jobs
    if not int(jobs.submit[-1]) * stretch < LARGEST_EXACT:
        raise WorkloadError(f"{trace.name}: {setting} would push submit times beyond 2**53 s")
    submit = np.rint(jobs.submit * stretch).astype(np.int64)
    if submit[0] == submit[-1]:
        raise WorkloadError(f"{trace.name}: {setting} would submit all jobs in the same second")
    return replace(
        trace,
        jobs=_resubmitted(trace, submit),
        name=f"{trace.name}{suffix}",
        outages=_moved(trace, stretch, 0),
    )


def _moved(trace: Trace, stretch: float, shift: int) -> tuple[Outage, ...]:
    """Move the outages with the submit times; what then lies before time 0 is left out."""
    moved = (
        Outage(max(round(begin * stretch) + shift, 0), round(end * stretch) + shift, processors)
        for begin, end, processors in trace.outages
    )
    return tuple(outage for outage in moved if outage.end > outage.begin)


def _resubmitted(trace: Trace, submit: np.ndarray) -> Jobs:
    """Return the jobs with other submit times; requested start times move with them."""
    jobs = trace.jobs
    delay = np.maximum(jobs.requested_start - jobs.submit, 0)
    requested = np.where(jobs.requested_start > 0, submit + delay, 0)
    return jobs._replace(submit=submit, requested_start=requested)
