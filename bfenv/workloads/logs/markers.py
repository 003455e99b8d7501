"""The markers of logs for "no time", "no limit" and "unknown", and their lists of nodes."""

import re
from functools import lru_cache
from itertools import product
from typing import Any

WORDS = frozenset(
    (
        "",
        "-",
        "--",
        "unknown",
        "none",
        "n/a",
        "na",
        "nan",
        "nat",
        "null",
        "(null)",
        "nil",
        "invalid",
        "never",
        "not_set",
        "not set",
        "unset",
        "undefined",
        "unlimited",
        "infinite",
        "infinity",
        "inf",
        "+inf",
        "-inf",
        "partition_limit",
        "0000-00-00",
        "0000-00-00 00:00:00",
        "0000-00-00t00:00:00",
    )
)  # in lower case
NUMBERS = frozenset(
    (-1, 2**31 - 1, 2**32 - 1, 2**32 - 2, 2**63 - 1, 2**64 - 1, 2**64 - 2)
)  # the largest of C's integers; Slurm's INFINITE and NO_VAL
TEXTS = WORDS | {str(number) for number in NUMBERS}
YEAR = 365 * 86_400  # seconds; no job starts so long before its submission


def is_nothing(value: Any) -> bool:
    """Return whether a value is one of the words or numbers above, or NaN."""
    if isinstance(value, str):
        return value.strip().lower() in TEXTS
    return value is None or value != value or value in (float("inf"), -float("inf"), *NUMBERS)


def is_blank(value: Any) -> bool:
    """Return whether a table leaves a value out: an empty field, NaN, or -1."""
    if isinstance(value, str):
        return value.strip().lower() in ("", "nan", "nat", "-1")
    return value is None or value != value or value == -1


def is_no_date(instant: float, later: float) -> bool:
    """Return whether a time means that nothing happened yet at a time known to be no later.

    It does if it is zero, which is 1970-01-01, or a year before the other. In a table of relative
    times, a job submitted at second 0 may well start at second 0.
    """
    return instant < later and (instant <= 0 or later - instant >= YEAR)


ITEM = re.compile(r"(?:[^,\[\]]|\[[^\]]*\])+")  # between commas that are not in brackets
RANGE = re.compile(r"\[([^\]]*)\]")
MOST = 100_000  # nodes of an item; no cluster has more


@lru_cache(maxsize=1 << 14)
def node_names(text: str) -> tuple[str, ...]:
    """Return the names in a list such as "n[1-3,07],login"."""
    names: list[str] = []
    for item in ITEM.findall(text):
        parts = RANGE.split(item.strip())
        choices = [_numbers(part) if i % 2 else [part] for i, part in enumerate(parts)]
        names += map("".join, product(*choices[:6]))
        if len(names) > MOST:
            break
    return tuple(names)


def _numbers(text: str) -> list[str]:
    """Return the numbers in "1-3,07", of as many digits as the first has."""
    numbers = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first.isdecimal() and last.isdecimal() and int(last) - int(first) < MOST:
            numbers += [f"{i:0{len(first)}}" for i in range(int(first), int(last) + 1)]
        else:
            numbers.append(part)
    return numbers
