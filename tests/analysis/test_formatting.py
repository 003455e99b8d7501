"""Durations, times and numbers as text."""

import pytest

import bfenv.analysis.formatting as fmt
from bfenv.core.text import counted


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (119, "119 s"), (120, "2.0 min"), (7200, "2.0 h"), (172_800, "2.0 d")],
)
def test_duration(seconds, text):
    """A duration has one unit, of which there are at least two."""
    assert fmt.duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (59, "59 s"),
        (60, "1 min"),
        (90, "1 min 30 s"),
        (900, "15 min"),
        (3600, "1 h"),
        (7140, "1 h 59 min"),
        (12_000, "3 h 20 min"),
        (129_600, "36 h"),
        (172_800, "2 d"),
        (216_000, "2 d 12 h"),
        (28_762_000, "333 d"),
        (10**8, "1,157 d"),
    ],
)
def test_compound_duration(seconds, text):
    """A compound duration has two whole units, or one from 30 of it on."""
    assert fmt.compound_duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "00:00"), (61, "00:01:01"), (3_600, "01:00"), (90_000, "1 d 01:00")],
)
def test_moment(seconds, text):
    """A moment is written in days and as a clock shows it."""
    assert fmt.moment(seconds) == text


def test_days():
    """A moment between others that are days apart is a day."""
    assert [fmt.moment(seconds, days=True) for seconds in (0, 259_200)] == ["0 d", "3 d"]


def test_numbers():
    """Slowdowns, shares and ratios have as many digits as carry meaning."""
    assert [fmt.slowdown(x) for x in (1, 999.99, 1234.5)] == ["1.00", "999.99", "1,234"]
    assert [fmt.percent(x) for x in (0.7881, 0.001, 0.0009, 0)] == [
        "78.8 %",
        "0.1 %",
        "< 0.1 %",
        "0.0 %",
    ]
    assert fmt.count_of(23, 2_500) == "23 jobs (0.9 %)"
    assert fmt.count_of(1, 2_500) == "1 job (less than 0.1 %)"
    assert [fmt.ratio(x) for x in (0.8731, 12.41, 316.9)] == ["0.873", "12.4", "317"]


@pytest.mark.parametrize("function", [fmt.duration, fmt.slowdown, fmt.percent, fmt.ratio])
def test_missing(function):
    """None is written as a dash."""
    assert function(None) == fmt.MISSING


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        ([45, 30, 7200], ["45 s", "30 s", "7,200 s"]),
        ([1200, 30, 7200], ["20.0 min", "0.50 min", "120 min"]),
        ([90_000, 0, None, 7200], ["25.0 h", "0 h", "–", "2.0 h"]),
        ([], []),
    ],
)
def test_column(seconds, expected):
    """A column has one unit, that of its median, and as many digits as matter."""
    assert fmt.durations(seconds) == expected


def test_workload():
    """One of something is not several, and a load need not be defined."""
    assert [counted(n, "job") for n in (0, 1, 1_200)] == ["0 jobs", "1 job", "1,200 jobs"]
    assert fmt.offered_load([0.7, 0.9, 0.8]) == "offered load 0.70 to 0.90"
    assert fmt.offered_load([0.701, 0.702]) == "offered load 0.70"
    assert fmt.offered_load([float("inf")]) == "offered load not defined"


def test_signs():
    """Differences have a sign, but for zero."""
    assert fmt.signed_durations([-7200, 0, 360]) == ["−2.0 h", "0 h", "+0.10 h"]


def test_like():
    """Another column may set the unit; what it cannot show is below its last digit."""
    assert fmt.durations([60, 7_200], like=[18_000]) == ["0.02 h", "2.0 h"]
    assert fmt.signed_durations([-36, 9], like=[18_000]) == ["−0.01 h", "< 0.01 h"]
