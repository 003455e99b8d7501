"""The order of the policies of a leaderboard, computed from its rows."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from bfenv.analysis.intervals import (
    bootstrap,
    interquartile_mean,
    mean,
    probability_of_improvement,
    ranks,
)
from bfenv.core.errors import UnknownNameError
from bfenv.core.policy import CLAIRVOYANT, COMPLETION, DIVISIONS
from bfenv.core.schedule import penalized
from bfenv.evaluation.row import Row
from bfenv.evaluation.summary import REFERENCE, Rows, longest_ratio, rows_by_run, starves


def division(row: Row) -> str:
    """Return the division in which a row is ranked, one of `bfenv.core.policy.DIVISIONS`."""
    return row.division or COMPLETION


PENALIZED = "penalized_slowdown"  # a measure of two metrics, see `bfenv.analysis`
# Measures to rank by, beside the other metrics of rows
MEASURES = {"penalized": PENALIZED, "slowdown": "mean_bounded_slowdown", "wait": "mean_wait"}
# Metrics of which more is better
GAINS = frozenset({"packing_efficiency", "user_fairness", "utilization"})
ENOUGH = 5  # workloads, from which on their bootstrap intervals hold
SEED = 19_950_425  # of the bootstrap, so that a leaderboard has one table


class Standing(NamedTuple):
    """One policy over all its rows; None is what is unknown.

    Ratios are to the reference on the same jobs; below 1 is better. Each workload counts once,
    however many seeds it has.
    """

    policy: str  # name of the policy or agent
    division: str  # in which it is ranked, see `bfenv.core.policy.DIVISIONS`
    rank: int | None  # see `ranks`; None with failed or missing rows
    score: float | None  # the measure ranked by over the reference's, geometric mean
    low: float | None  # of its bootstrap interval
    high: float | None  # of the same interval
    penalized: float | None  # penalized slowdown, geometric mean
    ratio: float | None  # of mean bounded slowdown, geometric mean
    wait_ratio: float | None  # of mean wait, geometric mean
    wait_low: float | None  # of its bootstrap interval
    wait_high: float | None  # of the same interval
    interquartile_ratio: float | None  # of mean bounded slowdown, mean of the middle half
    improvement: float | None  # probability of less mean bounded slowdown than the reference
    mean_bounded_slowdown: float | None  # mean over rows, as the following
    mean_wait: float | None  # seconds
    p95_wait: float | None  # seconds
    max_wait: float | None  # seconds, the longest of all rows
    utilization: float | None  # from 0 to 1
    longest_ratio: float | None  # longest wait over the reference's, where that is most
    starves: bool  # in some row, see `bfenv.evaluation.summary.starves`
    rows: int  # number of rows that did not fail
    failed: int  # number of rows that failed


class LogRatios(NamedTuple):
    """The log ratios to the reference of one metric, and how to resample them."""

    by_policy: dict[str, np.ndarray]  # (runs, tasks) float64, NaN where a row is missing
    over: Literal["runs", "tasks"]
    incomplete: frozenset[str]  # policies with jobs that the reference lacks, and the reference

    def options(self) -> dict[str, Any]:
        """Return the options of `bootstrap`."""
        return {"seed": SEED, "over": self.over}

    def are_whole(self, policy: str) -> bool:
        """Whether the policy has all rows that the reference has, and none without it."""
        logs = self.by_policy[policy]
        return bool(logs.size and np.isfinite(logs).all()) and policy not in self.incomplete


def interval_notes(standings: Sequence[Standing], rows: Sequence[Row]) -> list[str]:
    """Say that intervals are only hints where they rest on few workloads, see `bootstrap`."""
    workloads = {row.workload for row in rows}
    has_seeds = len({(row.workload, row.workload_hash) for row in rows}) > len(workloads)
    if has_seeds or len(workloads) >= ENOUGH or all(line.low is None for line in standings):
        return []
    return [
        f"Intervals over {len(workloads)} workloads are too narrow: take them, and ranks, as hints."
    ]


def sign_of(metric: str) -> float:
    """Return what a metric must be multiplied by, so that less of it is better."""
    return -1.0 if metric in GAINS else 1.0


def find_measure(by: str, rows: Iterable[Row]) -> str:
    """Return what ranks by a name, which is one of MEASURES or a metric of the rows.

    Raises:
        UnknownNameError: If no row has such a metric.
    """
    metrics = {name for row in rows for name in row.metrics}
    measure = MEASURES.get(by, by)
    if measure != PENALIZED and measure not in metrics:
        raise UnknownNameError("measure to rank by", by, [*MEASURES, *sorted(metrics)])
    return measure


def rank_policies(rows: Iterable[Row], by: str = "penalized") -> list[Standing]:
    """Rank the policies of a leaderboard's rows, ok and failed.

    Policies with rows in several divisions are in each of them. Every row is compared with the
    reference's row on the same jobs. If every workload has the same number of runs, 2 or more,
    intervals are stratified by workload, because the seeds generated its jobs. Otherwise whole
    workloads are resampled, as with logs, which have one run each.

    Args:
        rows: Rows of one suite.
        by: "penalized" for the penalized slowdown (`bfenv.analysis.penalized_slowdown`), which
            makes long waits cost; "slowdown", "wait", or the name of a metric of the rows.

    Returns:
        The best first in each division. Policies with a failed row, without one where the
        reference has one, or with one where it has none, come last in their division, unranked.
        So does a reference without a row where another policy has one.

    Raises:
        UnknownNameError: If no row has such a metric.
    """
    rows = list(rows)
    measure = find_measure(by, rows) if rows else PENALIZED
    rows = sorted(rows, key=lambda row: (row.workload, row.seed))  # sums depend on the order
    lines = []
    for is_clairvoyant in (False, True):  # on workloads with runtimes for estimates, all are
        alike = [row for row in rows if (division(row) == CLAIRVOYANT) == is_clairvoyant]
        lines += _rank_alike(alike, measure)
    sign = sign_of(measure)
    return sorted(lines, key=lambda line: _order(line, sign))


def _rank_alike(rows: Sequence[Row], measure: str) -> list[Standing]:
    """Rank policies on workloads that are all clairvoyant, or none; each division by itself."""
    ok = [row for row in rows if row.ok]
    by_policy: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        by_policy.setdefault((division(row), row.policy), []).append(row)
    names = sorted({row.policy for row in rows})
    logs = {
        metric: log_ratios(ok, names, metric)
        for metric in dict.fromkeys([measure, *MEASURES.values()])
    }
    scores = logs[measure]
    reference = rows_by_run(ok)
    lines = []
    for section in DIVISIONS:
        entries = {name: runs for (part, name), runs in by_policy.items() if part == section}
        whole = [
            name
            for name, runs in sorted(entries.items())
            if all(row.ok for row in runs) and scores.are_whole(name)
        ]
        rank_of: dict[str, int] = {}
        if whole:
            values = sign_of(measure) * np.stack([scores.by_policy[name] for name in whole])
            numbers = ranks(values, **scores.options()).tolist()
            rank_of = dict(zip(whole, numbers, strict=True))
        lines += [
            _standing(name, section, runs, reference, rank_of.get(name), measure, logs)
            for name, runs in entries.items()
        ]
    return lines


def _order(line: Standing, sign: float) -> tuple[int, bool, int, float, str]:
    """Sort key: by division, rank, then sign x score; those without a score last, by name."""
    place = DIVISIONS.index(line.division)
    if line.score is None:
        return place, True, 0, 0.0, line.policy
    return place, False, line.rank or 0, sign * line.score, line.policy


def log_ratios(ok: Sequence[Row], names: Sequence[str], metric: str) -> LogRatios:
    """Compute means of log ratios over a policy's rows on the same jobs.

    A stochastic policy has several rows on the jobs of one. `metric` is one of the rows, or
    PENALIZED.
    """
    runs: dict[tuple[str, str, str], list[Row]] = {}
    traces: dict[str, dict[str, None]] = {}  # hashes of the reference's rows, by workload
    for row in ok:
        runs.setdefault((row.policy, row.workload, row.workload_hash), []).append(row)
        if row.policy == REFERENCE:
            traces.setdefault(row.workload, {})[row.workload_hash] = None

    alone = {row.policy for row in ok if row.workload_hash not in traces.get(row.workload, ())}
    incomplete = frozenset({*alone, REFERENCE} if alone else ())  # the reference lacks these rows

    def mean_log(name: str, workload: str, trace: str) -> float:
        usual = runs[REFERENCE, workload, trace][0]
        rows = runs.get((name, workload, trace), [])
        return float(np.mean([log_ratio(row, usual, metric) for row in rows])) if rows else np.nan

    logs = {
        name: [
            [mean_log(name, workload, trace) for trace in hashes]
            for workload, hashes in traces.items()
        ]
        for name in names
    }
    counts = {len(hashes) for hashes in traces.values()}
    if len(counts) == 1 and counts != {1}:
        by_run = {name: np.array(parts).T for name, parts in logs.items()}
        return LogRatios(by_run, "runs", incomplete)
    means = {name: [[np.mean(part) for part in parts]] for name, parts in logs.items()}
    by_task = {name: np.array(parts) for name, parts in means.items()}
    return LogRatios(by_task, "tasks", incomplete)


def log_ratio(row: Row, usual: Row, metric: str) -> float:
    """Return the logarithm of a metric, or of PENALIZED, over the reference's; NaN if unknown."""
    if metric == PENALIZED:
        longest, usual_longest = (value_of(run, "max_wait") for run in (row, usual))
        if math.isnan(longest) or math.isnan(usual_longest):
            return math.nan
        cost = math.log(penalized(1.0, longest, usual_longest))
        return log_ratio(row, usual, "mean_bounded_slowdown") + cost
    value, usual_value = value_of(row, metric), value_of(usual, metric)
    if value == usual_value:  # two zeros are equal, too
        return 0.0
    return math.log(value) - math.log(usual_value) if value > 0 and usual_value > 0 else math.nan


def value_of(row: Row, metric: str) -> float:
    """Return a metric of a row; NaN if it has none or one below 0."""
    value = row.metrics.get(metric)
    return math.nan if value is None or value < 0 else float(value)


def _interval(logs: LogRatios, name: str) -> tuple[float | None, float | None, float | None]:
    """The geometric mean ratio, and the ends of its interval."""
    if not logs.are_whole(name):
        return None, None, None
    interval = bootstrap(logs.by_policy[name], mean, **logs.options())
    ratio, low, high = ratios_of([interval.value, interval.low, interval.high]).tolist()
    return _finite(ratio), _finite(low), _finite(high)


def ratios_of(logs: Any) -> Any:
    """Return the ratios of logarithms; infinity where they are too large for a number."""
    with np.errstate(over="ignore"):
        return np.exp(logs)


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _standing(
    name: str,
    place: str,
    rows: Sequence[Row],
    reference: Rows,
    rank: int | None,
    measure: str,
    ratios: Mapping[str, LogRatios],
) -> Standing:
    ok = [row for row in rows if row.ok]
    logs = ratios["mean_bounded_slowdown"].by_policy[name]
    logs = logs[:, np.isfinite(logs).all(axis=0)]  # of an unfinished policy, what there is

    def over(metric: str, combine: Callable[[list[float]], Any]) -> float | None:
        values = [row.metrics.get(metric) for row in ok]
        present = [value for value in values if value is not None]
        return float(combine(present)) if present and len(present) == len(values) else None

    score, low, high = _interval(ratios[measure], name)
    wait_ratio, wait_low, wait_high = _interval(ratios["mean_wait"], name)
    quartiles, improvement = np.nan, None
    if logs.size:
        quartiles = float(interquartile_mean(ratios_of(logs)))
        improvement = probability_of_improvement(logs, np.zeros_like(logs), paired=True)
    return Standing(
        policy=name,
        division=place,
        rank=rank,
        score=score,
        low=low,
        high=high,
        penalized=_interval(ratios[PENALIZED], name)[0],
        ratio=_interval(ratios["mean_bounded_slowdown"], name)[0],
        wait_ratio=wait_ratio,
        wait_low=wait_low,
        wait_high=wait_high,
        interquartile_ratio=_finite(quartiles),
        improvement=improvement,
        mean_bounded_slowdown=over("mean_bounded_slowdown", np.mean),
        mean_wait=over("mean_wait", np.mean),
        p95_wait=over("p95_wait", np.mean),
        max_wait=over("max_wait", np.max),
        utilization=over("utilization", np.mean),
        longest_ratio=_finite(longest_ratio(name, reference) or np.nan),
        starves=any(starves(row, reference) for row in ok),
        rows=len(ok),
        failed=len(rows) - len(ok),
    )
