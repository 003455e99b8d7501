"""SWF records: the 18 numbers of each job, their fields, and their lines of text.

Records are (n, 18) float64; -1 is what is not known.
"""

import re
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bfenv.core.errors import WorkloadError
from bfenv.core.text import counted
from bfenv.workloads.arguments import LARGEST_EXACT
from bfenv.workloads.logs.cleaning import malformed_warning
from bfenv.workloads.logs.markers import NUMBERS

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
JOB, SUBMIT, WAIT, RUNTIME, ALLOCATED, REQUESTED, ESTIMATE = 0, 1, 2, 3, 4, 7, 8
STATUS, USER, GROUP, QUEUE, PARTITION, PRECEDING = 10, 11, 12, 14, 15, 16
UNLIMITED = [number for number in NUMBERS if number < LARGEST_EXACT]
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


class Requests(NamedTuple):
    """What the records request, as they have it: what is not known is not positive."""

    submit: np.ndarray  # (n,) int64 seconds
    size: np.ndarray  # (n,) int64 processors
    runtime: np.ndarray  # (n,) int64 seconds
    estimate: np.ndarray  # (n,) int64 seconds


def parse_records(path: Path, lines: list[str], on_error: str) -> tuple[np.ndarray, int]:
    """Return the records in the lines of a file, and how many malformed lines were skipped.

    numpy's parser reads all lines at once. Only if it fails are they read one by one, to name the
    place.

    Raises WorkloadError if a line is malformed and `on_error` is "raise".
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # "input contained no data"
            records = np.loadtxt(lines, comments=";", ndmin=2)
        width = len(FIELDS)
        if records.size == 0 or (
            records.shape[1] == width and np.abs(records).max() < LARGEST_EXACT
        ):
            return records.reshape(-1, width), 0
    except ValueError:
        pass
    rows, malformed, first = [], 0, ""
    for number, line in enumerate(lines, start=1):
        words = line.partition(";")[0].split()
        if not words:
            continue
        fault = _find_fault(words)
        if fault is None:
            rows.append([float(word) for word in words])
            continue
        malformed, first = malformed + 1, first or f"{path}:{number}: {fault}"
        if on_error == "raise":
            raise WorkloadError(first)
    if malformed:
        warnings.warn(malformed_warning(malformed, first), stacklevel=4)
    return np.array(rows, dtype=np.float64).reshape(-1, len(FIELDS)), malformed


def format_records(records: np.ndarray) -> list[str]:
    """Return a line of text for each record, its numbers in their shortest form."""
    words: list[str] = []
    columns: list[list[int] | list[str]] = []
    for i, column in enumerate(records.T):
        if i > 0 and (column == column[0]).all():  # most logs leave many fields out
            words.append(_shortest(column[0]))
        elif np.array_equal(column, np.floor(column)):
            words.append("%d")
            columns.append(column.astype(np.int64).tolist())
        else:
            words.append("%s")
            columns.append(list(map(_shortest, column.tolist())))
    template = " ".join(words)
    return [template % row for row in zip(*columns, strict=True)]


def requests_in(records: np.ndarray) -> Requests:
    """Return what the records request, nothing repaired."""
    values = records[:, [SUBMIT, RUNTIME, ALLOCATED, REQUESTED, ESTIMATE]]
    rounded = np.floor(values)
    rounded += values - rounded >= 0.5  # adding 0.5 would change the largest values
    submit, runtime, allocated, requested, estimate = rounded.astype(np.int64).T.copy()
    estimate[np.isin(estimate, UNLIMITED)] = -1
    return Requests(submit, np.where(requested > 0, requested, allocated), runtime, estimate)


def _find_fault(words: list[str]) -> str | None:
    """Return why the words of a line are not a record, or None."""
    if len(words) != len(FIELDS):
        return f"{counted(len(words), 'field')}, expected {len(FIELDS)}"
    for i, word in enumerate(words):
        field = f"field {i + 1} ({FIELDS[i]}): {word[:40]!r}"
        if not NUMBER.fullmatch(word):
            return f"{field} is not a number"
        if not abs(float(word)) < LARGEST_EXACT:
            return f"{field} is out of range"
    return None


def _shortest(value: float) -> str:
    """Return a number as text, the shortest that is read as the same number."""
    return str(int(value)) if value.is_integer() else repr(float(value))
