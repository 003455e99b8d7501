"""Outages: found in a log, read from a file, kept in the header of SWF."""

import os
import re
from collections.abc import Iterable

import numpy as np

from bfenv.core.durations import HOUR
from bfenv.core.errors import WorkloadError
from bfenv.core.jobs import Outage, Trace
from bfenv.workloads.logs.header import date_at
from bfenv.workloads.logs.records import WAIT
from bfenv.workloads.logs.text import numbered_lines
from bfenv.workloads.logs.times import find_zone, read_integer, read_time

LABEL = re.compile(r"\s*Outage\s*:\s*([0-9]{1,15})\s+([0-9]{1,15})\s+([0-9]{1,15})\s*$")
SHORTEST = HOUR  # seconds of an outage that is found in a log
FEWEST = 5  # jobs that must wait throughout it


def read_outages(header: Iterable[str], origin: int, processors: int) -> tuple[Outage, ...]:
    """Return the outages in the header of an SWF file.

    Parameters
    ----------
    header
        Its lines. Those like "Outage: BEGIN END PROCESSORS" count, with times in the file's
        seconds.
    origin
        The second of the file at which the trace begins.
    processors
        Of the machine; an outage of more takes all.
    """
    found = []
    for match in filter(None, map(LABEL.match, header)):
        begin, end, out = (int(text) for text in match.groups())
        if end > max(begin, origin) and out:
            found.append(Outage(max(begin - origin, 0), end - origin, min(out, processors)))
    return tuple(sorted(found))


def outage_lines(outages: Iterable[Outage], origin: int) -> list[str]:
    """Return the lines of a header that `read_outages` reads as these outages."""
    return [f"Outage: {a + origin} {b + origin} {processors}" for a, b, processors in outages]


def load_outages(
    path: str | os.PathLike[str], trace: Trace, timezone: str = "UTC"
) -> tuple[Outage, ...]:
    """Read the outages of a trace's machine from a file.

    Each line is "begin,end" or "begin,end,processors", without processors for the whole machine.
    Times are local dates with times of day, or seconds since 1970. A line with neither, such as
    one of column names, is an error unless it is the first.

    Parameters
    ----------
    path
        The file.
    trace
        A trace whose log has a date. Parts of outages before its first submission are left out.
    timezone
        Of times without an offset.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    WorkloadError
        If a line cannot be read, or the trace has no date.
    """
    zero = date_at(trace, 0)
    if zero is None:
        raise WorkloadError(f"{trace.name}: outages need a log with dates (UnixStartTime)")
    zone, begin = find_zone(timezone), round(zero.timestamp())
    found = []
    for i, (number, line) in enumerate(numbered_lines(path)):
        words = [word.strip() for word in line.split(",")]
        try:
            first, last = (read_time(word, zone)[0] for word in words[:2])
            out = read_integer(words[2]) if len(words) > 2 else trace.processors
            if last <= first or not out or out < 1 or len(words) > 3:
                raise ValueError
        except (ValueError, IndexError):
            if i == 0:
                continue  # column names
            raise WorkloadError(
                f"{path}:{number}: {line[:60]!r} is not begin,end or begin,end,processors"
            ) from None
        if last > begin:
            out = min(out, trace.processors)
            found.append(Outage(max(first - begin, 0), last - begin, out))
    return tuple(sorted(found))


def find_outages(trace: Trace) -> tuple[Outage, ...]:
    """Find the times at which the whole machine stood still although jobs waited.

    An outage is a time of at least an hour in which no job runs, by the log's own waits, and five
    or more jobs wait from its begin to its end. It is shorter than the real one, which began while
    the last jobs were still running, and outages of a part of the machine are not found.
    """
    if trace.records is None or (trace.records[:, WAIT] < 0).all():
        return ()
    wait = np.maximum(trace.records[:, WAIT], 0).astype(np.int64)
    submit, start = trace.jobs.submit, trace.jobs.submit + wait
    order = np.argsort(start, kind="stable")
    latest = np.maximum.accumulate((start + trace.runtime)[order])
    begins, ends = latest[:-1], start[order][1:]
    found = []
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        if end - begin >= SHORTEST and np.sum((submit <= begin) & (start >= end)) >= FEWEST:
            found.append(Outage(begin, end, trace.processors))
    return tuple(found)
