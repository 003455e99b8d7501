"""The Standard Workload Format, version 2.2: read and write.

Format: Chapin et al. 1999 and the Parallel Workloads Archive. One line per job of 18 numbers,
-1 for what is not known; lines that begin with a semicolon are the header.
"""

import gzip
import operator
import os
import re
import warnings
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np

from bfenv.core.errors import WorkloadError
from bfenv.core.files import write_atomically
from bfenv.core.jobs import Cleaning, Jobs, Trace
from bfenv.core.schedule import Schedule
from bfenv.workloads.logs.cleaning import skipped
from bfenv.workloads.logs.text import read_lines

FIELDS = (
    "job number", "submit time", "wait time", "run time", "allocated processors",
    "average CPU time", "used memory", "requested processors", "requested time",
    "requested memory", "status", "user", "group", "executable", "queue", "partition",
    "preceding job", "think time",
)  # fmt: skip
SUBMIT, WAIT, RUNTIME, ALLOCATED, REQUESTED, ESTIMATE, USER = 1, 2, 3, 4, 7, 8, 11
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
LARGEST = 2**53  # integers up to here are exact in float64
DAY = 86_400  # seconds


def read_swf(
    path: str | os.PathLike,
    *,
    processors: int | None = None,
    overrun: str = "kill",
    on_error: str = "raise",
) -> Trace:
    """The trace in an SWF file, gzipped or not.

    size = requested processors if positive, else allocated; estimate = requested time if positive,
    else run time. Jobs without a submit time, a runtime or a size, and those larger than the
    machine, are dropped; `trace.cleaning` counts them. Submit times are rebased to 0, lines out of
    order are put in order. A runtime above the estimate is cut to it, as production systems do
    (overrun="kill"), or the estimate is raised to the runtime (overrun="extend"). Fractions of
    seconds are rounded, users numbered from 0 in the order of their ids.

    `processors` overrides the header's MaxProcs (or else MaxNodes). `trace.records` keeps all 18
    fields of the kept jobs as they stand in the file. Times of day are those of the header's
    TimeZoneString, or UTC, with a warning if that is a zone unknown to this machine.

    Raises FileNotFoundError, and WorkloadError on a damaged gzip file or one that swells to more
    than any log has, an empty trace, a header
    without a machine size, or a malformed line; with on_error="skip" malformed lines are counted
    and skipped with a warning.
    """
    path = Path(path)
    if overrun not in ("kill", "extend"):
        raise WorkloadError(f"overrun is 'kill' or 'extend', not {overrun!r}")
    if on_error not in ("raise", "skip"):
        raise WorkloadError(f"on_error is 'raise' or 'skip', not {on_error!r}")
    lines = read_lines(path, "latin-1")
    comments = (line.strip() for line in lines if line.lstrip().startswith(";"))
    header = tuple(comment[1:].removeprefix(" ") for comment in comments)
    try:
        records, malformed = _records(path, lines, on_error)
    except WorkloadError as error:
        if header:
            raise
        raise WorkloadError(f"{error}; is it SWF? `bfenv workloads import` reads others") from None
    if not len(records):
        raise WorkloadError(f"{path}: the trace is empty: no job lines")
    labels = _labels(header)
    processors = _machine_size(labels) if processors is None else processors
    if processors is None:
        raise WorkloadError(
            f"{path}: no MaxProcs or MaxNodes in the header; say how many processors there are, "
            f"as in {path}:processors=1024"
        )
    try:
        processors = operator.index(processors)
    except TypeError:
        raise WorkloadError(f"processors is a whole number, not {processors!r}") from None
    if not 1 <= processors < LARGEST:
        raise WorkloadError(f"{path}: a machine cannot have {processors} processors")
    return _trace(path, header, labels, records, processors, overrun, malformed)


def write_swf(trace: Trace, path: str | os.PathLike, schedule: Schedule | None = None) -> None:
    """Write a trace as SWF, gzipped if the name ends in .gz, in one step or not at all.

    The trace's records and header are written as they are, except where `read_swf` would then
    make another trace of them: there the trace's own values are written. Without records, what is
    not known is -1. Fields are kept as numbers and written in their shortest form: of the archive's
    logs every one comes back byte by byte, but for the zeros that end decimals of field 6 (142.00
    becomes 142); the spaces between them, remarks and lines that are no jobs do not.

    With a schedule of the trace, field 3 is each job's wait and field 5 its size. The format has
    no place for priorities and requested start times: leaving them out is a warning.

    Raises WorkloadError if the file cannot be written or the schedule is another trace's.
    """
    path, jobs = Path(path), trace.jobs
    if schedule is not None and schedule.trace is not trace and schedule.trace.hash != trace.hash:
        raise WorkloadError(f"{trace.name}: the schedule is that of another trace")
    if jobs.priority.any() or jobs.requested_start.any():
        warnings.warn(
            f"{path}: SWF has no priorities and requested start times, they are left out",
            stacklevel=2,
        )
    records = _new_records(trace) if trace.records is None else _amended_records(trace)
    if schedule is not None:
        records[:, WAIT] = schedule.wait
        records[:, ALLOCATED] = jobs.size
    header = (re.sub(r"[\r\n]+", " ", line) for line in _header(trace, records))
    lines = [f"; {line}".rstrip() for line in header]
    lines += map(" ".join, zip(*map(_words, records.T), strict=True))
    data = ("\n".join(lines) + "\n").encode("latin-1", errors="replace")
    write_atomically(path, gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def _records(path: Path, lines: list[str], on_error: str) -> tuple[np.ndarray, int]:
    """The (n, 18) numbers of the job lines, and how many lines were skipped.

    numpy's parser reads all lines at once; only where it stumbles are they gone through one by
    one, to name the place.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # "input contained no data"
            records = np.loadtxt(lines, comments=";", ndmin=2)
        if records.size == 0 or (records.shape[1] == 18 and np.abs(records).max() < LARGEST):
            return records.reshape(-1, 18), 0
    except ValueError:
        pass
    rows, faults = [], []
    for number, line in enumerate(lines, start=1):
        words = line.partition(";")[0].split()
        if not words:
            continue
        wrong = _what_is_wrong(words)
        if wrong is None:
            rows.append([float(word) for word in words])
            continue
        faults.append(f"{path}:{number}: {wrong}")
        if on_error == "raise":
            raise WorkloadError(faults[0])
    if faults:
        warnings.warn(skipped(len(faults), faults[0]), stacklevel=3)
    return np.array(rows, dtype=np.float64).reshape(-1, 18), len(faults)


def _what_is_wrong(words: list[str]) -> str | None:
    if len(words) != 18:
        return f"{len(words)} fields, expected 18"
    for place, word in enumerate(words):
        field = f"field {place + 1} ({FIELDS[place]}): {word[:40]!r}"
        if not NUMBER.fullmatch(word):
            return f"{field} is not a number"
        if not abs(float(word)) < LARGEST:
            return f"{field} is out of range"
    return None


def _requests(records: np.ndarray) -> tuple[np.ndarray, ...]:
    """Submit time, size, runtime and estimate of each record, (n,) int64, nothing repaired.

    A size or an estimate that is not given is not positive.
    """
    whole = np.floor(records[:, [SUBMIT, RUNTIME, ALLOCATED, REQUESTED, ESTIMATE]] + 0.5)
    submit, runtime, allocated, requested, estimate = whole.astype(np.int64).T.copy()
    return submit, np.where(requested > 0, requested, allocated), runtime, estimate


def _usable(
    path: Path, submit: np.ndarray, size: np.ndarray, runtime: np.ndarray, processors: int
) -> tuple[np.ndarray, dict[str, int]]:
    """The records that are jobs, (k,) int64 in order of submit time, and counts of the others."""
    faults = {
        "no_submit": submit < 0,
        "no_runtime": runtime <= 0,
        "no_size": size <= 0,
        "too_large": size > processors,
    }
    counts, usable = {}, np.ones(len(submit), dtype=bool)
    for name, wrong in faults.items():  # of several faults, the first counts
        counts[name] = int(np.sum(usable & wrong))
        usable &= ~wrong
    kept = np.flatnonzero(usable)
    if len(kept) == 0:
        reasons = ", ".join(f"{name} {count}" for name, count in counts.items() if count)
        raise WorkloadError(f"{path}: the trace is empty: no usable job line ({reasons})")
    counts["reordered"] = int(np.sum(np.diff(submit[kept]) < 0))
    return kept[np.argsort(submit[kept], kind="stable")], counts


def _trace(path, header, labels, records, processors, overrun, malformed) -> Trace:
    columns = _requests(records)
    submit, size, runtime, estimate = columns
    order, counts = _usable(path, submit, size, runtime, processors)
    submit, size, runtime, estimate = (column[order] for column in columns)
    missing = estimate <= 0
    estimate = np.where(missing, runtime, estimate)
    kill, over = overrun == "kill", runtime > estimate
    counts["clipped" if kill else "extended"] = int(over.sum())
    records = records[order]
    records.flags.writeable = False  # like all of a trace
    user = records[:, USER]
    users = np.unique(user[user >= 0])
    time_of_day = _time_of_day(labels, int(submit[0]))
    if time_of_day is None:
        time_of_day = (_start(labels) + int(submit[0])) % DAY
        warnings.warn(
            f"{path}: no such time here in zone {labels['TimeZoneString']!r}, "
            "times of day are those of UTC",
            stacklevel=3,
        )
    return Trace(
        Jobs(
            submit=submit - submit[0],
            size=size,
            estimate=estimate if kill else np.maximum(runtime, estimate),
            user=np.where(user >= 0, np.searchsorted(users, user), -1),
            priority=np.zeros(len(order), dtype=np.int64),
            requested_start=np.zeros(len(order), dtype=np.int64),
        ),
        np.minimum(runtime, estimate) if kill else runtime,
        processors,
        name=path.name.removesuffix(".gz").removesuffix(".swf"),
        cleaning=Cleaning(no_estimate=int(missing.sum()), malformed=malformed, **counts),
        time_of_day=time_of_day,
        header=header,
        records=records,
    )


def _new_records(trace: Trace) -> np.ndarray:
    """SWF fields of a trace that has none, (n, 18) float64."""
    records, jobs = np.full((len(trace), 18), -1.0), trace.jobs
    records[:, 0] = np.arange(1, len(trace) + 1)
    records[:, SUBMIT] = jobs.submit
    records[:, RUNTIME] = trace.runtime
    records[:, ALLOCATED] = records[:, REQUESTED] = jobs.size
    records[:, ESTIMATE] = jobs.estimate
    records[:, USER] = np.where(jobs.user < 0, -1, jobs.user + 1)
    return records


def _amended_records(trace: Trace) -> np.ndarray:
    """The trace's SWF fields, changed where they would be read as other jobs than the trace's."""
    records, jobs = trace.records.copy(), trace.jobs
    submit, size, runtime, estimate = _requests(records)
    estimate = np.where(estimate > 0, estimate, runtime)
    changed = submit - submit[0] != jobs.submit - jobs.submit[0]
    records[changed, SUBMIT] = (jobs.submit - jobs.submit[0] + submit[0])[changed]
    changed = size != jobs.size
    records[changed, REQUESTED] = jobs.size[changed]
    changed = (np.minimum(runtime, estimate) != trace.runtime) | (estimate != jobs.estimate)
    records[changed, RUNTIME] = trace.runtime[changed]
    records[changed, ESTIMATE] = jobs.estimate[changed]
    return records


def _header(trace: Trace, records: np.ndarray) -> list[str]:
    """The trace's header, changed where it would be read as another machine or time of day."""
    lines = list(trace.header) or [
        "Version: 2.2",
        f"MaxJobs: {len(trace)}",
        f"MaxRecords: {len(trace)}",
        f"Note: {trace.name}",
    ]
    labels, changed = _labels(lines), {}
    if _machine_size(labels) != trace.processors:
        changed["MaxProcs"] = trace.processors
    origin = int(_requests(records[:1])[0][0] - trace.jobs.submit[0])
    if _time_of_day(labels, origin) != trace.time_of_day:
        # The first moment since the log's start at which UTC has the time of day wanted.
        start = _start(labels)
        changed["UnixStartTime"] = start + (trace.time_of_day - start - origin) % DAY
        changed["TimeZoneString"] = "UTC"
    for label, value in changed.items():
        same = (i for i, line in enumerate(lines) if re.match(rf"\s*{label}\s*:", line))
        place = next(same, len(lines))
        lines[place : place + 1] = [f"{label}: {value}"]
    return lines


def _labels(header) -> dict[str, str]:
    """The `Label: value` lines; of several with one label, the first."""
    labels: dict[str, str] = {}
    for line in header:
        label, colon, value = line.partition(":")
        if colon:
            labels.setdefault(label.strip(), value.strip())
    return labels


def _machine_size(labels: dict[str, str]) -> int | None:
    sizes = (_leading_integer(labels.get(label)) for label in ("MaxProcs", "MaxNodes"))
    return next(filter(None, sizes), None)


def _leading_integer(value: str | None) -> int | None:
    match = re.match(r"[0-9]{1,18}", value or "")
    return int(match.group()) if match else None


def _start(labels: dict[str, str]) -> int:
    return _leading_integer(labels.get("UnixStartTime")) or 0


def _time_of_day(labels: dict[str, str], origin: int) -> int | None:
    """Seconds after local midnight `origin` seconds into the log; None in an unknown zone."""
    moment = _start(labels) + origin
    zone = labels.get("TimeZoneString") or "UTC"
    if zone == "UTC":
        return moment % DAY
    try:
        local = datetime.fromtimestamp(moment, ZoneInfo(zone))
    except (KeyError, ValueError, OSError, OverflowError):
        return None
    return local.hour * 3600 + local.minute * 60 + local.second


def _words(column: np.ndarray) -> list[str]:
    """The numbers of one field as text, the shortest that is read as the same number."""
    if np.array_equal(column, np.floor(column)):
        return list(map(str, column.astype(np.int64).tolist()))
    return [str(int(value)) if value.is_integer() else repr(value) for value in column.tolist()]
