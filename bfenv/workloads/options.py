"""Options of workloads, converted to what a function's annotations say.

Options come as text, behind a workload's name, or as Python values. Either way the annotation of
the function's parameter decides what a value becomes: `int`, `float`, `bool`, `str`, `Seconds`, or
one of these or None.
"""

import inspect
from collections.abc import Callable, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import numpy as np

from bfenv.core.durations import parse_duration
from bfenv.core.errors import WorkloadError
from bfenv.core.names import read_value
from bfenv.core.text import suggest

Shares = tuple[float, ...]
Seconds = Annotated[int, "seconds"]  # as an option, also text such as "90m", "2d" or "1-12:00"
EXPECTED: dict[Any, str] = {
    int: "an integer",
    float: "a number",
    bool: "true or false",
    str: "text",
    Shares: "numbers as in (0.3, 0.1)",
    Seconds: "a duration such as 90, 90m, 2d or 1-12:00",
    NoneType: "none",
}


def options_of(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Return the parameters of a function that have a default, by name."""
    parameters = inspect.signature(function).parameters
    return {
        name: parameter
        for name, parameter in parameters.items()
        if parameter.default is not parameter.empty
    }


def convert_options(
    owner: str, parameters: Mapping[str, inspect.Parameter], options: Mapping[str, Any]
) -> dict[str, Any]:
    """Convert options by the annotations of the parameters of their names.

    Raises WorkloadError if there is no such option, or the value is not what the annotation says.

    `owner` is what has the options, for messages; values are text or Python objects. Returns the
    options that differ from their defaults, sorted by name: equal calls look alike.
    """
    converted = {}
    for option, value in sorted(options.items()):
        if option not in parameters:
            hint = suggest(option, parameters) or f"it has {', '.join(parameters)}"
            raise WorkloadError(f"{owner} has no option {option!r}; {hint}")
        kind = parameters[option].annotation
        kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
        try:
            value = _convert(kinds, value)
        except (ValueError, OverflowError):
            expected = " or ".join(EXPECTED[kind] for kind in kinds)
            raise WorkloadError(
                f"{owner}: {option} must be {expected}, got {value!r:.60}"
            ) from None
        if value != parameters[option].default:
            converted[option] = value
    return converted


def _convert(kinds: tuple[Any, ...], value: Any) -> Any:
    """Convert a value to one of the kinds; ValueError or OverflowError if it is none of them."""
    if isinstance(value, str):
        text, value = value, read_value(value)
        if str in kinds and not isinstance(value, str):  # text that looks like a number or a word
            value = text
        elif Seconds in kinds and isinstance(value, str):
            value = parse_duration(value)
    if isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool):
        if (int in kinds or Seconds in kinds) and value == int(value):
            return int(value)
        if float in kinds:
            return float(value)
    elif Shares in kinds and isinstance(value, tuple) and value:
        return tuple(_convert((float,), item) for item in value)
    elif type(value) in kinds:
        return value
    raise ValueError
