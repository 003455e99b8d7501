"""Tables as CSV that is safe to open in a spreadsheet, and to print on a terminal."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from bfenv.core.text import printable

FORMULA = ("=", "+", "-", "@", "\t")  # how a formula begins in a spreadsheet


def csv_text(columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return a heading and a line for each row.

    Text may come from an untrusted source, so it is made harmless. An apostrophe is put before text
    that a spreadsheet would take for a formula. Characters that would steer a terminal become "?".
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_harmless(value) for value in row] for row in rows)
    return text.getvalue()


def _harmless(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = printable(value.replace("\r", " ").replace("\t", " "))
    return f"'{text}" if value.startswith(FORMULA) else text
