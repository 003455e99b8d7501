"""The reference that all are compared with, and a workload policy by policy, over seeds."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import bfenv.analysis.comparison as cmp
from bfenv.analysis.comparison import STARVES
from bfenv.analysis.intervals import Interval
from bfenv.core.policy import CLAIRVOYANT, COMPLETION, DIVISIONS, TRIALS
from bfenv.evaluation.row import Difference, QueueCurve, Row

REFERENCE = "easy"
FAIR = "fcfs"  # the policy whose order of starts counts as fair
MARK = "*"  # of a policy that starves jobs
STARVES_RULE = f"{MARK} starves: its longest wait on some workload is over {STARVES:g} times EASY's"

DIVISION_MEANINGS = {
    COMPLETION: 'In "completion", every job runs to its end.',
    TRIALS: 'In "trials", a policy may kill jobs at the end of a trial and queue them again.',
    CLAIRVOYANT: 'In "clairvoyant", the policy knows the runtimes.',
}

Rows = Mapping[tuple[str, str, int], Row]  # by policy, workload and seed


def divisions_meaning(shown: Collection[str] = DIVISIONS) -> str:
    """Return what the divisions of a table are."""
    meanings = (text for division, text in DIVISION_MEANINGS.items() if division in shown)
    return " ".join(["Each division has its own ranks.", *meanings])


def rows_by_run(rows: Iterable[Row]) -> Rows:
    """Return the rows that did not fail by policy, workload and seed."""
    return {(row.policy, row.workload, row.seed): row for row in rows if row.ok}


def reference_row(row: Row, rows: Rows) -> Row | None:
    """Return the reference's row on the same jobs as a row, or None.

    If the reference ran with one seed only, that row is compared with the rows of all seeds.
    """
    for seed in (row.seed, 0):
        reference = rows.get((REFERENCE, row.workload, seed))
        if reference is not None and reference.workload_hash == row.workload_hash:
            return reference
    return None


def starves(row: Row, rows: Rows) -> bool:
    """Whether the longest wait of a row is over STARVES times the reference's."""
    longest, usual = _longest_waits(row, rows)
    return longest is not None and usual is not None and cmp.starves(longest, usual)


def starving(rows: Iterable[Row]) -> set[str]:
    """Return the policies that starve jobs in some row."""
    by_run = rows_by_run(rows)
    return {row.policy for row in by_run.values() if starves(row, by_run)}


def longest_ratio(policy: str, rows: Rows) -> float | None:
    """Return a policy's longest wait over the reference's, where that is most.

    A policy starves if this is over STARVES. It is None if no row has both waits.
    """
    waits = (_longest_waits(row, rows) for row in rows.values() if row.policy == policy)
    return max((longest / usual for longest, usual in waits if longest and usual), default=None)


def _longest_waits(row: Row, rows: Rows) -> tuple[float | None, float | None]:
    reference = reference_row(row, rows)
    usual = None if reference is None else reference.metrics.get("max_wait")
    return row.metrics.get("max_wait"), usual


COMPARED = ("mean_bounded_slowdown", "mean_wait")  # metrics with a difference from the reference


class PolicySummary(NamedTuple):
    """A policy on a workload."""

    policy: str
    rows: list[Row]  # by seed
    metrics: dict[str, float | None]  # means over seeds
    versus: dict[str, Interval | None]  # of COMPARED
    starves: bool

    @property
    def wait_quantiles(self) -> tuple[float, ...] | None:
        """Those of the first seed that has them."""
        curves = (row.curves.wait_quantiles for row in self.rows)
        return next(filter(None, curves), None)

    @property
    def queue_length(self) -> QueueCurve | None:
        """That of the first seed that has it."""
        curves = (row.curves.queue_length for row in self.rows)
        return next(filter(None, curves), None)


def summarize(rows: Sequence[Row], workload: str) -> list[PolicySummary]:
    """Summarize the policies of a workload, the least mean bounded slowdown first."""
    reference = rows_by_run(rows)
    by_policy: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row.seed):
        if row.workload == workload:
            by_policy.setdefault(row.policy, []).append(row)
    summaries = []
    for policy, runs in by_policy.items():
        means: dict[str, float | None] = {}
        for name in dict.fromkeys(name for row in runs for name in row.metrics):
            values = [row.metrics.get(name) for row in runs]
            numbers = [value for value in values if value is not None]
            means[name] = sum(numbers) / len(numbers) if len(numbers) == len(values) else None
        versus = {
            name: _mean_difference([row.versus.differences.get(name) for row in runs])
            for name in COMPARED
        }
        is_starving = any(starves(row, reference) for row in runs)
        summaries.append(PolicySummary(policy, runs, means, versus, is_starving))

    def order(summary: PolicySummary) -> tuple[float, str]:
        value = summary.metrics.get(COMPARED[0])
        return math.inf if value is None else value, summary.policy  # unknown values last

    return sorted(summaries, key=order)


def _mean_difference(parts: Sequence[Difference | None]) -> Interval | None:
    """The mean of independent differences; None if one is unknown.

    Half widths add up as errors do: the root of their squares' sum.
    """
    intervals = []
    for part in parts:
        if part is None or part.difference is None or part.low is None or part.high is None:
            return None
        intervals.append(Interval(part.difference, part.low, part.high))
    count = len(intervals)
    middle = sum(part.value for part in intervals) / count
    below = math.sqrt(sum((part.low - part.value) ** 2 for part in intervals)) / count
    above = math.sqrt(sum((part.high - part.value) ** 2 for part in intervals)) / count
    return Interval(middle, middle - below, middle + above)
