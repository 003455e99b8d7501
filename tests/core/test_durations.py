"""Durations: what is read, what is refused, and what is written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bfenv.core.durations as d
from bfenv.core.errors import BfenvError, WorkloadError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        (" 90s ", 90),
        ("90 s", 90),
        ("15min", 15 * d.MINUTE),
        ("15m", 15 * d.MINUTE),
        ("1.5h", 90 * d.MINUTE),
        ("2.5 D", 60 * d.HOUR),
        ("1w", 7 * d.DAY),
        ("1h 30m", 90 * d.MINUTE),
        ("1d2h3min4s", d.DAY + 2 * d.HOUR + 3 * d.MINUTE + 4),
        ("90:05", 90 * d.MINUTE + 5),
        ("100:00:01", 100 * d.HOUR + 1),
        ("1-12", 36 * d.HOUR),
        ("1-12:30", 36 * d.HOUR + 30 * d.MINUTE),
        ("01-02:03:04", d.DAY + 2 * d.HOUR + 3 * d.MINUTE + 4),
        (str(d.LONGEST), d.LONGEST),
    ],
)
def test_forms(text, seconds):
    """Seconds, numbers with units, and Slurm's clock forms are read."""
    assert d.parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "x", "s", "-5", "+5", "1.5", "1e3", "1_000", "٣", "inf", "nan",
        "5 y", "5ss", "1h30", "1 0 s", "1 5min", "1,5h", ".5h", "5.h", "2 d ago",
        "1:60", "1:00:60", "1:60:00", "1-24", "1-00:60", "1-", "-1:00", "1:", ":30", "1-2-3",
        "1:2:3:4", "1-2:3:4:5", "1d 12:00:00",
    ],
)  # fmt: skip
def test_malformed(text):
    """Anything else is refused by an error of the given type that names the text."""
    with pytest.raises(WorkloadError) as caught:
        d.parse_duration(text, WorkloadError)
    assert repr(text.strip().lower()) in str(caught.value) or repr(text) in str(caught.value)


def test_limit():
    """What is wrong with a time limit is said with what it is for."""
    assert d.parse_limit("longest", "2d") == 2 * d.DAY
    for text in ("2 days", "90", "9" * 20 + "w", "9" * 5000):
        with pytest.raises(WorkloadError, match="^longest: .{10,150}$"):
            d.parse_limit("longest", text, WorkloadError)


@pytest.mark.parametrize("text", [str(d.LONGEST + 1), "9" * 5000, "9" * 400 + "s", "2000000000w"])
def test_too_long(text):
    """A number that is too large is an error, not an overflow."""
    with pytest.raises(BfenvError, match=text[:50]):
        d.parse_duration(text)


@given(st.text("0123456789 .:-+esmihndw,_", max_size=12) | st.text(max_size=12))
def test_any_text(text):
    """Any text is a duration of whole seconds or a BfenvError."""
    try:
        seconds = d.parse_duration(text)
    except BfenvError:
        return
    assert type(seconds) is int and 0 <= seconds <= d.LONGEST


@given(st.lists(st.tuples(st.integers(0, 10**6), st.sampled_from(sorted(d.UNITS))), min_size=1))
def test_sums_of_units(parts):
    """Numbers with units add up, with spaces or without."""
    expected = sum(number * d.UNITS[unit] for number, unit in parts)
    for pattern, between in (("{}{}", ""), ("{}{}", " "), ("{} {}", "  ")):
        text = between.join(pattern.format(*part) for part in parts)
        assert d.parse_duration(text) == expected


@given(st.integers(0, 10**6), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
def test_clock_round_trip(days, hours, minutes, seconds):
    """A time limit as Slurm writes it is read back."""
    total = days * d.DAY + hours * d.HOUR + minutes * d.MINUTE + seconds
    assert d.parse_duration(f"{days}-{hours:02}:{minutes:02}:{seconds:02}") == total


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (47.4, "47 s"),
        (119, "119 s"),
        (120, "2.0 min"),
        (740, "12.3 min"),
        (2 * d.HOUR, "2.0 h"),
        (36 * d.HOUR, "36.0 h"),
        (3.14 * d.DAY, "3.1 d"),
        (10_000 * d.DAY, "10,000.0 d"),
        (-740, "-12.3 min"),
    ],
)
def test_format(seconds, text):
    """A duration is written in the largest unit of which there are two."""
    assert d.format_duration(seconds) == text


@given(st.integers(0, 900 * d.DAY))
def test_format_is_readable(seconds):
    """What is written is read back, to the digits written."""
    assert d.parse_duration(d.format_duration(seconds)) == pytest.approx(
        seconds, rel=0.026, abs=0.5
    )
