"""Elements of HTML and SVG, and tables. Everything that is not markup already is escaped."""

import html
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

EMPTY = {"meta", "input", "link", "br", "hr"}  # elements of HTML without an end tag


class Markup(str):
    """Text that is markup; made by `element` and `join` only."""

    __slots__ = ()


def element(tag: str, *children: Any, **attributes: Any) -> Markup:
    """Make an element.

    * `tag`: its name.
    * `children`: Markup, text, or iterables of them; None is left out.
    * `attributes`: in their names a trailing underscore is dropped, and others become dashes. True
      makes an attribute without a value; None and False leave it out.
    """
    words = [tag]
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        name = name.rstrip("_").replace("_", "-")
        words.append(name if value is True else f'{name}="{escaped(value)}"')
    opening = f"<{' '.join(words)}>"
    return Markup(opening if tag in EMPTY else f"{opening}{join(children)}</{tag}>")


def join(children: Iterable[Any]) -> Markup:
    """Join children one after the other, see `element`."""
    parts: list[str] = []
    for child in children:
        if isinstance(child, Markup):
            parts.append(child)
        elif child is None:
            continue
        elif isinstance(child, list | tuple) or hasattr(child, "__next__"):
            parts.append(join(child))
        else:
            parts.append(escaped(child))
    return Markup("".join(parts))


def escaped(text: Any) -> str:
    """Escape text: no markup is left in it, and no character that acts without being visible."""
    visible = (c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(text))
    return html.escape("".join(visible))


def short(text: str, length: int = 34) -> str:
    """Cut text so that it fits beside a mark in a chart."""
    return text if len(text) <= length else text[: length - 1] + "…"


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

    * `caption`: what the table holds.
    * `columns`: the headings.
    * `rows`: for each row the number of its policy, or None, and the cells; the first is the
      heading.
    * `sorted_by`: the column in whose ascending order the rows are; all columns can then be sorted.
    * `text`: the columns that are not numbers.
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
        element(
            "caption",
            element("span", caption, element("span", " (scroll for more)", class_="more")),
        ),
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
