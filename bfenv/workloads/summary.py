"""Numbers about a workload: its content, its gaps, how its users estimate."""

import re
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from bfenv.core.jobs import Trace
from bfenv.workloads.logs.swf import FIELDS, SUBMIT

POPULAR = 20  # estimates, the number that Tsafrir (JSSPP 2010), section 5, counts
QUANTILES = (10, 25, 50, 75, 90)  # percent
DAY = 86_400  # seconds


def summary(trace: Trace) -> dict[str, Any]:
    """What there is to say about a trace, ready for JSON.

    Times are in seconds, shares from 0 to 1. Of runtimes, estimates, sizes, the gaps between
    submit times and the accuracy, runtime over estimate, there are mean, quantiles and maximum;
    `missing` are the SWF fields that the log lacks, with the share of its jobs; `popular` the
    estimates most used; `cleaning` what was dropped and changed when the log was read.
    `offered_load` is None when all jobs are submitted at once.
    """
    jobs, count = trace.jobs, len(trace)
    span = int(jobs.submit[-1] - jobs.submit[0])
    accuracy = trace.runtime / jobs.estimate
    popular = popular_estimates(trace)
    parallel = jobs.size > 1
    power = (jobs.size & (jobs.size - 1)) == 0
    day = first_weekday(trace)
    return {
        "workload": trace.name,
        "hash": trace.hash,
        "processors": trace.processors,
        "jobs": count,
        "dropped": trace.cleaning.dropped,
        "span": span,
        "time_of_day": trace.time_of_day,
        "weekday": None if day is None else WEEKDAYS[day],
        "offered_load": trace.offered_load if span else None,
        "users": len(np.unique(jobs.user[jobs.user >= 0])),
        "no_user": float(np.mean(jobs.user < 0)),
        "size": _spread(jobs.size),
        "serial": float(np.mean(~parallel)),
        "parallel_powers_of_two": float(np.mean(power & parallel)),
        "runtime": _spread(trace.runtime),
        "estimate": _spread(jobs.estimate),
        "accuracy": _spread(accuracy),
        "exact": float(np.mean(trace.runtime == jobs.estimate)),
        "gap": _spread(np.diff(jobs.submit)) if count > 1 else None,
        "high_priority": float(np.mean(jobs.priority > 0)),
        "requested_start": float(np.mean(jobs.requested_start > 0)),
        "distinct_estimates": len(np.unique(jobs.estimate)),
        "popular_share": sum(one["share"] for one in popular),
        "popular": popular,
        "missing": missing_fields(trace),
        "cleaning": asdict(trace.cleaning),
    }


def popular_estimates(trace: Trace, most: int = POPULAR) -> list[dict[str, Any]]:
    """The estimates most used and the share of the jobs that use them, most popular first."""
    values, counts = np.unique(trace.jobs.estimate, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:most]
    return [
        {"estimate": int(values[i]), "jobs": int(counts[i]), "share": float(counts[i] / len(trace))}
        for i in order
    ]


def missing_fields(trace: Trace) -> dict[str, float]:
    """SWF fields that are -1 in the trace's records, with the share of the jobs concerned.

    Fields that every job has are left out; a trace without records has none to miss.
    """
    if trace.records is None:
        return {}
    shares = np.mean(trace.records == -1, axis=0)
    return {name: float(share) for name, share in zip(FIELDS, shares, strict=True) if share}


def first_weekday(trace: Trace) -> int | None:
    """The day of the week at time 0, 0 is Monday; None where the log does not tell its date."""
    labels = dict(
        match.groups() for line in trace.header[::-1] if (match := LABEL.match(line)) is not None
    )
    start = re.match(r"[0-9]{1,11}", labels.get("UnixStartTime", ""))
    if trace.records is None or start is None or int(start.group()) == 0:
        return None
    try:
        zone = ZoneInfo(labels["TimeZoneString"]) if "TimeZoneString" in labels else UTC
        moment = int(start.group()) + int(trace.records[0, SUBMIT]) - int(trace.jobs.submit[0])
        return datetime.fromtimestamp(moment, zone).weekday()
    except (KeyError, ValueError, OSError, OverflowError):
        return None


def hours(trace: Trace) -> np.ndarray:
    """The hour of the day at which each job is submitted, (n,) int64 from 0 to 23.

    By the clock as it stood at the trace's beginning: summer time is not followed.
    """
    return (trace.time_of_day + trace.jobs.submit) % DAY // 3600


def weekdays(trace: Trace) -> np.ndarray | None:
    """The day of the week on which each job is submitted, (n,) int64, 0 is Monday; or None."""
    first = first_weekday(trace)
    if first is None:
        return None
    return (first + (trace.time_of_day + trace.jobs.submit) // DAY) % 7


WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
LABEL = re.compile(r"\s*(UnixStartTime|TimeZoneString)\s*:\s*(\S+)")


def _spread(values: np.ndarray) -> dict[str, float]:
    quantiles = np.percentile(values, QUANTILES)
    return {
        "mean": float(np.mean(values)),
        **{f"p{q}": float(value) for q, value in zip(QUANTILES, quantiles, strict=True)},
        "max": float(np.max(values)),
    }
