"""Numbers about a workload: its content, its arrivals, and how its users estimate."""

from typing import Any

import numpy as np

from bfenv.core.durations import DAY, HOUR, MINUTE
from bfenv.core.jobs import Trace, check_trace
from bfenv.workloads.logs.cleaning import counts_of
from bfenv.workloads.logs.header import date_at
from bfenv.workloads.logs.records import FIELDS

POPULAR = 20  # estimates, the number that Tsafrir (JSSPP 2010), section 5, counts
CRASH_ESTIMATE, CRASH_RUNTIME = 1000, 3 * MINUTE  # seconds, of `crashed_jobs`
QUANTILES = (10, 25, 50, 75, 90)  # percent
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def summarize(trace: Trace) -> dict[str, Any]:
    """Describe a trace in numbers.

    Args:
        trace: The trace.

    Returns:
        Values that JSON can hold. Times are in seconds, shares from 0 to 1. `size`, `runtime`,
        `estimate`, `gap` (between submit times) and `accuracy` (runtime / estimate) hold mean,
        quantiles and maximum. `missing` holds the SWF fields that the log lacks, with the share of
        its jobs, `popular` the most frequent estimates, `cleaning` what was dropped and changed
        when the log was read. `offered_load` is None if all jobs are submitted at once.

    Examples:
        >>> import bfenv
        >>> from bfenv.workloads import summarize
        >>> numbers = summarize(bfenv.load_workload("lublin:jobs=1000,load=0.9"))
        >>> numbers["processors"], numbers["jobs"], round(numbers["offered_load"], 3)
        (256, 1000, 0.9)
    """
    check_trace(trace)
    jobs, count = trace.jobs, len(trace)
    span = int(jobs.submit[-1] - jobs.submit[0])
    popular = popular_estimates(trace)
    parallel = jobs.size > 1
    power_of_two = (jobs.size & (jobs.size - 1)) == 0
    begin = date_at(trace, 0)
    absent = np.zeros(len(FIELDS))
    if trace.records is not None:
        absent = np.mean(trace.records == -1, axis=0)
    return {
        "workload": trace.name,
        "hash": trace.hash,
        "processors": trace.processors,
        "jobs": count,
        "dropped": trace.cleaning.dropped,
        "span": span,
        "time_of_day": trace.time_of_day,
        "weekday": None if begin is None else WEEKDAYS[begin.weekday()],
        "offered_load": trace.offered_load if span else None,
        "users": len(np.unique(jobs.user[jobs.user >= 0])),
        "no_user": float(np.mean(jobs.user < 0)),
        "size": _spread(jobs.size),
        "serial": float(np.mean(~parallel)),
        "parallel_powers_of_two": float(np.mean(power_of_two & parallel)),
        "runtime": _spread(trace.runtime),
        "estimate": _spread(jobs.estimate),
        "accuracy": _spread(trace.runtime / jobs.estimate),
        "exact": float(np.mean(trace.runtime == jobs.estimate)),
        "crashed": float(np.mean(crashed_jobs(trace))),
        "gap": _spread(np.diff(jobs.submit)) if count > 1 else None,
        "high_priority": float(np.mean(jobs.priority > 0)),
        "requested_start": float(np.mean(jobs.requested_start > 0)),
        "distinct_estimates": len(np.unique(jobs.estimate)),
        "popular_share": sum(entry["share"] for entry in popular),
        "popular": popular,
        "missing": {name: float(part) for name, part in zip(FIELDS, absent, strict=True) if part},
        "cleaning": counts_of(trace.cleaning),
    }


def crashed_jobs(
    trace: Trace,
    estimate_above: int = CRASH_ESTIMATE,
    runtime_below: int = CRASH_RUNTIME,
) -> np.ndarray:
    """Find the jobs that appear to have crashed: long estimates, but very short runtimes.

    Lawson and Smirni 2002, section 2 and Table 1.

    Args:
        trace: The trace.
        estimate_above: Such a job has a longer estimate, in seconds.
        runtime_below: And a shorter runtime, in seconds.

    Returns:
        (n,) bool.

    Examples:
        >>> import bfenv
        >>> from bfenv.workloads import crashed_jobs
        >>> trace = bfenv.make_trace([0, 0], [1, 1], [60, 600], processors=2, estimate=[3600, 3600])
        >>> crashed_jobs(trace)
        array([ True, False])
    """
    crashed: np.ndarray = (trace.jobs.estimate > estimate_above) & (trace.runtime < runtime_below)
    return crashed


def popular_estimates(trace: Trace, most: int = POPULAR) -> list[dict[str, Any]]:
    """List the most frequent estimates, each with its number and its share of the jobs.

    Returns at most `most` dicts of `estimate` (seconds), `jobs` and `share`, most frequent first,
    ties by length.
    """
    values, counts = np.unique(trace.jobs.estimate, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:most]
    return [
        {"estimate": int(values[i]), "jobs": int(counts[i]), "share": float(counts[i] / len(trace))}
        for i in order
    ]


def hours(trace: Trace) -> np.ndarray:
    """Return the hour of the day at which each job is submitted, (n,) int64 from 0 to 23.

    The time zone's offset at the begin of the trace holds throughout, also in summer time.
    """
    return (trace.time_of_day + trace.jobs.submit) % DAY // HOUR


def _spread(values: np.ndarray) -> dict[str, float]:
    quantiles = np.percentile(values, QUANTILES)
    return {
        "mean": float(np.mean(values)),
        **{f"p{q}": float(value) for q, value in zip(QUANTILES, quantiles, strict=True)},
        "max": float(np.max(values)),
    }
