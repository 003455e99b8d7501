"""The order of the policies of a leaderboard, computed from its rows."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bfenv.analysis.comparison import STARVES
from bfenv.analysis.intervals import bootstrap, interquartile_mean, mean, ranks

Row = dict[str, Any]
REFERENCE = "easy"
SEED = 19_950_425  # of the bootstrap, so that a leaderboard has one table


class Standing(NamedTuple):
    """One policy over all its rows; None is what cannot be said.

    Ratios are to the reference on the same jobs, below 1 being better; a workload counts once,
    however many seeds it has.
    """

    policy: str
    rank: int | None  # see `ranks`; None with failed or missing rows
    ratio: float | None  # of mean bounded slowdown, geometric mean
    low: float | None  # its bootstrap interval
    high: float | None
    wait_ratio: float | None  # of mean wait, geometric mean
    wait_low: float | None  # its bootstrap interval
    wait_high: float | None
    interquartile_ratio: float | None  # of mean bounded slowdown, mean of the middle half
    improvement: float | None  # probability of less mean bounded slowdown than the reference
    mean_bounded_slowdown: float | None  # mean over rows, as the following
    mean_wait: float | None  # seconds
    p95_wait: float | None  # seconds
    max_wait: float | None  # seconds, the longest of all rows
    utilization: float | None
    starves: bool  # in some row, the longest wait is over STARVES times the reference's
    rows: int
    failed: int


class _Table(NamedTuple):
    """The log ratios to the reference of one metric, and how to resample them."""

    logs: dict[str, np.ndarray]  # policy: (runs, tasks) float64, NaN where a row is missing
    over: str  # "runs" or "tasks"

    def options(self) -> dict[str, Any]:
        return {"seed": SEED, "over": self.over}


def standings(rows: Sequence[Row]) -> list[Standing]:
    """The policies of a leaderboard's rows, ok and failed, best first.

    Every row is compared with the reference's row on the same jobs. Intervals are stratified by
    workload where each workload has as many runs, 2 or more, as the others: its seeds drew its
    jobs. Otherwise, as with logs, which are what they are, whole workloads are resampled.
    Policies with a failed row, or without one where the reference has one, come last, unranked.
    """
    rows = sorted(rows, key=lambda row: (row["workload"], row["seed"]))  # sums hang on the order
    ok = [row for row in rows if row["status"] == "ok"]
    names = sorted({row["policy"] for row in rows})
    slowdowns, waits = (_table(ok, names, one) for one in ("mean_bounded_slowdown", "mean_wait"))
    failed = {row["policy"] for row in rows if row["status"] != "ok"}
    whole = [
        name
        for name in names
        if name not in failed
        and slowdowns.logs[name].size
        and np.isfinite(slowdowns.logs[name]).all()
    ]
    found: dict[str, int] = {}
    if whole:
        scores = np.stack([slowdowns.logs[name] for name in whole])
        found = dict(zip(whole, ranks(scores, **slowdowns.options()).tolist(), strict=True))
    lines = [_standing(name, rows, found.get(name), slowdowns, waits) for name in names]
    ranked = [line for line in lines if line.rank is not None]
    ranked.sort(key=lambda line: (line.rank, line.ratio, line.policy))
    return ranked + [line for line in lines if line.rank is None]


def reference_of(row: Row, rows: Mapping[tuple[str, str, int], Row]) -> Row | None:
    """The reference's row on the same jobs as a row; rows by policy, workload and seed.

    One seed of the reference stands for all where it has one.
    """
    for seed in (row["seed"], 0):
        other = rows.get((REFERENCE, row["workload"], seed))
        if other is not None and other["workload_hash"] == row["workload_hash"]:
            return other
    return None


def starves(row: Row, reference: Row | None) -> bool:
    """Whether the longest wait of a row is over STARVES times the reference's."""
    waits = [one and one["metrics"].get("max_wait") for one in (row, reference)]
    return None not in waits and waits[0] > STARVES * waits[1]


def _table(ok: Sequence[Row], names: Sequence[str], metric: str) -> _Table:
    """Cells are means over a policy's rows on the same jobs, as of a policy that draws lots."""
    values: dict[tuple, list[float]] = {}
    tasks: dict[str, list[str]] = {}
    for row in ok:
        cell = (row["policy"], row["workload"], row["workload_hash"])
        value = row["metrics"].get(metric)
        values.setdefault(cell, []).append(np.nan if value is None or value < 0 else value)
        if row["policy"] == REFERENCE:
            traces = tasks.setdefault(row["workload"], [])
            if row["workload_hash"] not in traces:
                traces.append(row["workload_hash"])

    def log_ratio(name: str, workload: str, trace: str) -> float:
        theirs = values[REFERENCE, workload, trace][0]
        mine = values.get((name, workload, trace), [np.nan])
        return float(np.mean([_log_ratio(one, theirs) for one in mine]))

    logs = {
        name: [[log_ratio(name, workload, trace) for trace in tasks[workload]]
               for workload in tasks]
        for name in names
    }  # fmt: skip
    counts = {len(traces) for traces in tasks.values()}
    if len(counts) == 1 and counts != {1}:
        return _Table({name: np.array(parts).T for name, parts in logs.items()}, "runs")
    means = {name: [[np.mean(part) for part in parts]] for name, parts in logs.items()}
    return _Table({name: np.array(parts) for name, parts in means.items()}, "tasks")


def _log_ratio(mine: float, theirs: float) -> float:
    """0 for equal values, two zeros among them; NaN where one of them is not positive."""
    if mine == theirs:
        return 0.0
    return float(np.log(mine) - np.log(theirs)) if mine > 0 and theirs > 0 else float("nan")


def _interval(table: _Table, name: str) -> tuple[float | None, float | None, float | None]:
    """Geometric mean ratio, low and high."""
    logs = table.logs[name]
    if not (logs.size and np.isfinite(logs).all()):
        return None, None, None
    ends = np.exp(bootstrap(logs, mean, **table.options())[:3]).tolist()
    return tuple(end if np.isfinite(end) else None for end in ends)


def _standing(
    name: str, rows: Sequence[Row], rank: int | None, slowdowns: _Table, waits: _Table
) -> Standing:
    ok = {
        (row["policy"], row["workload"], row["seed"]): row for row in rows if row["status"] == "ok"
    }
    mine = [row for row in ok.values() if row["policy"] == name]
    logs = slowdowns.logs[name]
    logs = logs[:, np.isfinite(logs).all(axis=0)]  # of an unfinished policy, what there is

    def over(metric, combine):
        values = [row["metrics"].get(metric) for row in mine]
        return float(combine(values)) if values and None not in values else None

    return Standing(
        name,
        rank,
        *_interval(slowdowns, name),
        *_interval(waits, name),
        interquartile_ratio=float(interquartile_mean(np.exp(logs))) if logs.size else None,
        improvement=float(np.mean((logs < 0) + 0.5 * (logs == 0))) if logs.size else None,
        mean_bounded_slowdown=over("mean_bounded_slowdown", np.mean),
        mean_wait=over("mean_wait", np.mean),
        p95_wait=over("p95_wait", np.mean),
        max_wait=over("max_wait", np.max),
        utilization=over("utilization", np.mean),
        starves=any(starves(row, reference_of(row, ok)) for row in mine),
        rows=len(mine),
        failed=sum(row["policy"] == name and row["status"] != "ok" for row in rows),
    )
