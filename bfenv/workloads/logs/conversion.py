"""The runs in another system's log, converted to a trace with SWF records and header."""

import gc
import operator
import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypedDict, TypeVar

import numpy as np

from bfenv.core.errors import WorkloadError
from bfenv.core.jobs import Trace, make_trace
from bfenv.workloads.logs import records as swf
from bfenv.workloads.logs.cleaning import (
    CHANGED,
    DROPPED,
    Conversion,
    apply_overrun,
    check_options,
    check_processors,
    count_reasons,
    malformed_warning,
)
from bfenv.workloads.logs.estimates import (
    check_longest,
    check_unit,
    fill_estimates,
    read_longest,
)
from bfenv.workloads.logs.run import UNKNOWN, Dropped, Run, column, number_names, peak_use
from bfenv.workloads.logs.selection import (
    EVERYTHING,
    Selection,
    check_names,
    count_dropped,
    select,
    write_ids,
    write_users,
)
from bfenv.workloads.logs.times import find_zone, time_of_day

FEW_PARTITIONS = 8  # whose own use a message lists

Line = TypeVar("Line")


class CommonOptions(TypedDict, total=False):
    """Options of all readers; `read_sacct` describes them, and `convert` has the defaults."""

    timezone: str
    selection: Selection
    longest: int | str | None
    overrun: str
    on_error: str


class ReaderOptions(CommonOptions, total=False):
    """All options of a reader that has none of its own."""

    processors: int | None


def parse_lines(
    path: str | os.PathLike[str],
    lines: Iterable[tuple[int, Line]],
    parse: Callable[[Line], Run | Dropped | str],
    on_error: str,
) -> tuple[list[Run], Counter[Dropped]]:
    """Parse the lines of a log.

    Parameters
    ----------
    path
        The log, for messages.
    lines
        Number and content of each line.
    parse
        Returns the run in a line, or the reason why there is none, a key of `DROPPED`, with the
        partition or without. Its ValueError means that the line is malformed.
    on_error
        "raise" ends at a malformed line, "skip" counts it, with a warning.

    Returns
    -------
    tuple
        The runs, and the number of other lines by reason and partition.

    Raises
    ------
    WorkloadError
        If a line is malformed and `on_error` is "raise".
    """
    runs: list[Run] = []
    dropped: Counter[Dropped] = Counter()
    first = ""
    with _no_collection():
        for number, line in lines:
            try:
                result = parse(line)
            except ValueError as error:
                message = f"{path}:{number}: {error}"
                if on_error == "raise":
                    raise WorkloadError(f"{message}; --skip leaves such lines out") from None
                result, first = "malformed", first or message
            if isinstance(result, Run):
                runs.append(result)
            else:
                dropped[Dropped(result) if isinstance(result, str) else result] += 1
    if first:
        warnings.warn(malformed_warning(dropped[Dropped("malformed")], first), stacklevel=4)
    return runs, dropped


@contextmanager
def _no_collection() -> Iterator[None]:
    """Hold back the search for cycles: it visits all runs again and again, and they have none."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def convert(
    path: str | os.PathLike[str],
    lines: Iterable[tuple[int, Line]],
    parse: Callable[[Line], Run | Dropped | str],
    notes: Iterable[str],
    *,
    processors: int | None = None,
    timezone: str = "UTC",
    selection: Selection = EVERYTHING,
    longest: int | str | None = None,
    overrun: str = "kill",
    on_error: str = "raise",
) -> Trace:
    """Convert a log to a trace, in order of submit time, with SWF records and header.

    Users, groups, queues and partitions are numbered by first appearance. A run without an estimate
    gets one, see `fill_estimates`, or else its runtime. Duplicates, and runs larger than the
    machine, are dropped and counted. Limits that cut most jobs are a warning: they may be in
    another unit.

    Parameters
    ----------
    path
        The log, which names the trace.
    lines, parse
        See `parse_lines`.
    notes
        Lines for the header about how the log was read.
    processors, timezone, selection, longest, overrun, on_error
        As in `read_sacct`.

    Raises
    ------
    WorkloadError
        If an option is out of range, a line is malformed, or no run is left. If `processors` is
        None, the message states how many were in use at once.
    """
    check_options(overrun, on_error)
    limits, zone = read_longest(longest), find_zone(timezone)
    runs, dropped = parse_lines(path, lines, parse, on_error)
    partitions = [*selection.partitions, *filter(None, limits)]
    check_names(path, "partition", runs, dropped, partitions)
    check_names(path, "cluster", runs, dropped, [*filter(None, [selection.cluster])])
    counts = count_dropped(dropped, selection)
    runs = _without_duplicates(select(runs, counts, selection, zone), counts)
    processors = _machine_size(path, runs, processors)
    runs = _jobs(path, runs, counts, processors)
    origin = runs[0].submit
    records = _records(runs, origin)
    own = records[:, swf.ESTIMATE].astype(np.int64)
    records[:, swf.ESTIMATE] = fill_estimates(runs, own, limits)
    submit, runtime, size, estimate = records[
        :, [swf.SUBMIT, swf.RUNTIME, swf.REQUESTED, swf.ESTIMATE]
    ].T.astype(np.int64)
    check_unit(path, runtime[own > 0], own[own > 0])
    check_longest(path, runtime[own < 1], limits)
    runtime, estimate, changed = apply_overrun(
        runtime, np.where(estimate < 1, runtime, estimate), overrun
    )
    counts.update(changed, no_estimate=int(np.sum(own < 1)))
    if selection.ids is not None:
        write_ids(selection.ids, runs)
    if selection.users is not None:
        write_users(selection.users, runs)
    records.flags.writeable = False
    user = records[:, swf.USER]
    return make_trace(
        submit,
        size,
        runtime,
        processors,
        estimate=estimate,
        user=np.where(user > 0, user - 1, -1),
        name=Path(path).name.split(".")[0],
        cleaning=Conversion(**counts),
        time_of_day=time_of_day(origin, zone),
        header=(
            *_machine_header(len(runs), origin, timezone, processors),
            *(_names(runs) if selection.names else ()),
            *_notes(notes, counts),
        ),
        records=records,
    )


def _without_duplicates(runs: list[Run], counts: Counter[str]) -> list[Run]:
    """Return each run once, and count the others: of equal id, cluster, submit and start time."""
    first: dict[str, Run] = {}
    others: set[tuple[str, int, int]] = set()  # few, while each id is that of one run
    once = []
    for run in runs:
        job = _identity(run)
        if run.job and (known := first.setdefault(job, run)) is not run:
            if (known.submit, known.start) == (run.submit, run.start):
                continue
            key = job, run.submit, run.start
            if key in others:
                continue
            others.add(key)
        once.append(run)
    counts["duplicates"] += len(runs) - len(once)
    return once


def _identity(run: Run) -> str:
    """Return what no other job has: each cluster numbers its own."""
    return f"{run.cluster} {run.job}" if run.cluster else run.job


def _machine_size(path: str | os.PathLike[str], runs: Sequence[Run], processors: int | None) -> int:
    """Return the processors that the user gave; WorkloadError suggests a number if none."""
    if processors is None:
        peak = peak_use(runs)
        hint = f"; at least {peak} were in use at once" if peak else ""
        parts = sorted({run.partition for run in runs if run.partition})
        if peak and 1 < len(parts) <= FEW_PARTITIONS:
            peaks = (peak_use([run for run in runs if run.partition == part]) for part in parts)
            hint += f" ({', '.join(map('{}={}'.format, parts, peaks))})"
        raise WorkloadError(
            f"{path}: processors must be the size of the machine, as in --processors 4096, "
            f"and is missing{hint}"
        )
    return check_processors("processors", processors)


def _jobs(
    path: str | os.PathLike[str], runs: Sequence[Run], counts: Counter[str], processors: int
) -> list[Run]:
    """Return the runs that are jobs of the machine, by submit time; count the others."""
    jobs = [run for run in runs if run.size <= processors]
    counts["too_large"] += len(runs) - len(jobs)
    if not jobs:
        reasons = ", ".join(f"{why}: {count:,}" for count, why in count_reasons(counts, DROPPED))
        raise WorkloadError(f"{path}: no line is a job that ran ({reasons or 'there are none'})")
    if (peak := peak_use(jobs)) > processors:
        warnings.warn(
            f"{path}: {peak:,} processors were in use at once, more than the {processors:,} given; "
            "check the size of the machine, or import its partitions one by one",
            stacklevel=4,
        )
    counts["reordered"] = int(np.sum(np.diff(column(jobs, "submit")) < 0))
    jobs.sort(key=operator.attrgetter("submit"))
    ids = [_identity(run) for run in jobs if run.job]
    counts["requeued"] = len(ids) - len(set(ids))
    counts["components"] = sum("+" in run.job for run in jobs)
    unknown = column(jobs, "status") == UNKNOWN
    counts["unknown_state"] = 0 if unknown.all() else int(unknown.sum())  # all: not in this log
    start = column(jobs, "start")
    counts["early_start"] = int(np.sum((start >= 0) & (start < column(jobs, "submit"))))
    return jobs


def _machine_header(jobs: int, origin: int, timezone: str, processors: int) -> tuple[str, ...]:
    return (
        "Version: 2.2",
        f"MaxJobs: {jobs}",
        f"MaxRecords: {jobs}",
        f"UnixStartTime: {origin}",
        f"TimeZoneString: {timezone}",
        f"MaxProcs: {processors}",
    )


def _names(runs: Sequence[Run]) -> Iterable[str]:
    """Name the numbers of queues and partitions, as SWF's header does; and clusters, if several."""
    queues, partitions = [run.queue for run in runs], [run.partition for run in runs]
    for label, names in (("Queue", queues), ("Partition", partitions)):
        for name, number in dict(zip(names, number_names(names), strict=True)).items():
            if name:
                yield f"{label}: {number} {'_'.join(name.split())}"
    clusters = sorted({"_".join(run.cluster.split()) for run in runs if run.cluster})
    if len(clusters) > 1:
        yield f"Clusters: {' '.join(clusters)}"


def _notes(notes: Iterable[str], counts: Counter[str]) -> tuple[str, ...]:
    return (
        *(f"Note: {note}" for note in notes),
        "Note: users, groups, queues and partitions are numbered by first appearance",
        *(f"Note: not a job: {why}: {count}" for count, why in count_reasons(counts, DROPPED)),
        *(f"Note: {why}: {count}" for count, why in count_reasons(counts, CHANGED)),
    )


def _records(runs: Sequence[Run], origin: int) -> np.ndarray:
    """Return the SWF fields, (n, 18) float64; an estimate that is missing is -1."""
    records = np.full((len(runs), len(swf.FIELDS)), -1.0)
    records[:, swf.JOB] = np.arange(1, len(runs) + 1)
    submit, start = column(runs, "submit"), column(runs, "start")
    records[:, swf.SUBMIT] = submit - origin
    records[:, swf.WAIT] = np.where(start >= submit, start - submit, -1)
    records[:, swf.RUNTIME] = column(runs, "runtime")
    records[:, swf.ALLOCATED] = column(runs, "size")
    records[:, swf.REQUESTED] = records[:, swf.ALLOCATED]  # no other job could have the rest
    records[:, swf.ESTIMATE] = column(runs, "estimate")
    records[:, swf.STATUS] = column(runs, "status")
    records[:, swf.USER] = number_names([run.user for run in runs])
    records[:, swf.GROUP] = number_names([run.group for run in runs])
    records[:, swf.QUEUE] = number_names([run.queue for run in runs])
    records[:, swf.PARTITION] = number_names([run.partition for run in runs])
    return records
