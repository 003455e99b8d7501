"""Durations as people write them: one parser, one formatter."""

import re

from bfenv.core.errors import BfenvError

SECOND, MINUTE, HOUR, DAY = 1, 60, 3_600, 86_400  # seconds
UNITS = {"s": SECOND, "min": MINUTE, "m": MINUTE, "h": HOUR, "d": DAY, "w": 7 * DAY}
PART = re.compile(r"([0-9]+(?:\.[0-9]+)?) *(s|min|m|h|d|w)")
CLOCK = re.compile(r"(?:([0-9]{1,9})-)?([0-9]{1,9})(?::([0-9]{1,2}))?(?::([0-9]{1,2}))?")


def parse_duration(text: str, error: type[BfenvError] = BfenvError) -> int:
    """Read a duration in whole seconds.

    Accepts seconds ("90"), numbers with units ("90s", "15min", "1h 30m", "2.5 d", "1w"), and
    Slurm's clock forms ("MM:SS", "HH:MM:SS", "D-HH", "D-HH:MM", "D-HH:MM:SS").

    Raises
    ------
    error
        If the text is none of these.
    """
    text = text.strip().lower()
    if re.fullmatch(r"[0-9]{1,15}", text):
        return int(text)
    compact = re.sub(r"\s+", "", text)
    parts = PART.findall(compact)
    if parts and "".join(number + unit for number, unit in parts) == compact:
        return round(sum(float(number) * UNITS[unit] for number, unit in parts))
    match = CLOCK.fullmatch(text)
    if match and (":" in text or "-" in text):
        days, *fields = match.groups()
        if days is None:  # MM:SS or HH:MM:SS
            fields = [None, *fields][:3] if fields[2] is None else fields
        hours, minutes, seconds = (int(field or 0) for field in fields)
        if minutes < 60 or fields[0] is None:
            return int(days or 0) * DAY + hours * HOUR + minutes * MINUTE + seconds
    raise error(f"{text!r} is not a duration; write it like 90s, 15min, 2d or 1-12:00:00")


def format_duration(seconds: float) -> str:
    """Write a duration with the digits that mean something, like 47 s, 12.3 min, 5.4 h, 3.1 d."""
    for unit, length in (("d", DAY), ("h", HOUR), ("min", MINUTE)):
        if abs(seconds) >= 2 * length:
            return f"{seconds / length:,.1f} {unit}"
    return f"{seconds:.0f} s"
