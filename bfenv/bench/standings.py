"""The order of the policies of a leaderboard (bench layer)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bfenv.bench.board import Row

REFERENCE = "easy"
STARVES = 2.0  # times the reference's longest wait
RESAMPLES, CONFIDENCE = 2_000, 0.95
SEED = 19_950_425  # of the bootstrap, so that a board has one table


class Standing(NamedTuple):
    """One policy over all its rows; None is what cannot be said."""

    policy: str
    rank: int | None  # 1 + how many are surely better; None with failed or missing rows
    ratio: float | None  # geometric mean over rows of mean bounded slowdown / the reference's
    low: float | None  # bootstrap interval of the ratio
    high: float | None
    mean_bounded_slowdown: float | None  # mean over rows, as the following
    mean_wait: float | None  # seconds
    p95_wait: float | None  # seconds
    max_wait: float | None  # seconds, the longest of all rows
    utilization: float | None
    starves: bool  # in some row, the longest wait is over STARVES times the reference's
    rows: int
    failed: int


def standings(rows: Sequence[Row]) -> list[Standing]:
    """The policies of rows as in a leaderboard's folder, ok and failed, best first.

    A policy is surely better than another where its interval ends below the other's. Policies
    with a failed or a missing row come last, without a rank.
    """
    ok = {(row["policy"], row["workload"], row["seed"]): row for row in rows
          if row["status"] == "ok"}  # fmt: skip
    tasks = {(row["workload"], row["seed"]) for row in rows if row["policy"] == REFERENCE}
    lines = [_standing(name, rows, ok, tasks) for name in sorted({row["policy"] for row in rows})]
    ranked = [line for line in lines if line.ratio is not None and line.rank is not None]
    ranked = [
        line._replace(rank=1 + sum(other.high < line.low for other in ranked)) for line in ranked
    ]
    ranked.sort(key=lambda line: (line.rank, line.ratio, line.policy))
    return ranked + [line for line in lines if line.ratio is None or line.rank is None]


def reference_of(row: Row, rows: dict) -> Row | None:
    """The reference's row of the same jobs; one seed of it stands for all where it has one."""
    same = rows.get((REFERENCE, row["workload"], row["seed"]))
    return same or rows.get((REFERENCE, row["workload"], 0))


def starves(row: Row, reference: Row | None) -> bool:
    """Whether the longest wait of a row is over STARVES times the reference's."""
    waits = [one and one["metrics"].get("max_wait") for one in (row, reference)]
    return None not in waits and waits[0] > STARVES * waits[1]


def _standing(name: str, rows, ok: dict, tasks: set) -> Standing:
    mine = [row for row in ok.values() if row["policy"] == name]
    failed = sum(row["policy"] == name and row["status"] != "ok" for row in rows)
    pairs = [(row, reference_of(row, ok)) for row in mine]
    logs = [
        np.log(row["metrics"]["mean_bounded_slowdown"] / one["metrics"]["mean_bounded_slowdown"])
        for row, one in pairs
        if one is not None and _has_slowdown(row) and _has_slowdown(one)
    ]
    complete = not failed and {row["workload"] for row in mine} >= {task[0] for task in tasks}
    ratio = low = high = None
    if logs:
        ratio = float(np.exp(np.mean(logs)))
        drawn = np.random.default_rng(SEED).choice(logs, (RESAMPLES, len(logs))).mean(axis=1)
        tail = (1 - CONFIDENCE) / 2
        low, high = (float(np.exp(end)) for end in np.quantile(drawn, (tail, 1 - tail)))

    def over(metric, combine):
        values = [row["metrics"].get(metric) for row in mine]
        return float(combine(values)) if values and None not in values else None

    return Standing(
        policy=name,
        rank=1 if complete else None,
        ratio=ratio,
        low=low,
        high=high,
        mean_bounded_slowdown=over("mean_bounded_slowdown", np.mean),
        mean_wait=over("mean_wait", np.mean),
        p95_wait=over("p95_wait", np.mean),
        max_wait=over("max_wait", np.max),
        utilization=over("utilization", np.mean),
        starves=any(starves(row, one) for row, one in pairs),
        rows=len(mine),
        failed=failed,
    )


def _has_slowdown(row: Row) -> bool:
    return (row["metrics"].get("mean_bounded_slowdown") or 0) > 0
