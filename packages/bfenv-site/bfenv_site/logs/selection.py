"""Which runs of a log to take, and where to note their ids and whose they are."""

import csv
import io
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import tzinfo
from pathlib import Path
from typing import NamedTuple

from bfenv.core.errors import BfenvError, WorkloadError
from bfenv.core.files import read_file, write_atomically
from bfenv.workloads.logs.cleaning import DROPPED, count_reasons
from bfenv.workloads.logs.times import read_time
from bfenv_site.logs.run import Record, Run, number_names

DATE = len("2026-01-31")
DIGITS = 15  # of the number of a user, at most


class Selection(NamedTuple):
    """Which jobs of a log to take, and where to note their ids and whose they are."""

    partitions: tuple[str, ...] = ()  # none for all
    cluster: str | None = None
    since: str | None = None  # first submit time
    until: str | None = None  # submit time from which jobs are left out
    ids: str | os.PathLike[str] | None = None  # file to write, a line for each job
    users: str | os.PathLike[str] | None = None  # file to write, a line for each user and group
    names: bool = False  # name queues and partitions in the header

    def has(self, record: Record | Run) -> bool:
        """Return whether a job is of the partitions and the cluster, as far as its log says.

        A waiting job may name several partitions, separated by commas.
        """
        partition, cluster = record.partition, record.cluster
        return (
            not self.partitions
            or partition in self.partitions
            or (not isinstance(record, Run) and not partition)
            or ("," in partition and not set(self.partitions).isdisjoint(partition.split(",")))
        ) and (self.cluster in (None, cluster) or (not isinstance(record, Run) and not cluster))


EVERYTHING = Selection()


def select(
    runs: Iterable[Run], selection: Selection, zone: tzinfo, drop: Callable[[str, Run], None]
) -> list[Run]:
    """Return the runs to take; `drop` is called with the others, and why.

    Raises WorkloadError if a time cannot be read, or `until` is not after `since`.
    """
    since = _instant("since", selection.since, zone, -math.inf)
    until = _instant("until", selection.until, zone, math.inf)
    if since >= until:
        raise WorkloadError(
            f"until {selection.until!r:.60} is not after since {selection.since!r:.60}"
        )
    taken = []
    for run in runs:
        if not selection.has(run):
            drop("other_partition", run)
        elif not since <= run.submit < until:
            drop("other_time", run)
        else:
            taken.append(run)
    return taken


def check_names(
    path: str | os.PathLike[str],
    kind: str,
    runs: Iterable[Run],
    other_records: Mapping[tuple[str, str, str], int],
    names: Sequence[str],
) -> None:
    """Check that each of the names is that of a "partition" or a "cluster" with runs.

    `other_records` is how many other records there are, by reason, partition and cluster. Raises
    WorkloadError if a name has no runs; the message lists those that have, or says why its lines
    are not jobs.
    """
    if not names:
        return
    known_names = {getattr(run, kind) for run in runs}
    for name in names:
        if name in known_names:
            continue
        counts: Counter[str] = Counter()
        for (reason, partition, cluster), count in other_records.items():
            if name == (partition if kind == "partition" else cluster):
                counts[reason] += count
        if counts:
            reasons = ", ".join(
                f"{text}: {count:,}" for count, text in count_reasons(counts, DROPPED)
            )
            raise WorkloadError(f"{path}: no line of {kind} {name!r} is a job ({reasons})")
        listing = ", ".join(sorted(filter(None, known_names)))
        hint = f"there are {listing}" if listing else f"the log names no {kind}"
        raise WorkloadError(f"{path}: no jobs in a {kind} {name!r}; {hint}")


def write_ids(path: str | os.PathLike[str], runs: Sequence[Run]) -> None:
    """Write each job's place in the trace, from 0, its id in the log, and its SWF number, from 1.

    Place and number are those of a schedule's columns "job" and "number".
    """
    rows = ((i, run.job, i + 1) for i, run in enumerate(runs))
    write_atomically(Path(path), _table("job,id,number", rows))


def write_users(path: str | os.PathLike[str], runs: Sequence[Run]) -> None:
    """Write the name of each user and group beside its number in the trace; only you can read it.

    A line is like "user",7,"ann".
    """
    rows = []
    for kind in ("user", "group"):
        names = [getattr(run, kind) for run in runs]
        numbered = dict(zip(names, number_names(names), strict=True))
        rows += [(kind, number, name) for name, number in numbered.items() if name]
    write_atomically(Path(path), _table("kind,number,name", rows), private=True)


def read_users(path: str | os.PathLike[str]) -> dict[tuple[str, int], str]:
    """Return the names in a file of `write_users`, by kind and number.

    Raises WorkloadError if the file cannot be read, or a line is not of this kind.
    """
    try:
        rows = list(csv.reader(read_file(path).decode().splitlines()))
    except (OSError, BfenvError, ValueError, csv.Error) as error:
        raise WorkloadError(f"{path}: cannot be read: {error}") from error
    names = {}
    for i, line in enumerate(rows, 1):
        if i == 1 and line == ["kind", "number", "name"]:
            continue
        is_row = len(line) == 3 and line[0] in ("user", "group") and line[1].isdecimal()
        if not is_row or len(line[1]) > DIGITS:
            raise WorkloadError(f"{path}, line {i}: expected kind,number,name like user,7,ann")
        names[line[0], int(line[1])] = line[2]
    return names


def _table(heading: str, rows: Iterable[Sequence[int | str]]) -> bytes:
    """Return lines of CSV, in which texts have quotes."""
    lines = io.StringIO()
    csv.writer(lines, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n").writerows(rows)
    return f"{heading}\n{lines.getvalue()}".encode(errors="backslashreplace")


def _instant(name: str, text: str | None, zone: tzinfo, default: float) -> float:
    if text is None:
        return default
    try:
        return read_time(f"{text} 00:00:00" if len(text) == DATE else text, zone)[0]
    except (ValueError, IndexError):
        raise WorkloadError(
            f"{name}: {text!r:.60} is not a date or time like 2026-01-31T12:00:00"
        ) from None
