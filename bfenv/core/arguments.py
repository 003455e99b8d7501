"""Checks of arguments, in one wording: "lookahead must be an integer >= 1, got 0.5"."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from bfenv.core.errors import BfenvError
from bfenv.core.text import shown


def check_integer(
    name: str,
    value: Any,
    least: float = -math.inf,
    most: float = math.inf,
    *,
    error: type[BfenvError] = BfenvError,
) -> int:
    """Return the value as an int.

    Raises `error` if it is not an integer (a bool is not), or not within the limits.
    """
    integral = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not integral or not least <= value <= most:
        raise error(f"{name} must be an integer{_limits(least, most)}, got {shown(value)}")
    return int(value)


def check_number(
    name: str,
    value: Any,
    least: float = -math.inf,
    most: float = math.inf,
    *,
    positive: bool = False,
    error: type[BfenvError] = BfenvError,
) -> float:
    """Return the value as a float.

    Raises `error` if it is not a finite number (a bool is not), not within the limits, or not above
    0 although `positive` is set.
    """
    number = _as_float(value)
    above = not positive or number > 0
    if not (math.isfinite(number) and above and least <= number <= most):
        limits = _limits(least, most)
        if positive:
            limits = " > 0" if most == math.inf else f" > 0 and <= {most:,}"
        raise error(f"{name} must be a finite number{limits}, got {shown(value)}")
    return number


def check_choice(
    name: str, value: Any, choices: Iterable[Any], *, error: type[BfenvError] = BfenvError
) -> None:
    """Check that the value is one of the choices, and of the same type.

    Raises `error` if it is not.
    """
    choices = list(choices)
    for choice in choices:
        if isinstance(value, bool) != isinstance(choice, bool):  # True is not 1
            continue
        if isinstance(value, type(choice)) and value == choice:
            return
    expected = ", ".join(map(repr, choices))
    raise error(f"{name} must be one of {expected}; got {shown(value)}")


def _as_float(value: Any) -> float:
    """Return a number as a float; NaN for anything else, or if it is too large."""
    if not isinstance(value, int | float | np.integer | np.floating) or isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan


def _limits(least: float, most: float) -> str:
    if least > -math.inf and most < math.inf:
        return f" from {least:,} to {most:,}"
    if least > -math.inf:
        return f" >= {least:,}"
    return f" <= {most:,}" if most < math.inf else ""
