"""Outages: found in a log, kept in the header of SWF, and in words."""

import re
import warnings
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from bfenv.core.durations import HOUR
from bfenv.core.jobs import Outage, Trace
from bfenv.workloads.logs.header import date_at
from bfenv.workloads.logs.records import WAIT

# What outages take that are made one of the whole machine, for messages
MORE_THAN_ALL = (
    "more processors than the machine has at a time; the whole machine is out of service then"
)
SHORTEST = HOUR  # seconds of an outage that is found in a log
FEWEST = 5  # jobs that must wait throughout it
LABEL = re.compile(r"\s*Outage\s*:\s*([0-9]{1,15})\s+([0-9]{1,15})\s+([0-9]{1,15})\s*$")


def read_outages(header: Iterable[str], origin: int, processors: int) -> tuple[Outage, ...]:
    """Return the outages in the header of an SWF file.

    Lines like "Outage: BEGIN END PROCESSORS" count, with times in the file's seconds. The trace
    begins at `origin` of these. An outage of more than the machine's processors takes all. Outages
    that take more at a time take all then, and a warning says so.
    """
    outages = []
    for match in filter(None, map(LABEL.match, header)):
        begin, end, out = (int(text) for text in match.groups())
        if end > max(begin, origin) and out:
            outages.append(Outage(max(begin - origin, 0), end - origin, min(out, processors)))
    united, cut = united_outages(outages, processors)
    if cut:
        warnings.warn(
            f"{cut:,} outages in the header take {MORE_THAN_ALL}",
            stacklevel=3,
        )
    return united


def united_outages(outages: Iterable[Outage], processors: int) -> tuple[tuple[Outage, ...], int]:
    """Unite outages of the whole machine, and cut those of a part to what is left beside them.

    Outages of a part that take more than the machine has at a time are one of the whole machine
    then.

    Args:
        outages: In any order; of several at once, the processors add up.
        processors: Of the machine.

    Returns:
        The outages by their begin, and how many of a part took more than the machine had.
    """
    outages = list(outages)
    whole = [(outage.begin, outage.end) for outage in outages if outage.processors >= processors]
    parts = [outage for outage in outages if outage.processors < processors]
    times = sorted({time for outage in parts for time in (outage.begin, outage.end)})
    cut: set[int] = set()
    for begin, end in pairwise(times):
        overlap = [i for i, outage in enumerate(parts) if outage.begin <= begin < outage.end]
        if sum(parts[i].processors for i in overlap) > processors:
            whole.append((begin, end))
            cut.update(overlap)
    united: list[list[int]] = []
    for begin, end in sorted(whole):
        if united and begin <= united[-1][1]:
            united[-1][1] = max(united[-1][1], end)
        else:
            united.append([begin, end])
    result = [Outage(begin, end, processors) for begin, end in united]
    for part in parts:
        begin = part.begin
        for first, last in united:
            if first < part.end and last > begin:
                if begin < first:
                    result.append(Outage(begin, first, part.processors))
                begin = max(begin, last)
        if begin < part.end:
            result.append(Outage(begin, part.end, part.processors))
    return tuple(sorted(result)), len(cut)


def outage_lines(outages: Iterable[Outage], origin: int) -> list[str]:
    """Return the lines of a header that `read_outages` reads as these outages."""
    return [f"Outage: {a + origin} {b + origin} {processors}" for a, b, processors in outages]


def outage_texts(trace: Trace, outages: Sequence[Outage], most: int = 3) -> list[str]:
    """Return begin, end and size of the first outages in words, and how many more there are.

    Times are in the log's time zone, or seconds of the trace if its log has no date.
    """
    texts = []
    for begin, end, processors in outages[:most]:
        first, last = date_at(trace, begin), date_at(trace, end)
        if first is None or last is None:
            period = f"{begin} s to {end} s"
        else:
            period = f"{first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} ({first.tzinfo})"
        whole = processors == trace.processors
        texts.append(period + ("" if whole else f", {processors:,} processors"))
    if len(outages) > most:
        texts.append(f"and {len(outages) - most:,} more")
    return texts


def find_outages(trace: Trace) -> tuple[Outage, ...]:
    """Find the times at which the whole machine stood still although jobs waited.

    An outage is a time of at least an hour in which no job runs, by the log's own waits, and five
    or more jobs wait from its begin to its end. It is shorter than a real one that began while jobs
    were still running, and longer than one for which the machine was drained. Outages of a part of
    the machine are not found.
    """
    if trace.records is None or (trace.records[:, WAIT] < 0).all():
        return ()
    wait = np.maximum(trace.records[:, WAIT], 0).astype(np.int64)
    submit, start = trace.jobs.submit, trace.jobs.submit + wait
    order = np.argsort(start, kind="stable")
    latest = np.maximum.accumulate((start + trace.runtime)[order])
    begins, ends = latest[:-1], start[order][1:]
    outages = []
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        if end - begin >= SHORTEST and np.sum((submit <= begin) & (start >= end)) >= FEWEST:
            outages.append(Outage(begin, end, trace.processors))
    return tuple(outages)
