"""The raw jobs that Open XDMoD exports, as a trace.

Source: the raw statistics of Open XDMoD 9.0 to 11.0, and the writers of its data export. It writes
CSV, or JSON: a list of records, each a list on a line of its own. The first record is the column
names; times are seconds since 1970, durations seconds.
"""

import json
import os
from collections.abc import Iterator
from datetime import UTC
from functools import partial
from typing import Any, Unpack

from bfenv.core.arguments import check_choice
from bfenv.core.errors import WorkloadError
from bfenv.core.jobs import Trace
from bfenv.workloads.logs.conversion import ReaderOptions, convert
from bfenv.workloads.logs.run import Dropped, Run
from bfenv.workloads.logs.table import (
    NOTES,
    find_columns,
    parse_row,
    read_columns,
    table_columns,
)
from bfenv.workloads.logs.text import first_lines, numbered_lines

SUBMIT = "Submit Time (Timestamp)"
JOB = "Local Job Id"
SIZES = {"cores": "Cores", "nodes": "Nodes", "gpus": "GPUs"}
REQUIRED = {
    "submit": SUBMIT,
    "start": "Start Time (Timestamp)",
    "end": "End Time (Timestamp)",
    "runtime": "Wall Time",
    "job": JOB,
}
OPTIONAL = {
    "estimate": "Requested Wall Time",
    "user": "User ID",
    "group": "Principal Investigator ID",
    "queue": "Quality of Service",
    "partition": "Queue",
    "cluster": "Resource",
}


def read_xdmod(
    path: str | os.PathLike[str],
    *,
    resource: str = "cores",
    eligible: bool = False,
    **options: Unpack[ReaderOptions],
) -> Trace:
    """Read the jobs of the realm Jobs that Open XDMoD's data export wrote as CSV or JSON.

    The queue is the partition, the quality of service is the queue, a resource is a cluster, and
    the principal investigator is the group. An export may hold several resources: choose one with
    the selection's cluster.

    Parameters
    ----------
    resource
        What a processor is: "cores", "nodes" or "gpus".
    eligible
        Take the time from which a job could be scheduled as its submit time.
    path, **options
        As in `read_sacct`: processors, timezone, selection, longest, overrun, on_error.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    WorkloadError
        If the file is not such an export, no job is left, an option is out of range, or a line is
        malformed.
    """
    check_choice("resource", resource, SIZES, error=WorkloadError)
    mapping = REQUIRED | {"size": SIZES[resource]}
    if eligible:
        mapping["submit"] = "Eligible Time (Timestamp)"
    if not is_json(first_lines(path)):
        mapping = _with_optional(mapping, table_columns(path, ","))
        return read_columns(path, mapping, delimiter=",", **options)
    lines = _json_lines(path)
    names = _column_names(path, lines)
    columns = find_columns(path, names, _with_optional(mapping, names))
    parse = partial(_parse_record, columns, len(names))
    return convert(path, lines, parse, NOTES, **options)


def is_export(lines: list[str]) -> bool:
    """Return whether the first lines of a file are those of such an export."""
    header = "".join(lines[:2] if is_json(lines) else lines[:1])
    return SUBMIT in header and JOB in header


def is_json(lines: list[str]) -> bool:
    """Return whether the first lines of a file are those of a list in JSON."""
    return lines[0].lstrip().startswith("[")


def _with_optional(mapping: dict[str, str], names: list[str]) -> dict[str, str]:
    return mapping | {field: column for field, column in OPTIONAL.items() if column in names}


def _json_lines(path: str | os.PathLike[str]) -> Iterator[tuple[int, str]]:
    """Yield number and text of the lines that are records, which are between brackets."""
    lines = numbered_lines(path)
    if next(lines)[1].strip() != "[":
        raise WorkloadError(f"{path}: expected each record on a line, as Open XDMoD writes them")
    for number, line in lines:
        if line.strip() != "]":
            yield number, line
        elif (rest := next(lines, None)) is not None:
            raise WorkloadError(f"{path}:{rest[0]}: the list ended on the line before")
        else:
            return
    raise WorkloadError(f"{path}: the file is cut: the list in it does not end")


def _column_names(path: str | os.PathLike[str], lines: Iterator[tuple[int, str]]) -> list[str]:
    """Return the column names, which are the first record."""
    try:
        return [str(name).strip() for name in _record(next(lines, (0, "[]"))[1])]
    except ValueError as error:
        raise WorkloadError(f"{path}: the record of column names: {error}") from None


def _parse_record(columns: dict[str, int], width: int, line: str) -> Run | Dropped:
    """Return the run in a line, or why there is none; ValueError if it is malformed."""
    values = _record(line)
    if len(values) != width:
        raise ValueError(f"{len(values)} values, expected {width}")
    return parse_row(UTC, {field: values[i] for field, i in columns.items()})


def _record(line: str) -> list[Any]:
    try:
        record = json.loads(line.strip().removesuffix(","))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from None
    if not isinstance(record, list):
        raise ValueError("a record must be a list")
    return record
