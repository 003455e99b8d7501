"""A table of jobs, CSV or Parquet, whose columns the caller names, as a Trace."""

import csv
import os
from collections.abc import Iterable, Mapping
from datetime import tzinfo
from functools import partial
from pathlib import Path
from typing import Any

from bfenv.core.errors import WorkloadError
from bfenv.core.jobs import Trace
from bfenv.workloads.logs.conversion import Run, convert, gather, in_order, numbered_lines
from bfenv.workloads.logs.times import find_zone, instants, seconds, whole

FIELDS = (
    "submit", "size", "runtime", "start", "end", "estimate", "user", "group", "queue", "partition",
)  # fmt: skip
DELIMITERS = ",;\t|"


def read_columns(
    path: str | os.PathLike,
    mapping: Mapping[str, str],
    *,
    processors: int | None = None,
    timezone: str = "UTC",
    delimiter: str | None = None,
    longest: int | None = None,
    overrun: str = "kill",
    on_error: str = "raise",
) -> Trace:
    """The jobs of a table: text with a line of column names, gzipped or not, or Parquet.

    `mapping` says which column is what: {"submit": "Submitted", "size": "CPUs", ...}. Needed are
    submit, size, and runtime or both start and end; estimate, user, group, queue and partition
    may be left out. Other columns are ignored.

    Times are numbers, seconds since 1970, or ISO 8601, which without an offset is local time of
    `timezone`; that is also the zone of the times of day. Where the clock was set back, they are
    taken so that submit <= start <= end. Durations are numbers of seconds or [D-]HH:MM:SS.
    Nothing, or a negative number, is what is not known. Names become numbers by first appearance.

    A job without an estimate is given `longest` seconds or its runtime, whichever is longer.
    Runtimes beyond the estimate are cut to it (overrun="kill"), or it is raised ("extend").

    A job is one line of text, its delimiter that of , ; tab | which the first line has most of,
    unless `delimiter` names one. Every line is a job or counted in `trace.cleaning`.

    Raises FileNotFoundError, and WorkloadError if columns or jobs are missing, if `processors` is
    None, for Parquet without pyarrow, and on a malformed line; with on_error="skip" those are
    counted and skipped with a warning.
    """
    mapping = _checked(mapping)
    zone = find_zone(timezone)
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise WorkloadError(f"a delimiter is one character, not {delimiter!r}")
    if is_parquet(path):
        lines = _parquet(path, mapping)
        parse = partial(_run, zone)
    else:
        (_, header), *lines = numbered_lines(path)
        delimiter = delimiter or max(DELIMITERS, key=header.count)
        places, width = _places(path, header, mapping, delimiter)
        parse = partial(_text, zone, header, places, width, delimiter)
    runs, counts = gather(path, lines, parse, on_error)
    return convert(
        path,
        runs,
        counts,
        processors=processors,
        timezone=timezone,
        overrun=overrun,
        longest=longest,
        notes=["made of a table of jobs; both sizes are the table's one"],
    )


def _checked(mapping: Mapping[str, str]) -> dict[str, str]:
    unknown = [field for field in mapping if field not in FIELDS]
    if unknown:
        raise WorkloadError(f"no field {unknown[0]!r} to map to; there are {', '.join(FIELDS)}")
    missing = [field for field in ("submit", "size") if field not in mapping]
    if "runtime" not in mapping and not {"start", "end"} <= mapping.keys():
        missing.append("runtime (or start and end)")
    if missing:
        raise WorkloadError(f"the columns' map says nothing of {', '.join(missing)}")
    return dict(mapping)


def _missing(path: str | os.PathLike, wanted: Iterable[str], there: Iterable[str]) -> WorkloadError:
    names = ", ".join(repr(name) for name in wanted)
    return WorkloadError(f"{path}: no column {names}; there are {', '.join(map(repr, there))}")


def _places(
    path: str | os.PathLike, header: str, mapping: dict[str, str], delimiter: str
) -> tuple[dict[str, int], int]:
    """Where in a line each field is, and how many columns there are."""
    try:
        names = [name.strip() for name in _split(header, delimiter)]
    except ValueError as error:
        raise WorkloadError(f"{path}: the line of column names: {error}") from None
    absent = [column for column in mapping.values() if column not in names]
    if absent:
        raise _missing(path, absent, names)
    return {field: names.index(column) for field, column in mapping.items()}, len(names)


def _split(line: str, delimiter: str) -> list[str]:
    """The words of a line; by itself, so that a quote left open spoils no other line."""
    try:
        return next(csv.reader((line,), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise ValueError(str(error)) from None


def _text(
    zone: tzinfo, header: str, places: dict[str, int], width: int, delimiter: str, line: str
) -> Run | str:
    if line == header:
        return "headers"
    words = _split(line, delimiter)
    if len(words) != width:
        raise ValueError(f"{len(words)} fields, expected {width}")
    return _run(zone, {field: words[place] for field, place in places.items()})


def _run(zone: tzinfo, job: dict[str, Any]) -> Run | str:
    """The run that a line tells of, or why it tells of none; ValueError if it is malformed."""

    def read(reader, field, *arguments):
        try:
            return reader(job.get(field), *arguments)
        except ValueError as error:
            raise ValueError(f"{field}: {error}") from None

    times = [read(instants, field, zone) for field in ("submit", "start", "end")]
    runtime, size = read(seconds, "runtime"), read(whole, "size")
    estimate = read(seconds, "estimate")
    if not times[0]:
        return "no_submit"
    submit, start, end = in_order(*times, runtime)
    if runtime is None and start >= 0 and end >= 0:
        runtime = end - start
    if runtime is None or runtime < 1:
        return "no_runtime"
    if size is None or size < 1:
        return "no_size"
    names = ("" if job.get(name) is None else str(job[name]).strip() for name in FIELDS[6:])
    return Run(submit, start, runtime, size, max(estimate or -1, -1), *names)


def is_parquet(path: str | os.PathLike) -> bool:
    """Whether a file begins as Parquet does."""
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"PAR1"
    except FileNotFoundError:
        raise FileNotFoundError(f"no such file: {path}") from None
    except OSError as error:
        raise WorkloadError(f"{path}: cannot be read: {error.strerror}") from error


def _parquet(
    path: str | os.PathLike, mapping: dict[str, str]
) -> Iterable[tuple[int, dict[str, Any]]]:
    """Number and fields of the rows of a Parquet file."""
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError:
        raise WorkloadError(
            f"{path}: Parquet needs pyarrow: pip install 'bfenv[parquet]'"
        ) from None
    try:
        with parquet.ParquetFile(Path(path)) as file:
            there = file.schema_arrow.names
            absent = [column for column in mapping.values() if column not in there]
            if absent:
                raise _missing(path, absent, there)
            table = file.read(columns=sorted(set(mapping.values())))
        columns = {}
        for field, name in mapping.items():
            column = table.column(name)
            kind = column.type
            if arrow.types.is_timestamp(kind):  # nanoseconds would ask for pandas
                kind = arrow.timestamp("us", tz=kind.tz and "UTC")
                column = column.cast(kind, safe=False)
            elif arrow.types.is_duration(kind):
                column = column.cast(arrow.duration("us"), safe=False)
            columns[field] = column.to_pylist()
    except WorkloadError:
        raise
    except (arrow.ArrowException, OSError, ValueError, OverflowError) as error:
        reason = str(error).partition("\n")[0]
        raise WorkloadError(f"{path}: the Parquet file cannot be read: {reason}") from error
    rows = zip(*columns.values(), strict=True)
    return enumerate((dict(zip(columns, row, strict=True)) for row in rows), start=1)
