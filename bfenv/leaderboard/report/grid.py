"""Tables of the page, sortable where that makes sense."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from bfenv.leaderboard.report.element import Markup, element


class Cell(NamedTuple):
    """What a cell shows and what it is sorted by; None is sorted last."""

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
    """A table in a region that scrolls sideways by itself, each row with its policy's number.

    The first cell of a row heads it. With `sorted_by`, the column that is ascending, all columns
    can be sorted; `text` are those that are no numbers.
    """
    sortable = sorted_by is not None
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
        class_="sortable" if sortable else None,
    )
    return element("div", inner, class_="scroll", role="region", tabindex="0", aria_label=caption)


def _cell(place: int, cell: Cell, is_text: bool) -> Markup:
    value = cell.value if not isinstance(cell.value, float) else f"{cell.value:.6g}"
    classes = " ".join(filter(None, (None if is_text else "n", cell.class_))) or None
    if place == 0:
        return element("th", cell.shown, scope="row", data_v=value, class_=classes)
    return element("td", cell.shown, data_v=value, class_=classes)
