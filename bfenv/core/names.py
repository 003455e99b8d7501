"""Names with options, and names of objects in modules: the one grammar, the one importer.

A policy, a workload or an agent is named by text. All of them share this grammar::

    easy                                    a name
    easy(order=sjf, lookahead=100)          a name with options
    lublin:jobs=500,load=0.9                the same, without a shell's quotes
    mymodule:shortest                       an object in a module that Python can import
    mymodule:shortest(limit=3)              the same with options

An option's value is a number, `none`, `true`, `false`, a tuple of values in parentheses, or, if it
is none of these, text.
"""

import operator
import re
from importlib import import_module
from typing import Any, NamedTuple

from bfenv.core.errors import BfenvError

WORDS = {"none": None, "true": True, "false": False}
LARGEST = 2**53  # integers below are exact as floats


class Name(NamedTuple):
    """A name taken apart."""

    base: str  # a registered name, a path, or "module:object"
    options: dict[str, str]  # values as they were written, see `read_value`


def parse_name(text: str, error: type[BfenvError] = BfenvError) -> Name:
    """Split a name from its options.

    Raises
    ------
    error
        If a parenthesis is not closed, an item is not `option=value`, or an option is given twice.
    """
    text = text.strip()
    if match := re.fullmatch(r"([^()]*?)\s*\((.*)", text, re.DOTALL):
        base, rest = match.groups()
        if not rest.endswith(")"):
            raise error(f"cannot read {text!r}: no closing parenthesis")
        return Name(base, _options(text, rest[:-1], error))
    if match := re.fullmatch(r"(.+?):(\w[\w-]*\s*=.*)", text, re.DOTALL):
        return Name(match[1], _options(text, match[2], error))
    return Name(text, {})


def _options(text: str, items: str, error: type[BfenvError]) -> dict[str, str]:
    options: dict[str, str] = {}
    for item in filter(None, map(str.strip, _split(items))):
        option, equals, value = (part.strip() for part in item.partition("="))
        if not (equals and option and value):
            raise error(f"cannot read {text!r}: {item!r} is not option=value")
        if option in options:
            raise error(f"cannot read {text!r}: {option} is given twice")
        options[option] = value
    return options


def _split(items: str) -> list[str]:
    """Split at the commas that are not within parentheses."""
    return re.split(r",(?![^()]*\))", items)


def read_value(text: str) -> Any:
    """Read an option's value.

    Raises
    ------
    ValueError
        If a number is not finite, or 2**53 or more in magnitude.
    """
    text = text.strip()
    if text.startswith("(") and text.endswith(")"):
        return tuple(read_value(item) for item in filter(None, map(str.strip, _split(text[1:-1]))))
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    number = _number(text)
    if number is None:
        return text
    if not abs(number) < LARGEST:
        raise ValueError(f"{text} is out of range")
    return number


def _number(text: str) -> int | float | None:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None


def import_object(text: str, error: type[BfenvError] = BfenvError) -> Any:
    """Import what "module:object" names.

    Raises
    ------
    error
        If the text names a file, the module cannot be imported, or it has no such object.
    """
    module, _, name = text.partition(":")
    if module.endswith(".py") or "/" in module:
        stem = module.rpartition("/")[2].removesuffix(".py")
        raise error(f"{text}: name the module, not its file, as in {stem}:{name}")
    try:
        return operator.attrgetter(name)(import_module(module))
    except AttributeError as cause:
        raise error(f"{text}: {cause}") from cause
    except Exception as cause:  # a module may raise anything when it is imported
        kind = type(cause).__name__
        raise error(f"{text}: cannot import {module!r}: {kind}: {cause}") from cause
