"""What a leaderboard run left in a folder, read and checked.

The rows may come from anywhere: they are data, of the types named here, and nothing else.
"""

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from bfenv.core.errors import BfenvError

Row = dict[str, Any]

SCHEMA = 1
LARGEST = 2.0**62  # of any number in a row; beyond are infinities and nonsense
ENDS = ("difference", "low", "high")
NUMBER = (int, float, type(None))
FIELDS = {
    "suite": (str,),
    "policy": (str,),
    "kind": (str,),
    "workload": (str,),
    "source": (str,),
    "workload_hash": (str,),
    "processors": (int,),
    "jobs": (int,),
    "load": NUMBER,
    "offered_load": NUMBER,
    "seed": (int,),
    "status": (str,),
    "versions": (dict,),
    "commit": (str, type(None)),
    "command": (str,),
}  # of every row
PARTS = ("metrics", "classes", "versus", "curves")  # of the rows that did not fail, all dicts


class Board(NamedTuple):
    """Rows as the runner wrote them, each with its file's stem as "key", in order of key."""

    folder: Path
    suite: str
    rows: list[Row]  # status "ok"
    failed: list[Row]  # with their "error"


def read_board(folder: Path) -> Board:
    """The rows of a leaderboard's folder.

    Raises BfenvError, naming the file, for one that is no row, for rows of two suites and for two
    rows of one policy, workload and seed.
    """
    paths = sorted((folder / "rows").glob("*.json"))
    if not paths:
        raise BfenvError(f"{folder}: no rows of a leaderboard in it")
    rows = [_row(path) for path in paths]
    seen: dict[tuple, str] = {}
    for row in rows:
        one = (row["policy"], row["workload"], row["seed"])
        if one in seen:
            raise BfenvError(f"{folder}: {seen[one]} and {row['key']} are of the same run")
        if row["suite"] != rows[0]["suite"]:
            raise BfenvError(f"{folder}: rows of two suites, {rows[0]['suite']}, {row['suite']}")
        seen[one] = row["key"]
    ok = [row for row in rows if row["status"] == "ok"]
    return Board(folder, rows[0]["suite"], ok, [row for row in rows if row["status"] != "ok"])


def _row(path: Path) -> Row:
    try:
        row = json.loads(path.read_text(encoding="utf-8"), parse_constant=lambda word: None)
        json.dumps(row, ensure_ascii=False).encode()  # half a character could not be printed
    except (OSError, ValueError, RecursionError) as error:
        raise BfenvError(f"{path}: cannot be read: {error}") from error
    if not isinstance(row, dict) or row.get("schema") != SCHEMA:
        raise BfenvError(f"{path}: not a leaderboard's row of schema {SCHEMA}")
    for field, types in FIELDS.items():
        value = row.get(field, ...)
        _demand(isinstance(value, types) and not isinstance(value, bool), path, field)
    for part in PARTS:
        _demand(isinstance(row.setdefault(part, {}), dict), path, part)
    row["error"] = str(row.get("error", ""))
    row["key"] = path.stem
    _check_numbers(path, row)
    return row


def _check_numbers(path: Path, row: Row) -> None:
    """What is calculated with must be numbers, None where there is none."""
    for name in ("processors", "jobs", "seed", "load", "offered_load"):
        _demand(_finite(row[name]) and (row[name] or 0) >= 0, path, name)
    for name, value in row["metrics"].items():
        _demand(_finite(value), path, f"metric {name}")
    for name, value in row["versus"].items():
        if name != "reference":
            good = isinstance(value, dict) and all(_finite(value.get(end)) for end in ENDS)
            _demand(good or value is None, path, f"versus {name}")
    for name, part in row["classes"].items():
        _demand(isinstance(part, dict) and all(map(_finite, part.values())), path, f"class {name}")
    waits, queue = (row["curves"].get(name) for name in ("wait_quantiles", "queue_length"))
    _demand(waits is None or _ascends(waits), path, "curve wait_quantiles")
    if queue is not None:
        good = (
            isinstance(queue, dict) and _ascends(queue.get("time")) and _counts(queue.get("jobs"))
        )
        good = good and len(queue["time"]) == len(queue["jobs"]) + 1
        _demand(good, path, "curve queue_length")


def _demand(good: bool, path: Path, what: str) -> None:
    if not good:
        raise BfenvError(f"{path}: {what[:80]!r} is not as in a leaderboard's row")


def _finite(value: Any) -> bool:
    number = isinstance(value, NUMBER) and not isinstance(value, bool)
    return number and (value is None or abs(value) < LARGEST)


def _ascends(values: Any) -> bool:
    return _counts(values) and all(a <= b for a, b in pairwise(values))


def _counts(values: Any) -> bool:
    """Whether that is a list of numbers, none of them negative."""
    return isinstance(values, list) and all(_finite(v) and v is not None and v >= 0 for v in values)


def safe_name(text: str, longest: int, also: str = "") -> str:
    """A part of a file name that leads nowhere else, of letters, digits, . + - and `also`."""
    return re.sub(rf"[^A-Za-z0-9.+{also}-]+", "-", text)[:longest].lstrip(".+-").rstrip(".-") or "x"
