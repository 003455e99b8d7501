"""The Standard Workload Format, version 2.2: read and write (workloads layer).

Format: Chapin et al. 1999 and the Parallel Workloads Archive. One line per job of 18 numbers,
-1 for what is not known; lines that begin with a semicolon are the header.
"""

import gzip
import io
import os
import re
import tempfile
import warnings
import zlib
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from bfenv.core.errors import WorkloadError
from bfenv.core.jobs import Cleaning, Jobs, Trace

FIELDS = (
    "job number",
    "submit time",
    "wait time",
    "run time",
    "allocated processors",
    "average CPU time",
    "used memory",
    "requested processors",
    "requested time",
    "requested memory",
    "status",
    "user",
    "group",
    "executable",
    "queue",
    "partition",
    "preceding job",
    "think time",
)
SUBMIT, WAIT, RUNTIME, ALLOCATED, REQUESTED, ESTIMATE, USER = 1, 2, 3, 4, 7, 8, 11
NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
LARGEST = 2**53  # integers up to here are exact in float64


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
    seconds are rounded.

    `processors` overrides the header's MaxProcs (or else MaxNodes). `trace.records` keeps all 18
    fields of the kept jobs as they stand in the file.

    Raises FileNotFoundError, and WorkloadError on a corrupted gzip file, an empty trace, a header
    without a machine size, or a malformed line; with on_error="skip" malformed lines are counted
    and skipped with a warning.
    """
    path = Path(path)
    if overrun not in ("kill", "extend"):
        raise WorkloadError(f"overrun is 'kill' or 'extend', not {overrun!r}")
    if on_error not in ("raise", "skip"):
        raise WorkloadError(f"on_error is 'raise' or 'skip', not {on_error!r}")
    text = _text(path)
    header = tuple(
        line[1:].decode("latin-1").strip() for line in re.findall(rb"^[ \t]*;.*$", text, re.M)
    )
    header = tuple(line.removeprefix(";") for line in header)
    records, malformed = _records(path, text, on_error)
    if malformed:
        warnings.warn(f"{path}: {malformed} malformed lines skipped", stacklevel=2)
    labels = _labels(header)
    if processors is None:
        processors = _leading_integer(labels.get("MaxProcs")) or _leading_integer(
            labels.get("MaxNodes")
        )
    if processors is None or processors < 1:
        raise WorkloadError(
            f"{path}: no MaxProcs or MaxNodes in the header; say how many processors there are"
        )
    return _trace(path, header, labels, records, processors, overrun, malformed)


def write_swf(trace: Trace, path: str | os.PathLike, schedule=None) -> None:
    """Write a trace as SWF, gzipped if the name ends in .gz, in one step or not at all.

    What the engine uses comes from the trace, every other field from its records, -1 without.
    With a Schedule of the trace, field 3 is each job's wait and field 5 its size.
    """
    path = Path(path)
    records = np.full((len(trace), 18), -1.0) if trace.records is None else trace.records.copy()
    jobs = trace.jobs
    if trace.records is None:
        records[:, 0] = np.arange(1, len(trace) + 1)
        records[:, ALLOCATED] = jobs.size
        records[:, USER] = np.where(jobs.user < 0, -1, jobs.user + 1)
        records[:, REQUESTED] = jobs.size
        records[:, ESTIMATE] = jobs.estimate
        records[:, RUNTIME] = trace.runtime
        records[:, SUBMIT] = jobs.submit
    if schedule is not None:
        records[:, WAIT] = schedule.wait
        records[:, ALLOCATED] = jobs.size
    header = trace.header or (
        "Version: 2.2",
        f"MaxJobs: {len(trace)}",
        f"MaxRecords: {len(trace)}",
        f"MaxProcs: {trace.processors}",
        f"UnixStartTime: {trace.time_of_day}",
        "TimeZoneString: UTC",
        f"Note: {trace.name}",
    )
    lines = [f"; {line}".rstrip() for line in header]
    lines += [" ".join(map(_number, record)) for record in records.tolist()]
    data = ("\n".join(lines) + "\n").encode("latin-1", errors="replace")
    write_atomically(path, gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that it is there whole or not at all, whatever happens meanwhile."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _text(path: Path) -> bytes:
    data = path.read_bytes()
    if data[:2] != b"\x1f\x8b":
        if path.suffix == ".gz":
            raise WorkloadError(f"{path}: not a gzip file")
        return data
    try:
        return gzip.decompress(data)
    except (EOFError, OSError, zlib.error) as error:
        raise WorkloadError(f"{path}: corrupted gzip file: {error}") from error


def _records(path: Path, text: bytes, on_error: str) -> tuple[np.ndarray, int]:
    """The (n, 18) numbers of the job lines, and how many lines were skipped.

    numpy's parser reads the whole text at once; only where it stumbles are the lines gone through
    one by one, to name the place.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # "input contained no data"
            records = np.loadtxt(io.BytesIO(text), comments=";", ndmin=2, encoding="latin-1")
        if records.size == 0 or (records.shape[1] == 18 and np.abs(records).max() < LARGEST):
            return records.reshape(-1, 18), 0
    except ValueError:
        pass
    rows, malformed = [], 0
    for number, line in enumerate(text.split(b"\n"), start=1):
        words = line.partition(b";")[0].split()
        if not words:
            continue
        wrong = _what_is_wrong(words)
        if wrong is None:
            rows.append([float(word) for word in words])
        elif on_error == "raise":
            raise WorkloadError(f"{path}:{number}: {wrong}")
        else:
            malformed += 1
    return np.array(rows, dtype=np.float64).reshape(-1, 18), malformed


def _what_is_wrong(words: list[bytes]) -> str | None:
    if len(words) != 18:
        return f"{len(words)} fields, expected 18"
    for place, word in enumerate(words):
        field = f"field {place + 1} ({FIELDS[place]})"
        if not NUMBER.fullmatch(word):
            return f"{field}: {word.decode('latin-1')!r} is not a number"
        if not abs(float(word)) < LARGEST:
            return f"{field}: {word.decode('latin-1')} is out of range"
    return None


def _trace(path, header, labels, records, processors, overrun, malformed) -> Trace:
    whole = np.floor(records[:, [SUBMIT, RUNTIME, ALLOCATED, REQUESTED, ESTIMATE]] + 0.5)
    submit, runtime, allocated, requested, estimate = whole.astype(np.int64).T
    size = np.where(requested > 0, requested, allocated)
    fault = np.select(
        [submit < 0, runtime <= 0, size <= 0, size > processors], [1, 2, 3, 4], default=0
    )
    kept = np.flatnonzero(fault == 0)
    if len(kept) == 0:
        raise WorkloadError(f"{path}: the trace is empty: {len(records)} job lines, none usable")
    reordered = int(np.sum(np.diff(submit[kept]) < 0))
    order = kept[np.argsort(submit[kept], kind="stable")]
    submit, runtime, size, estimate = (c[order] for c in (submit, runtime, size, estimate))
    missing = estimate <= 0
    estimate = np.where(missing, runtime, estimate)
    over = runtime > estimate
    if overrun == "kill":
        runtime = np.minimum(runtime, estimate)
    else:
        estimate = np.maximum(runtime, estimate)
    user = records[order, USER]
    dense = np.unique(user[user >= 0])
    jobs = Jobs(
        submit=submit - submit[0],
        size=np.ascontiguousarray(size),
        estimate=np.ascontiguousarray(estimate),
        user=np.where(user >= 0, np.searchsorted(dense, user), -1),
        priority=np.zeros(len(order), dtype=np.int64),
        requested_start=np.zeros(len(order), dtype=np.int64),
    )
    cleaning = Cleaning(
        no_submit=int(np.sum(fault == 1)),
        no_runtime=int(np.sum(fault == 2)),
        no_size=int(np.sum(fault == 3)),
        too_large=int(np.sum(fault == 4)),
        clipped=int(over.sum()) if overrun == "kill" else 0,
        extended=int(over.sum()) if overrun == "extend" else 0,
        no_estimate=int(missing.sum()),
        reordered=reordered,
        malformed=malformed,
    )
    return Trace(
        jobs,
        np.ascontiguousarray(runtime),
        processors,
        name=path.name.removesuffix(".gz").removesuffix(".swf"),
        cleaning=cleaning,
        time_of_day=_time_of_day(labels, int(submit[0])),
        header=header,
        records=records[order],
    )


def _labels(header: tuple[str, ...]) -> dict[str, str]:
    """The `Label: value` lines; of several with one label, the first."""
    labels: dict[str, str] = {}
    for line in header:
        label, colon, value = line.partition(":")
        if colon:
            labels.setdefault(label.strip(), value.strip())
    return labels


def _leading_integer(value: str | None) -> int | None:
    match = re.match(r"\d+", value or "")
    return int(match.group()) if match else None


def _time_of_day(labels: dict[str, str], origin: int) -> int:
    """Seconds after local midnight `origin` seconds into the log; as if in UTC without a zone."""
    epoch = (_leading_integer(labels.get("UnixStartTime")) or 0) + origin
    try:
        zone = ZoneInfo(labels.get("TimeZoneString", "UTC"))
        local = datetime.fromtimestamp(epoch, UTC).astimezone(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError, OverflowError):
        return epoch % 86400
    return local.hour * 3600 + local.minute * 60 + local.second


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
