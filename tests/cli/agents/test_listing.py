"""`bfenv agents` and `bfenv agents show`."""

import csv
import json

import pytest

from bfenv.agents.card import NETWORK, read_card, shipped_names


def test_list(run):
    """Every shipped agent is listed by the name to type, on a narrow terminal, too."""
    out = run("agents", columns=80)[1]
    assert all(f" agent:{name} " in out for name in shipped_names())


def test_unknown(run):
    """An unknown agent is answered with the names of all, networks included."""
    assert "network" in run("agents", "show", "nobody")[2]
    assert "agent:network" in run("evaluate", "--agent", "network")[2]


def test_show_network(run):
    """The card of a network has its command, its scores and where it fails."""
    status, out, _ = run("agents", "show", "network")
    card = read_card("network")
    assert status == 0 and card.found["command"] in out
    assert all(f"{score['ratio']:.3f}" in out for score in card.scores)
    assert out.count("\n! ") == len(card.failures) > 0
    rows = json.loads(run("agents", "show", "agent:network", "--format", "json")[1])
    assert rows[0]["scores"] == list(card.scores)


@pytest.mark.parametrize("name", shipped_names(NETWORK))
def test_scores_of_networks(run, name):
    """The scores of a network are lines of CSV, whatever each of them is about."""
    status, out, _ = run("agents", "show", name, "--format", "csv")
    scores, lines = read_card(name).scores, list(csv.DictReader(out.splitlines()))
    assert status == 0 and [line["on"] for line in lines] == [score["on"] for score in scores]


def test_one_basis(run):
    """The ratios in the list are those of the same test splits for every agent but networks."""
    rows = {row["agent"]: row for row in json.loads(run("agents", "--format", "json")[1])}
    assert {rows[f"agent:{name}"]["unseen_ratio"] for name in shipped_names(NETWORK)} == {None}
    assert all((row["ratio"] is None) == (row["kind"] == NETWORK) for row in rows.values())
