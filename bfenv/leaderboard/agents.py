"""What identifies the code of a policy or an agent."""

import hashlib
import os
import shlex
from pathlib import Path

from bfenv.agents.agent_names import SHIPPED, read_agent
from bfenv.agents.card import SUFFIX, card_path, is_network
from bfenv.core.errors import PolicyError
from bfenv.core.names import parse_name, read_value
from bfenv.core.policy import Policy
from bfenv.players.player_process import check_command
from bfenv.players.strangers import CARDS, is_strange_agent, is_strange_policy, source_of


def card_of(policy: Policy) -> str | None:
    """Return the name or path of the card that a policy was loaded from; None of other policies."""
    prefix, _, card = policy.name.partition(":")
    return card if prefix == "agent" and card else None


def _card_named(name: str) -> str:
    """Return the name or path of the card that a policy's name asks for; "" of other policies."""
    base, options = parse_name(name, PolicyError)
    prefix, _, card = base.partition(":")
    return (card or str(read_value(options.get("name", "''")))) if prefix == CARDS else ""


def network_of(name: str) -> str | None:
    """Return the name of the agent if a policy's name asks for a network; None of other policies.

    Raises BfenvError if the name or the card cannot be read.
    """
    card = _card_named(name)
    if not card or not is_network(card):
        return None
    return card if card.endswith(SUFFIX) else f"{SHIPPED}{card}"


def code_files(kind: str, name: str) -> list[Path]:
    """Return the files of a policy's or agent's code that is not bfenv's own.

    That is the file of a saved model and its card, the file of a network, the card of an agent, or
    the source of the module in "module:object"; of a player, the files on its command line, without
    programs that are found by their names, such as perl. The list is empty for what bfenv comes
    with.
    """
    if kind == "player":
        check_command(name)
        first, *words = shlex.split(name)
        words = [first] * (os.sep in first) + words
        return [Path(word) for word in words if os.path.isfile(word)]
    if kind == "agent" and read_agent(name).is_saved:
        model = Path(read_agent(name).base)
        return [model, *(card for card in [card_path(model)] if card.is_file())]
    if kind == "agent" and read_agent(name).is_network:
        file = Path(read_agent(name).base)
        return [file] if file.is_file() else []  # bfenv comes with the others
    if kind == "policy" and (card := _card_named(name)):
        return [Path(card)] if card.endswith(SUFFIX) else []
    if (is_strange_agent if kind == "agent" else is_strange_policy)(name):
        source = source_of(name)
        return [source] if source else []
    return []


def code_hash(kind: str, name: str) -> str | None:
    """Return the hash of `code_files`, None if there are none; other code makes another row."""
    files = code_files(kind, name)
    content = b"".join(file.read_bytes() for file in files)
    return f"sha256:{hashlib.sha256(content).hexdigest()}" if files else None
