"""Measurements: how they are made, kept in a file with what they depend on, and compared."""

import json
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypedDict

from bfenv.core.errors import BfenvError
from bfenv.core.files import write_atomically
from bfenv.core.versions import versions
from bfenv.leaderboard.provenance import commit, machine

SCHEMA = 1
VERSIONS = ("python", "numpy", "numba", "bfenv")  # shown with the measurements
PUBLISHED = Path(__file__).with_name("measured.json")  # the measurements of the documentation


class Measurement(TypedDict):
    """How long something took, how fast it was, or how much memory it needed."""

    group: str
    what: str
    subject: str  # a policy, in most groups
    jobs: int  # 0 if it does not depend on jobs
    best: float
    median: float
    unit: str  # s and MiB, of which the least is best, or steps/s


class Measurements(TypedDict):
    """The content of a file: measurements, and what they depend on."""

    schema: int
    machine: str
    versions: dict[str, str]
    commit: str | None
    command: list[str]
    rows: list[Measurement]


class Change(TypedDict):
    """A measurement before and after; None if one file does not have it."""

    group: str
    what: str
    subject: str
    before: float | None
    after: float | None
    faster: float | None  # how many times as fast, or how many times less memory
    unit: str


def measurement(
    group: str, case: str, subject: str, jobs: int, values: Sequence[float], unit: str = "s"
) -> Measurement:
    """Make a measurement from the values of all repetitions; the largest rate is best."""
    return {
        "group": group,
        "what": case,
        "subject": subject,
        "jobs": jobs,
        "best": max(values) if unit.endswith("/s") else min(values),
        "median": statistics.median(values),
        "unit": unit,
    }


def with_provenance(rows: Sequence[Measurement]) -> Measurements:
    """Add the machine, versions, commit and command of this process to measurements."""
    return {
        "schema": SCHEMA,
        "machine": machine(),
        "versions": versions(),
        "commit": commit(),
        "command": ["python", "-m", "benchmarks", *sys.argv[1:]],
        "rows": list(rows),
    }


def write_measurements(path: Path, rows: Sequence[Measurement]) -> None:
    """Write measurements and their provenance as JSON, completely or not at all."""
    write_atomically(path, (json.dumps(with_provenance(rows), indent=1) + "\n").encode())


def read_measurements(path: Path) -> Measurements:
    """Read what `write_measurements` wrote.

    Raises:
        BfenvError: If the file holds anything else.
        OSError: If the file cannot be read.
    """
    try:
        content: Measurements = json.loads(path.read_bytes())
        texts = [content["machine"], *(content["versions"][name] for name in VERSIONS)]
        valid = content["schema"] == SCHEMA and all(isinstance(text, str) for text in texts)
        rows = content["rows"]
        valid = valid and isinstance(content["commit"], str | None) and all(map(_is_row, rows))
        valid = valid and 0 < len(rows) == len(set(map(_key, rows)))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise BfenvError(f"{path} holds no measurements of benchmarks: {error}") from error
    if not valid:
        raise BfenvError(f"{path} holds no measurements of benchmarks that can be read")
    return content


def _is_row(row: Any) -> bool:
    texts = [row[name] for name in ("group", "what", "subject", "unit")]
    numbers = [row[name] for name in ("best", "median", "jobs")]
    return all(isinstance(text, str) for text in texts) and all(
        type(number) in (int, float) and 0 <= number < float("inf") for number in numbers
    )


def _key(row: Measurement) -> tuple[str, str, str]:
    return row["group"], row["what"], row["subject"]


def compare(before: Measurements, after: Measurements) -> list[Change]:
    """Return the change of every measurement of either file."""
    old, new = ({_key(row): row for row in content["rows"]} for content in (before, after))
    return [_change(key, old.get(key), new.get(key)) for key in old | new]


def _change(
    key: tuple[str, str, str], before: Measurement | None, after: Measurement | None
) -> Change:
    unit = next(row["unit"] for row in (before, after) if row)
    faster = None
    if before and after and before["best"] and after["best"]:
        rate = unit.endswith("/s")
        faster = after["best"] / before["best"] if rate else before["best"] / after["best"]
    group, case, subject = key
    return {
        "group": group,
        "what": case,
        "subject": subject,
        "before": before and before["best"],
        "after": after and after["best"],
        "faster": faster,
        "unit": unit,
    }
