"""Tables of an item: laid out as printed, every cell with theirs, ours and the ratio."""

import math
from collections.abc import Sequence

from bfenv.reproduce.item import Claim, Comparison, Item, Pair
from bfenv.reproduce.results import Results
from bfenv.reproduce.verdict import (
    AGREES,
    DIFFERS,
    MISSING,
    NOT_COMPARABLE,
    CellVerdict,
    Count,
    Verdict,
    compare,
    sides,
)

MARKS = {AGREES: "✓", DIFFERS: "✗", NOT_COMPARABLE: "○", MISSING: "", "": ""}
LEGEND = (
    "A cell reads *ours / printed = ratio*. ✓ agrees, ✗ differs, ○ is not comparable because the "
    "jobs are not the paper's."
)
MOST = 8  # comparisons of a claim that are written out
Grid = tuple[list[str], list[list[str]]]  # headings, lines


def grid(item: Item, verdict: Verdict, results: Results) -> Grid:
    """Return headings and lines of an item's table."""
    by_place = {(one.cell.row, one.cell.column): one for one in verdict.cells}
    rows = list(dict.fromkeys(one.cell.row for one in verdict.cells))
    columns = list(dict.fromkeys(one.cell.column for one in verdict.cells))
    lines = [
        [row, *(_cell(item, by_place.get((row, column)), results) for column in columns)]
        for row in rows
    ]
    return ["", *columns], lines


def _cell(item: Item, one: CellVerdict | None, results: Results) -> str:
    if one is None:
        return ""
    if isinstance(one.cell.value, Pair):
        return _ratio(one.cell.value, results)
    ours = number(one.ours, item.digits)
    if one.theirs is None:
        return ours
    read = "≈" if one.theirs.read else ""
    theirs = f"{read}{one.theirs.text}"
    if one.ours is None:
        return f"– / {theirs}"
    ratio = f" = {one.ratio:.2f}" if one.ratio is not None else ""
    return f"{ours} / {theirs}{ratio} {MARKS[one.verdict]}"


def _ratio(pair: Pair, results: Results) -> str:
    """Write a ratio and its interval: ✓ if all of it is below 1, ✗ if all is above."""
    found = results.ratio(pair)
    if found is None:
        return "–"
    if math.isnan(found.low):
        return f"{found.value:.2f}"
    mark = "✓" if found.high < 1 else "✗" if found.low > 1 else "~"
    return f"{found.value:.2f} ({found.low:.2f}–{found.high:.2f}) {mark}"


def number(value: float | str | None, digits: int = 2) -> str:
    """Write a number with fixed decimals, and none if it is large."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if abs(value) >= 10_000 or (digits == 0 and abs(value) >= 1):
        return f"{value:,.0f}"
    return f"{value:,.{max(digits, 0 if abs(value) >= 0.1 or value == 0 else 3)}f}"


def summary(items: Sequence[Item], verdicts: Sequence[Verdict]) -> Grid:
    """Return one line per item: its parts and its verdict."""
    lines = []
    for item, verdict in zip(items, verdicts, strict=True):
        claims = [count for _, count in verdict.claims]
        lines.append(
            [
                f"{item.name}",
                item.title,
                share(verdict.values),
                share(verdict.order) if verdict.order else "",
                ", ".join(share(count) for count in claims),
                verdict.overall,
            ]
        )
    return ["item", "", "values", "order", "claims", "verdict"], lines


def share(count: Count) -> str:
    """Write how many hold; those on other jobs in parentheses."""
    own = f"{count.held} of {count.all}" if count.all else ""
    other = f"({count.other_held} of {count.other_all})" if count.other_all else ""
    return f"{own} {other}".strip()


def claim_line(claim: Claim, count: Count, results: Results) -> str:
    """Return a claim as Markdown: its verdict, how many comparisons hold, and their numbers."""
    mark = MARKS[count.verdict]
    text = f"* {mark} {claim.text}: {share(count) or 'nothing to compare'}."
    shown = [one for one in claim.comparisons if compare(one, results) is not None]
    if 0 < len(shown) <= MOST:
        text += " " + "; ".join(_comparison(one, results) for one in shown) + "."
    elif count.failed:
        listed = ", ".join(count.failed[:MOST])
        rest = f" and {len(count.failed) - MOST} more" if len(count.failed) > MOST else ""
        text += f" Not: {listed}{rest}."
    return text


def _comparison(one: Comparison, results: Results) -> str:
    left, right = sides(one, results)
    holds = compare(one, results)
    sign = "<" if one.strict else "≤"
    wrong = "" if holds else " ✗"
    return f"{one.where}: {_short(left)} {sign} {_short(right)}{wrong}"


def _short(value: float | None) -> str:
    """Write about three digits."""
    if value is None:
        return "–"
    size = abs(value)
    digits = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 0.1 or size == 0 else 4
    return f"{value:,.{digits}f}"


def markdown(table: Grid) -> list[str]:
    """Return a table as lines of Markdown."""
    headings, lines = table
    rule = "|" + "---|" * len(headings)
    rows = ["| " + " | ".join(cells) + " |" for cells in ([*headings], *lines)]
    return [rows[0], rule, *rows[1:]]
