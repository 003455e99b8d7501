"""Durations, times, slowdowns and shares as text, with only the digits that carry meaning.

A missing number, None, is written as `MISSING`.
"""

import csv
import io
import math
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from bfenv.core.durations import DAY, HOUR, MINUTE, SECOND, format_duration
from bfenv.core.text import counted, printable

MISSING = "–"
# Names of the metrics that are durations
IN_SECONDS = re.compile("(wait|response|makespan|_delay|_to_fcfs|_per_delayed_head)$")


def duration(seconds: float | None) -> str:
    """Format a duration in one unit, like 47 s, 12.3 min, 5.4 h or 3.1 d."""
    return MISSING if seconds is None else format_duration(seconds)


def durations(
    seconds: Iterable[float | None], like: Iterable[float | None] | None = None
) -> list[str]:
    """Format the durations of a table's column in one unit, that of their median.

    With `like`, the unit is that of these durations, of another column of the table.
    """
    values = list(seconds)
    sizes = sorted(abs(value) for value in (values if like is None else like) if value)
    unit, length = unit_of(sizes[len(sizes) // 2] if sizes else 0.0)
    return [MISSING if value is None else _in_unit(value / length, unit) for value in values]


def unit_of(seconds: float) -> tuple[str, int]:
    """Return the unit in which a duration of two or more is written, and its seconds."""
    units = (("d", DAY), ("h", HOUR), ("min", MINUTE))
    return next((unit for unit in units if seconds >= 2 * unit[1]), ("s", SECOND))


def alike(*columns: Iterable[float | None]) -> list[list[str]]:
    """Format the columns of durations of a table in one unit, see `typical_duration`."""
    values = [list(column) for column in columns]
    like = [typical_duration(value for column in values for value in column)]
    return [durations(column, like) for column in values]


def typical_duration(seconds: Iterable[float | None]) -> float:
    """Return the geometric mean of durations, for whose unit a table is readable; 0 of none."""
    logs = [math.log(value) for value in seconds if value and value > 0]
    return math.exp(sum(logs) / len(logs)) if logs else 0.0


def metric(name: str, values: Iterable[float | None]) -> list[str]:
    """Format the values of a metric, by its name as durations in one unit or as slowdowns."""
    if IN_SECONDS.search(name):
        return alike(values)[0]
    return [slowdown(value) for value in values]


def signed_durations(
    seconds: Iterable[float], like: Iterable[float | None] | None = None
) -> list[str]:
    """Format the differences of a table's column as `durations` does, each with its sign.

    What is too small for the unit has none.
    """
    values = list(seconds)
    return [
        text if text[0] == "<" else ("−" if value < 0 else "+" if value > 0 else "") + text
        for value, text in zip(values, durations(map(abs, values), like), strict=True)
    ]


def _in_unit(value: float, unit: str) -> str:
    if 0 < value < 0.005 and unit != "s":
        return f"< 0.01 {unit}"
    digits = 0 if unit == "s" or value == 0 or value >= 100 else 2 if value < 0.95 else 1
    return f"{value:,.{digits}f} {unit}"


def compound_duration(seconds: float) -> str:
    """Format a duration in two whole units, like 45 s, 15 min, 3 h 20 min, 36 h or 333 d.

    Use it for round durations, such as estimates. From 30 of its larger unit on, a duration is
    rounded to that unit.
    """
    units = (("d", DAY), ("h", HOUR), ("min", MINUTE), ("s", SECOND))
    for (unit, length), (smaller, part) in pairwise(units):
        count, remainder = divmod(round(seconds / part), length // part)
        if count >= 30:
            return f"{seconds / length:,.0f} {unit}"
        if count > (unit == "d"):  # 36 h, but 2 d
            return f"{count} {unit} {remainder} {smaller}" if remainder else f"{count} {unit}"
    return f"{seconds:.0f} s"


def moment(seconds: int, *, days: bool = False) -> str:
    """Format a time since the first submission, like 1 d 06:00 or 00:01:01; with `days`, 1 d."""
    day, remainder = divmod(seconds, DAY)
    if days:
        return f"{day} d"
    hour, remainder = divmod(remainder, HOUR)
    minute, second = divmod(remainder, MINUTE)
    clock = f"{hour:02}:{minute:02}" + (f":{second:02}" if second else "")
    return f"{day} d {clock}" if day else clock


def slowdown(value: float | None) -> str:
    """Format a slowdown with two decimals, from 1000 on with none."""
    if value is None:
        return MISSING
    return f"{value:,.2f}" if abs(value) < 1000 else f"{value:,.0f}"


def percent(share: float | None) -> str:
    """Format a share from 0 to 1 as a percentage, like 78.8 %; a small one as < 0.1 %, not as 0."""
    if share is None:
        return MISSING
    return "< 0.1 %" if 0 < share < 0.001 else f"{share:.1%}".replace("%", " %")


def offered_load(loads: Iterable[float]) -> str:
    """Format the offered load of one trace, or its range over several.

    It is infinite, and written as not defined, if all jobs are submitted at once.
    """
    values = list(loads)
    return "offered load " + " to ".join(sorted({_load(min(values)), _load(max(values))}))


def _load(value: float) -> str:
    return f"{value:.2f}" if math.isfinite(value) else "not defined"


def count_of(count: int, total: int) -> str:
    """Format a count of jobs with its share of all jobs, like "23 jobs (0.9 %)"."""
    share = percent(count / total).replace("<", "less than")
    return f"{counted(count, 'job')} ({share})"


def ratio(value: float | None) -> str:
    """Format a ratio with about three digits, like 0.873, 12.4 or 317."""
    if value is None:
        return MISSING
    digits = 3 if abs(value) < 10 else 1 if abs(value) < 100 else 0
    return f"{value:,.{digits}f}"


FORMULA = ("=", "+", "-", "@", "\t")  # how a formula begins in a spreadsheet


def csv_text(columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return a heading and a line for each row.

    Text may come from an untrusted source, so it is made harmless. An apostrophe is put before text
    that a spreadsheet would take for a formula. Characters that would steer a terminal become "?".
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        cells = list(row)
        for i, value in enumerate(cells):
            if isinstance(value, str):
                plain = printable(value.replace("\r", " ").replace("\t", " "))
                cells[i] = f"'{plain}" if value.startswith(FORMULA) else plain
        writer.writerow(cells)
    return text.getvalue()
