"""The text that names a policy made from options, as in "easy(order=sjf)"."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from bfenv.core.names import format_name


def family_name(family: Callable[..., Any]) -> str:
    """Return the name by which `find_policy` knows a family: with dashes for underscores."""
    return family.__name__.replace("_", "-")


def expression(family: Callable[..., Any], options: Mapping[str, Any]) -> str:
    """Return the text from which `find_policy` makes the same policy; defaults are left out."""
    defaults = inspect.signature(family).parameters
    given = {name: value for name, value in options.items() if value != defaults[name].default}
    return format_name(family_name(family), given)
