"""The rows that a suite asks for."""

import hashlib
from pathlib import Path

import pytest

import bfenv
from bfenv.agents.card import Card, write_card
from bfenv.leaderboard.entrants import code_hash
from bfenv.leaderboard.suite import SUITES
from bfenv.leaderboard.task import Task, plan_rows
from tests.leaderboard import sample_agents
from tests.leaderboard.suites import SAMPLES, TINY

SMOKE = SUITES["smoke-v1"]


def seeds(suite, *names, **options):
    return [(task.policy, task.seed) for task in plan_rows(suite, *names, **options)]


@pytest.mark.together
def test_seeds():
    """A seed is a trace, or else the decisions of a stochastic policy or agent."""
    assert seeds(TINY, ["easy", "easy-aged-random"], []) == [
        ("easy", 0),
        ("easy-aged-random", 0),
        ("easy-aged-random", 1),
        ("easy-aged-random", 2),
    ]
    assert seeds(TINY, ["easy-aged-random"], [], seeds=1) == [("easy-aged-random", 0)]
    tasks = plan_rows(SMOKE, ["easy"], [])
    assert [task.seed for task in tasks] == [0, 1, 0, 1]
    assert len({task.trace for task in tasks}) == 4
    agents = [f"{SAMPLES}:first", f"{SAMPLES}:easy"]
    assert [seed for _, seed in seeds(TINY, [], agents)] == [0, 0, 1, 2]


def test_repeated_name():
    """A policy named twice counts once."""
    assert plan_rows(SMOKE, ["easy", "sjf", "easy"], []) == plan_rows(SMOKE, ["easy", "sjf"], [])


def test_key():
    """Tasks that differ in anything but code have files of their own."""
    trace = TINY.entries[0].traces[0]
    task = Task("smoke-v1", "policy", "easy", "one", None, trace, 1)
    others = [
        task._replace(kind="agent"),
        task._replace(policy="sjf"),
        task._replace(workload="two"),
        task._replace(seed=2),
    ]
    assert len({each.key for each in (task, *others)}) == 5
    assert task._replace(code="sha256:0").key == task.key


@pytest.mark.together
@pytest.mark.parametrize(
    ("suite", "policies", "agents", "count", "named"),
    [
        (TINY, ["easy"], [], 4, "4"),
        (TINY, ["easy"], [], 0, "0"),
        (TINY, [f"{SAMPLES}:easy"], [f"{SAMPLES}:easy"], None, f"{SAMPLES}:easy"),
        (SUITES["rlscheduler-windows-v1"], [], [f"{SAMPLES}:first"], None, "trained_on"),
        (TINY, ["esay"], [], None, "'esay'"),
    ],
    ids=["too many seeds", "no seeds", "policy and agent", "trained on", "unknown"],
)
def test_refusals(suite, policies, agents, count, named):
    """What cannot be ranked is refused by name."""
    with pytest.raises(bfenv.BfenvError) as error:
        plan_rows(suite, policies, agents, count)
    assert named in str(error.value)


def digest(data):
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def test_code_hash():
    """The hash is that of the module that a name leads to; bfenv's own code has none."""
    expected = digest(Path(sample_agents.__file__).read_bytes())
    assert code_hash("agent", f"{SAMPLES}:first:window=4") == expected
    assert code_hash("policy", f"{SAMPLES}:easy") == expected
    assert code_hash("agent", "random:window=4") is None
    assert code_hash("policy", "easy(order=sjf)") is None
    assert code_hash("policy", "easy:order=sjf") is None


def test_hash_of_card(tmp_path):
    """The hash of an agent in a file is that of its card, however it is named."""
    path = tmp_path / "mine.json"
    write_card(path, Card("mine", "completion", "policy", "", "easy(order=sjf)", {}, ()))
    expected = f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
    assert code_hash("policy", f"agent:{path}") == expected
    assert code_hash("policy", f"agent(name='{path}')") == expected


def test_saved_model(tmp_path):
    """The hash of a saved model is that of its file and its card."""
    path = tmp_path / "model (1).zip"
    path.write_bytes(b"model")
    assert code_hash("agent", str(path)) == digest(b"model")
    (tmp_path / "model (1).card.json").write_bytes(b"card")
    assert code_hash("agent", str(path)) == digest(b"modelcard")


@pytest.mark.parametrize("name", ["randm", "random:windw=3", "no.such.module:agent", "model.zip"])
def test_bad_name(name):
    """A name that stands for no agent is refused before anything runs."""
    with pytest.raises(bfenv.BfenvError):
        plan_rows(TINY, [], [name])
