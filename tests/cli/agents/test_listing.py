"""`bfenv agents` and `bfenv agents show`."""

import json

from bfenv.agents.models import agent_names
from bfenv.agents.network_agent import load_network


def test_list(run):
    """Every shipped agent is listed by the name to type, on a narrow terminal, too."""
    out = run("agents", columns=80)[1]
    assert all(f" agent:{name} " in out for name in agent_names())


def test_unknown(run):
    """An unknown agent is answered with the names of all, networks included."""
    assert "scorer-lublin" in run("agents", "show", "nobody")[2]
    assert "agent:scorer-lublin" in run("evaluate", "--agent", "scorer-lublin")[2]


def test_show_network(run):
    """The card of a network has its command, its scores and where it fails."""
    status, out, _ = run("agents", "show", "scorer-lublin")
    card = load_network("scorer-lublin").card
    assert status == 0 and card.found["command"] in out
    assert all(f"{score['ratio']:.3f}" in out for score in card.scores)
    assert out.count("\n! ") == len(card.failures) > 0
    rows = json.loads(run("agents", "show", "agent:scorer-lublin", "--format", "json")[1])
    assert rows[0]["scores"] == card.scores
