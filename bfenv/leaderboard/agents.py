"""What identifies the code of a policy or an agent."""

import hashlib
import inspect
import sys
from pathlib import Path

from bfenv.agents.agent_names import read_agent
from bfenv.agents.model_card import card_path
from bfenv.baselines.registry import find_policy
from bfenv.core.names import import_object, parse_name
from bfenv.core.policy import Policy


def card_of(policy: Policy) -> str | None:
    """Return the name or path of the card that a policy was loaded from; None of other policies."""
    prefix, _, card = policy.name.partition(":")
    return card if prefix == "agent" and card else None


def code_hash(kind: str, name: str) -> str | None:
    """Return the hash of the code of a policy or agent that is not bfenv's own.

    That is the file of a saved model and its card, the file of a network, the card of an agent, or
    the source of the module in "module:object". A row made with other code is another row. None for
    what bfenv comes with.
    """
    if kind == "agent" and read_agent(name).is_saved:
        model = Path(read_agent(name).base)
        files = [model, *(card for card in [card_path(model)] if card.is_file())]
    elif kind == "agent" and read_agent(name).is_network:
        file = Path(read_agent(name).base)
        files = [file] if file.is_file() else []  # bfenv comes with the others
    elif kind == "policy" and (card := card_of(find_policy(name))):
        files = [Path(card)] if card.endswith(".json") else []
    else:
        module, colon, _ = parse_name(name).base.partition(":")
        if not colon:
            return None
        import_object(parse_name(name).base)
        source = inspect.getsourcefile(sys.modules[module])
        files = [Path(source)] if source else []
    content = b"".join(file.read_bytes() for file in files)
    return f"sha256:{hashlib.sha256(content).hexdigest()}" if files else None
