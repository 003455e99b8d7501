"""Agents by name."""

import hashlib
from pathlib import Path

import pytest

import bfenv
from bfenv.agents import RandomAgent
from bfenv.agents.models import Card, write_card
from bfenv.leaderboard.agents import code_hash, find_agent, is_stochastic, read_agent
from bfenv.leaderboard.task import plan_rows
from tests.leaderboard import sample_agents
from tests.leaderboard.suites import SAMPLES, TINY


@pytest.mark.parametrize(
    ("name", "base", "options"),
    [
        ("random", "random", {}),
        ("random:window=16", "random", {"window": 16}),
        ("random(window=16)", "random", {"window": 16}),
        ("a.b:c", "a.b:c", {}),
        (
            "a.b:c:window=3,reservation_depth=-1,every_pass=1",
            "a.b:c",
            {"window": 3, "reservation_depth": -1, "every_pass": 1},
        ),
        ("a.b:c(every_pass=true)", "a.b:c", {"every_pass": True}),
    ],
)
def test_read_agent(name, base, options):
    """Options of the environment follow the name, in the grammar of all names."""
    assert read_agent(name) == (base, options)


def test_saved_model(tmp_path, monkeypatch):
    """A path in .zip is a saved model, whatever its name; its hash is that of the file."""
    monkeypatch.chdir(tmp_path)
    for name in ("model.zip", "model (1).zip"):
        Path(name).write_bytes(name.encode())
        assert read_agent(name) == (name, {}) and read_agent(name).is_saved
        digest = hashlib.sha256(name.encode()).hexdigest()
        assert code_hash("agent", name) == f"sha256:{digest}"
    assert read_agent("model.zip:window=32") == ("model.zip", {"window": 32})
    assert not is_stochastic("model.zip:window=32")


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("randm", "'randm'"),
        ("random:windw=3", "'windw'"),
        ("random:load=0.5", "'load'"),
        ("random:window=x", "'x'"),
        ("random:window=0", "0"),
        ("random:window=2.5", "2.5"),
        ("random:every_pass=maybe", "'maybe'"),
        ("random:window=1,window=2", "window"),
        ("random(window=1", "random(window=1"),
        ("no.such.module:agent", "no.such.module"),
        (f"{SAMPLES}:nobody", "nobody"),
        ("model.zip", "model.zip"),
        ("", "empty"),
        ("tests.leaderboard.failing_import:agent", "RuntimeError: this module cannot be imported"),
    ],
)
def test_bad_name(name, named):
    """A name that stands for no agent is refused, and what is wrong with it is named."""
    for call in (lambda: find_agent(name), lambda: plan_rows(TINY, [], [name])):
        with pytest.raises(bfenv.BfenvError) as error:
            call()
        assert named in str(error.value)


def test_find_agent():
    """Registered agents are found by name, others in their modules."""
    assert find_agent("random:window=16") is RandomAgent
    assert find_agent(f"{SAMPLES}:first:window=4") is sample_agents.first


@pytest.mark.parametrize(
    ("name", "expected"),
    [("random", True), (f"{SAMPLES}:easy", True), (f"{SAMPLES}:first", False)],
)
def test_is_stochastic(name, expected):
    """A seed matters to what takes one, unless the agent says otherwise."""
    assert is_stochastic(name) is expected


def test_code_hash():
    """The hash is that of the module that a name leads to; bfenv's own code has none."""
    source = Path(sample_agents.__file__).read_bytes()
    expected = f"sha256:{hashlib.sha256(source).hexdigest()}"
    assert code_hash("agent", f"{SAMPLES}:first:window=4") == expected
    assert code_hash("policy", f"{SAMPLES}:easy") == expected
    assert code_hash("agent", "random:window=4") is None
    assert code_hash("policy", "easy(order=sjf)") is None


def test_code_hash_of_a_card(tmp_path):
    """The hash of an agent in a file is that of its card, however it is named."""
    path = tmp_path / "mine.json"
    write_card(path, Card("mine", "completion", "policy", "", "easy(order=sjf)", {}, ()))
    expected = f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
    assert code_hash("policy", f"agent:{path}") == expected
    assert code_hash("policy", f"agent(name='{path}')") == expected
    assert code_hash("policy", "easy:order=sjf") is None
