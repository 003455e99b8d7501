"""Tables of the page, sortable where that makes sense."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from bfenv.leaderboard.report.element import Markup, element


class Cell(NamedTuple):
    """What a cell shows, and the value to sort it by; None is sorted last."""

    shown: Any
    value: float | str | None = None
    class_: str | None = None


def table(
    caption: str,
    columns: Sequence[str],
    rows: Iterable[tuple[str | None, Sequence[Cell]]],
    *,
    sorted_by: int | None = None,
    text: Sequence[int] = (0,),
) -> Markup:
    """Make a table in a region that scrolls sideways by itself.

    Parameters
    ----------
    caption
        What the table holds.
    columns
        The headings.
    rows
        For each row the number of its policy, or None, and the cells; the first is the heading.
    sorted_by
        The column in whose ascending order the rows are; all columns can then be sorted.
    text
        The columns that are not numbers.
    """
    head = [
        element(
            "th",
            name,
            scope="col",
            class_=None if i in text else "n",
            aria_sort="ascending" if i == sorted_by else None,
        )
        for i, name in enumerate(columns)
    ]
    body = [
        element("tr", [_cell(i, cell, i in text) for i, cell in enumerate(cells)], data_p=number)
        for number, cells in rows
    ]
    inner = element(
        "table",
        element("caption", element("span", caption)),
        element("thead", element("tr", head)),
        element("tbody", body),
        class_=None if sorted_by is None else "sortable",
    )
    return element("div", inner, class_="scroll", role="region", tabindex="0", aria_label=caption)


def _cell(column: int, cell: Cell, is_text: bool) -> Markup:
    value = cell.value if not isinstance(cell.value, float) else f"{cell.value:.6g}"
    classes = " ".join(filter(None, (None if is_text else "n", cell.class_))) or None
    if column == 0:
        return element("th", cell.shown, scope="row", data_v=value, class_=classes)
    return element("td", cell.shown, data_v=value, class_=classes)
