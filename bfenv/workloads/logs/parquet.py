"""The rows of a Parquet file, read with pyarrow where it is installed."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bfenv.core.errors import WorkloadError
from bfenv.workloads.logs.text import FEW, RATIO

MAGIC = b"PAR1"
MOST_NAMES, LONGEST_NAME = 30, 40  # of columns, in a message


def is_parquet(path: str | os.PathLike[str]) -> bool:
    """Return whether a file begins as Parquet does.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    WorkloadError
        If it cannot be read.
    """
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except FileNotFoundError:
        raise FileNotFoundError(f"no such file: {path}") from None
    except OSError as error:
        raise WorkloadError(f"{path}: cannot be read: {error.strerror}") from error


def check_columns(
    path: str | os.PathLike[str], mapping: Mapping[str, str], names: list[str]
) -> None:
    """Check that a table has the columns of a mapping.

    Raises
    ------
    WorkloadError
        If it lacks some; the message names all of them, and the first of those there are.
    """
    missing = ", ".join(repr(column) for column in mapping.values() if column not in names)
    if missing:
        there = ", ".join(repr(name[:LONGEST_NAME]) for name in names[:MOST_NAMES])
        more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
        raise WorkloadError(f"{path}: no column {missing}; it has {there}{more}")


def _check_rows(path: str | os.PathLike[str], rows: int) -> None:
    """Check that there are no more rows than a file of this size can mean: equal ones take none."""
    most = max(FEW, RATIO * os.stat(path).st_size)
    if rows > most:
        raise WorkloadError(f"{path}: {rows:,} rows, more than {most:,}, which no log has")


def read_rows(
    path: str | os.PathLike[str], mapping: Mapping[str, str]
) -> Iterable[tuple[int, dict[str, Any]]]:
    """Return number and fields of each row.

    Parameters
    ----------
    path
        The file.
    mapping
        The column of each field.

    Raises
    ------
    WorkloadError
        If pyarrow is not installed, a column is missing, or the file cannot be read.
    """
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError:
        raise WorkloadError(
            f"{path}: Parquet needs pyarrow: pip install 'bfenv[parquet]'"
        ) from None
    try:
        with parquet.ParquetFile(Path(path)) as file:
            check_columns(path, mapping, file.schema_arrow.names)
            _check_rows(path, file.metadata.num_rows)
            table = file.read(columns=sorted(set(mapping.values())))
        columns = {}
        for field, name in mapping.items():
            column = table.column(name)
            kind = column.type
            if arrow.types.is_timestamp(kind):  # nanoseconds would need pandas
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
