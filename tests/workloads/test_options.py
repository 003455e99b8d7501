"""The conversion of options: what each annotation takes, and what it refuses."""

from inspect import Parameter

import numpy as np
import pytest

from bfenv.core.errors import WorkloadError
from bfenv.core.jobs import check_trace, make_trace
from bfenv.workloads.arguments import check_load
from bfenv.workloads.options import Seconds, convert_options, options_of
from tests.workloads.refusals import refused


def example(
    trace,
    *,
    count: int = 1,
    share: float = 0.5,
    flag: bool = False,
    word: str = "a",
    wait: Seconds = 60,
    size: int | None = None,
    load: float | None = None,
    rest: Seconds | None = None,
):
    """Take an option of every kind."""


KNOWN = options_of(example)


def convert(**options):
    return convert_options("example", KNOWN, options)


def test_options_have_defaults():
    """A parameter without a default is not an option."""
    assert list(KNOWN) == ["count", "share", "flag", "word", "wait", "size", "load", "rest"]
    assert all(isinstance(parameter, Parameter) for parameter in KNOWN.values())


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("count", "300", 300), ("count", "3e2", 300), ("count", 300.0, 300),
        ("count", np.int64(3), 3),
        ("share", "0.25", 0.25), ("share", 1, 1.0), ("share", np.float32(0.25), 0.25),
        ("flag", "true", True), ("flag", "True", True), ("flag", True, True),
        ("word", "b", "b"), ("word", "5", "5"), ("word", "'b'", "b"), ("word", "none", "none"),
        ("wait", "90", 90), ("wait", "90m", 5400), ("wait", "2d", 172_800), ("wait", 90.0, 90),
        ("wait", "1-12:00", 129_600), ("wait", "'1h'", 3600),
        ("size", "8", 8), ("load", "0.9", 0.9), ("load", "1", 1.0), ("rest", "1h", 3600),
    ],
)  # fmt: skip
def test_conversion(option, value, expected):
    """Text and Python values become what the annotation says."""
    converted = convert(**{option: value})[option]
    assert converted == expected and type(converted) is type(expected)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("count", "many"), ("count", "1.5"), ("count", None), ("count", "none"), ("count", True),
        ("count", [3]), ("count", float("inf")), ("count", float("nan")), ("count", "2d"),
        ("share", "much"), ("share", 10**400), ("share", "nan"), ("share", True), ("share", None),
        ("flag", 1), ("flag", "yes"), ("word", 1), ("word", None),
        ("wait", "soon"), ("wait", 1.5), ("wait", None), ("wait", "1:2:3:4"),
        ("wait", "9" * 400 + "s"),
        ("size", 1.5), ("load", "-"), ("rest", "a day"),
    ],
)  # fmt: skip
def test_refusal(option, value):
    """A value of another kind is named with its option and owner."""
    with refused(WorkloadError, "example", option, repr(value)[:40]):
        convert(**{option: value})


def test_defaults_are_left_out():
    """Options that are their defaults are left out, the others sorted: equal calls look alike."""
    assert convert(size=None, count="1", share=0.5, word="a", wait="1min", load="none") == {}
    assert list(convert(word="b", count=2, load=1)) == ["count", "load", "word"]


def test_unknown_option():
    """An unknown option is named, with those there are."""
    with refused(WorkloadError, "example", "'trace'", *KNOWN):
        convert(trace=1)


def test_trace():
    """A trace passes."""
    check_trace(make_trace([0], [1], [5], 4))


@pytest.mark.parametrize(
    ("value", "named"),
    [(None, "NoneType"), (3, "int"), ([1], "list"), ("KTH", "'KTH'; use load_workload('KTH')")],
)
def test_other_values(value, named):
    """The type of anything else is named, and a name with the call that makes a trace of it."""
    with refused(WorkloadError, "Trace", named):
        check_trace(value)


@pytest.mark.parametrize(
    ("load", "rest"),
    [(90, "90; a load of 90 % is load=0.9$"), (500, "500; .*load=5$"), (501, "501$")],
)
def test_load(load, rest):
    """A percentage is suggested as a share, if the share would be accepted."""
    with pytest.raises(WorkloadError, match=f"^load must be at most 5, got {rest}"):
        check_load("load", load)
