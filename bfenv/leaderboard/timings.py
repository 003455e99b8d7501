"""Where the time of a leaderboard's runs went."""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple


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
        with suppress(OSError, ValueError, KeyError, TypeError):
            timing = json.loads(file.read_bytes())
            row_seconds = float(timing["row_seconds"])
            for column, by_name in seconds.items():
                by_name.setdefault(timing[column], []).append(row_seconds)
    return {
        column: sorted(
            (TimeSpent(name, len(each), sum(each)) for name, each in by_name.items()),
            key=lambda line: (-line.seconds, line.name),
        )
        for column, by_name in seconds.items()
    }
