"""Durations as people write them: one parser, one formatter."""

import re
from typing import Any

from bfenv.core.errors import BfenvError
from bfenv.core.text import shown

SECOND, MINUTE, HOUR, DAY = 1, 60, 3_600, 86_400  # seconds
TAU = 10  # seconds, of the bounded slowdown
UNITS = {"s": SECOND, "min": MINUTE, "m": MINUTE, "h": HOUR, "d": DAY, "w": 7 * DAY}
LONGEST = 10**15  # seconds; more is a mistake
PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(s|min|m|h|d|w)\s*")
PARTS = re.compile(rf"(?:{PART.pattern})+")
_60 = "([0-5]?[0-9])"  # minutes, or seconds
CLOCKS = (
    (re.compile("([0-9]+)"), (SECOND,)),
    (re.compile(f"([0-9]+):{_60}"), (MINUTE, SECOND)),
    (re.compile(f"([0-9]+):{_60}:{_60}"), (HOUR, MINUTE, SECOND)),
    (
        re.compile(f"([0-9]+)-([01]?[0-9]|2[0-3])(?::{_60}(?::{_60})?)?"),
        (DAY, HOUR, MINUTE, SECOND),
    ),
)


def parse_duration(text: str, error: type[BfenvError] = BfenvError) -> int:
    """Read a duration in whole seconds.

    Accepts seconds ("90"), numbers with units ("90s", "15min", "1h 30m", "2.5 d", "1w"), and
    Slurm's clock forms ("MM:SS", "HH:MM:SS", "D-HH", "D-HH:MM", "D-HH:MM:SS").

    Raises `error` if the text is none of these, or above 10**15 s.
    """
    seconds = _seconds(text.strip().lower())
    if seconds is None:
        raise error(f"{shown(text)} is not a duration; write it like 90s, 15min, 2d or 1-12:00:00")
    if seconds > LONGEST:
        raise error(f"{shown(text)} is too long for a duration")
    return round(seconds)


def parse_limit(name: str, text: str, error: type[BfenvError] = BfenvError) -> int:
    """Read a time limit in whole seconds; a bare number is refused, as Slurm counts minutes.

    Raises `error` if the text has no unit, or is not a duration; `name` is what it is for.
    """
    number = text.strip()
    if number.isdecimal() and len(number) < 16 and int(number) > 0:
        raise error(f"{name}: {number} of what? Write {number}h, {number}min or {number}s")
    seconds: int = in_seconds(name, text, error)
    return seconds


def in_seconds(name: str, value: Any, error: type[BfenvError] = BfenvError) -> Any:
    """Return the seconds of a duration that is text; any other value of the option as it is.

    Raises `error` if the text is not a duration.
    """
    if not isinstance(value, str):
        return value
    try:
        return parse_duration(value)
    except BfenvError as cause:
        raise error(f"{name}: {cause}") from None


def _seconds(text: str) -> float | None:
    if PARTS.fullmatch(text):
        return sum(float(number) * UNITS[unit] for number, unit in PART.findall(text))
    for pattern, units in CLOCKS:
        if match := pattern.fullmatch(text):
            fields = (float(field or 0) for field in match.groups())
            return sum(field * unit for field, unit in zip(fields, units, strict=True))
    return None


def format_duration(seconds: float) -> str:
    """Write a duration with the digits that matter, like 47 s, 12.3 min, 5.4 h, 3.1 d."""
    for unit, length in (("d", DAY), ("h", HOUR), ("min", MINUTE)):
        if abs(seconds) >= 2 * length:
            return f"{seconds / length:,.1f} {unit}"
    return f"{seconds:.0f} s"
