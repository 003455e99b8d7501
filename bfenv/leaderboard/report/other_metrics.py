"""The places of the policies under several metrics, in text and on the page."""

from collections.abc import Sequence

from bfenv.analysis.formatting import MISSING, slowdown
from bfenv.evaluation.page.markup import Cell, Markup, element, join, table
from bfenv.evaluation.row import Row
from bfenv.leaderboard.yardsticks import YARDSTICKS, Agreement, Places, agreements, places_by_metric

COLUMNS = ("policy", "division", *(yardstick.heading for yardstick in YARDSTICKS))
AGREEMENT = "agreement"
AGREEMENT_MEANING = (
    "rank correlation with the order by mean bounded slowdown, among policies that run jobs to "
    "completion"
)


def metric_lines(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Return the cells of COLUMNS: a line for each policy, the last one for the agreement."""
    lines = _sorted(rows)
    cells = [(line.policy, line.division, *map(_text, line.places)) for line in lines]
    return [*cells, (AGREEMENT, "", *_correlations(agreements(lines)))] if lines else []


def metric_notes(rows: Sequence[Row]) -> list[str]:
    """Explain the table, and name the metrics under which another policy is first."""
    found = agreements(_sorted(rows))
    meanings = "; ".join(f"{one.heading}: {one.meaning}" for one in YARDSTICKS)
    texts = [
        "The numbers are places within a division, by the geometric mean of the ratios to EASY's, "
        "among policies that starve no jobs; differences may be chance. "
        f"{meanings}."
    ]
    best = found[0].first
    for one in found[1:]:
        if one.first and best and not set(one.first) & set(best):
            texts.append(
                f"By {one.yardstick.heading}, {_names(one.first)} is first, not {_names(best)}."
            )
    return texts


def other_metrics(rows: Sequence[Row]) -> Markup | None:
    """Make the section of the page; None if there is only one policy."""
    lines = _sorted(rows)
    if len(lines) < 2:
        return None
    body = [
        (None, [Cell(line.policy, line.policy.lower()), *(_cell(place) for place in line.places),
                Cell(line.division, line.division)])
        for line in lines
    ]  # fmt: skip
    columns = (COLUMNS[0], *COLUMNS[2:], COLUMNS[1])
    caption = "Places under several metrics"
    notes = [element("p", text, class_="note") for text in metric_notes(rows)]
    agreement = [
        f"{one.yardstick.heading} {value}"
        for one, value in zip(agreements(lines), _correlations(agreements(lines)), strict=True)
        if value != MISSING
    ][1:]
    if agreement:
        text = f"Agreement ({AGREEMENT_MEANING}): {', '.join(agreement)}."
        notes.append(element("p", text, class_="note"))
    return join([table(caption, columns, body, sorted_by=1, text=(0, len(columns) - 1)), notes])


def _sorted(rows: Sequence[Row]) -> list[Places]:
    """The policies of each division by their first place; those without one last."""
    lines = places_by_metric(rows)
    divisions = list(dict.fromkeys(line.division for line in lines))

    def order(line: Places) -> tuple[int, float, str]:
        first = line.places[0]
        return divisions.index(line.division), first or float("inf"), line.policy

    return sorted(lines, key=order)


def _cell(place: int | None) -> Cell:
    is_first = "best" if place == 1 else None
    return Cell(_text(place), None if place is None else float(place), is_first)


def _text(place: int | None) -> str:
    return MISSING if place is None else str(place)


def _correlations(found: Sequence[Agreement]) -> list[str]:
    return [MISSING if one.correlation is None else slowdown(one.correlation) for one in found]


def _names(policies: Sequence[str]) -> str:
    """Name the policies; a long list is cut."""
    return policies[0] if len(policies) == 1 else f"{policies[0]} (with {len(policies) - 1} others)"
