"""The places of the policies under several metrics."""

from collections.abc import Sequence

from bfenv.analysis.formatting import MISSING
from bfenv.core.policy import COMPLETION
from bfenv.evaluation.row import Row
from bfenv.leaderboard.yardsticks import YARDSTICKS, Places, places_by_metric

COLUMNS = ("policy", "division", *(yardstick.heading for yardstick in YARDSTICKS))


def metric_lines(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Return the cells of COLUMNS: a line for each policy."""
    return [
        (line.policy, line.division, *map(place_text, line.places)) for line in sorted_places(rows)
    ]


def metric_notes(rows: Sequence[Row]) -> list[str]:
    """Explain the table, and name the metrics under which another policy is first."""
    alike = [line for line in sorted_places(rows) if line.division == COMPLETION]
    first = [[line.policy for line in alike if line.places[i] == 1] for i in range(len(YARDSTICKS))]
    meanings = "; ".join(f"{measure.heading}: {measure.meaning}" for measure in YARDSTICKS)
    texts = [
        "The numbers are places within a division, by the geometric mean of the ratios to EASY's; "
        "differences may be chance. "
        f"{meanings}."
    ]
    for measure, leaders in zip(YARDSTICKS, first, strict=True):
        if leaders and first[0] and not set(leaders) & set(first[0]):
            texts.append(
                f"By {measure.heading}, {_names(leaders)} is first, not {_names(first[0])}."
            )
    return texts


def sorted_places(rows: Sequence[Row]) -> list[Places]:
    """Return the policies of each division by their first place; those without one last."""
    lines = places_by_metric(rows)
    divisions = list(dict.fromkeys(line.division for line in lines))

    def order(line: Places) -> tuple[int, float, str]:
        first = line.places[0]
        return divisions.index(line.division), first or float("inf"), line.policy

    return sorted(lines, key=order)


def place_text(place: int | None) -> str:
    """Return a place as text; MISSING if there is none."""
    return MISSING if place is None else str(place)


def _names(policies: Sequence[str]) -> str:
    """Name the policies; a long list is cut."""
    return policies[0] if len(policies) == 1 else f"{policies[0]} (with {len(policies) - 1} others)"
