"""New traces from old: load and chronological splits (workloads layer)."""

import math
from dataclasses import replace
from numbers import Real

import numpy as np

from bfenv.core.errors import UnknownName, WorkloadError
from bfenv.core.jobs import Trace

# Percent of a trace's time span. What is trained on comes first, and is never scored.
SPLITS = {"train": (0, 50), "validation": (50, 60), "test": (60, 100), "all": (0, 100)}
LATEST = 2**53  # seconds; beyond it a float no longer counts seconds


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
    jobs, stretch = trace.jobs, old / load
    if not int(jobs.submit[-1]) * stretch < LATEST:
        raise WorkloadError(f"{trace.name}: at load {load:g} the jobs come later than ever")
    submit = np.rint(jobs.submit * stretch).astype(np.int64)
    if submit[0] == submit[-1]:
        raise WorkloadError(f"{trace.name}: at load {load:g} all jobs come in the same second")
    delay = np.maximum(jobs.requested_start - jobs.submit, 0)
    return replace(
        trace,
        jobs=jobs._replace(
            submit=submit,
            requested_start=np.where(jobs.requested_start > 0, submit + delay, 0),
        ),
        name=f"{trace.name}@{load:g}",
    )


def split_range(trace: Trace, split: str) -> tuple[int, int]:
    """First job and one past the last job of a named part of the trace's time span.

    "train" is the first half, "validation" the next tenth, "test" the last 40 %, "all" everything.
    Raises UnknownName on another name and WorkloadError when no job is in the part.
    """
    if split not in SPLITS:
        raise UnknownName("split", split, SPLITS)
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
