"""Card files: JSON of one format, of the agents that bfenv comes with or anywhere else.

What is in a card depends on its kind: see `bfenv.agents.models.cards` for policies, and
`bfenv.agents.network_agent` for networks.
"""

import json
from collections.abc import Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from bfenv.core.errors import BfenvError, PolicyError, UnknownNameError

FORMAT = "bfenv agent 1"
SUFFIX = ".json"
POLICY, NETWORK = KINDS = ("policy", "network")
MODELS = files("bfenv.agents").joinpath("models")


def shipped_cards(kind: str | None = None) -> list[dict[str, Any]]:
    """Return the content of the cards that bfenv comes with, by name; None for all kinds."""
    found = [json.loads(file.read_bytes()) for file in _shipped_files()]
    cards = [card for card in found if kind is None or card["kind"] == kind]
    return sorted(cards, key=lambda card: str(card["name"]))


def shipped_names(kind: str | None = None) -> list[str]:
    """Return the names of the agents that bfenv comes with."""
    return [str(card["name"]) for card in shipped_cards(kind)]


def _shipped_files() -> Sequence[Traversable]:
    if not MODELS.is_dir():
        return []
    return [file for file in MODELS.iterdir() if file.name.endswith(SUFFIX)]


def is_network(name: str) -> bool:
    """Tell whether a card is that of a network; `name` as of `read_content`.

    Raises
    ------
    UnknownNameError
        If there is no such agent; the message suggests others.
    PolicyError
        If the file cannot be read, or is not a card.
    """
    return _read(name, None, PolicyError).get("kind") == NETWORK


def read_content(name: str, kind: str, error: type[BfenvError] = BfenvError) -> dict[str, Any]:
    """Read a card file.

    Parameters
    ----------
    name
        The name of an agent that bfenv comes with, or the path of a card, which ends in .json.
    kind
        One of KINDS.
    error
        The exception to raise.

    Raises
    ------
    UnknownNameError
        If there is no such agent; the message suggests others.
    BfenvError
        If the file cannot be read, or is not a card of that format and kind.
    """
    content = _read(name, kind, error)
    found = content.get("kind")
    if found != kind:
        if found not in KINDS:
            raise error(f"{name}: this version does not know agents of the kind {found!r}")
        hint = f"; use --policy agent:{name}" if found == POLICY else ""
        raise error(f"{name} is a {found}, not a {kind}{hint}")
    return content


def _read(name: str, kind: str | None, error: type[BfenvError]) -> dict[str, Any]:
    """Read a card file of any kind; `kind` is that of the names to suggest."""
    file: Path | Traversable = Path(name)
    if not name.endswith(SUFFIX):
        if name not in shipped_names():
            raise UnknownNameError("agent", name, shipped_names(kind))
        file = MODELS.joinpath(name + SUFFIX)
    return read_json(file, name, FORMAT, error)


def read_json(
    file: Path | Traversable, name: str, format: str, error: type[BfenvError] = BfenvError
) -> dict[str, Any]:
    """Read an object of JSON whose field "format" is `format`; errors begin with `name`.

    Raises
    ------
    BfenvError
        If the file cannot be read or is something else.
    """
    try:
        content = json.loads(file.read_bytes())
    except OSError as problem:
        raise error(f"{name}: cannot be read: {problem.strerror}") from problem
    except (ValueError, RecursionError) as problem:
        raise error(f"{name}: is not a card of format {format!r}: {problem}") from problem
    if not isinstance(content, dict) or content.get("format") != format:
        raise error(f"{name}: is not a card of format {format!r}")
    return content
