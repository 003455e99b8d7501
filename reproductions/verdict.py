"""Verdicts: whether what was computed agrees with what was printed, by one set of rules.

Numbers agree within a band around a ratio of 1, or if rounding explains the rest. An order agrees
if all pairs of printed values that differ by more than DISTINCT come out in the same order. A claim
agrees if all its comparisons hold. Only logs whose jobs are the paper's count; on other editions of
a log, on generated jobs, and where the paper prints nothing, there is nothing to compare.
"""

from collections.abc import Iterable
from itertools import combinations
from typing import NamedTuple

from reproductions.item import Cell, Claim, Comparison, Content, Item, Log
from reproductions.results import Printed, Results, printed

AGREES, DIFFERS, NOT_COMPARABLE = "agrees", "differs", "not comparable"
MISSING = "not computed"  # the log is not on this machine
DISTINCT = 0.05  # printed values closer than this have no order


class CellVerdict(NamedTuple):
    """One cell: the printed value, the computed one, their ratio, and what follows."""

    cell: Cell
    printed: Printed | None
    computed: float | str | None
    ratio: float | None  # of the computed value to the printed one
    verdict: str  # "" where nothing is printed
    near: bool = False  # whether the computed value is as printed, within the band


class Count(NamedTuple):
    """How many of several comparisons hold."""

    held: int
    all: int
    other_held: int  # on jobs that are not the paper's
    other_all: int
    failed: tuple[str, ...] = ()  # which do not hold, of those that count

    @property
    def verdict(self) -> str:
        """The verdict over all."""
        if not self.all:
            return NOT_COMPARABLE
        return AGREES if self.held == self.all else DIFFERS


class ItemVerdict(NamedTuple):
    """The verdict of an item, with its parts."""

    cells: tuple[CellVerdict, ...]  # each beside its printed value
    values: Count  # how many cells agree
    order: Count | None  # how many orders agree; None if there is no such rule
    claims: tuple[tuple[Claim, Count], ...]  # how many comparisons of each hold

    @property
    def overall(self) -> str:
        """One word for the item."""
        parts = [self.values, self.order, *(count for _, count in self.claims)]
        verdicts = {part.verdict for part in parts if part} - {NOT_COMPARABLE}
        if not verdicts:
            return NOT_COMPARABLE
        return AGREES if verdicts == {AGREES} else DIFFERS


def judge(paper: str, item: Item, content: Content, results: Results, quick: bool) -> ItemVerdict:
    """Judge an item by its rules.

    `paper` names the printed values; if `quick`, only the cells of logs without a stand-in count.
    """
    printed_values = printed(paper, item.name)
    cells = tuple(
        _judge_cell(item, cell, printed_values.get((cell.row, cell.column)), results, quick)
        for cell in content.cells
    )
    return ItemVerdict(
        cells,
        _count(
            (
                f"{cell_verdict.cell.row}, {cell_verdict.cell.column}",
                cell_verdict.near,
                _counts(cell_verdict.cell.log, quick),
            )
            for cell_verdict in cells
            if cell_verdict.printed is not None and cell_verdict.computed is not None
        ),
        _order(cells, quick) if item.ordered else None,
        tuple(
            (
                claim,
                _count(
                    (comparison.label, holds, _counts(comparison.log, quick))
                    for comparison in claim.comparisons
                    if (holds := compare(comparison, results)) is not None
                ),
            )
            for claim in content.claims
        ),
    )


def _counts(log: Log, quick: bool) -> bool:
    return log.comparable and not (quick and log.stand_in != log.workload)


def _judge_cell(
    item: Item, cell: Cell, printed_value: Printed | None, results: Results, quick: bool
) -> CellVerdict:
    value = results.number(cell.value)
    if printed_value is None or value is None:
        return CellVerdict(cell, printed_value, value, None, MISSING if printed_value else "")
    ratio = None
    if isinstance(value, str) or isinstance(printed_value.value, str):
        near = value == printed_value.text
    else:
        ratio = value / printed_value.value if printed_value.value else None
        near = abs(value - printed_value.value) <= printed_value.error * (1 + 1e-9)
        if ratio is not None and not item.exact:
            near = near or 1 / (1 + item.band) <= ratio <= 1 + item.band
    verdict = AGREES if near else DIFFERS
    if not _counts(cell.log, quick):
        verdict = NOT_COMPARABLE
    return CellVerdict(cell, printed_value, value, ratio, verdict, near)


def _order(cells: Iterable[CellVerdict], quick: bool) -> Count:
    """Count the pairs of printed values within a column that are ordered as printed."""
    columns: dict[str, list[tuple[Cell, float, float]]] = {}
    for cell_verdict in cells:
        if (
            cell_verdict.printed
            and isinstance(cell_verdict.printed.value, float)
            and isinstance(cell_verdict.computed, float)
        ):
            entries = columns.setdefault(cell_verdict.cell.column, [])
            entries.append((cell_verdict.cell, cell_verdict.printed.value, cell_verdict.computed))
    pairs = []
    for column, entries in columns.items():
        for (a, printed_a, computed_a), (b, printed_b, computed_b) in combinations(entries, 2):
            if max(printed_a, printed_b) > min(printed_a, printed_b) * (1 + DISTINCT):
                is_alike = (printed_a < printed_b) == (computed_a < computed_b)
                holds = is_alike and computed_a != computed_b
                are_counted = _counts(a.log, quick) and _counts(b.log, quick)
                pairs.append((f"{column}: {a.row} and {b.row}", holds, are_counted))
    return _count(pairs)


def compare(comparison: Comparison, results: Results) -> bool | None:
    """Return whether a comparison holds; None if a value is missing."""
    left, right = results.number(comparison.left), results.number(comparison.right)
    if not isinstance(left, float | int) or not isinstance(right, float | int):
        return None
    limit = right + comparison.slack * abs(right)
    return left < limit if comparison.strict else left <= limit


def _count(judged: Iterable[tuple[str, bool, bool]]) -> Count:
    """Count what holds, of what is comparable and of the rest."""
    comparisons = list(judged)
    comparable = [(label, holds) for label, holds, counts in comparisons if counts]
    incomparable = [holds for _, holds, counts in comparisons if not counts]
    failed = tuple(label for label, holds in comparable if not holds)
    return Count(
        len(comparable) - len(failed), len(comparable), sum(incomparable), len(incomparable), failed
    )
