"""New traces from old: load and chronological splits (workloads layer)."""

import math
from dataclasses import replace

import numpy as np

from bfenv.core.errors import UnknownName, WorkloadError
from bfenv.core.jobs import Trace

# Shares of a trace's time span. What is trained on comes first, and is never scored.
SPLITS = {"train": (0.0, 0.5), "validation": (0.5, 0.6), "test": (0.6, 1.0), "all": (0.0, 1.0)}


def with_load(trace: Trace, load: float) -> Trace:
    """The trace at an offered load, reached by stretching or shrinking the submit times.

    Sizes, runtimes, estimates and their relations stay; the daily cycle becomes 24 h times
    old load / new load (Shmueli 2003, section 4.1). Requested start times move with the submit
    times. Raises WorkloadError unless load is positive and the jobs are spread over time.
    """
    if not (math.isfinite(load) and load > 0):
        raise WorkloadError(f"load is a positive number, not {load}")
    if not math.isfinite(trace.offered_load):
        raise WorkloadError(
            f"{trace.name}: all jobs are submitted at once, there is no load to set"
        )
    jobs = trace.jobs
    submit = np.rint(jobs.submit * (trace.offered_load / load)).astype(np.int64)
    delay = np.maximum(jobs.requested_start - jobs.submit, 0)
    return replace(
        trace,
        jobs=jobs._replace(
            submit=submit,
            requested_start=np.where(jobs.requested_start > 0, submit + delay, 0),
        ),
        name=f"{trace.name}@{load:g}",
        records=None,
    )


def split_range(trace: Trace, split: str) -> tuple[int, int]:
    """First job and one past the last job of a named part of the trace's time span.

    "train" is the first half, "validation" the next tenth, "test" the last 40 %, "all" everything.
    Raises UnknownName on another name and WorkloadError when no job is in the part.
    """
    if split not in SPLITS:
        raise UnknownName("split", split, SPLITS)
    submit = trace.jobs.submit
    begin, end = (submit[0] + share * (submit[-1] - submit[0]) for share in SPLITS[split])
    first = int(np.searchsorted(submit, begin))
    last = len(trace) if SPLITS[split][1] == 1.0 else int(np.searchsorted(submit, end))
    if first >= last:
        raise WorkloadError(f"{trace.name}: no job in the split {split!r}")
    return first, last
