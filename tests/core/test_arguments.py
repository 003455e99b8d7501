"""Checks of arguments: what they accept, and what their errors name."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfenv.core.arguments import check_choice, check_integer, check_number
from bfenv.core.errors import BfenvError, PolicyError, WorkloadError

NEITHER = [None, "5", "x", [5], (5,), {}, True, False, np.True_, 1j, math.nan, math.inf, -math.inf]
ARRAY = np.arange(100).reshape(10, 10)


def refused(check, *arguments, **options):
    """The message with which the check refuses, as an error of the type that it was given."""
    with pytest.raises(PolicyError) as caught:
        check(*arguments, **options, error=PolicyError)
    message = str(caught.value)
    assert "\n" not in message
    return message


@given(st.integers(), st.integers() | st.just(-math.inf), st.integers() | st.just(math.inf))
def test_integers(value, least, most):
    """An integer passes if and only if it is within the limits."""
    if least <= value <= most:
        assert check_integer("n", value, least, most) == value
    else:
        assert f"got {value}"[:50] in refused(check_integer, "n", value, least, most)


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(-1, 1), st.floats(-1, 1))
def test_numbers(value, least, most):
    """A finite number passes if and only if it is within the limits."""
    if least <= value <= most:
        assert check_number("x", value, least, most) == value
    else:
        assert f"got {value!r}" in refused(check_number, "x", value, least, most)


@pytest.mark.parametrize("value", [np.int64(5), np.uint8(5), 5, 5.0, np.float32(5)], ids=type)
def test_numbers_of_numpy(value):
    """A number of NumPy passes and becomes one of Python."""
    number = check_number("x", value, 5, 5)
    assert type(number) is float and number == 5
    if isinstance(value, int | np.integer):
        assert type(check_integer("n", value, 5, 5)) is int


@pytest.mark.parametrize("value", [*NEITHER, 0.5, 5.0, np.float64(5), ARRAY], ids=repr)
def test_not_integers(value):
    """Text, bools, fractions and containers are not integers."""
    message = refused(check_integer, "lookahead", value, 1)
    assert message.startswith("lookahead must be an integer >= 1, got ")


@pytest.mark.parametrize("value", [*NEITHER, 10**400, -(10**400), ARRAY], ids=repr)
def test_not_numbers(value):
    """Text, bools, containers, NaN and infinities are not finite numbers."""
    message = refused(check_number, "share", value, 0, 1)
    assert message.startswith("share must be a finite number from 0 to 1, got ")


@pytest.mark.parametrize(
    ("least", "most", "limits"),
    [
        (-math.inf, math.inf, ""),
        (1, math.inf, " >= 1"),
        (-math.inf, 9, " <= 9"),
        (1, 2**20, " from 1 to 1,048,576"),
    ],
)
def test_limits(least, most, limits):
    """The message states the limits and the value."""
    assert refused(check_integer, "n", "x", least, most) == f"n must be an integer{limits}, got 'x'"
    message = refused(check_number, "x", None, least, most)
    assert message == f"x must be a finite number{limits}, got None"


@pytest.mark.parametrize("value", [0, 0.0, -1e-300, -5])
def test_positive(value):
    """A positive number is above 0, and may have an upper limit as well."""
    message = refused(check_number, "load", value, positive=True)
    assert message == f"load must be a finite number > 0, got {value!r}"
    assert check_number("load", 1e-300, positive=True) == 1e-300
    message = refused(check_number, "load", 1.5, most=1, positive=True)
    assert message == "load must be a finite number > 0 and <= 1, got 1.5"


def test_long_values():
    """A message shows the beginning of a long value."""
    assert len(refused(check_integer, "n", "x" * 10_000)) < 100


def test_choices():
    """A value passes if it is one of the choices."""
    for choice in (None, "fcfs", True, 2):
        check_choice("order", choice, (None, "fcfs", True, 2))
    check_choice("order", np.str_("fcfs"), ["fcfs"])


@pytest.mark.parametrize("value", [1, "FCFS", None, 0.0, ARRAY, ["fcfs"]], ids=repr)
def test_not_choices(value):
    """A value that equals no choice of its type is refused, with the choices."""
    message = refused(check_choice, "order", value, iter(["fcfs", True, 0]))
    assert message.startswith("order must be one of 'fcfs', True, 0; got ")


def test_error_types():
    """Errors are BfenvError unless the caller names another type."""
    for check in (check_integer, check_number):
        with pytest.raises(BfenvError):
            check("n", "x")
        with pytest.raises(WorkloadError):
            check("n", "x", error=WorkloadError)
