"""The times, durations and numbers that logs are written in, as integers."""

import math
import re
from datetime import UTC, datetime, time, timedelta, tzinfo
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from bfenv.core.durations import HOUR, MINUTE, parse_duration
from bfenv.core.errors import WorkloadError

UNKNOWN = {"", "none", "unknown", "n/a", "na", "nan", "nat", "null", "invalid"}  # in lower case
LATEST = 32_503_680_000  # seconds, the year 3000: more is a mistake, or milliseconds
PLAIN = re.compile("[0-9]{1,10}")  # a number that is in every range here, as most of a log
DIGITS = 15  # of a number at most, far beyond any in a log
NUMBER = re.compile(rf"[+-]?[0-9]{{1,{DIGITS}}}(\.[0-9]*)?([eE][+-]?[0-9]{{1,2}})?")
LOCAL = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}")
LOCAL_TIME = re.compile(
    LOCAL.pattern + r"(?::[0-9]{2}(?:\.[0-9]+)?)?(?![0-9:.]|\s*(?:[Zz]|UTC|[+-][0-9]{2}))"
)  # without an offset behind it
MINUTE_END = len("2026-01-31T12:00")
SECONDS = {f":{second:02}": second for second in range(60)}  # after a minute
DAYS = re.compile(r"^([0-9]+) days?,? +")  # how pandas and Python print a timedelta
FRACTION = re.compile(r"(:[0-9]+)\.[0-9]*$")  # of a second, as in 02:03.456
CACHE = 1 << 16  # texts; consecutive lines of a log share most of theirs


def find_zone(name: str) -> tzinfo:
    """Return the time zone of a name such as "Europe/Prague".

    Raises
    ------
    WorkloadError
        If this machine knows no such zone.
    """
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError, TypeError):
        raise WorkloadError(
            f"unknown time zone {name!r:.60}; expected a name like 'Europe/Prague'"
        ) from None


def time_of_day(instant: int, zone: tzinfo) -> int:
    """Return the seconds after midnight that a clock in the zone shows."""
    local = datetime.fromtimestamp(instant, zone)
    return local.hour * HOUR + local.minute * MINUTE + local.second


def read_time(value: Any, zone: tzinfo) -> tuple[int, ...]:
    """Return what a time can mean, in seconds since 1970.

    Parameters
    ----------
    value
        A number, or text that is one: seconds since 1970, negative if not known. Other text is
        ISO 8601, local time without an offset. A datetime.
    zone
        Time zone of local times.

    Returns
    -------
    tuple
        One instant; none if the time is not known; two if the clock showed the local time twice,
        or skipped it: first that of the offset before the change.

    Raises
    ------
    ValueError
        If the value is not a time; the message begins with it.
    """
    if value is None:
        return ()
    if isinstance(value, str) and PLAIN.fullmatch(value):
        return (int(value),)
    try:
        if isinstance(value, str):
            instants = _read_time_text(value, zone)
        elif isinstance(value, datetime):
            instants = _meanings(value, zone)
        else:
            instants = _from_number(value)
    except (ValueError, OverflowError):
        raise ValueError(
            f"{_short(value)} is not a time; expected YYYY-MM-DDTHH:MM:SS or seconds since 1970"
        ) from None
    if instants and not (0 <= min(instants) and max(instants) < LATEST):
        raise ValueError(f"{_short(value)} is not between the years 1970 and 3000")
    return instants


def read_duration(value: Any, unit: int = 1) -> int | None:
    """Return a duration in seconds.

    Parameters
    ----------
    value
        A number, or text that is one, counts units. Other text is what `parse_duration` takes, or
        "2 days 03:04:05". A timedelta, or a time of day, which tables make of "02:00:00".
    unit
        Seconds in a unit.

    Returns
    -------
    int or None
        Seconds, rounded; None if the duration is not known.

    Raises
    ------
    ValueError
        If the value is not a duration; the message begins with it.
    """
    if isinstance(value, str) and PLAIN.fullmatch(value) and int(value) * unit < LATEST:
        return int(value) * unit
    if isinstance(value, str) and not NUMBER.fullmatch(value.strip()):
        duration = _read_duration_text(value)
    elif isinstance(value, time):
        duration = value.hour * HOUR + value.minute * MINUTE + value.second
    elif isinstance(value, timedelta):
        duration = read_integer(value.total_seconds())
    else:
        number = read_integer(value)
        duration = None if number is None else number * unit
    if duration is not None and abs(duration) >= LATEST:
        raise ValueError(f"{_short(value)} is out of range")
    return duration


def read_integer(value: Any) -> int | None:
    """Return a number, or text that is one, rounded; None if it is not known.

    Raises
    ------
    ValueError
        If the value is not a number; the message begins with it.
    """
    if value is None:
        return None
    if isinstance(value, str):
        text = value.strip()
        if text.isdecimal() and text.isascii() and len(text) <= DIGITS:  # most of a log
            return int(text)
        if text.lower() in UNKNOWN:
            return None
        if not NUMBER.fullmatch(text):
            raise ValueError(f"{_short(value)} is not a number")
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{_short(value)} is not a number") from None
    if math.isnan(number):
        return None
    if abs(number) >= 10**DIGITS:
        raise ValueError(f"{_short(value)} is out of range")
    return math.floor(number + 0.5)


def read_epoch(value: Any) -> int:
    """Return a time in seconds since 1970; -1 if it is not known.

    Raises
    ------
    ValueError
        If the value is not a number before the year 3000; the message begins with it.
    """
    number = read_integer(value)
    if number is not None and number >= LATEST:
        raise ValueError(f"{_short(value)} is not between the years 1970 and 3000")
    return -1 if number is None or number < 0 else number


def _from_number(value: Any) -> tuple[int, ...]:
    """Return the instant of a number, seconds since 1970; none if it is negative or unknown."""
    number = read_integer(value)
    return () if number is None or number < 0 else (number,)


def _read_time_text(text: str, zone: tzinfo) -> tuple[int, ...]:
    second = SECONDS.get(text[MINUTE_END:])
    if second is not None and (minutes := _minute(text[:MINUTE_END], zone)):
        return tuple([minute + second for minute in minutes])
    text = text.strip()
    if text.lower() in UNKNOWN or NUMBER.fullmatch(text):
        return _from_number(text)
    return _meanings(datetime.fromisoformat(text), zone)


@lru_cache(maxsize=CACHE)
def _read_duration_text(text: str) -> int | None:
    """Read a duration that is not a plain number."""
    text = text.strip()
    if text.lower() in UNKNOWN:
        return None
    plain = DAYS.sub(r"\1-", text) if " day" in text else text
    try:
        return parse_duration(FRACTION.sub(r"\1", plain) if "." in plain else plain)
    except (ValueError, OverflowError):
        raise ValueError(f"{_short(text)} is not a duration") from None


@lru_cache(maxsize=CACHE)
def _minute(text: str, zone: tzinfo) -> tuple[int, ...]:
    """Return the instants of a minute of local time; none if the text is not one."""
    if not LOCAL.fullmatch(text):
        return ()
    return _meanings(datetime.fromisoformat(text), zone)


def _meanings(moment: datetime, zone: tzinfo) -> tuple[int, ...]:
    """Return the instants of a moment, of local time in the zone unless it has an offset."""
    if moment.tzinfo is not None:
        return (_rounded(moment.timestamp()),)
    both = (moment.replace(tzinfo=zone, fold=fold).timestamp() for fold in (0, 1))
    return tuple(dict.fromkeys(map(_rounded, both)))


def _rounded(seconds: float) -> int:
    return math.floor(seconds + 0.5)


def _short(value: Any) -> str:
    return repr(str(value)[:40])
