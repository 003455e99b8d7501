"""The schedule that a log records, as it ran, and what in the log no simulation follows."""

from itertools import pairwise

import numpy as np

from bfenv.analysis.formatting import count_of, duration, percent
from bfenv.core.dependencies import dependencies_of
from bfenv.core.jobs import Trace
from bfenv.core.partitions import is_partitioned
from bfenv.core.schedule import Schedule
from bfenv.workloads.logs.header import estimates_filled_in
from bfenv.workloads.logs.outages import outage_texts
from bfenv.workloads.logs.records import GROUP, PARTITION, PRECEDING, QUEUE, WAIT, requests_in

LOGGED = "logged"  # the name that this schedule has beside the policies
MOST_UNKNOWN = 0.01  # share of the jobs whose wait may be missing
TIGHT = 0.001  # share of the time for which the machine may be overfull without a word


def logged_schedule(trace: Trace) -> Schedule | None:
    """Return the starts that the log records, as a schedule.

    A job starts at its submit time plus its logged wait (SWF field 3). It runs for the trace's
    runtime, which may have been cut to the estimate. Jobs without a wait start at once; there may
    be 1 % of them. The schedule need not be one that the machine allows: see `cautions`.

    Args:
        trace: The trace of a log.

    Returns:
        None if the log has no waits, or if the trace has other submit times or sizes than the log.
    """
    if trace.records is None:
        return None
    requests = requests_in(trace.records)
    submit, jobs = requests.submit, trace.jobs
    is_own = np.array_equal(submit - submit[0], jobs.submit - jobs.submit[0])
    if not is_own or not np.array_equal(requests.size, jobs.size):
        return None
    wait = np.floor(trace.records[:, WAIT] + 0.5).astype(np.int64)
    if np.mean(wait < 0) > MOST_UNKNOWN:
        return None
    start = jobs.submit + np.maximum(wait, 0)
    never = np.full(len(trace), -1)
    return Schedule(trace, LOGGED, 0, start, start + trace.runtime, never, never)


def cautions(logged: Schedule) -> list[str]:
    """List what a simulation of this log leaves out, and where the log contradicts the machine.

    Args:
        logged: The schedule of `logged_schedule`.

    Returns:
        Sentences without a full stop; those on the machine come first.
    """
    trace = logged.trace
    if trace.records is None:
        raise ValueError(f"{trace.name}: a logged schedule needs the log's records")
    return [*_overfull(logged), *_changed(logged), *_left_out(trace, trace.records)]


def _overfull(logged: Schedule) -> list[str]:
    """Tell whether the log uses more processors than the machine has."""
    times, used = logged.usage()
    processors, length = logged.trace.processors, np.diff(times)
    over = used[:-1] > processors
    share = float(length[over].sum() / length.sum()) if length.sum() else 0.0
    if share <= TIGHT:
        return []
    return [
        f"the log uses up to {int(used.max()):,} processors of a machine of {processors:,}, and "
        f"more than it has for {percent(share)} of the time: the machine's size may be wrong"
    ]


def _changed(logged: Schedule) -> list[str]:
    """Tell whether the most processors in use changed between parts of the log.

    The log is cut into ten parts of equal length. Outages and a growing machine both show as parts
    whose peak is well below the peak of all.
    """
    times, used = logged.usage()
    begin, end = int(logged.trace.jobs.submit[0]), int(logged.trace.jobs.submit[-1])
    cuts = np.linspace(begin, end, 11)
    low: list[bool] = []
    peak = min(int(used.max()), logged.trace.processors)
    for left, right in pairwise(cuts):
        first, last = np.searchsorted(times, (left, right))
        most = used[max(first - 1, 0) : last].max() if last else 0
        low.append(bool(most < 0.8 * peak))
    if not any(low):
        return []
    return [
        f"in {sum(low)} of 10 parts of the log, less than 80 % of the peak is ever in use: its "
        "capacity may have changed"
    ]


def without_estimate(trace: Trace) -> list[str]:
    """Tell how many jobs have no estimate in the log, and what stands in for it."""
    missing = trace.cleaning.no_estimate or estimates_filled_in(trace.header)
    if not missing:
        return []
    if (trace.jobs.estimate == trace.runtime).all():
        return [
            "no job has an estimate in the log, so policies know each runtime exactly, and the "
            "simulated waits are too short"
        ]
    stands_in = "their runtime" if trace.cleaning.no_estimate else "the longest of their partition"
    have = "has" if missing == 1 else "have"
    return [
        f"{count_of(missing, len(trace))} {have} no estimate in the log: {stands_in} stands in for "
        "it"
    ]


def _announced(trace: Trace) -> str:
    count, length = len(trace.outages), sum(outage.end - outage.begin for outage in trace.outages)
    shown = "; ".join(outage_texts(trace, trace.outages))
    return (
        f"that outages come as a surprise: policies know all {count:,} in advance "
        f"({duration(length)} in all: {shown})"
        if count > 1
        else f"that an outage comes as a surprise: policies know it in advance ({shown})"
    )


def _left_out(trace: Trace, records: np.ndarray) -> list[str]:
    left_out = []
    for field, noun in ((PARTITION, "partitions"), (QUEUE, "queues")):
        count = len(np.unique(records[:, field]))
        if count > 1 and not (field == PARTITION and is_partitioned(trace)):
            left_out.append(f"{count} {noun} and their limits and priorities are one queue here")
    groups = len(np.unique(records[:, GROUP][records[:, GROUP] >= 0]))
    if groups > 1:
        left_out.append(f"shares and limits of {groups} groups")
    follow = dependencies_of(trace)
    waits = 0 if follow is None else int(np.sum(follow.before >= 0))
    if chained := int(np.sum(records[:, PRECEDING] > 0)) - waits:
        wait = "waits" if chained == 1 else "wait"
        left_out.append(f"that {count_of(chained, len(trace))} {wait} for another job")
    over = requests_in(records).runtime - trace.runtime
    if longer := int(np.sum(over > 0)):
        left_out.append(
            f"{count_of(longer, len(trace))} ran beyond the estimate, by "
            f"{duration(int(over.max()))} at most, and {'is' if longer == 1 else 'are'} cut here"
        )
    left_out += without_estimate(trace)
    if trace.outages:
        left_out.append(_announced(trace))
    else:
        left_out.append("outages and maintenance")
    left_out.append("memory, nodes and other resources than processors")
    return left_out
