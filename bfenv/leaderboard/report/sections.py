"""Sections of a leaderboard's report that other packages add, in text and on the page.

A package offers one by an entry point of the group "bfenv.sections": a function that takes the
Leaderboard and returns a Section, or None if it has nothing to say.
"""

from collections.abc import Sequence
from typing import NamedTuple

from bfenv.core.distributions import load_offer, offers
from bfenv.leaderboard.store import Leaderboard


class Value(NamedTuple):
    """What a cell of a table shows, and the number to sort it by."""

    text: str
    number: float | None = None


class SectionTable(NamedTuple):
    """A table of a section."""

    caption: str
    columns: Sequence[str]
    lines: Sequence[Sequence[Value]]
    words: int = 1  # number of columns with words, from the first on; the others have numbers
    note: str = ""
    in_text: bool = True  # the table is also printed; others are on the page only


class Section(NamedTuple):
    """A part of the report."""

    name: str  # of its place on the page
    title: str
    tables: Sequence[SectionTable]


def sections_of(leaderboard: Leaderboard) -> list[Section]:
    """Return the sections that installed packages add to the report of a leaderboard.

    Raises BfenvError if one cannot be imported.
    """
    sections = (
        load_offer("bfenv.sections", name)(leaderboard) for name in sorted(offers("bfenv.sections"))
    )
    return [section for section in sections if section is not None]
