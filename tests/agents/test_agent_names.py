"""Agents by name, and what is needed to let them act."""

from pathlib import Path

import pytest

import bfenv
from bfenv.agents import PolicyAgent, RandomAgent, open_agent, span_of
from bfenv.agents.agent_names import find_agent, is_stochastic, read_agent, training_of, window_of
from bfenv.envs.backfill import BackfillEnv
from tests.leaderboard import sample_agents
from tests.leaderboard.suites import SAMPLES


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("random", ("random", {}, True)),
        ("random:window=16", ("random", {"window": 16}, True)),
        ("random(window=16)", ("random", {"window": 16}, True)),
        ("random:deterministic=false", ("random", {}, False)),
        ("a.b:c", ("a.b:c", {}, True)),
        (
            "a.b:c:window=3,reservations=1,idle=every_pass",
            ("a.b:c", {"window": 3, "reservations": 1, "idle": "every_pass"}, True),
        ),
        ("a.b:c(reservations=0)", ("a.b:c", {"reservations": 0}, True)),
    ],
)
def test_read_agent(name, expected):
    """Options of the environment follow the name, in the grammar of all names."""
    assert read_agent(name) == expected


def test_saved_model(tmp_path, monkeypatch):
    """A path in .zip is a saved model, whatever its name; with a mode it may be stochastic."""
    monkeypatch.chdir(tmp_path)
    for name in ("model.zip", "model (1).zip"):
        Path(name).write_bytes(b"")
        assert read_agent(name) == (name, {}, True) and read_agent(name).is_saved
    assert read_agent("model.zip:window=32") == ("model.zip", {"window": 32}, True)
    assert not is_stochastic("model.zip:window=32")
    assert is_stochastic("model.zip:deterministic=false")


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("randm", "'randm'"),
        ("random:windw=3", "'windw'; did you mean window?"),
        ("random:load=0.5", "'load'"),
        ("random:window=x", "'x'"),
        ("random:window=0", "0"),
        ("random:window=2.5", "2.5"),
        ("random:idle=maybe", "'maybe'"),
        ("random:deterministic=maybe", "true or false"),
        ("random:window=1,window=2", "window"),
        ("random(window=1", "random(window=1"),
        ("no.such.module:agent", "no.such.module"),
        (f"{SAMPLES}:nobody", "nobody"),
        ("model.zip", "model.zip"),
        ("x" * 300 + ".zip", "no such saved model"),  # no file has so long a name
        ("", "empty"),
        ("tests.leaderboard.failing_import:agent", "RuntimeError: this module cannot be imported"),
    ],
)
def test_bad_name(name, named):
    """A name that stands for no agent is refused, and what is wrong with it is named."""
    for call in (find_agent, open_agent):
        with pytest.raises(bfenv.BfenvError) as error:
            call(name)
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


@pytest.mark.parametrize(
    ("name", "window"),
    [
        ("random", 64),
        ("random:window=8", 8),
        ("module:object:window=4", 4),  # nothing is imported
        ("agent:network", 8),
        ("agent:formula", None),
        ("easy(guard=1)", None),
        ("los", None),
    ],
)
def test_window_of(name, window):
    """An agent sees as many slots as its name or its card says; a policy has no slots."""
    assert window_of(name) == window


def test_training_of(monkeypatch):
    """The agents of bfenv are not trained; of others it is unknown unless they say it."""
    assert training_of("random:window=4") == ()
    assert training_of(f"{SAMPLES}:first") is None
    span = span_of(bfenv.load_workload("lublin:jobs=20,procs=8"))
    monkeypatch.setattr(sample_agents.first, "trained_on", [span], raising=False)
    assert training_of(f"{SAMPLES}:first") == [span]
    assert open_agent(f"{SAMPLES}:first").trained_on == [span]


def test_settings(monkeypatch):
    """An object may say what environment it needs; the options of its name add to it."""
    monkeypatch.setattr(sample_agents.first, "settings", {"window": 8}, raising=False)
    agent = open_agent(f"{SAMPLES}:first:reservations=0")
    assert agent.settings == {"window": 8, "reservations": 0}
    with pytest.raises(bfenv.BfenvError, match="needs window=8, got 9"):
        open_agent(f"{SAMPLES}:first:window=9")


def test_make():
    """A factory takes the environment, with or without a seed; an object is used as it is."""
    env = BackfillEnv(window=4)
    for factory in (RandomAgent, lambda env, seed: RandomAgent(env, seed)):
        other = RandomAgent(env, 7).generator.random()
        assert open_agent(factory).make(env, 7).generator.random() == other
    assert isinstance(open_agent(lambda env: PolicyAgent("easy", env)).make(env, 7), PolicyAgent)
    assert open_agent(sample_agents.first).make(env, 7) is sample_agents.first
    for call in (lambda: open_agent(7), lambda: open_agent(lambda env: None).make(env, 7)):
        with pytest.raises(bfenv.BfenvError, match="must have a method predict, or be a function"):
            call()


@pytest.mark.parametrize(
    ("needed", "given", "merged"),
    [
        ({"window": 8}, {}, {"window": 8}),
        ({"window": 8}, {"window": 8, "split": "test"}, {"window": 8, "split": "test"}),
        ({"job_features": ["users"]}, {"job_features": None}, {"job_features": ["users"]}),
        ({"job_features": ["users"]}, {"job_features": ("users",)}, {"job_features": ["users"]}),
        ({"window": 8}, {"window": 9}, None),
        ({"window": 8}, {"window": 16}, None),
        ({"job_features": []}, {"job_features": ["users"]}, None),
    ],
)
def test_settings_with(needed, given, merged):
    """Settings are completed by those that the agent needs; others are refused by name."""
    agent = open_agent("random")._replace(settings=needed)
    if merged is not None:
        assert agent.settings_with(given) == merged
        return
    with pytest.raises(bfenv.BfenvError, match=f"random needs {next(iter(needed))}="):
        agent.settings_with(given)
