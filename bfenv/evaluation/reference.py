"""The policy that all others are compared with, and when a policy starves jobs beside it."""

from collections.abc import Iterable, Mapping

from bfenv.analysis.comparison import STARVES
from bfenv.evaluation.row import Row

REFERENCE = "easy"
FAIR = "fcfs"  # the policy whose order of starts counts as fair
STARVES_MEANING = (
    f"its longest wait on some workload is over {STARVES:g} times EASY's, so its means are low at "
    "the expense of jobs that hardly ever start."
)

Rows = Mapping[tuple[str, str, int], Row]  # by policy, workload and seed


def rows_by_run(rows: Iterable[Row]) -> Rows:
    """Return the rows that did not fail by policy, workload and seed."""
    return {(row.policy, row.workload, row.seed): row for row in rows if row.ok}


def reference_row(row: Row, rows: Rows) -> Row | None:
    """Return the reference's row on the same jobs as a row, or None.

    Where the reference has one seed only, its row stands for all seeds.
    """
    for seed in (row.seed, 0):
        other = rows.get((REFERENCE, row.workload, seed))
        if other is not None and other.workload_hash == row.workload_hash:
            return other
    return None


def starves(row: Row, rows: Rows) -> bool:
    """Whether the longest wait of a row is over STARVES times the reference's."""
    longest, usual = _longest_waits(row, rows)
    return longest is not None and usual is not None and longest > STARVES * usual


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
