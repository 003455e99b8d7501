"""Jobs that wait for others: which ones, and for how long after their ends.

SWF has a preceding job (field 17) and a think time (field 18): a job can start no earlier than the
end of the one before plus its think time.
"""

from typing import NamedTuple

import numpy as np

from bfenv.core.jobs import JOB, PRECEDING, THINK, Trace


class Dependencies(NamedTuple):
    """What each job of a trace waits for."""

    before: np.ndarray  # (n,) int64 jobs, by their places in the trace; -1 for none
    think: np.ndarray  # (n,) int64 seconds from the end of that job on


def dependencies_of(trace: Trace) -> Dependencies | None:
    """Return what the records of a trace say of dependencies; None if no job waits for another.

    A job waits only for one that was submitted before it and is in the trace.
    """
    if trace.records is None or not trace.has_dependencies:
        return None
    preceding = trace.records[:, PRECEDING].astype(np.int64)
    number = trace.records[:, JOB].astype(np.int64)
    place = dict(zip(number.tolist(), range(len(trace)), strict=True))
    before = np.array([place.get(job, -1) if job > 0 else -1 for job in preceding.tolist()])
    before[before >= np.arange(len(trace))] = -1
    if (before < 0).all():
        return None
    think = np.maximum(0, np.floor(trace.records[:, THINK] + 0.5).astype(np.int64))
    return Dependencies(before, np.where(before < 0, 0, think))
