"""Verdicts: whether what was computed agrees with what was printed, by one set of rules.

Numbers agree within a band around a ratio of 1, or if rounding explains the rest. An order agrees
if all pairs of printed values that differ by more than DISTINCT come out in the same order. A claim
agrees if all its comparisons hold. Only logs whose jobs are the paper's count; on other editions of
a log, on generated jobs, and where the paper prints nothing, there is nothing to compare.
"""

from collections.abc import Iterable
from itertools import combinations
from typing import NamedTuple

from bfenv.reproduce.item import Cell, Claim, Comparison, Content, Item, Log
from bfenv.reproduce.printed import Printed, printed
from bfenv.reproduce.results import Results

AGREES, DIFFERS, NOT_COMPARABLE = "agrees", "differs", "not comparable"
MISSING = "not computed"  # the log is not on this machine
DISTINCT = 0.05  # printed values closer than this have no order


class CellVerdict(NamedTuple):
    """One cell: theirs, ours, their ratio, and what follows."""

    cell: Cell
    theirs: Printed | None
    ours: float | str | None
    ratio: float | None  # ours over theirs
    verdict: str  # "" where nothing is printed
    near: bool = False  # whether ours is as printed, within the band


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


class Verdict(NamedTuple):
    """The verdict of an item, with its parts."""

    cells: tuple[CellVerdict, ...]  # each beside its printed value
    values: Count  # how many cells agree
    order: Count | None  # how many orders agree; None if there is no such rule
    claims: tuple[tuple[Claim, Count], ...]  # how many comparisons of each hold

    @property
    def counts(self) -> list[Count]:
        """The parts that were judged."""
        values = [self.values] if self.values.all or self.values.other_all else []
        order = [self.order] if self.order else []
        return [*values, *order, *(count for _, count in self.claims)]

    @property
    def overall(self) -> str:
        """One word for the item."""
        verdicts = {count.verdict for count in self.counts} - {NOT_COMPARABLE}
        if not verdicts:
            return NOT_COMPARABLE
        return AGREES if verdicts == {AGREES} else DIFFERS


def judge(paper: str, item: Item, content: Content, results: Results, quick: bool) -> Verdict:
    """Judge an item by its rules.

    Parameters
    ----------
    paper
        Name of the paper, under which its printed values are kept.
    item, content
        The rules, and what `item.build(quick)` returns.
    results
        What was computed.
    quick
        Whether the runs were on generated stand-ins: cells of other logs then do not count.

    Returns
    -------
    Verdict
        The verdict with its parts.
    """
    theirs = printed(paper, item.name)
    cells = tuple(
        _judge_cell(item, cell, theirs.get((cell.row, cell.column)), results, quick)
        for cell in content.cells
    )
    return Verdict(
        cells,
        _count(
            (f"{one.cell.row}, {one.cell.column}", one.near, _counts(one.cell.log, quick))
            for one in cells
            if one.theirs is not None and one.ours is not None
        ),
        _order(item, cells, quick) if item.order else None,
        tuple((claim, _judge_claim(claim, results, quick)) for claim in content.claims),
    )


def _counts(log: Log, quick: bool) -> bool:
    return log.comparable and not (quick and log.stand_in != log.workload)


def _judge_cell(
    item: Item, cell: Cell, theirs: Printed | None, results: Results, quick: bool
) -> CellVerdict:
    ours = results.number(cell.value)
    ratio, near = None, False
    if theirs is None or ours is None:
        pass
    elif isinstance(ours, str) or isinstance(theirs.value, str):
        near = ours == theirs.text
    else:
        ratio = ours / theirs.value if theirs.value else None
        rounded = abs(ours - theirs.value) <= theirs.error * (1 + 1e-9)
        inside = (
            not item.exact and ratio is not None and 1 / (1 + item.band) <= ratio <= 1 + item.band
        )
        near = rounded or inside
    if theirs is None or ours is None:
        verdict = MISSING if theirs else ""
    elif not _counts(cell.log, quick):
        verdict = NOT_COMPARABLE
    else:
        verdict = AGREES if near else DIFFERS
    return CellVerdict(cell, theirs, ours, ratio, verdict, near)


def _order(item: Item, cells: Iterable[CellVerdict], quick: bool) -> Count:
    """Count the pairs of printed values, within a column or row, that are ordered as printed."""
    groups: dict[str, list[CellVerdict]] = {}
    for one in cells:
        if one.theirs and isinstance(one.theirs.value, float) and isinstance(one.ours, float):
            key = one.cell.column if item.order == "rows" else one.cell.row
            groups.setdefault(key, []).append(one)
    pairs = []
    for key, group in groups.items():
        for a, b in combinations(group, 2):
            theirs = float(a.theirs.value), float(b.theirs.value)  # type: ignore[union-attr]
            if max(theirs) <= min(theirs) * (1 + DISTINCT):
                continue
            ours = float(a.ours), float(b.ours)  # type: ignore[arg-type]
            holds = (theirs[0] < theirs[1]) == (ours[0] < ours[1]) and ours[0] != ours[1]
            names = (
                (a.cell.row, b.cell.row) if item.order == "rows" else (a.cell.column, b.cell.column)
            )
            both = _counts(a.cell.log, quick) and _counts(b.cell.log, quick)
            pairs.append((f"{key}: {names[0]} and {names[1]}", holds, both))
    return _count(pairs)


def _judge_claim(claim: Claim, results: Results, quick: bool) -> Count:
    judged = []
    for one in claim.comparisons:
        holds = compare(one, results)
        if holds is not None:
            judged.append((one.where, holds, _counts(one.log, quick)))
    return _count(judged)


def compare(comparison: Comparison, results: Results) -> bool | None:
    """Return whether a comparison holds; None if a value is missing."""
    left, right = results.number(comparison.left), results.number(comparison.right)
    if not isinstance(left, float | int) or not isinstance(right, float | int):
        return None
    limit = right + comparison.slack * abs(right)
    return left < limit if comparison.strict else left <= limit


def _count(judged: Iterable[tuple[str, bool, bool]]) -> Count:
    """Count what holds, of what is comparable and of the rest."""
    found = list(judged)
    own = [(where, holds) for where, holds, counts in found if counts]
    other = [holds for _, holds, counts in found if not counts]
    failed = tuple(where for where, holds in own if not holds)
    return Count(len(own) - len(failed), len(own), sum(other), len(other), failed)


def sides(comparison: Comparison, results: Results) -> tuple[float | None, float | None]:
    """Return the numbers on both sides."""
    found = [results.number(side) for side in (comparison.left, comparison.right)]
    left, right = (one if isinstance(one, float | int) else None for one in found)
    return left, right
