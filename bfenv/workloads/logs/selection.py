"""Which runs of a log to take, and where to note their ids and whose they are."""

import csv
import io
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import tzinfo
from pathlib import Path
from typing import NamedTuple

from bfenv.core.errors import WorkloadError
from bfenv.core.files import write_atomically
from bfenv.workloads.logs.cleaning import DROPPED, count_reasons
from bfenv.workloads.logs.run import Dropped, Run, number_names
from bfenv.workloads.logs.times import read_time

DATE = len("2026-01-31")


class Selection(NamedTuple):
    """Which jobs of a log to take, and where to note their ids and whose they are."""

    partitions: tuple[str, ...] = ()  # none for all
    cluster: str | None = None
    since: str | None = None  # first submit time
    until: str | None = None  # submit time from which jobs are left out
    ids: str | os.PathLike[str] | None = None  # file to write, a line for each job
    users: str | os.PathLike[str] | None = None  # file to write, a line for each user and group
    names: bool = False  # name queues and partitions in the header


EVERYTHING = Selection()


def select(runs: list[Run], counts: Counter[str], selection: Selection, zone: tzinfo) -> list[Run]:
    """Return the runs to take, and count the others.

    Raises
    ------
    WorkloadError
        If a time cannot be read, or `until` is not after `since`.
    """
    since = _instant("since", selection.since, zone)
    until = _instant("until", selection.until, zone)
    if since is not None and until is not None and since >= until:
        raise WorkloadError(
            f"until {selection.until!r:.60} is not after since {selection.since!r:.60}"
        )
    taken = []
    for run in runs:
        if not _is_of(run, selection):
            counts["other_partition"] += 1
        elif (since is not None and run.submit < since) or (
            until is not None and run.submit >= until
        ):
            counts["other_time"] += 1
        else:
            taken.append(run)
    return taken


def count_dropped(dropped: Mapping[Dropped, int], selection: Selection) -> Counter[str]:
    """Return how many lines are not jobs, by reason; lines of other partitions by that alone."""
    counts: Counter[str] = Counter()
    for line, count in dropped.items():
        of_others = (
            line.partition
            and selection.partitions
            and (not set(line.partition.split(",")) & set(selection.partitions))
        )
        of_others = of_others or (line.cluster and selection.cluster not in (None, line.cluster))
        counts["other_partition" if of_others else line.why] += count
    return counts


def check_names(
    path: str | os.PathLike[str],
    kind: str,
    runs: Iterable[Run],
    dropped: Mapping[Dropped, int],
    names: Sequence[str],
) -> None:
    """Check that each of the names is that of a partition, or cluster, with runs.

    Parameters
    ----------
    path
        The log, for messages.
    kind
        "partition" or "cluster".
    runs, dropped
        As `parse_lines` returns them.
    names
        To be checked.

    Raises
    ------
    WorkloadError
        If one is not; the message lists those there are, or says why its lines are not jobs.
    """
    if not names:
        return
    known = {getattr(run, kind) for run in runs}
    for name in names:
        if name in known:
            continue
        why: Counter[str] = Counter()
        for line, count in dropped.items():
            if getattr(line, kind) == name:
                why[line.why] += count
        if why:
            reasons = ", ".join(f"{text}: {count:,}" for count, text in count_reasons(why, DROPPED))
            raise WorkloadError(f"{path}: no line of {kind} {name!r} is a job ({reasons})")
        there = ", ".join(sorted(filter(None, known)))
        hint = f"there are {there}" if there else f"the log names no {kind}"
        raise WorkloadError(f"{path}: no jobs in a {kind} {name!r}; {hint}")


def write_ids(path: str | os.PathLike[str], runs: Sequence[Run]) -> None:
    """Write the number of each job in the trace, from 0, beside its id in the log."""
    write_atomically(Path(path), _table("job,id", ((i, run.job) for i, run in enumerate(runs))))


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


def _table(heading: str, rows: Iterable[Sequence[int | str]]) -> bytes:
    """Return lines of CSV, in which texts have quotes."""
    lines = io.StringIO()
    csv.writer(lines, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n").writerows(rows)
    return f"{heading}\n{lines.getvalue()}".encode()


def _is_of(run: Run, selection: Selection) -> bool:
    """Return whether a run is of the partitions and the cluster."""
    return (not selection.partitions or run.partition in selection.partitions) and (
        selection.cluster is None or run.cluster == selection.cluster
    )


def _instant(name: str, text: str | None, zone: tzinfo) -> int | None:
    if text is None:
        return None
    try:
        return read_time(f"{text} 00:00:00" if len(text) == DATE else text, zone)[0]
    except (ValueError, IndexError):
        raise WorkloadError(
            f"{name}: {text!r:.60} is not a date or time like 2026-01-31T12:00:00"
        ) from None
