"""The times, durations and numbers that logs are written in."""

import math
import re
from datetime import UTC, datetime, time, timedelta, tzinfo
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from bfenv.core.durations import DAY, HOUR, MINUTE, parse_duration
from bfenv.core.errors import WorkloadError
from bfenv.workloads.logs.markers import is_nothing

LATEST = 32_503_680_000  # seconds, the year 3000
PLAIN = re.compile("[0-9]{1,9}|1[0-9]{9}")  # a number that is in every range, as most of a log
DIGITS = 15  # of a number at most, far beyond any in a log
NUMBER = re.compile(rf"[+-]?[0-9]{{1,{DIGITS}}}(\.[0-9]*)?([eE][+-]?[0-9]{{1,2}})?")
LOCAL = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}")
LOCAL_TIME = re.compile(
    LOCAL.pattern + r"(?::[0-9]{2}(?:\.[0-9]+)?)?(?![0-9:.]|\s*(?:[Zz]|UTC|[+-][0-9]{2}))"
)  # without an offset behind it
MINUTE_END = len("2026-01-31T12:00")
SECONDS = {f":{second:02}": second for second in range(60)}  # after a minute
DAYS = re.compile(r"([+-]?[0-9]{1,9}) days?,? +\+?")  # how pandas and Python print a timedelta
FRACTION = re.compile(r"(?<=:[0-9]{2})\.[0-9]+$")  # of a second, as in 02:03.456
CACHE = 1 << 16  # texts; consecutive lines of a log share most of theirs

Number = int | float  # of seconds; exact, because only what becomes of it is rounded


def find_zone(name: str) -> tzinfo:
    """Return the time zone of a name such as "Europe/Prague".

    Raises WorkloadError if this machine knows no such zone.
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


def rounded(number: Number) -> int:
    """Return the nearest integer, halves upwards."""
    return math.floor(number + 0.5)


def read_time(value: Any, zone: tzinfo) -> tuple[Number, ...]:
    """Return what a time can mean, in seconds since 1970.

    Raises ValueError if the value is not a time; the message begins with it.

    * `value`: a number, or text that is one: seconds since 1970. Other text is ISO 8601, local time
      without an offset. A datetime.
    * `zone`: time zone of local times.

    Returns one instant; none if the time is not known, which dates before 1970 and from the year
    3000 on mean as well; two if the clock showed the local time twice, or skipped it: first that of
    the offset before the change.
    """
    if isinstance(value, str):
        if PLAIN.fullmatch(value):
            return (int(value),)
        second = SECONDS.get(value[MINUTE_END:])
        if second is not None and (minutes := _minute(value[:MINUTE_END], zone)):
            return tuple([minute + second for minute in minutes])
    if is_nothing(value):
        return ()
    if isinstance(value, datetime):
        return _meanings(value, zone)
    try:
        if isinstance(value, str) and not NUMBER.fullmatch(value.strip()):
            return _meanings(datetime.fromisoformat(value.strip()), zone)
        number = read_number(value)
    except (ValueError, OverflowError):
        if str(value).strip().isdecimal():
            raise ValueError(
                f"{_short(value)} is in micro- or nanoseconds since 1970; expected seconds"
            ) from None
        raise ValueError(
            f"{_short(value)} is not a time; expected YYYY-MM-DDTHH:MM:SS or seconds since 1970"
        ) from None
    if number is None or number < 0:
        return ()
    if number >= LATEST:
        unit = "milliseconds" if number < LATEST * 1000 else "micro- or nanoseconds"
        raise ValueError(f"{_short(value)} is in {unit} since 1970; expected seconds")
    return (number,)


def read_duration(value: Any, unit: int = 1) -> Number | None:
    """Return a duration in seconds.

    Raises ValueError if the value is not a duration; the message begins with it.

    * `value`: a number, or text that is one, counts units. Other text is what `parse_duration`
      takes, or "2 days 03:04:05", with a minus or without. A timedelta, or a time of day, which
      tables make of "02:00:00".
    * `unit`: seconds in a unit.

    Returns seconds; None if the duration is not known, or unlimited.
    """
    duration: Number | None
    if isinstance(value, str) and PLAIN.fullmatch(value):
        duration = int(value) * unit
    elif is_nothing(value):
        return None
    elif isinstance(value, str) and not NUMBER.fullmatch(value.strip()):
        duration = _read_duration_text(value.strip())
    elif isinstance(value, time):
        duration = value.hour * HOUR + value.minute * MINUTE + value.second
    elif isinstance(value, timedelta):
        duration = read_number(value.total_seconds())
    else:
        number = read_number(value)
        duration = None if number is None else number * unit
    if duration is not None and abs(duration) >= LATEST:
        raise ValueError(f"{_short(value)} is out of range")
    return duration


def read_number(value: Any) -> Number | None:
    """Return a number, or text that is one; None if it is not known.

    Raises ValueError if the value is not a number; the message begins with it.
    """
    if isinstance(value, str):
        if PLAIN.fullmatch(value):
            return int(value)
        text = value.strip()
        if not NUMBER.fullmatch(text) and not is_nothing(text):
            raise ValueError(f"{_short(value)} is not a number")
    try:
        if is_nothing(value):
            return None
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{_short(value)} is not a number") from None
    if abs(number) >= 10**DIGITS:
        raise ValueError(f"{_short(value)} is out of range")
    return int(number) if number.is_integer() else number


def read_integer(value: Any) -> int | None:
    """Return a number, or text that is one, rounded; None if it is not known.

    Raises ValueError if the value is not a number; the message begins with it.
    """
    number = read_number(value)
    return None if number is None else rounded(number)


@lru_cache(maxsize=CACHE)
def _read_duration_text(text: str) -> Number:
    """Read a duration that is not a plain number."""
    days = DAYS.match(text)
    clock = text[days.end() :] if days else text.removeprefix("-")
    fraction = FRACTION.search(clock)
    try:
        seconds: Number = parse_duration(FRACTION.sub("", clock))
    except (ValueError, OverflowError):
        raise ValueError(f"{_short(text)} is not a duration") from None
    seconds += float(fraction[0]) if fraction else 0
    if days:
        return int(days[1]) * DAY + seconds
    return -seconds if text.startswith("-") else seconds


@lru_cache(maxsize=CACHE)
def _minute(text: str, zone: tzinfo) -> tuple[Number, ...]:
    """Return the instants of a minute of local time; none if the text is not one."""
    if not LOCAL.fullmatch(text):
        return ()
    try:
        return _meanings(datetime.fromisoformat(text), zone)
    except ValueError:
        return ()


def _meanings(moment: datetime, zone: tzinfo) -> tuple[Number, ...]:
    """Return the instants of a moment, of local time in the zone unless it has an offset."""
    moments = [moment] if moment.tzinfo else [moment.replace(tzinfo=zone, fold=i) for i in (0, 1)]
    try:
        seconds = [round(candidate.timestamp(), 6) for candidate in moments]
    except (ValueError, OverflowError):  # the first or the last day of the calendar
        return ()
    if not 0 <= min(seconds) <= max(seconds) < LATEST:
        return ()
    return tuple(dict.fromkeys(int(value) if value.is_integer() else value for value in seconds))


def _short(value: Any) -> str:
    return repr(str(value)[:40])
