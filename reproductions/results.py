"""The two sides of a comparison: the papers' printed numbers, and the values in rows of runs."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bfenv.analysis.intervals import Interval, batch_means
from reproductions.item import Extreme, Pair, Run, Side, Value
from reproductions.rows import Row

FOLDER = Path(__file__).parent


class Printed(NamedTuple):
    """A printed number, or the text of a cell."""

    value: float | str
    error: float = 0.0  # half a unit of the last digit, or how well a value of a figure is known
    read: bool = False  # whether the text states it of a figure, which itself is not available
    text: str = ""  # as it is printed


@cache
def read_printed(paper: str) -> dict[str, Any]:
    """Read the data file of a paper, which has its items by name."""
    path = FOLDER / "printed" / f"{paper}.json"
    items: dict[str, Any] = json.loads(path.read_text("utf-8"))["items"] if path.is_file() else {}
    return items


@cache
def printed(paper: str, item: str) -> Mapping[tuple[str, str], Printed]:
    """Return the printed values of an item by row and column.

    A file has, by item, the place in the paper, "columns", and "rows": for each row's label its
    values, as they are printed, null where nothing is. "read" marks values that the text states of
    a figure, with "error".
    """
    entry = read_printed(paper).get(item)
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


class Results:
    """Values by run and measure, from rows by run; a value whose row is missing is None."""

    def __init__(self, rows: Mapping[Run, Row]) -> None:
        self.rows = rows

    def seeds(self, value: Value) -> list[Any] | None:
        """Return what each seed gave, unscaled."""
        row = self.rows.get(value.run)
        return None if row is None else row["values"].get(value.measure)

    def number(self, side: Side) -> float | str | None:
        """Return the mean over the seeds, in the printed unit, or what is derived from several.

        Of a measure with an interval, (value, low, high), it is the value. Text and numbers are
        returned as they are.
        """
        if isinstance(side, Extreme):
            return self._extreme(side)
        if isinstance(side, Pair):
            interval = self.ratio(side)
            return None if interval is None else float(getattr(interval, side.kind))
        if not isinstance(side, Value):
            return side
        numbers = self.seeds(side)
        if numbers and None not in numbers and isinstance(numbers[0], list):
            numbers = [estimate[0] for estimate in numbers]
        if not numbers or None in numbers:
            return None
        return numbers[0] if isinstance(numbers[0], str) else float(np.mean(numbers)) * side.scale

    def _extreme(self, value: Extreme) -> float | None:
        if value.kind in ("low", "high"):
            span = self.interval(value)
            return None if span is None else span[value.kind == "high"]
        numbers = [number for number in map(self.number, value.values) if isinstance(number, float)]
        if not numbers or len(numbers) < len(value.values):
            return None
        if value.kind == "mean":
            return float(np.mean(numbers))
        return min(numbers) if value.kind == "min" else max(numbers)

    def ratio(self, pair: Pair) -> Interval | None:
        """Estimate the geometric mean of the ratios of the seeds, with 95 % confidence."""
        left, right = (self.seeds(value) for value in pair.values)
        if not left or not right or None in left or None in right:
            return None
        logs = np.log(np.asarray(left) / np.asarray(right))
        interval = batch_means(logs, batches=max(2, len(logs)))
        value, low, high = (float(np.exp(log)) for log in interval[:3])
        return Interval(value, low, high, len(logs))

    def interval(self, value: Value | Extreme) -> tuple[float, float] | None:
        """Return low and high: of the measure's own interval, or 5th and 95th percentile of seeds.

        They are in the printed unit, and None if there is no interval. A seed of several values has
        their mean.
        """
        if isinstance(value, Extreme):
            seed_lists = [self.seeds(part) or [None] for part in value.values]
            is_complete = not any(None in seeds for seeds in seed_lists)
            numbers = np.mean(seed_lists, axis=0).tolist() if is_complete else None
            value = value.values[0]
        else:
            numbers = self.seeds(value)
        if not numbers or None in numbers:
            return None
        if isinstance(numbers[0], list):
            low, high = numbers[0][1:3]
            return None if low is None else (low * value.scale, high * value.scale)
        if len(numbers) < 2:
            return None
        low, high = np.percentile(numbers, (5, 95))
        return float(low) * value.scale, float(high) * value.scale

    def curve(self, value: Value) -> tuple[list[Any], list[Any]] | None:
        """Return x and y of a measure that is a curve, y in the printed unit."""
        curves = self.seeds(value)
        if not curves or curves[0] is None:
            return None
        x, y = curves[0]
        return x, [None if number is None else number * value.scale for number in y]
