"""Finished jobs of another system's log made a Trace with SWF records."""

import operator
import os
import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from datetime import datetime
from itertools import accumulate, pairwise, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bfenv.core.errors import WorkloadError
from bfenv.core.jobs import Trace, make_trace
from bfenv.workloads.logs.cleaning import CHANGED, DROPPED, Conversion, skipped, told
from bfenv.workloads.logs.text import read_lines
from bfenv.workloads.logs.times import LATEST, find_zone

LARGEST = 2**53  # integers up to here are exact in the float64 of the records


class Run(NamedTuple):
    """One execution of a job, as its log has it."""

    submit: int  # seconds since 1970
    start: int  # seconds since 1970; -1 if not known
    runtime: int  # seconds, at least 1
    size: int  # at least 1
    estimate: int = -1  # seconds; -1 for none
    user: str = ""
    group: str = ""
    queue: str = ""
    partition: str = ""
    status: int = -1  # SWF field 11
    job: str = ""  # its id in the log
    same: Hashable = None  # equal for lines that tell of one and the same run; None: no such


def numbered_lines(path: str | os.PathLike) -> list[tuple[int, str]]:
    """Number and text of the lines that are not blank.

    Raises what `read_lines` does, and WorkloadError if there is no such line.
    """
    lines = enumerate(read_lines(path, "utf-8"), start=1)
    numbered = [(number, line) for number, line in lines if line.strip()]
    if not numbered:
        raise WorkloadError(f"{path}: the file is empty")
    return numbered


def gather(
    path: str | os.PathLike,
    lines: Iterable[tuple[int, Any]],
    parse: Callable[[Any], Run | str],
    on_error: str,
) -> tuple[list[Run], Counter]:
    """The runs that `parse` finds in the lines, and counts of its reasons for the other lines.

    A ValueError of `parse` is a malformed line: an error or, with on_error="skip", a count.
    """
    if on_error not in ("raise", "skip"):
        raise WorkloadError(f"on_error is 'raise' or 'skip', not {on_error!r}")
    runs, counts, first = [], Counter(), ""
    for number, line in lines:
        try:
            result = parse(line)
        except ValueError as error:
            if on_error == "raise":
                raise WorkloadError(f"{path}:{number}: {error}") from None
            result, first = "malformed", first or f"{path}:{number}: {error}"
        if isinstance(result, str):
            counts[result] += 1
        else:
            runs.append(result)
    if first:
        warnings.warn(skipped(counts["malformed"], first), stacklevel=3)
    return runs, counts


def in_order(
    submit: tuple[int, ...], start: tuple[int, ...], end: tuple[int, ...], elapsed: int | None
) -> tuple[int, int, int]:
    """Submit, start and end time, -1 where there is none, of what each of them can mean.

    Of the instants that a clock set back makes ambiguous, those in order are taken, then those
    that agree with the time elapsed (in seconds), then the earlier.
    """
    if len(submit) <= 1 and len(start) <= 1 and len(end) <= 1:
        return (*(submit or (-1,)), *(start or (-1,)), *(end or (-1,)))

    def implausible(times):
        submit, start, end = times
        disorder = (0 <= start < submit) + (0 <= end < start)
        return disorder, 0 if elapsed is None or end < 0 else abs(end - start - elapsed)

    return min(product(submit or (-1,), start or (-1,), end or (-1,)), key=implausible)


def convert(
    path: str | os.PathLike,
    runs: list[Run],
    counts: Counter,
    *,
    processors: int | None,
    timezone: str,
    overrun: str,
    longest: int | None,
    notes: Iterable[str],
) -> Trace:
    """The trace of the runs, in order of submit time, with SWF records and header.

    Names become numbers from 1 by first appearance. A run without an estimate is given `longest`
    seconds, or its runtime if that is longer or `longest` is None. Duplicates and runs larger
    than the machine are dropped and counted; `counts` are those of lines left out before.

    Raises WorkloadError if no run is left, or `processors` is None: then the message says how
    many were in use at once.
    """
    if overrun not in ("kill", "extend"):
        raise WorkloadError(f"overrun is 'kill' or 'extend', not {overrun!r}")
    if longest is not None and not (isinstance(longest, int) and 1 <= longest < LATEST):
        raise WorkloadError(f"longest is a number of seconds, at least 1, not {longest!r}")
    zone = find_zone(timezone)
    kept, counts, processors = _kept(path, runs, Counter(counts), processors)
    origin = kept[0].submit
    records = _records(kept, origin)
    submit, runtime, size, estimate = records[:, [1, 3, 4, 8]].T.astype(np.int64)
    missing = estimate < 1
    counts["no_estimate"] = int(missing.sum())
    if longest is not None:
        estimate[missing] = records[missing, 8] = np.maximum(runtime[missing], longest)
    estimate = np.where(estimate < 1, runtime, estimate)
    counts["clipped" if overrun == "kill" else "extended"] = int(np.sum(runtime > estimate))
    records.flags.writeable = False
    local = datetime.fromtimestamp(origin, zone)
    return make_trace(
        submit,
        size,
        np.minimum(runtime, estimate) if overrun == "kill" else runtime,
        processors,
        estimate=np.maximum(runtime, estimate) if overrun == "extend" else estimate,
        user=np.where(records[:, 11] > 0, records[:, 11] - 1, -1),
        name=Path(path).name.split(".")[0],
        cleaning=Conversion(**counts),
        time_of_day=local.hour * 3_600 + local.minute * 60 + local.second,
        header=_header(len(kept), origin, timezone, processors, notes, counts),
        records=records,
    )


def _kept(
    path: str | os.PathLike, runs: list[Run], counts: Counter, processors: int | None
) -> tuple[list[Run], Counter, int]:
    """The runs that are jobs of the machine, in order; the counts with theirs; its size."""
    first: dict[Hashable, Run] = {}
    once = [run for run in runs if run.same is None or first.setdefault(run.same, run) is run]
    counts["duplicates"] += len(runs) - len(once)
    processors = _machine_size(path, once, processors)
    kept = [run for run in once if run.size <= processors]
    counts["too_large"] += len(once) - len(kept)
    if not kept:
        reasons = ", ".join(f"{why}: {count}" for count, why in told(counts, DROPPED))
        raise WorkloadError(f"{path}: no line is a job that ran ({reasons})")
    if (peak := _peak(kept)) > processors:
        warnings.warn(
            f"{path}: {peak:,} processors were in use at once, more than the {processors:,} given",
            stacklevel=4,
        )
    counts["reordered"] = sum(a.submit > b.submit for a, b in pairwise(kept))
    kept.sort(key=operator.attrgetter("submit"))
    ids = [run.job for run in kept if run.job]
    counts["requeued"] = len(ids) - len(set(ids))
    counts["components"] = sum("+" in job for job in ids)
    return kept, counts, processors


def _header(jobs, origin, timezone, processors, notes, counts) -> tuple[str, ...]:
    return (
        "Version: 2.2",
        f"MaxJobs: {jobs}",
        f"MaxRecords: {jobs}",
        f"UnixStartTime: {origin}",
        f"TimeZoneString: {timezone}",
        f"MaxProcs: {processors}",
        *(f"Note: {note}" for note in notes),
        "Note: users, groups, queues and partitions are numbered by first appearance",
        *(f"Note: not a job: {why}: {count}" for count, why in told(counts, DROPPED)),
        *(f"Note: {why}: {count}" for count, why in told(counts, CHANGED)),
    )


def _machine_size(path: str | os.PathLike, runs: list[Run], processors: int | None) -> int:
    if processors is None:
        peak = _peak(runs)
        hint = f"; at least {peak}, that many were in use at once" if peak else ""
        raise WorkloadError(f"{path}: say processors, how many the machine has{hint}")
    try:
        processors = operator.index(processors)
    except TypeError:
        raise WorkloadError(f"processors is a whole number, not {processors!r}") from None
    if not 1 <= processors < LARGEST:
        raise WorkloadError(f"a machine cannot have {processors} processors")
    return processors


def _peak(runs: list[Run]) -> int:
    """The most processors in use at once by runs whose start is known; ends before starts."""
    runs = [run for run in runs if run.start >= 0]
    changes = [(run.start, run.size) for run in runs]
    changes += [(run.start + run.runtime, -run.size) for run in runs]
    return max(accumulate(change for _, change in sorted(changes)), default=0)


def _records(runs: list[Run], origin: int) -> np.ndarray:
    """The SWF fields, (n, 18) float64; an estimate that is missing is -1."""
    records = np.full((len(runs), 18), -1.0)
    waits = [run.start - run.submit if run.start >= run.submit else -1 for run in runs]
    size = [run.size for run in runs]
    columns = {
        0: range(1, len(runs) + 1),
        1: [run.submit - origin for run in runs],
        2: waits,
        3: [run.runtime for run in runs],
        4: size,
        7: size,  # what was asked for may be less than what the job kept from others
        8: [run.estimate for run in runs],
        10: [run.status for run in runs],
        11: _numbered(run.user for run in runs),
        12: _numbered(run.group for run in runs),
        14: _numbered(run.queue for run in runs),
        15: _numbered(run.partition for run in runs),
    }
    for field, values in columns.items():
        records[:, field] = values
    return records


def _numbered(names: Iterable[str]) -> list[int]:
    """Numbers from 1 by first appearance; -1 for no name."""
    numbers = {"": -1}
    return [numbers.setdefault(name, len(numbers)) for name in names]
