"""The places of the policies under several metrics, in text and on the page."""

from collections.abc import Sequence

from bfenv.analysis.formatting import MISSING
from bfenv.core.policy import COMPLETION
from bfenv.evaluation.page.markup import Cell, Markup, element, join, table
from bfenv.evaluation.row import Row
from bfenv.leaderboard.yardsticks import YARDSTICKS, Places, places_by_metric

COLUMNS = ("policy", "division", *(yardstick.heading for yardstick in YARDSTICKS))


def metric_lines(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Return the cells of COLUMNS: a line for each policy."""
    return [(line.policy, line.division, *map(_text, line.places)) for line in _sorted(rows)]


def metric_notes(rows: Sequence[Row]) -> list[str]:
    """Explain the table, and name the metrics under which another policy is first."""
    alike = [line for line in _sorted(rows) if line.division == COMPLETION]
    first = [[line.policy for line in alike if line.places[i] == 1] for i in range(len(YARDSTICKS))]
    meanings = "; ".join(f"{one.heading}: {one.meaning}" for one in YARDSTICKS)
    texts = [
        "The numbers are places within a division, by the geometric mean of the ratios to EASY's, "
        "among policies that starve no jobs; differences may be chance. "
        f"{meanings}."
    ]
    for one, other in zip(YARDSTICKS, first, strict=True):
        if other and first[0] and not set(other) & set(first[0]):
            texts.append(f"By {one.heading}, {_names(other)} is first, not {_names(first[0])}.")
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


def _names(policies: Sequence[str]) -> str:
    """Name the policies; a long list is cut."""
    return policies[0] if len(policies) == 1 else f"{policies[0]} (with {len(policies) - 1} others)"
