"""Checks of a decoded row, which may come from anywhere, before a `Row` is made of it."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, TypeGuard

from bfenv.core.errors import BfenvError

LARGEST = 2.0**62  # bound on every number in a row; no metric can reach it
ENDS = ("difference", "low", "high")


def check_fields(values: Mapping[str, Any], types: Mapping[str, Any], where: object) -> None:
    """Check that all fields are there and of their types.

    Parameters
    ----------
    values
        The decoded row.
    types
        Type of each field, one of CHECKS.
    where
        Name of the file, for error messages.

    Raises
    ------
    BfenvError
        If a field is missing or of another type; the message names the file and the field.
    """
    for name, kind in types.items():
        is_good, expected = CHECKS[kind]
        if name not in values:
            raise BfenvError(f"{where}: field {name!r} is missing, expected {expected}")
        _demand(is_good(values[name]), where, name, expected, values[name])


def check_results(results: Mapping[str, Mapping[str, Any]], where: object) -> None:
    """Check metrics, classes, versus and curves: what is calculated with must be numbers.

    Raises
    ------
    BfenvError
        As `check_fields` does.
    """
    for name, value in results["metrics"].items():
        _demand(is_number(value), where, f"metrics.{name}", "a number or null", value)
    for name, part in results["classes"].items():
        is_class = isinstance(part, dict) and all(map(is_number, part.values()))
        _demand(is_class, where, f"classes.{name}", "an object of numbers", part)
    for name, value in results["versus"].items():
        if name != "reference":
            expected = f"null or an object with the numbers {', '.join(ENDS)}"
            _demand(_is_difference(value), where, f"versus.{name}", expected, value)
    waits, queue = (results["curves"].get(name) for name in ("wait_quantiles", "queue_length"))
    expected = "ascending numbers >= 0"
    _demand(waits is None or _ascend(waits), where, "curves.wait_quantiles", expected, waits)
    expected = "an object of k + 1 ascending times and k numbers of jobs >= 0"
    _demand(queue is None or _is_queue(queue), where, "curves.queue_length", expected, queue)


def is_number(value: Any) -> bool:
    """Whether the value is a number below LARGEST, or None."""
    if value is None:
        return True
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST


def are_amounts(values: Any) -> TypeGuard[list[float]]:
    """Whether the values are a list of numbers, none of them negative."""
    return isinstance(values, list) and all(map(_is_amount, values))


def _is_amount(value: Any) -> bool:
    return value is not None and is_number(value) and value >= 0


CHECKS: Mapping[Any, tuple[Callable[[Any], bool], str]] = {
    str: (lambda value: isinstance(value, str), "text"),
    str | None: (lambda value: value is None or isinstance(value, str), "text or null"),
    int: (lambda value: isinstance(value, int) and _is_amount(value), "an integer >= 0"),
    float | None: (lambda value: value is None or _is_amount(value), "a number >= 0 or null"),
    Mapping[str, str]: (lambda value: isinstance(value, dict), "an object"),
    Mapping: (lambda value: isinstance(value, dict), "an object"),
}  # whether a value is of a type, and how an error message describes the type


def _is_difference(value: Any) -> bool:
    if value is None:
        return True
    return isinstance(value, dict) and all(is_number(value.get(end)) for end in ENDS)


def _is_queue(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    time, jobs = value.get("time"), value.get("jobs")
    return are_amounts(time) and _ascend(time) and are_amounts(jobs) and len(time) == len(jobs) + 1


def _ascend(values: Any) -> bool:
    return are_amounts(values) and all(a <= b for a, b in pairwise(values))


def _demand(is_good: bool, where: object, name: str, expected: str, value: Any) -> None:
    if not is_good:
        found = repr(value)
        found = found if len(found) <= 60 else f"{found[:57]}..."
        raise BfenvError(f"{where}: field {name[:80]!r} must be {expected}, got {found}")
