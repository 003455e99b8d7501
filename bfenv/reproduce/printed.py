"""The printed numbers of the papers: data files, one per paper."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple


class Printed(NamedTuple):
    """A printed number, or the text of a cell."""

    value: float | str
    error: float = 0.0  # half a unit of the last digit, or how well a value of a figure is known
    read: bool = False  # whether the text states it of a figure, which itself is not available
    text: str = ""  # as it is printed


@cache
def printed(paper: str, item: str) -> Mapping[tuple[str, str], Printed]:
    """Return the printed values of an item by row and column.

    A file has, by item, the place in the paper, "columns", and "rows": for each row's label its
    values, as they are printed, null where nothing is. "read" marks values that the text states of
    a figure, with "error".
    """
    entry = _file(paper)["items"].get(item)
    if entry is None:
        return {}
    return {
        (row, column): _number(text, entry)
        for row, texts in entry["rows"].items()
        for column, text in zip(entry["columns"], texts, strict=True)
        if text is not None
    }


def _number(text: str, entry: Mapping[str, Any]) -> Printed:
    """Read a number as it is printed; other text stays text."""
    try:
        value = float(text.replace(",", "").replace("+", ""))
    except ValueError:
        return Printed(text, text=text)
    if entry.get("read"):
        return Printed(value, float(entry["error"]) * abs(value), True, text)
    _, _, decimals = text.partition(".")
    return Printed(value, 0.5 * 10 ** -len(decimals), text=text)


@cache
def _file(paper: str) -> dict[str, Any]:
    file: Any = files("bfenv.reproduce") / "printed" / f"{paper}.json"
    data: dict[str, Any] = json.loads(file.read_text("utf-8")) if file.is_file() else {"items": {}}
    return data
