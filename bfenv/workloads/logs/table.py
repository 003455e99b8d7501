"""A table of jobs whose columns the caller names, CSV or Parquet, as a trace."""

import csv
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import tzinfo
from functools import partial
from typing import Any, TypeVar, Unpack

from bfenv.core.errors import WorkloadError
from bfenv.core.jobs import Trace
from bfenv.workloads.logs.conversion import ReaderOptions, convert
from bfenv.workloads.logs.parquet import check_columns, is_parquet, read_rows
from bfenv.workloads.logs.run import Dropped, Run, order_times
from bfenv.workloads.logs.text import first_lines, numbered_lines
from bfenv.workloads.logs.times import find_zone, read_duration, read_integer, read_time

FIELDS = (
    "submit", "size", "runtime", "start", "end", "estimate", "user", "group", "queue", "partition",
    "cluster", "job",
)  # fmt: skip
DELIMITERS = ",;\t|"
FEWEST = 3  # columns, because each job needs submit, size and runtime
NOTES = ("made of a table of jobs; both sizes are the table's one",)

Value = TypeVar("Value")


def read_columns(
    path: str | os.PathLike[str],
    mapping: Mapping[str, str],
    *,
    delimiter: str | None = None,
    **options: Unpack[ReaderOptions],
) -> Trace:
    r"""Read the jobs of a table: text with a line of column names, or Parquet.

    Each line of text, or row, is a job, or counted in `trace.cleaning`.

    Times are seconds since 1970, or ISO 8601, which is local time without an offset. Where the
    clock was set back, they are chosen such that submit <= start <= end. Durations are seconds or
    text such as "1-12:00:00" or "90m". An empty field or a negative number is what is not known.
    Users, groups, queues and partitions are numbered by first appearance; no name is kept.

    Parameters
    ----------
    path
        The file, text gzipped or not.
    mapping
        The column of each field: {"submit": "Submitted", "size": "CPUs", ...}. Required are submit,
        size, and runtime or both start and end. Optional are estimate, user, group, queue,
        partition, cluster, and job, its id. Other columns are ignored.
    delimiter
        One character. None chooses that of , ; tab | which is most frequent in the first line.
    **options : ReaderOptions
        As in `read_sacct`: processors, timezone, selection, longest, overrun, on_error.

    Returns
    -------
    Trace
        The trace, with SWF records and header.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    WorkloadError
        If columns or jobs are missing, an option is out of range, a line is malformed, Parquet
        cannot be read without pyarrow, or `processors` is None: the message then states how many
        were in use at once.

    Examples
    --------
    >>> from pathlib import Path
    >>> from bfenv.workloads import read_columns
    >>> text = "job,queued,began,ended,cores\n7,0,10,70,4\n8,5,70,100,2\n"
    >>> written = Path("jobs.csv").write_text(text)
    >>> mapping = {"submit": "queued", "start": "began", "end": "ended", "size": "cores"}
    >>> trace = read_columns("jobs.csv", mapping, processors=4)
    >>> trace.runtime
    array([60, 30])
    """
    mapping = _check_mapping(mapping)
    zone = find_zone(options.get("timezone", "UTC"))
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise WorkloadError(f"delimiter must be one character, got {delimiter!r:.60}")
    if is_parquet(path):
        return convert(path, read_rows(path, mapping), partial(parse_row, zone), NOTES, **options)
    lines = numbered_lines(path)
    header = next(lines)[1]
    delimiter = delimiter or max(DELIMITERS, key=header.count)
    names = _names(path, header, delimiter)
    columns = find_columns(path, names, mapping)
    parse = partial(_parse_text, zone, header, columns, len(names), delimiter)
    return convert(path, lines, parse, NOTES, **options)


def table_columns(path: str | os.PathLike[str], delimiter: str) -> list[str]:
    """Return the names in the first line of a table that is text.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    WorkloadError
        If it cannot be read.
    """
    return _names(path, first_lines(path)[0], delimiter)


def is_table(lines: Sequence[str]) -> bool:
    """Tell whether lines are a table: most have as many fields as the first one has columns.

    Prose may have a delimiter in every line, but seldom the same number of them.
    """
    for delimiter in DELIMITERS:
        width, *widths = (_width(line, delimiter) for line in lines)
        if width >= FEWEST and 2 * widths.count(width) >= len(widths):
            return True
    return False


def _width(line: str, delimiter: str) -> int:
    try:
        return len(_split(line, delimiter))
    except ValueError:
        return 0


def find_columns(
    path: str | os.PathLike[str], names: list[str], mapping: Mapping[str, str]
) -> dict[str, int]:
    """Return the column of each field, counted from 0.

    Raises
    ------
    WorkloadError
        If the table lacks some.
    """
    check_columns(path, mapping, names)
    return {field: names.index(column) for field, column in mapping.items()}


def parse_row(zone: tzinfo, row: Mapping[str, Any]) -> Run | Dropped:
    """Return the run in a row, by field, or the reason why there is none.

    Raises
    ------
    ValueError
        If the row is malformed.
    """
    submitted = _read(row, "submit", read_time, zone)
    start, end = _read(row, "start", read_time, zone), _read(row, "end", read_time, zone)
    runtime, size = _read(row, "runtime", read_duration), _read(row, "size", read_integer)
    estimate = _read(row, "estimate", read_duration)
    if not submitted:
        return _dropped("no_submit", row)
    submit, begin, finish = order_times(submitted, start, end, runtime)
    if runtime is None and begin >= 0 and finish >= 0:
        runtime = finish - begin
    if runtime is None or runtime < 1:
        return _dropped("no_runtime", row)
    if size is None or size < 1:
        return _dropped("no_size", row)
    return Run(
        submit,
        begin,
        runtime,
        size,
        estimate=max(estimate or -1, -1),
        user=_name(row.get("user")),
        group=_name(row.get("group")),
        queue=_name(row.get("queue")),
        partition=_name(row.get("partition")),
        cluster=_name(row.get("cluster")),
        job=_name(row.get("job")),
    )


def _check_mapping(mapping: Mapping[str, str]) -> dict[str, str]:
    unknown = [field for field in mapping if field not in FIELDS]
    if unknown:
        raise WorkloadError(f"mapping has no field {unknown[0]!r}; it has {', '.join(FIELDS)}")
    missing = [field for field in ("submit", "size") if field not in mapping]
    if "runtime" not in mapping and not {"start", "end"} <= mapping.keys():
        missing.append("runtime (or start and end)")
    if missing:
        raise WorkloadError(f"mapping must name the columns of {', '.join(missing)}")
    return dict(mapping)


def _names(path: str | os.PathLike[str], header: str, delimiter: str) -> list[str]:
    try:
        return [name.strip() for name in _split(header, delimiter)]
    except ValueError as error:
        raise WorkloadError(f"{path}: the line of column names: {error}") from None


def _split(line: str, delimiter: str) -> list[str]:
    """Split a line; each by itself, so that an open quote spoils no other line."""
    try:
        return next(csv.reader((line,), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise ValueError(str(error)) from None


def _parse_text(
    zone: tzinfo, header: str, columns: dict[str, int], width: int, delimiter: str, line: str
) -> Run | Dropped | str:
    """Return the run in a line, or why there is none; ValueError if it is malformed."""
    if line == header:
        return "headers"
    words = _split(line, delimiter)
    if len(words) != width:
        raise ValueError(f"{len(words)} fields, expected {width}")
    return parse_row(zone, {field: words[i] for field, i in columns.items()})


def _read(
    row: Mapping[str, Any], field: str, reader: Callable[..., Value], *arguments: Any
) -> Value:
    try:
        return reader(row.get(field), *arguments)
    except ValueError as error:
        raise ValueError(f"{field}: {error}") from None


def _dropped(why: str, row: Mapping[str, Any]) -> Dropped:
    return Dropped(why, _name(row.get("partition")), _name(row.get("cluster")))


def _name(value: Any) -> str:
    return "" if value is None else str(value).strip()
