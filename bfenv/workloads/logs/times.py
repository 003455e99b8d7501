"""The times and durations that logs are written in, as whole seconds."""

import math
import re
from datetime import UTC, datetime, time, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

from bfenv.core.errors import WorkloadError

UNKNOWN = {"", "none", "unknown", "n/a", "na", "nan", "nat", "null"}
LATEST = 32_503_680_000  # seconds, the year 3000: more is a mistake, or milliseconds
NUMBER = re.compile(r"[+-]?[0-9]{1,15}(\.[0-9]*)?([eE][+-]?[0-9]{1,2})?")
DURATION = re.compile(r"(?:([0-9]{1,9})-)?([0-9]{1,9})(?::([0-9]{1,9}))?(?::([0-9]{1,9}))?")
LOCAL = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}):([0-5][0-9])")
DAYS = re.compile(r"^([0-9]+) days?,? +")  # how pandas and Python print a timedelta


def find_zone(name: str) -> tzinfo:
    """The time zone of a name such as "Europe/Prague"; WorkloadError if there is none."""
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError, TypeError):
        raise WorkloadError(f"no time zone {name!r} on this machine; try 'Europe/Prague'") from None


def instants(value, zone: tzinfo) -> tuple[int, ...]:
    """What a time can mean, in seconds since 1970: one instant, none if it is not known, or two.

    A number, or text that is one, is seconds since 1970, negative if not known. Other text is
    ISO 8601; without an offset it is local time in the zone. A local time that the clock showed
    twice, or skipped, is two instants, that of the offset before the change first.

    Raises ValueError with a message that begins with the value.
    """
    try:
        if isinstance(value, str) and (local := LOCAL.fullmatch(value)):
            meant = tuple(minute + int(local[2]) for minute in _minute(local[1], zone))
        elif isinstance(value, datetime):
            meant = _meanings(value, zone)
        elif isinstance(value, str) and not NUMBER.fullmatch(value.strip()):
            value = value.strip()
            known = value.lower() not in UNKNOWN
            meant = _meanings(datetime.fromisoformat(value), zone) if known else ()
        else:
            number = whole(value)
            meant = () if number is None or number < 0 else (number,)
    except (ValueError, OverflowError):
        raise ValueError(
            f"{_short(value)} is no time (YYYY-MM-DDTHH:MM:SS, or seconds since 1970)"
        ) from None
    if any(not 0 <= instant < LATEST for instant in meant):
        raise ValueError(f"{_short(value)} is not between the years 1970 and 3000")
    return meant


def seconds(value, unit: int = 1) -> int | None:
    """A duration in seconds, None if it is not known.

    Numbers count `unit` seconds each. Text may also be MM:SS, [D-]HH:MM:SS, D-HH or D-HH:MM, as
    Slurm has it, or "2 days 03:04:05".

    Raises ValueError with a message that begins with the value.
    """
    if isinstance(value, time):  # as tables have it that take 02:00:00 for a time of day
        value = timedelta(hours=value.hour, minutes=value.minute, seconds=value.second)
    if isinstance(value, timedelta):
        duration = whole(value.total_seconds())
    elif isinstance(value, str) and not NUMBER.fullmatch(value.strip()):
        text = DAYS.sub(r"\1-", value.strip())
        if text.lower() in UNKNOWN:
            return None
        match = DURATION.fullmatch(text.partition(".")[0])
        if not match:
            raise ValueError(f"{_short(value)} is no duration")
        days, *parts = match.groups()
        parts = [int(part) for part in parts if part is not None]
        if days is None and len(parts) == 2:
            parts.insert(0, 0)  # MM:SS
        hours, minutes, rest = [*parts, 0, 0][:3]
        duration = int(days or 0) * 86_400 + hours * 3_600 + minutes * 60 + rest
    else:
        number = whole(value)
        duration = None if number is None else number * unit
    if duration is not None and abs(duration) >= LATEST:
        raise ValueError(f"{_short(value)} is out of range")
    return duration


def whole(value) -> int | None:
    """A number, or text that is one, rounded; None if it is not known.

    Raises ValueError with a message that begins with the value.
    """
    if value is None or (isinstance(value, str) and value.strip().lower() in UNKNOWN):
        return None
    if isinstance(value, str) and not NUMBER.fullmatch(value.strip()):
        raise ValueError(f"{_short(value)} is no number")
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{_short(value)} is no number") from None
    if math.isnan(number):
        return None
    if abs(number) >= 1e15:
        raise ValueError(f"{_short(value)} is out of range")
    return math.floor(number + 0.5)


@lru_cache(maxsize=1 << 16)  # consecutive lines of a log share most of their minutes
def _minute(text: str, zone: tzinfo) -> tuple[int, ...]:
    return _meanings(datetime.fromisoformat(text), zone)


def _meanings(moment: datetime, zone: tzinfo) -> tuple[int, ...]:
    if moment.tzinfo is not None:
        return (whole(moment.timestamp()),)
    both = (moment.replace(tzinfo=zone, fold=fold).timestamp() for fold in (0, 1))
    return tuple(dict.fromkeys(map(whole, both)))


def _short(value) -> str:
    return repr(str(value)[:40])
