"""Tables of jobs whose columns you name, or that Open XDMoD exports: text, Parquet or JSON."""

import csv
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from bfenv.core.arguments import check_choice
from bfenv.core.errors import WorkloadError
from bfenv.core.jobs import Trace
from bfenv.workloads.logs.markers import is_nothing
from bfenv.workloads.logs.text import FEW, RATIO, first_lines, join_lines, numbered_lines, read_json
from bfenv_site.logs.conversion import CommonOptions, convert
from bfenv_site.logs.estimates import UNITS
from bfenv_site.logs.run import ENDLESS_NUMBER, NO_NUMBER, Ambiguous, Log, Record

FIELDS = (
    "submit",
    "size",
    "runtime",
    "start",
    "end",
    "estimate",
    "user",
    "group",
    "account",
    "queue",
    "partition",
    "cluster",
    "nodes",
    "job",
    "after",
)
NAMES = FIELDS[6:]
DURATIONS = ("runtime", "estimate")
TIMES = ("submit", "start", "end")
MOST = 1e30  # of a number in its unit
BATCH = 1 << 16  # rows of Parquet that are read at a time
DELIMITERS = ",;\t|"
FEWEST = 3  # columns, because each job needs submit, size and runtime
NOTES = ("made of a table of jobs; both sizes are the table's one",)
LABELS = {"limit": "estimate"}
NONE: Mapping[str, str] = {}  # no optional columns
MAGIC = b"PAR1"  # of Parquet
MOST_NAMES, LONGEST_NAME = 30, 40  # of columns, in a message
SIZES = {"cores": "Cores", "nodes": "Nodes", "gpus": "GPUs"}
# The raw statistics of the realm Jobs that Open XDMoD 9.0 to 11.0 exports: the queue is the
# partition, a resource a cluster, and the principal investigator the group.
XDMOD = {
    "submit": "Submit Time (Timestamp)",
    "start": "Start Time (Timestamp)",
    "end": "End Time (Timestamp)",
    "runtime": "Wall Time",
    "job": "Local Job Id",
}
XDMOD_OPTIONAL = {
    "estimate": "Requested Wall Time",
    "user": "User ID",
    "group": "Principal Investigator ID",
    "queue": "Quality of Service",
    "partition": "Queue",
    "cluster": "Resource",
}


def read_columns(
    path: str | os.PathLike[str],
    mapping: Mapping[str, str],
    *,
    delimiter: str | None = None,
    processors: int | None = None,
    **options: Unpack[CommonOptions],
) -> Trace:
    r"""Return the jobs of a table: text with a line of column names, or Parquet.

    Each row is a job, or counted in `trace.cleaning`. A field in quotes may have line breaks.

    Times are seconds since 1970, or ISO 8601, which is local time without an offset. Where the
    clock was set back, they are chosen such that submit <= start <= end. Durations are seconds or
    text such as "1-12:00:00" or "90m". An empty field or -1 is what is not known; a start of 0,
    "Unknown" or 1970-01-01 is that of a job that never started. Users, groups, queues and
    partitions are numbered by first appearance; no name is kept.

    Args:
        path: The file, text gzipped or not.
        mapping: The column of each field: {"submit": "Submitted", "size": "CPUs", ...}. Behind the
            column of a duration, or of times since 1970, its unit may stand, as in
            "time_limit:min": s, min, h, ms or us.
            Required are submit, size, and runtime or both start and end. Optional are estimate,
            user, group, account, queue, partition, cluster, nodes, job, its id, and after, the jobs
            that it waits for: their ids, or Slurm's text such as "afterok:7". Other columns are
            ignored.
        delimiter: One character. None chooses that of , ; tab | which is most frequent in the first
            line.
        processors: Processors of the machine.
        **options: As in `read_sacct`: timezone, selection, longest, overrun, on_error.

    Raises:
        FileNotFoundError: If there is no such file.
        WorkloadError: If columns or jobs are missing, an option is out of range, a line is
            malformed, Parquet cannot be read without pyarrow, or `processors` is None: the message
            then states how many were in use at once.

    Examples:
        >>> from pathlib import Path
        >>> from bfenv_site import read_columns
        >>> text = "job,queued,began,ended,cores\n7,0,10,70,4\n8,5,70,100,2\n"
        >>> written = Path("jobs.csv").write_text(text)
        >>> mapping = {"submit": "queued", "start": "began", "end": "ended", "size": "cores"}
        >>> trace = read_columns("jobs.csv", mapping, processors=4)
        >>> trace.runtime
        array([60, 30])
    """
    unknown = [field for field in mapping if field not in FIELDS]
    if unknown:
        raise WorkloadError(f"there is no field {unknown[0]!r}; fields are {', '.join(FIELDS)}")
    missing = [field for field in ("submit", "size") if field not in mapping]
    if "runtime" not in mapping and not {"start", "end"} <= mapping.keys():
        missing.append("runtime (or start and end)")
    if missing:
        raise WorkloadError(f"no column is given for {', '.join(missing)}")
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise WorkloadError(f"delimiter must be one character, got {delimiter!r:.60}")
    mapping, units = split_units(mapping)
    if is_parquet(path):
        rows, parse = _parquet_rows(path, mapping), partial(_record, list(mapping))
        log = Log(rows, parse, Counter(), NOTES, labels=LABELS, has_gaps=True)
    else:
        log = open_rows(path, delimiter, mapping)
    if units:
        log = log._replace(parse=partial(_in_seconds, log.parse, units))
    log = log._replace(
        durations={
            field: (mapping[field], units.get(field, 1.0))
            for field in DURATIONS
            if field in mapping
        }
    )
    return convert(path, log, processors=processors, **options)


def split_units(mapping: Mapping[str, str]) -> tuple[dict[str, str], dict[str, float]]:
    """Return the column of each field without its unit, and the seconds in the units.

    Raises WorkloadError if a column that is not a time has a unit.
    """
    columns, units = {}, {}
    for field, text in mapping.items():
        column, colon, unit = text.rpartition(":")
        if not colon or unit not in UNITS:
            columns[field] = text
            continue
        if field not in DURATIONS + TIMES:
            raise WorkloadError(f"mapping: {field} is no time, so {text!r} has no unit")
        columns[field], units[field] = column, UNITS[unit]
    return columns, units


def _in_seconds(parse: Callable[[Any], Record], units: Mapping[str, float], line: Any) -> Record:
    """Return a record whose times and durations that are numbers count seconds.

    Raises ValueError if a time with a unit is a date.
    """
    record = parse(line)
    changed: dict[str, Any] = {}
    for field, unit in units.items():
        name = "limit" if field == "estimate" else field
        value = getattr(record, name)
        try:
            number = float(value)
        except (ValueError, TypeError, OverflowError):
            if field in TIMES and not is_nothing(value):  # a duration as text says its own units
                raise ValueError(
                    f"{field}: {str(value)[:40]!r} is not a number; leave out the unit of its "
                    "column"
                ) from None
            continue
        if field == "estimate" and number in (ENDLESS_NUMBER, NO_NUMBER):
            changed[name] = ""
        elif 0 <= number < MOST:
            changed[name] = number * unit
    return record._replace(**changed)


def open_rows(
    path: str | os.PathLike[str],
    delimiter: str | None,
    required: Mapping[str, str],
    optional: Mapping[str, str] = NONE,
) -> Log:
    """Open a table that is text, whose fields are in required and optional columns."""
    lines, encoding = numbered_lines(path)
    header = next(lines)[1]
    delimiter = delimiter or guess_delimiter(header)
    try:
        names = [name.strip() for name in _split(header, delimiter)]
    except ValueError as error:
        raise WorkloadError(f"{path}: the line of column names: {error}") from None
    fields, places = find_columns(path, names, required, optional)

    def record(words: Sequence[str]) -> Record:
        return _record(fields, [words[i] for i in places])

    free = [i for i in range(len(names)) if i not in places]
    rows = Rows(header, delimiter, len(names), free, record)
    counts: Counter[str] = Counter()
    whole = join_lines(lines, rows.is_whole, rows.begins, counts)
    return Log(whole, rows.parse, counts, NOTES, encoding, labels=LABELS, has_gaps=True)


class Rows(NamedTuple):
    """The rows of a table that is text, each a record of as many fields as there are columns."""

    header: str  # which may be repeated; "" for none
    delimiter: str
    width: int  # columns
    free: Sequence[int]  # columns whose text may have delimiters in it
    record: Callable[[Sequence[str]], Record]  # of the fields
    is_quoted: bool = True  # quotes hold a field together
    is_first: Callable[[str], bool] = bool  # whether a text can be the first field

    def split(self, line: str) -> list[str]:
        """Return the fields of a line; wrong quotes are characters like others."""
        if self.is_quoted and '"' in line:
            with suppress(ValueError):
                return _split(line, self.delimiter)
        return line.split(self.delimiter)

    def is_whole(self, line: str) -> bool:
        """Return whether a text has all fields of a row; ValueError if its quotes are wrong."""
        if self.is_quoted and '"' in line:
            try:
                return len(_split(line, self.delimiter)) >= self.width
            except Unfinished:
                return False
        if line.count(self.delimiter) >= self.width - 1:
            return True
        return not self.is_first(line.partition(self.delimiter)[0].strip())

    def begins(self, before: str, line: str) -> bool:
        """Return whether a line is a row itself, not the rest of the one before."""
        if self.is_quoted and '"' in before:
            try:
                _split(before, self.delimiter)
            except Unfinished:
                return False
        first, *cells = line.split(self.delimiter)
        return len(cells) >= self.width - 1 and self.is_first(first.strip())

    def continues(self, line: str) -> bool:
        """Return whether a line is no row, by its first field, but the rest of the last column."""
        first, *cells = line.split(self.delimiter)
        return len(cells) < self.width - 1 and not self.is_first(first.strip())

    def parse(self, line: str) -> Record:
        """Return the record in a line; ValueError if it is malformed."""
        if line == self.header:
            return Record(reason="headers")
        words = self.split(line)
        surplus = len(words) - self.width
        if surplus == 0:
            return self.record(words)
        guess = f"a name with {self.delimiter!r} in it?" if surplus > 0 else "cut short?"
        message = f"{len(words)} fields, expected {self.width} ({guess})"
        if surplus < 0:
            raise ValueError(message)
        raise Ambiguous(message, self._meanings(words, surplus))

    def _meanings(self, words: list[str], surplus: int) -> Iterator[Record]:
        """Yield the records if the surplus is empty, or belongs to one of the free columns."""
        if not "".join(words[self.width :]):
            with suppress(ValueError):
                yield self.record(words[: self.width])
        for i in self.free:
            text = self.delimiter.join(words[i : i + surplus + 1])
            try:
                yield self.record([*words[:i], text, *words[i + surplus + 1 :]])
            except ValueError:
                continue


def open_xdmod(
    path: str | os.PathLike[str], resource: str = "cores", eligible: bool = False
) -> Log:
    """Open the realm Jobs as Open XDMoD exports it: CSV, or JSON, a list whose first is names."""
    check_choice("resource", resource, SIZES, error=WorkloadError)
    required = XDMOD | {"size": SIZES[resource]}
    if eligible:
        required["submit"] = "Eligible Time (Timestamp)"
    if not first_lines(path)[0].lstrip().startswith("["):
        return open_rows(path, ",", required, XDMOD_OPTIONAL)._replace(has_epochs=True)
    rows, encoding = read_json(path)
    names = [str(name).strip() for name in rows[0]] if rows and isinstance(rows[0], list) else []
    fields, places = find_columns(path, names, required, XDMOD_OPTIONAL)

    def parse(row: Any) -> Record:
        if not isinstance(row, list) or len(row) != len(names):
            raise ValueError(f"not a list of {len(names)} values")
        return _record(fields, [row[i] for i in places])

    lines = enumerate(rows[1:], start=2)
    return Log(
        lines, parse, Counter(), NOTES, encoding, labels=LABELS, has_gaps=True, has_epochs=True
    )


def _record(fields: Sequence[str], values: Sequence[Any]) -> Record:
    texts = ("" if value is None else value for value in values)
    row: dict[str, Any] = dict(zip(fields, texts, strict=True))
    row["limit"] = row.pop("estimate", None)
    for name in NAMES:
        if name in row:
            row[name] = str(row[name]).strip()
    return Record(**row)


def is_table(lines: Sequence[str]) -> bool:
    """Tell whether lines are a table: most have as many fields as the first one has columns.

    Prose may have a delimiter in every line, but seldom the same number of them.
    """
    for delimiter in DELIMITERS:
        width, *widths = (_width(line, delimiter) for line in lines)
        if width >= FEWEST and 2 * widths.count(width) >= len(widths):
            return True
    return False


def guess_delimiter(header: str) -> str:
    """Return the delimiter that is most frequent in a line."""
    return max(DELIMITERS, key=header.count)


def find_columns(
    path: str | os.PathLike[str],
    names: Sequence[str],
    required: Mapping[str, str],
    optional: Mapping[str, str] = NONE,
) -> tuple[list[str], list[int]]:
    """Return the fields that a table has, and the places of their columns.

    Raises WorkloadError if it lacks required columns; the message names all of them, and the first
    of those there are.
    """
    missing = ", ".join(repr(column) for column in required.values() if column not in names)
    if missing:
        listing = ", ".join(repr(name[:LONGEST_NAME]) for name in names[:MOST_NAMES])
        more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
        for column in required.values():
            name, colon, unit = column.rpartition(":")
            if colon and name in names and column not in names:
                raise WorkloadError(
                    f"{path}: {column!r}: there is no unit {unit!r}; the units are "
                    f"{', '.join(UNITS)}"
                )
        raise WorkloadError(f"{path}: no column {missing}; it has {listing}{more}")
    columns = [*required.items(), *(item for item in optional.items() if item[1] in names)]
    return [field for field, _ in columns], [names.index(column) for _, column in columns]


def is_parquet(path: str | os.PathLike[str]) -> bool:
    """Return whether a file begins as Parquet does.

    Raises FileNotFoundError if there is no such file. Raises WorkloadError if it cannot be read.
    """
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except FileNotFoundError:
        raise FileNotFoundError(f"no such file: {path}") from None
    except OSError as error:
        raise WorkloadError(f"{path}: cannot be read: {error.strerror}") from error


def _parquet_rows(
    path: str | os.PathLike[str], mapping: Mapping[str, str]
) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Return number and values of each row."""
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError:
        raise WorkloadError(f'{path}: Parquet needs pyarrow: pip install "bfenv[site]"') from None
    try:
        with parquet.ParquetFile(Path(path)) as file:
            find_columns(path, file.schema_arrow.names, mapping)
            count, most = file.metadata.num_rows, max(FEW, RATIO * os.stat(path).st_size)
            if count > most:  # equal rows take no space
                raise WorkloadError(f"{path}: {count:,} rows, more than {most:,}, which no log has")
            yield from enumerate(_row_groups(file, list(mapping.values())), start=1)
    except (arrow.ArrowException, OSError, ValueError, OverflowError) as error:
        if isinstance(error, WorkloadError):
            raise
        reason = str(error).partition("\n")[0]
        raise WorkloadError(f"{path}: the Parquet file cannot be read: {reason}") from error


def _row_groups(file: Any, names: list[str]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of these columns, BATCH at a time, so that a log need not fit in memory."""
    import pyarrow as arrow

    names_seen: dict[str, str] = {}  # millions of jobs share the names of a few users
    for batch in file.iter_batches(BATCH, columns=sorted(set(names))):
        columns = []
        for name in names:
            column = batch.column(batch.schema.get_field_index(name))
            if arrow.types.is_timestamp(column.type):  # nanoseconds would need pandas
                zone = column.type.tz and "UTC"
                column = column.cast(arrow.timestamp("us", tz=zone), safe=False)
            elif arrow.types.is_duration(column.type):
                column = column.cast(arrow.duration("us"), safe=False)
            columns.append(_shared(column, names_seen))
        yield from zip(*columns, strict=True)


def _shared(column: Any, names_seen: dict[str, str]) -> list[Any]:
    """Return the values of a column of Arrow; equal names are one object if names repeat.

    * `seen`: the names so far. The names of the column are added.
    """
    import pyarrow as arrow

    if not arrow.types.is_string(column.type) and not arrow.types.is_large_string(column.type):
        return list(column.to_pylist())
    coded = column.dictionary_encode()
    if 2 * len(coded.dictionary) > len(column):  # such as ids of jobs
        return list(column.to_pylist())
    names = [names_seen.setdefault(name, name) for name in coded.dictionary.to_pylist()]
    return [None if code is None else names[code] for code in coded.indices.to_pylist()]


class Unfinished(ValueError):
    """A line with an open quote."""


def _split(line: str, delimiter: str) -> list[str]:
    """Split a line; each by itself, so that an open quote spoils no other line."""
    try:
        return next(csv.reader((line,), delimiter=delimiter, strict=True))
    except csv.Error as error:
        kind = Unfinished if "unexpected end" in str(error) else ValueError
        raise kind(str(error)) from None


def _width(line: str, delimiter: str) -> int:
    try:
        return len(_split(line, delimiter))
    except ValueError:
        return 0
