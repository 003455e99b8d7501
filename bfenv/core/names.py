"""Names with options, and names of objects in modules: the one grammar, the one importer.

A policy, a workload or an agent is named by text. All of them share this grammar::

    easy                                    a name
    easy(order=sjf, lookahead=100)          a name with options
    lublin:jobs=500,load=0.9                the same; a shell needs no quotes
    mine:smallest_first                     an object in a module that Python can import
    mine:smallest_first(limit=3)            the same with options
    logs/mine (2).swf                       a path: any other text is a name as it stands

An option's value is one of:

* a decimal number, such as 100, -0.5 or 1e6;
* `none`, `true` or `false`, in upper or lower case;
* a tuple of values, such as (1, 2) or (60,);
* text in single or double quotes, which may contain anything but that quote;
* other text as it stands: sjf, mine.swf, also inf, 1_000 and 0x10. Quotes in it, commas that are
  not within parentheses, and a parenthesis at its beginning need quotes around the text.
"""

import inspect
import operator
import posixpath
import re
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

from bfenv.core.errors import BfenvError
from bfenv.core.text import listed, shown, suggest

WORDS = {"none": None, "true": True, "false": False}
LARGEST = 2**53  # integers below are exact as floats
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
OPTION = re.compile(r"\w[\w-]*")
COLON = re.compile(rf":(?=\s*{OPTION.pattern}\s*=)")  # before the first option
SECOND = re.compile(rf"{NUMBER.pattern}:\s*{OPTION.pattern}\s*=")  # an option after a number
CLOSING = {"(": ")", "'": "'", '"': '"'}
LONGEST = 300  # characters of module:object
DEEPEST = 100  # parentheses within each other


class Name(NamedTuple):
    """A name taken apart."""

    base: str  # a registered name, a path, or "module:object"
    options: dict[str, str]  # values as they were written, see `read_value`


def parse_name(text: str, error: type[BfenvError] = BfenvError) -> Name:
    """Split a name from its options.

    Raises `error` if a quote or parenthesis is not closed, an item is not `option=value`, or an
    option is given twice.
    """
    text = text.strip()
    base, opened, items = text.partition("(")
    colon = COLON.search(base)
    if opened and not colon:
        if items.endswith(")"):
            return Name(base.strip(), _options(text, items[:-1], error))
        if text.count("(") > text.count(")"):
            raise error(f"cannot read {shown(text)}: no closing parenthesis")
        colon = COLON.search(text)  # after a path with parentheses in it
    if colon and colon.start() > 0:
        return Name(text[: colon.start()].strip(), _options(text, text[colon.end() :], error))
    return Name(text, {})


def _options(text: str, items: str, error: type[BfenvError]) -> dict[str, str]:
    options: dict[str, str] = {}
    try:
        pairs = split_items(items)
    except ValueError as cause:
        raise error(f"cannot read {shown(text)}: {cause}") from None
    for item in pairs:
        option, equals, value = (part.strip() for part in item.partition("="))
        if not (equals and OPTION.fullmatch(option) and value):
            raise error(f"cannot read {shown(text)}: {shown(item)} is not option=value")
        if SECOND.match(value):
            raise error(f"cannot read {shown(text)}: separate options by commas, not colons")
        if option in options:
            raise error(f"cannot read {shown(text)}: {option[:40]} is given twice")
        options[option] = value
    return options


def split_items(items: str) -> list[str]:
    """Split at the commas outside of quotes and parentheses; ValueError if these do not match."""
    parts, begin = [], 0
    awaited: list[str] = []  # what closes the quotes and parentheses around this character
    for i, character in enumerate(items):
        if awaited and character == awaited[-1]:
            awaited.pop()
        elif awaited and awaited[-1] != ")":  # within quotes
            continue
        elif character in CLOSING:
            awaited.append(CLOSING[character])
            if len(awaited) > DEEPEST:
                raise ValueError(f"more than {DEEPEST} parentheses within each other")
        elif character == ")":
            raise ValueError("no opening parenthesis")
        elif character == "," and not awaited:
            parts.append(items[begin:i].strip())
            begin = i + 1
    if awaited:
        raise ValueError(f"no closing {'parenthesis' if awaited[-1] == ')' else 'quote'}")
    parts.append(items[begin:].strip())
    return [] if parts == [""] else parts


def read_value(text: str, error: type[BfenvError] = BfenvError) -> Any:
    """Read an option's value.

    Raises `error` if a quote or parenthesis is not closed, an item of a tuple is empty, or a number
    is 2**53 or more in magnitude.
    """
    text = text.strip()
    if text.startswith("("):
        try:
            items = split_items(text)
            if not text.endswith(")"):
                raise ValueError(
                    "a value that begins with a parenthesis must end with one or have quotes"
                )
            items = split_items(text[1:-1])
        except ValueError as cause:
            raise error(f"cannot read {shown(text)}: {cause}") from None
        if len(items) > 1 and not items[-1]:  # the comma of (1,)
            items.pop()
        if not all(items):
            raise error(f"cannot read {shown(text)}: an item is empty")
        return tuple(read_value(item, error) for item in items)
    if text.startswith(("'", '"')):
        if len(text) < 2 or text.find(text[0], 1) != len(text) - 1:
            raise error(f"cannot read {shown(text)}: no closing quote")
        return text[1:-1]
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    if not NUMBER.fullmatch(text):
        return text
    number = float(text)
    if not abs(number) < LARGEST:
        raise error(f"{text[:40]} is out of range: numbers must be below 2**53")
    return number if set(text) & set(".eE") else int(number)


def format_name(base: str, options: Mapping[str, Any]) -> str:
    """Write a name with options that `parse_name` and `read_value` read back.

    Raises BfenvError if a text contains quotes of both kinds.
    """
    items = ", ".join(f"{option}={format_value(value)}" for option, value in options.items())
    return f"{base}({items})" if items else base


def format_value(value: Any) -> str:
    """Write an option's value such that `read_value` reads it back.

    Raises BfenvError if a text contains quotes of both kinds.
    """
    if isinstance(value, tuple):
        items = ", ".join(map(format_value, value))
        return f"({items},)" if len(value) == 1 else f"({items})"
    if not isinstance(value, str):
        return str(value)
    plain = value and value == value.strip() and not set(value) & set(",()'\"")
    if plain and value.lower() not in WORDS and not NUMBER.fullmatch(value):
        return value
    for quote in "'\"":
        if quote not in value:
            return f"{quote}{value}{quote}"
    raise BfenvError(f"{value!r} contains quotes of both kinds")


def split_object_name(text: str, error: type[BfenvError] = BfenvError) -> tuple[str, str]:
    """Return module and object of "module:object"; imports nothing.

    Raises `error` if the text is not of that form, or names a file.
    """
    module, _, name = text.rpartition(":")
    if len(text) > LONGEST:
        raise error(f"expected module:object, got {len(text):,} characters")
    if not (module and name):
        raise error(f"expected module:object, got {shown(text)}")
    if re.search(r"[/\\]|\.py$", module):
        raise error(f"{text}: name the module, not its file: {naming_advice(module, name)}")
    return module, name


def naming_advice(file: str, name: str) -> str:
    """Return what to write for an object in a file of Python, and where to write it.

    * `file`: its path, with or without .py.
    * `name`: of the object.
    """
    path = posixpath.normpath(file.removesuffix(".py").replace("\\", "/"))
    folder, module = posixpath.split(path)
    if not folder:
        return f"write {module}:{name}"
    if re.match(r"/|\.\.|\w:", folder):  # Python imports from below the current folder only
        return f"go to the folder {folder} and write {module}:{name} there"
    return f"write {folder.replace('/', '.')}.{module}:{name}"


def import_object(text: str, error: type[BfenvError] = BfenvError) -> Any:
    """Import what "module:object" names.

    Raises `error` if the text names a file, the module cannot be imported, or it has no such
    object.
    """
    module, name = split_object_name(text, error)
    try:
        imported = import_module(module)
    except (Exception, SystemExit) as cause:  # a module may raise anything when it is imported
        reason = " ".join(f"{type(cause).__name__}: {cause}".split())
        raise error(f"{text}: cannot import {module!r}: {reason}") from cause
    try:
        return operator.attrgetter(name)(imported)
    except AttributeError as cause:
        names = [
            attribute
            for attribute, value in vars(imported).items()
            if _is_of(attribute, value, module)
        ]
        contents = f"it has {listed(names)}" if names else "it defines nothing"
        raise error(f"{text}: {cause}; {suggest(name, names) or contents}") from cause


def _is_of(name: str, value: Any, module: str) -> bool:
    """Return whether a name is part of a module's public interface."""
    is_made_here = inspect.getattr_static(value, "__qualname__", None) is None
    is_own = is_made_here or getattr(value, "__module__", None) == module
    return not name.startswith("_") and not isinstance(value, ModuleType | int | str) and is_own
