"""Measurements on disk, with all that they depend on; two of them compared."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bfenv.core.errors import BfenvError
from bfenv.core.files import write_atomically
from bfenv.leaderboard.provenance import commit, machine, versions
from bfenv.leaderboard.row_checks import LARGEST

SCHEMA = 1
KEYS = ("group", "what", "subject")  # by which the rows of two records are matched
VERSIONS = ("python", "numpy", "numba", "bfenv")  # shown with the rows


def record(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The rows with machine, versions, commit and the command that was given."""
    return {
        "schema": SCHEMA,
        "machine": machine(),
        "versions": versions(),
        "commit": commit(),
        "command": ["bfenv", *sys.argv[1:]],
        "rows": list(rows),
    }


def write_record(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Write them as JSON, atomically."""
    write_atomically(path, (json.dumps(record(rows), indent=1) + "\n").encode())


def read_record(path: Path) -> dict[str, Any]:
    """What `write_record` wrote. Raises BfenvError for anything else, OSError for no file."""
    try:
        found = json.loads(path.read_bytes(), parse_constant=_no_number)
        fit = found["schema"] == SCHEMA and bool(found["rows"]) and _is_head(found)
        fit = fit and all(map(_is_row, found["rows"]))
        fit = fit and len({_key(row) for row in found["rows"]}) == len(found["rows"])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise BfenvError(f"{path} holds no measurements of `bfenv bench`: {error}") from error
    if not fit:
        raise BfenvError(f"{path} holds no measurements of `bfenv bench` that can be read")
    return found


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is no number")


def _is_head(found: dict[str, Any]) -> bool:
    texts = [found["machine"], *(found["versions"][name] for name in VERSIONS)]
    return all(isinstance(text, str) for text in texts) and isinstance(found["commit"], str | None)


def _is_row(row: dict[str, Any]) -> bool:
    texts = [row[name] for name in (*KEYS, "unit")]
    values = [row[name] for name in ("best", "median", "jobs")]
    return all(isinstance(text, str) for text in texts) and all(
        type(value) in (int, float) and 0 <= value < LARGEST for value in values
    )


def _key(row: dict[str, Any]) -> tuple[str, ...]:
    return tuple(row[name] for name in KEYS)


def compare(before: dict[str, Any], after: dict[str, Any]) -> list[dict[str, Any]]:
    """One row per measurement of either: `before` and `after` (best, or None) and `faster`.

    `faster` is how many times as fast the second is, below 1 if it is slower; of memory, how many
    times less it takes.
    """
    bests = [{_key(row): row for row in each["rows"]} for each in (before, after)]
    rows = []
    for key in dict.fromkeys([*bests[0], *bests[1]]):
        first, second = (best.get(key) for best in bests)
        row = first or second
        faster = None
        if first and second and first["best"] and second["best"]:
            rate = row["unit"].endswith("/s")
            faster = second["best"] / first["best"] if rate else first["best"] / second["best"]
        rows.append(
            dict(zip(KEYS, key, strict=True))
            | {
                "before": first and first["best"],
                "after": second and second["best"],
                "faster": faster,
                "unit": row["unit"],
            }
        )
    return rows
