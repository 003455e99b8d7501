"""Cards: what an agent is, how it was found, on which jobs, how it scores, where it fails.

A card is a JSON file in this folder, or anywhere else. It has nothing in it that could run: its
policy is text in the grammar of `bfenv.core.names`.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from bfenv.agents.card_file import (
    FORMAT,
    POLICY,
    is_network,
    read_content,
    shipped_cards,
    shipped_names,
)
from bfenv.baselines.registry import find_policy
from bfenv.core.errors import BfenvError, PolicyError
from bfenv.core.files import write_atomically
from bfenv.core.policy import DIVISIONS, Policy


@dataclass(frozen=True)
class Card:
    """An agent and its proof.

    Parameters
    ----------
    name
        Its name, without "agent:".
    division
        One of `bfenv.core.policy.DIVISIONS`; "clairvoyant" only if it needs exact estimates.
    kind
        "policy": `policy` names it in full.
    what
        What it is, in a sentence or two.
    policy
        The expression of the policy.
    found
        How it was found: the command, and what the search reports.
    training
        The jobs that it has seen, see `bfenv.agents.models.training.training_record`.
    scores
        A mapping for each workload that it was scored on, see `bfenv.agents.models.scoring`.
    failures
        Where it does badly, in sentences.
    versions
        The programs that found and scored it.
    """

    name: str
    division: str
    kind: str
    what: str
    policy: str
    found: Mapping[str, Any]
    training: tuple[Mapping[str, Any], ...]
    scores: tuple[Mapping[str, Any], ...] = ()
    failures: tuple[str, ...] = ()
    versions: Mapping[str, str] | None = None

    def score_cells(self) -> list[tuple[str, ...]]:
        """Return texts for each workload: its name, load, ratio, range of ratios, longest wait."""
        return [
            (
                score["workload"],
                "own" if score["load"] is None else f"{score['load']:g}",
                f"{score['slowdown_ratio']:.3f}",
                f"{score['lowest']:.3f} to {score['highest']:.3f}",
                f"{score['wait_ratio']:.2f}",
            )
            for score in self.scores
        ]

    def training_lines(self) -> list[str]:
        """Return the jobs that the agent has seen, a line for each workload and part of it."""
        parts = Counter(
            f"jobs {part['first_job']:,} to {part['end_job'] - 1:,} of {part['workload']}"
            for part in self.training
        )
        return [
            f"{part}, {count} traces" if count > 1 else part  # of several seeds
            for part, count in parts.items()
        ]


FIELDS: dict[str, type | tuple[type, ...]] = {
    "name": str,
    "division": str,
    "kind": str,
    "what": str,
    "policy": str,
    "found": dict,
    "training": list,
    "scores": list,
    "failures": list,
    "versions": dict,
}


def shipped_agents() -> list[dict[str, Any]]:
    """Return the name, kind, division and description of each agent that bfenv comes with.

    Those of the kind "policy" are policies; a "network" acts in an environment.
    """
    columns = "name", "kind", "division", "what"
    return [{column: card[column] for column in columns} for card in shipped_cards()]


def agent_names() -> list[str]:
    """Return the names of the agents that bfenv comes with and that are policies."""
    return shipped_names(POLICY)


def read_card(name: str) -> Card:
    """Read the card of an agent.

    Parameters
    ----------
    name
        The name of an agent that bfenv comes with, or the path of a card, which ends in .json.

    Raises
    ------
    UnknownNameError
        If there is no such agent; the message suggests others.
    PolicyError
        If the file cannot be read, or is not a card.
    """
    content = read_content(name, POLICY, PolicyError)
    try:
        return _from_json(content)
    except (ValueError, KeyError, TypeError) as error:
        raise PolicyError(f"{name}: is not a card of format {FORMAT!r}: {error}") from error


def _from_json(content: Mapping[str, Any]) -> Card:
    values: dict[str, Any] = {}
    for field, kind in FIELDS.items():
        if not isinstance(content[field], kind):
            raise ValueError(f"{field} is not a {kind}")
        value = content[field]
        values[field] = tuple(value) if isinstance(value, list) else value
    if not all(isinstance(part, dict) for part in (*values["training"], *values["scores"])):
        raise ValueError("training and scores must be lists of objects")
    if values["division"] not in DIVISIONS:
        raise ValueError(f"division must be one of {', '.join(DIVISIONS)}")
    return Card(**values)


def write_card(path: Path, card: Card) -> None:
    """Write a card to a file, which is replaced if it exists.

    Raises
    ------
    BfenvError
        If JSON cannot hold the card, or the file cannot be written.
    """
    content = {"format": FORMAT} | asdict(card) | {"versions": dict(card.versions or {})}
    try:
        text = json.dumps(content, indent=1, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise BfenvError(f"{path}: a card must be JSON: {error}") from error
    write_atomically(path, text.encode() + b"\n")


def load_agent(name: str) -> Policy:
    """Return the policy of an agent; its name is "agent:NAME".

    Parameters
    ----------
    name
        As `read_card` takes it, or `bfenv.agents.network_agent.load_network`.

    Raises
    ------
    UnknownNameError
        If there is no such agent.
    BfenvError
        If the file is not a card, or a network does not fit the environment of this version.
    """
    if not isinstance(name, str):
        raise PolicyError(f"expected the name of an agent, got {name!r:.40}")
    if is_network(name):
        from bfenv.agents.network_policy import network_policy  # needs the environment

        return network_policy(name)
    card = read_card(name)
    if card.policy.startswith("agent:"):
        raise PolicyError(f"agent:{name}: its policy is another agent")
    return replace(find_policy(card.policy), name=f"agent:{name}", summary=card.what)
