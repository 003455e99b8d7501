"""The folder of a leaderboard: what a run writes there, and reading it as a `Leaderboard`.

A folder holds `suite.json`, and for each row `rows/<key>.json`, whose bytes are the same on every
machine, `timings/<key>.json`, which differs from run to run, and on request `schedules/<key>.npz`.
The row is written last, and atomically. So a row exists only when all its files do, an interrupted
run can resume, and the folders of shards can be merged by copying.
"""

import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bfenv.core.cache_folder import cache_root, write_to_cache
from bfenv.core.errors import BfenvError
from bfenv.core.files import read_file, remove_leftovers, write_atomically
from bfenv.evaluation.row import Row, encode_json
from bfenv.leaderboard.own_names import check_name
from bfenv.leaderboard.suite import OWN_PREFIX, Suite
from bfenv.workloads.load import path_in

LARGEST = 2**24  # bytes of a row; those of a million jobs have a thousandth of that
GIVEN, MOST_GIVEN = "given-logs.json", 200
CONTENTS = ("suite.json", "rows", "timings", "schedules", "bounds")  # of a folder


class Leaderboard(NamedTuple):
    """The rows of a folder, in the order of their files' names."""

    folder: Path  # that was read
    suite: str  # name that all rows have
    rows: list[Row]  # that did not fail
    failed: list[Row]  # with the reason in `error`
    logged: tuple[Row, ...] = ()  # what the logs themselves record; not ranked

    @property
    def all_rows(self) -> list[Row]:
        """All rows of policies and agents, the failed ones last."""
        return [*self.rows, *self.failed]


def given_logs() -> list[str]:
    """Return the paths of logs that this user has run: rows that name them may open them again."""
    root = cache_root()
    try:
        paths = json.loads((root / GIVEN).read_bytes()) if root else []
    except (OSError, ValueError):  # none yet, or another process cleans
        return []
    return [str(path) for path in paths] if isinstance(paths, list) else []


def remember_logs(workloads: Iterable[str]) -> None:
    """Keep the paths of the files that workloads name for `given_logs`, in the user's own cache."""
    new_paths = [path for workload in workloads if (path := path_in(workload))]
    paths = list(dict.fromkeys([*new_paths, *given_logs()]))[:MOST_GIVEN]
    if new_paths and (root := cache_root()):
        write_to_cache(root / GIVEN, json.dumps(paths).encode())


def read_leaderboard(folder: str | os.PathLike[str], *, check_names: bool = True) -> Leaderboard:
    """Return the rows of a folder, checked. They are data and may come from anywhere.

    Args:
        folder: What `run_suite` or `bfenv leaderboard run` has made.
        check_names: Refuse rows whose names imitate bfenv's own policies and agents.

    Raises:
        BfenvError: If there are no rows, a file is not a row, rows are of two suites, two rows are
            of one policy, workload and seed, or a row imitates one of bfenv's own policies or
            agents; the message names the files.
    """
    folder = Path(folder)
    files = [(path, row) for path, _, row in read_rows(folder)]
    if not files:
        raise BfenvError(f"{folder}: no rows of a leaderboard in it")
    if check_names:
        for path, row in files:
            _check_name(row, path)
    rows = [row for _, row in files]
    seen: dict[tuple[str, str, int], str] = {}
    for path, row in files:
        run = (row.policy, row.workload, row.seed)
        if run in seen:
            raise BfenvError(f"{folder}: {seen[run]} and {path.stem} are of the same run")
        if row.suite != rows[0].suite:
            raise BfenvError(f"{folder}: rows of two suites, {rows[0].suite}, {row.suite}")
        seen[run] = path.stem
    ranked = [row for row in rows if row.kind != "log"]
    return Leaderboard(
        folder,
        rows[0].suite,
        [row for row in ranked if row.ok],
        [row for row in ranked if not row.ok],
        tuple(row for row in rows if row.kind == "log" and row.ok),
    )


def read_rows(folder: Path) -> Iterator[tuple[Path, bytes, Row]]:
    """Yield the path, the content and the row of each file of rows, in the order of their names.

    Raises BfenvError if a file is not a row; the message names the file.
    """
    for path in sorted((folder / "rows").glob("*.json")):
        try:
            content = _read(path)
        except OSError as error:
            raise BfenvError(f"{path}: cannot be read: {error}") from error
        yield path, content, Row.from_json(content, path)


def _read(path: Path) -> bytes:
    """Read a file of a board: it is no link, and no larger than such a file is."""
    return read_file(path, LARGEST, follow=False)


def _check_name(row: Row, path: Path) -> None:
    """Raise BfenvError if a row imitates one of bfenv's own competitors, by name or by code."""
    try:
        check_name(row.kind, row.policy, row.code)
    except BfenvError as error:
        raise BfenvError(f"{path}: {error}") from error


def under_labels(suite: Suite, content: bytes) -> Suite | None:
    """Return a suite under the labels that a board gives its workloads.

    A suite of someone's own logs is identified by their content alone. The names of files may
    differ between machines, and with them labels and sources. The sources remain those of `suite`.

    Args:
        suite: The suite as it is made here.
        content: What the board's `suite.json` holds.

    Returns:
        The suite, or None if `content` describes another suite.
    """
    if not suite.name.startswith(OWN_PREFIX):
        return suite if content == encode_json(suite.description()) else None
    try:
        parts = json.loads(content)["workloads"]
        board_entries = [
            entry._replace(
                label=str(part["workload"]),
                traces=(entry.traces[0]._replace(source=str(part["traces"][0]["source"])),),
            )
            for entry, part in zip(suite.entries, parts, strict=True)
        ]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    labels = [entry.label for entry in board_entries]
    described = suite._replace(entries=tuple(board_entries)).description()
    if len(set(labels)) < len(labels) or content != encode_json(described):
        return None
    entries = zip(suite.entries, labels, strict=True)
    return suite._replace(entries=tuple(entry._replace(label=label) for entry, label in entries))


def continued_suite(folder: Path, suite: Suite) -> Suite:
    """Return a suite under the labels that it has in a folder; as it is if it has none there.

    Raises BfenvError if the folder's `suite.json` cannot be read.
    """
    file = folder / "suite.json"
    if not file.exists():
        return suite
    return under_labels(suite, _read(file)) or suite


def open_store(folder: Path, suite: Suite) -> None:
    """Make the folder of a leaderboard, or check that it is this suite's.

    Args:
        folder: The folder.
        suite: The suite, under the labels that it has there, see `continued_suite`.

    Raises:
        BfenvError: If it cannot be made, or holds rows of another suite or version.
    """
    try:
        for part in ("rows", "timings"):
            (folder / part).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BfenvError(f"{folder}: cannot be made a folder: {error.strerror}") from error
    for place in (folder, *filter(Path.is_dir, folder.iterdir())):
        remove_leftovers(place)
    file = folder / "suite.json"
    if not file.exists() or not any((folder / "rows").iterdir()):
        write_atomically(file, encode_json(suite.description()))
    elif under_labels(suite, _read(file)) != suite:
        raise BfenvError(
            f"{folder} holds the rows of another suite or version, see {file}; "
            f"{suite.name} needs a folder of its own"
        )


def find_row(folder: Path, key: str) -> Row | None:
    """Read the row of a key; None if it is missing, damaged, or that of another key."""
    path = folder / "rows" / f"{key}.json"
    try:
        row = Row.from_json(_read(path), path)
    except (FileNotFoundError, BfenvError):  # a full disk leaves files that are cut off
        return None
    return row if row.key == key else None


def write_row(
    folder: Path, row: Row, timing: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> None:
    """Write a row and its other files; `arrays` are those of a schedule to keep, or empty.

    Raises BfenvError if a file cannot be written.
    """
    if arrays:
        (folder / "schedules").mkdir(exist_ok=True)
        packed, columns = io.BytesIO(), dict[str, Any](arrays)
        np.savez_compressed(packed, **columns)
        write_atomically(schedule_file(folder, row.key), packed.getvalue())
    write_atomically(folder / "timings" / f"{row.key}.json", encode_json(timing))
    write_atomically(folder / "rows" / f"{row.key}.json", row.to_json())


def schedule_file(folder: Path, key: str) -> Path:
    """Return the file of a kept schedule."""
    return folder / "schedules" / f"{key}.npz"


class TimeSpent(NamedTuple):
    """The time of all rows of one policy, or on one workload."""

    name: str
    rows: int
    seconds: float


def time_spent(folder: str | os.PathLike[str]) -> dict[str, list[TimeSpent]]:
    """Return the time by "policy" and by "workload", longest first.

    Files that cannot be read are left out: nothing else depends on times.
    """
    seconds: dict[str, dict[str, list[float]]] = {"policy": {}, "workload": {}}
    for file in sorted((Path(folder) / "timings").glob("*.json")):
        with suppress(OSError, BfenvError, ValueError, KeyError, TypeError):
            timing = json.loads(_read(file))
            row_seconds = float(timing["row_seconds"])
            for column, by_name in seconds.items():
                by_name.setdefault(timing[column], []).append(row_seconds)
    return {
        column: sorted(
            (TimeSpent(name, len(times), sum(times)) for name, times in by_name.items()),
            key=lambda line: (-line.seconds, line.name),
        )
        for column, by_name in seconds.items()
    }
