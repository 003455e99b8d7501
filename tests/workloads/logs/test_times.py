"""Times, durations and numbers in every form in which logs have them."""

from datetime import UTC, datetime, time, timedelta

import pytest

import bfenv.workloads.logs.times as times
from bfenv.core.errors import WorkloadError
from tests.workloads.refusals import refused

NOON = 1_767_268_800  # 2026-01-01 12:00 UTC


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-01-01T13:00:00", (NOON,)),
        ("2026-01-01 13:00:00.6", (NOON + 0.6,)),
        (" 2026-01-01T12:00:00Z ", (NOON,)),
        ("2026-01-01T14:00:00+02:00", (NOON,)),
        (datetime(2026, 1, 1, 13), (NOON,)),
        (datetime(2026, 1, 1, 12, tzinfo=UTC), (NOON,)),
        (str(NOON), (NOON,)),
        (NOON + 0.5, (NOON + 0.5,)),
        ("1969-12-31T00:00:00", ()),
        ("0001-01-01T00:00:00", ()),
        ("9999-12-31T23:59:59", ()),
        (-28_800, ()),
        (2**32 - 1, ()),
        ("1.7672688e+09", (NOON,)),
        ("2025-10-26T02:30:00", (1_761_438_600, 1_761_442_200)),
        ("Unknown", ()),
        ("None", ()),
        ("", ()),
        (None, ()),
        (-1, ()),
        (float("nan"), ()),
    ],
)
def test_times_of_prague(value, expected):
    """A time means what it says in Prague, and nothing if it is unknown or out of range."""
    assert times.read_time(value, times.find_zone("Europe/Prague")) == expected


@pytest.mark.parametrize(
    "value",
    ["12:00", "2026-13-01T00:00:00", "2026-01-01T00:00:60", "1767268800000", [], "next week"],
)
def test_bad_time(value):
    """What is not a time, or out of range, is named."""
    for zone in ("UTC", "America/New_York", "Asia/Tokyo"):
        with refused(ValueError, str(value)[:40]):
            times.read_time(value, times.find_zone(zone))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("90", 90),
        ("2:03", 123),
        ("1:02:03", 3723),
        ("100:00:00", 360_000),
        ("2-03", 183_600),
        ("2-03:04:05", 183_845),
        ("02:03.456", 123.456),
        ("-1:00", -60),
        ("-1 days +23:59:59", -1),
        ("-18361 days, 6:22:39", -1_586_367_441),
        ("UNLIMITED", None),
        ("4294967295", None),
        (float("inf"), None),
        ("2 days 03:04:05", 183_845),
        ("1 day, 0:00:01", 86_401),
        ("2 days 03:04:05.678", 183_845.678),
        ("90m", 5400),
        ("2d", 172_800),
        ("2.5 d", 216_000),
        ("1h 30m", 5400),
        ("1-12:00", 129_600),
        (" Unknown ", None),
        (timedelta(hours=1), 3600),
        (7.5, 7.5),
        ("", None),
        (None, None),
        (float("nan"), None),
    ],
)
def test_durations(value, expected):
    """A duration in any known form is read as seconds; an unlimited or unknown one is None."""
    assert times.read_duration(value) == expected


@pytest.mark.parametrize(
    "value",
    ["1:2:3:4", "1 hour", "2-", "9" * 15, "9" * 400 + "s", "2 days", timedelta.max, []],
)
def test_bad_duration(value):
    """A duration in no form, or too large, is named."""
    with refused(ValueError, str(value)[:40]):
        times.read_duration(value)


@pytest.mark.parametrize("value", ["four", "0x10", "1_000", "²", "9" * 16, 1e15, 10**400])
def test_bad_number(value):
    """What is not a number, or too large, is named."""
    with refused(ValueError, str(value)[:40]):
        times.read_integer(value)


def test_duration_as_time():
    """A duration taken for a time of day is a duration."""
    assert times.read_duration(time(2, 30, 5)) == 9005


@pytest.mark.parametrize(
    ("value", "expected"), [("90", 5400), (1.5, 90), ("90m", 5400), ("", None)]
)
def test_unit(value, expected):
    """A number counts units, text with units does not."""
    assert times.read_duration(value, unit=60) == expected


@pytest.mark.parametrize("name", ["Europe/Prag", "../etc/passwd", "", "America", None])
def test_unknown_zone(name):
    """A time zone that this machine does not know is named."""
    with refused(WorkloadError, repr(name)):
        times.find_zone(name)


def test_time_of_day():
    """The time of day is that of the zone, with its summer time."""
    assert times.time_of_day(NOON, times.find_zone("UTC")) == 12 * 3600
    assert times.time_of_day(NOON, times.find_zone("Europe/Prague")) == 13 * 3600
    assert times.time_of_day(NOON + 181 * 86_400, times.find_zone("Europe/Prague")) == 14 * 3600
