"""Agents that were found by search or training, each a card of JSON with its proof.

`load_agent` makes a policy of one; everywhere policies are named, "agent:NAME" is its name.
"""

from bfenv.agents.models.cards import (
    Card,
    agent_names,
    load_agent,
    read_card,
    shipped_agents,
    write_card,
)
from bfenv.agents.models.training import check_unseen, count_seen_by, count_seen_jobs

__all__ = [
    "Card",
    "agent_names",
    "check_unseen",
    "count_seen_by",
    "count_seen_jobs",
    "load_agent",
    "read_card",
    "shipped_agents",
    "write_card",
]
