"""Names and numbers as text for messages."""

import difflib
from collections.abc import Iterable, Sequence

MOST_NAMES = 12  # that a message lists
LIKENESS = 0.7  # ratio of difflib from which a name is suggested instead of another
ALMOST = 0.8  # likeness of the beginning of a name
LONGEST = 60  # characters of a value that a message shows


def printable(text: str) -> str:
    """Return a text without characters that would steer a terminal; line ends remain."""
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text)


def one_line(text: str) -> str:
    """Return a text as one printable line: it may come from anywhere."""
    return printable(" ".join(text.split()))


def shown(value: object) -> str:
    """Write a value as Python does, in one short line."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # Python writes no integer of more digits
        return "an integer of more than 4,300 digits"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Return a number of things, like "1 run" or "1,200 runs".

    By default, the plural ends in s.
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def listed(names: Sequence[str]) -> str:
    """Return names in a line; of many, the first, and how many more there are."""
    most = MOST_NAMES if len(names) > MOST_NAMES + 1 else len(names)  # "and 1 more" is no shorter
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(f"{name:.{LONGEST}}" for name in names[:most]) + more


def suggest(name: str, names: Iterable[str]) -> str:
    """Return "did you mean ...?" with the nearest of the names; "" if none is near."""
    names = list(names)
    parts = [candidate for candidate in names if name and name.lower() in candidate.lower()]
    if len(name) > LONGEST:
        return ""
    letters = sorted(name.lower())
    swapped = [candidate for candidate in names if sorted(candidate.lower()) == letters]
    near = (parts or swapped)[:3] or difflib.get_close_matches(name, names, cutoff=LIKENESS)
    if not near:  # prefixes such as "agent:" may be left out, or stand before a misspelled name
        bare = {_bare(candidate): candidate for candidate in names}
        alike = difflib.get_close_matches(_bare(name), bare, cutoff=LIKENESS)
        near = [bare[match] for match in alike]
    if name and not near:  # the ends of long names, such as versions of logs, may be left out
        begins = [candidate[: len(name)] for candidate in names]
        alike = difflib.get_close_matches(name, begins, n=1, cutoff=ALMOST)
        near = [full for full, begin in zip(names, begins, strict=True) if begin in alike][:3]
    return f"did you mean {' or '.join(near)}?" if near else ""


def _bare(name: str) -> str:
    return name.rpartition(":")[2]
