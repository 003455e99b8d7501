"""Checks of arguments, each with one wording: "lookahead must be an integer >= 1, got 0.5"."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from bfenv.core.errors import BfenvError


def check_integer(
    name: str,
    value: Any,
    least: int | None = None,
    most: int | None = None,
    *,
    error: type[BfenvError] = BfenvError,
) -> int:
    """Return the value as an int.

    Raises
    ------
    error
        If it is not an integer (a bool is not), or not within the limits.
    """
    integral = isinstance(value, int | np.integer) and not isinstance(value, bool | np.bool_)
    if not integral or not _within(value, least, most):
        raise error(f"{name} must be an integer{_limits(least, most)}, got {_shown(value)}")
    return int(value)


def check_number(
    name: str,
    value: Any,
    least: float | None = None,
    most: float | None = None,
    *,
    positive: bool = False,
    error: type[BfenvError] = BfenvError,
) -> float:
    """Return the value as a float.

    Raises
    ------
    error
        If it is not a finite number, not within the limits, or not above 0 with `positive`.
    """
    number = isinstance(value, int | float | np.integer | np.floating)
    number = number and not isinstance(value, bool) and math.isfinite(value)
    if not number or not _within(value, least, most) or (positive and value <= 0):
        limits = " > 0" if positive else _limits(least, most)
        raise error(f"{name} must be a finite number{limits}, got {_shown(value)}")
    return float(value)


def check_choice(
    name: str, value: Any, choices: Iterable[Any], *, error: type[BfenvError] = BfenvError
) -> None:
    """Check that the value is one of the choices.

    Raises
    ------
    error
        If it is not.
    """
    choices = list(choices)
    if not any(value is choice or value == choice for choice in choices):
        known = ", ".join(repr(choice) for choice in choices)
        raise error(f"{name} must be one of {known}; got {_shown(value)}")


def _within(value: float, least: float | None, most: float | None) -> bool:
    return (least is None or value >= least) and (most is None or value <= most)


def _limits(least: float | None, most: float | None) -> str:
    if least is not None and most is not None:
        return f" from {least:,} to {most:,}"
    if least is not None:
        return f" >= {least:,}"
    return "" if most is None else f" <= {most:,}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
