"""Elements of HTML and SVG. Everything that is not markup already is escaped."""

import html
from collections.abc import Iterable
from typing import Any

EMPTY = {"meta", "input", "link", "br", "hr"}  # elements of HTML without an end tag


class Markup(str):
    """Text that is markup; made by `element` and `join` only."""

    __slots__ = ()


def element(tag: str, *children: Any, **attributes: Any) -> Markup:
    """Make an element.

    Parameters
    ----------
    tag
        Its name.
    children
        Markup, text, or iterables of them; None is left out.
    attributes
        In their names a trailing underscore is dropped, and others become dashes. True makes an
        attribute without a value; None and False leave it out.
    """
    words = [tag]
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        name = name.rstrip("_").replace("_", "-")
        words.append(name if value is True else f'{name}="{escaped(value)}"')
    opening = f"<{' '.join(words)}>"
    return Markup(opening if tag in EMPTY else f"{opening}{join(children)}</{tag}>")


def join(children: Iterable[Any]) -> Markup:
    """Join children one after the other, see `element`."""
    parts: list[str] = []
    for child in children:
        if isinstance(child, Markup):
            parts.append(child)
        elif child is None:
            continue
        elif isinstance(child, list | tuple) or hasattr(child, "__next__"):
            parts.append(join(child))
        else:
            parts.append(escaped(child))
    return Markup("".join(parts))


def escaped(text: Any) -> str:
    """Escape text: no markup is left in it, and no character that acts without being visible."""
    visible = (c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(text))
    return html.escape("".join(visible))


def short(text: str, length: int = 34) -> str:
    """Cut text so that it fits beside a mark in a chart."""
    return text if len(text) <= length else text[: length - 1] + "…"
