"""The runs in another system's log, converted to a trace with SWF records and header."""

import operator
import os
import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from datetime import tzinfo
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from bfenv.core.arguments import check_integer
from bfenv.core.durations import parse_duration
from bfenv.core.errors import WorkloadError
from bfenv.core.files import write_atomically
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
from bfenv.workloads.logs.run import Run, number_names, peak_use
from bfenv.workloads.logs.times import LATEST, find_zone, read_time, time_of_day

Line = TypeVar("Line")
FEW = 50  # jobs that may exceed their estimates without a word


class Selection(NamedTuple):
    """Which jobs of a log to take, and where to note their ids."""

    partitions: tuple[str, ...] = ()  # none for all
    cluster: str | None = None
    since: str | None = None  # first submit time
    until: str | None = None  # submit time from which jobs are left out
    ids: str | os.PathLike[str] | None = None  # file to write, a line for each job
    names: bool = False  # name queues and partitions in the header


EVERYTHING = Selection()


class Options(NamedTuple):
    """Options of `convert`, as users give them to a reader."""

    processors: int | None  # of the machine
    timezone: str  # of the times of day
    longest: int | str | None  # estimate of jobs without one: seconds or a duration
    overrun: str  # one of OVERRUNS
    on_error: str  # one of ON_ERROR
    selection: Selection = EVERYTHING


def parse_lines(
    path: str | os.PathLike[str],
    lines: Iterable[tuple[int, Line]],
    parse: Callable[[Line], Run | str],
    on_error: str,
) -> tuple[list[Run], Counter[str]]:
    """Parse the lines of a log.

    Parameters
    ----------
    path
        The log, for messages.
    lines
        Number and content of each line.
    parse
        Returns the run in a line, or the reason why there is none, a key of `DROPPED`. Its
        ValueError means that the line is malformed.
    on_error
        "raise" ends at a malformed line, "skip" counts it, with a warning.

    Returns
    -------
    tuple
        The runs, and the number of other lines by reason.

    Raises
    ------
    WorkloadError
        If a line is malformed and `on_error` is "raise".
    """
    runs: list[Run] = []
    counts: Counter[str] = Counter()
    first = ""
    for number, line in lines:
        try:
            result = parse(line)
        except ValueError as error:
            message = f"{path}:{number}: {error}"
            if on_error == "raise":
                raise WorkloadError(message) from None
            result, first = "malformed", first or message
        if isinstance(result, str):
            counts[result] += 1
        else:
            runs.append(result)
    if first:
        warnings.warn(malformed_warning(counts["malformed"], first), stacklevel=4)
    return runs, counts


def convert(
    path: str | os.PathLike[str],
    lines: Iterable[tuple[int, Line]],
    parse: Callable[[Line], Run | str],
    options: Options,
    notes: Iterable[str],
) -> Trace:
    """Convert a log to a trace, in order of submit time, with SWF records and header.

    Users, groups, queues and partitions are numbered by first appearance. A run without an estimate
    gets `longest`, or its runtime if that is longer. With `longest` None it gets the longest
    estimate in its partition, or else in the log, and its runtime if no run has an estimate.
    Duplicates, and runs larger than the machine, are dropped and counted. Limits that cut most jobs
    are a warning: they may be in another unit.

    Parameters
    ----------
    path
        The log, which names the trace.
    lines, parse
        See `parse_lines`.
    options
        Options of the reader.
    notes
        Lines for the header about how the log was read.

    Raises
    ------
    WorkloadError
        If an option is out of range, a line is malformed, or no run is left. If `processors` is
        None, the message states how many were in use at once.
    """
    check_options(options.overrun, options.on_error)
    longest = _check_longest(options.longest)
    zone = find_zone(options.timezone)
    runs, counts = parse_lines(path, lines, parse, options.on_error)
    runs = _selected(path, runs, counts, options.selection, zone)
    runs, processors = _usable(path, runs, counts, options.processors)
    origin = runs[0].submit
    records = _records(runs, origin)
    submit, runtime, size, estimate = records[
        :, [swf.SUBMIT, swf.RUNTIME, swf.REQUESTED, swf.ESTIMATE]
    ].T.astype(np.int64)
    missing = estimate < 1
    counts["no_estimate"] = int(missing.sum())
    limits = _longest_estimates(records) if longest is None else np.full(len(runs), longest)
    known = missing & (limits > 0)
    estimate[known] = np.maximum(runtime, limits)[known]
    records[known, swf.ESTIMATE] = estimate[known]
    _check_unit(path, runtime[~missing], estimate[~missing])
    runtime, estimate, changed = apply_overrun(
        runtime, np.where(estimate < 1, runtime, estimate), options.overrun
    )
    counts.update(changed)
    counts["early_start"] = sum(0 <= run.start < run.submit for run in runs)
    if options.selection.ids is not None:
        _write_ids(Path(options.selection.ids), runs)
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
        header=_header(runs, origin, options, processors, notes, counts),
        records=records,
    )


def _check_longest(longest: int | str | None) -> int | None:
    if isinstance(longest, str):
        longest = parse_duration(longest, WorkloadError)
    if longest is None:
        return None
    return check_integer("longest", longest, 1, LATEST - 1, error=WorkloadError)


def _usable(
    path: str | os.PathLike[str], runs: list[Run], counts: Counter[str], processors: int | None
) -> tuple[list[Run], int]:
    """Return the runs that are jobs of the machine, in order, and its size; count the others."""
    seen: set[Hashable] = set()
    once = []
    for run in runs:
        if run.same is None or run.same not in seen:
            once.append(run)
            seen.add(run.same)
    counts["duplicates"] += len(runs) - len(once)
    if processors is None:
        peak = peak_use(once)
        hint = f"; at least {peak} were in use at once" if peak else ""
        raise WorkloadError(f"{path}: processors must be the size of the machine, got None{hint}")
    processors = check_processors("processors", processors)
    jobs = [run for run in once if run.size <= processors]
    counts["too_large"] += len(once) - len(jobs)
    if not jobs:
        reasons = ", ".join(f"{why}: {count}" for count, why in count_reasons(counts, DROPPED))
        raise WorkloadError(f"{path}: no line is a job that ran ({reasons})")
    if (peak := peak_use(jobs)) > processors:
        warnings.warn(
            f"{path}: {peak:,} processors were in use at once, more than the {processors:,} given",
            stacklevel=4,
        )
    counts["reordered"] = sum(a.submit > b.submit for a, b in pairwise(jobs))
    jobs.sort(key=operator.attrgetter("submit"))
    ids = [run.job for run in jobs if run.job]
    counts["requeued"] = len(ids) - len(set(ids))
    counts["components"] = sum("+" in job for job in ids)
    return jobs, processors


def _header(
    runs: Sequence[Run],
    origin: int,
    options: Options,
    processors: int,
    notes: Iterable[str],
    counts: Counter[str],
) -> tuple[str, ...]:
    return (
        "Version: 2.2",
        f"MaxJobs: {len(runs)}",
        f"MaxRecords: {len(runs)}",
        f"UnixStartTime: {origin}",
        f"TimeZoneString: {options.timezone}",
        f"MaxProcs: {processors}",
        *(_names(runs) if options.selection.names else ()),
        *(f"Note: {note}" for note in notes),
        "Note: users, groups, queues and partitions are numbered by first appearance",
        *(f"Note: not a job: {why}: {count}" for count, why in count_reasons(counts, DROPPED)),
        *(f"Note: {why}: {count}" for count, why in count_reasons(counts, CHANGED)),
    )


def _names(runs: Sequence[Run]) -> Iterable[str]:
    """Name the numbers of queues and partitions, as SWF's header does."""
    queues, partitions = [run.queue for run in runs], [run.partition for run in runs]
    for label, names in (("Queue", queues), ("Partition", partitions)):
        for name, number in dict(zip(names, number_names(names), strict=True)).items():
            if name:
                yield f"{label}: {number} {'_'.join(name.split())}"


def _selected(
    path: str | os.PathLike[str],
    runs: list[Run],
    counts: Counter[str],
    selection: Selection,
    zone: tzinfo,
) -> list[Run]:
    """Return the runs to take; count the others."""
    since, until = (_instant(text, zone) for text in (selection.since, selection.until))
    known = {run.partition for run in runs}
    if unknown := [name for name in selection.partitions if name not in known]:
        names = ", ".join(sorted(filter(None, known))) or "none"
        raise WorkloadError(f"{path}: no jobs in a partition {unknown[0]!r}; there are {names}")
    taken = []
    for run in runs:
        if (selection.partitions and run.partition not in selection.partitions) or (
            selection.cluster is not None and run.cluster != selection.cluster
        ):
            counts["other_partition"] += 1
        elif (since is not None and run.submit < since) or (
            until is not None and run.submit >= until
        ):
            counts["other_time"] += 1
        else:
            taken.append(run)
    return taken


def _instant(text: str | None, zone: tzinfo) -> int | None:
    if text is None:
        return None
    try:
        return read_time(f"{text} 00:00:00" if len(text) == len("2026-01-31") else text, zone)[0]
    except (ValueError, IndexError):
        raise WorkloadError(
            f"{text!r:.60} is not a date or time like 2026-01-31T12:00:00"
        ) from None


def _longest_estimates(records: np.ndarray) -> np.ndarray:
    """Return the longest estimate in each job's partition, or else in the log: (n,) int64 s."""
    _, partition = np.unique(records[:, swf.PARTITION], return_inverse=True)
    longest = np.zeros(int(partition.max()) + 1)
    np.maximum.at(longest, partition, records[:, swf.ESTIMATE])
    longest[longest < 1] = longest.max()
    limits: np.ndarray = longest[partition].astype(np.int64)
    return limits


def _check_unit(path: str | os.PathLike[str], runtime: np.ndarray, estimate: np.ndarray) -> None:
    """Warn if so many jobs exceed their estimates that these are likely in another unit."""
    longer = int(np.sum(runtime > estimate))
    if longer >= FEW and 2 * longer > len(runtime):
        warnings.warn(
            f"{path}: {longer:,} of {len(runtime):,} jobs ran longer than their limit, which may "
            "be in minutes or hours but is read as seconds",
            stacklevel=4,
        )


def _write_ids(path: Path, runs: Sequence[Run]) -> None:
    """Write the number of each job in the trace, from 0, beside its id in the log."""
    lines = ["job,id", *(f'{job},"{run.job}"' for job, run in enumerate(runs))]
    write_atomically(path, ("\n".join(lines) + "\n").encode())


def _records(runs: Sequence[Run], origin: int) -> np.ndarray:
    """Return the SWF fields, (n, 18) float64; an estimate that is missing is -1."""
    records = np.full((len(runs), len(swf.FIELDS)), -1.0)
    size = [run.size for run in runs]
    columns: dict[int, Iterable[int]] = {
        swf.JOB: range(1, len(runs) + 1),
        swf.SUBMIT: [run.submit - origin for run in runs],
        swf.WAIT: [run.start - run.submit if run.start >= run.submit else -1 for run in runs],
        swf.RUNTIME: [run.runtime for run in runs],
        swf.ALLOCATED: size,
        swf.REQUESTED: size,  # a request may be for less than the job kept from others
        swf.ESTIMATE: [run.estimate for run in runs],
        swf.STATUS: [run.status for run in runs],
        swf.USER: number_names([run.user for run in runs]),
        swf.GROUP: number_names([run.group for run in runs]),
        swf.QUEUE: number_names([run.queue for run in runs]),
        swf.PARTITION: number_names([run.partition for run in runs]),
    }
    for field, values in columns.items():
        records[:, field] = list(values)
    return records
