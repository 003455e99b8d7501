"""One workload of a leaderboard, policy by policy, means over seeds."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from bfenv.leaderboard.standings import reference_of, starves
from bfenv.leaderboard.store import Board, Row

COMPARED = ("mean_bounded_slowdown", "mean_wait")


class Interval(NamedTuple):
    """A difference from the reference and its confidence interval."""

    difference: float
    low: float
    high: float


class Result(NamedTuple):
    """A policy on a workload."""

    policy: str
    rows: list[Row]  # by seed
    metrics: dict[str, float | None]  # means over seeds
    versus: dict[str, Interval | None]  # of COMPARED
    starves: bool

    def curve(self, name: str):
        """The curve of the first seed that has it, or None."""
        return next((row["curves"][name] for row in self.rows if row["curves"].get(name)), None)


def results(board: Board, workload: str) -> list[Result]:
    """The policies of a workload, the least mean bounded slowdown first, unknown ones last."""
    rows = [row for row in board.rows if row["workload"] == workload]
    known = {(row["policy"], row["workload"], row["seed"]): row for row in rows}
    by_policy: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row["seed"]):
        by_policy.setdefault(row["policy"], []).append(row)
    found = [
        Result(
            policy,
            mine,
            {name: _mean([row["metrics"].get(name) for row in mine]) for name in _names(mine)},
            {name: _interval([row["versus"].get(name) for row in mine]) for name in COMPARED},
            any(starves(row, reference_of(row, known)) for row in mine),
        )
        for policy, mine in by_policy.items()
    ]
    return sorted(found, key=lambda one: (_or_last(one.metrics.get(COMPARED[0])), one.policy))


def _names(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row["metrics"]))


def _mean(values: Sequence[float | None]) -> float | None:
    return None if None in values else sum(values) / len(values)


def _interval(parts: Sequence[dict | None]) -> Interval | None:
    """The mean of independent intervals: half widths add up as errors do."""
    if not all(
        part and None not in [part.get(end) for end in ("difference", "low", "high")]
        for part in parts
    ):
        return None
    middle = sum(part["difference"] for part in parts) / len(parts)
    below, above = (
        math.sqrt(sum((part[end] - part["difference"]) ** 2 for part in parts)) / len(parts)
        for end in ("low", "high")
    )
    return Interval(middle, middle - below, middle + above)


def _or_last(value: float | None) -> float:
    return math.inf if value is None else value
