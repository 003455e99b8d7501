"""Cards of agents: what is shipped, what is refused, and that nothing in them runs."""

import json
import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bfenv import (
    BfenvError,
    PolicyError,
    UnknownNameError,
    find_policy,
    load_workload,
    simulate,
)
from bfenv.agents.card import (
    ACTING,
    MODELS,
    POLICY,
    Card,
    hash_of,
    read_card,
    shipped_names,
    write_card,
)
from bfenv.agents.network_agent import load_network
from bfenv.agents.seen_jobs import check_unseen, searched_spans
from bfenv.cli.agents.listing import show_agent
from bfenv.cli.app import main
from bfenv.cli.show import Format
from bfenv.core.names import parse_name
from bfenv.leaderboard.suite import SUITES, WINDOWS, suite_contents
from bfenv.workloads import split_range
from tests.conftest import log

SCORE = {"workload": "lublin", "split": "test", "slowdown_ratio": 0.5, "wait_ratio": 1.0}
MODEL = "lublin:jobs=400,procs=32,load=0.9"
WINDOWED = "lublin_256_10k", "lublin_256_new2"  # logs of which a suite has WINDOWS
CARD = Card(
    name="mine",
    division="completion",
    kind="policy",
    what="Shortest estimates first.",
    policy="easy(order='estimate')",
    found={"command": "bfenv search ..."},
)


@pytest.mark.parametrize("name", shipped_names(POLICY))
def test_shipped(name: str) -> None:
    """An agent is the policy on its card, bit for bit, small, and says how it was found."""
    card, agent = read_card(name), find_policy(f"agent:{name}")
    trace = load_workload(MODEL)
    one, other = simulate(trace, agent), simulate(trace, card.policy)
    assert agent.name == f"agent:{name}" and agent.summary == card.what
    assert np.array_equal(one.start, other.start)
    assert parse_name(card.policy).base == "easy"
    exact = all(str(score["workload"]).endswith("+exact") for score in card.scores)
    alone = "clairvoyant" if exact else "completion"
    assert card.division == ("trials" if agent.trials else alone)
    assert card.found["command"].startswith("bfenv search ") and card.trained_on and card.scores


@pytest.mark.parametrize("name", shipped_names(POLICY))
def test_trained_ranges(name: str) -> None:
    """No range trained on reaches into a test split or a window, nor is a suite's trace in it."""
    card = read_card(name)
    frozen = {trace.hash for trace in suite_contents().values()}
    content = json.loads(MODELS.joinpath(f"{name}.json").read_bytes())
    for span, part in zip(card.trained_on, content["trained_on"], strict=True):
        assert part["hash"] not in frozen and span.jobs_hash not in frozen
        if span.trace in WINDOWED:
            assert all(span.last <= first or first + 1024 <= span.first for first in WINDOWS)
        elif span.numbers:  # a log, whose last 40 % of the time are the test split
            assert part["split"] == "train" and span.last < part["jobs"]
    trained = {(part["workload"], part["split"]) for part in content["trained_on"]}
    for score in card.scores:
        assert score["split"] == "test" or (score["workload"], score["split"]) not in trained


@pytest.mark.parametrize("name", shipped_names(POLICY))
def test_suite_is_unseen(name: str) -> None:
    """The recorded hashes and numbers of jobs exclude all jobs of the suites of logs."""
    card = read_card(name)
    for entry in SUITES["archive-v1"].entries[::2]:
        (frozen,) = entry.traces
        check_unseen(name, card.seen_jobs, log(entry.label, split="test"), source=frozen.source)
    for entry in SUITES["rlscheduler-windows-v1"].entries:
        for window in entry.traces:
            _check(card, window.source)


def test_round_trip(tmp_path: Path) -> None:
    """A card reads back as it was written, and its file is an agent."""
    path = tmp_path / "mine.json"
    write_card(path, replace(CARD, versions={"bfenv": "1"}))
    assert read_card(str(path)) == replace(CARD, versions={"bfenv": "1"})
    agent = find_policy(f"agent:{path}")
    trace = load_workload(MODEL)
    assert np.array_equal(simulate(trace, agent).start, simulate(trace, "easy-sjf").start)
    assert find_policy(f"agent(name='{path}')").name == agent.name


@pytest.mark.parametrize(
    "change, message",
    [
        ({"format": "other"}, "is not a card"),
        ({"policy": 3}, "policy is not"),
        ({"trained_on": [1]}, "not a span of jobs"),
        ({"scores": [1]}, "scores must be a list of objects"),
        ({"division": "open"}, "division must be one of completion, trials, clairvoyant"),
        ({"kind": "tree"}, "does not know agents of the kind 'tree'"),
        ({"failures": [1]}, "failures must be a list of texts"),
        ({"scores": [{}]}, "a score needs texts in on"),
        ({"scores": [{"on": "x"}]}, "a score needs a number from 0 in slowdown_ratio, got None"),
        ({"scores": [SCORE | {"load": "own"}]}, "a number from 0 in load, got 'own'"),
        ({"scores": [SCORE | {"lowest": 1}]}, "a number from 0 in highest, got None"),
        ({"scores": [SCORE | {"mean_wait": float("nan")}]}, "a number from 0 in mean_wait"),
        ({"found": {"command": 1}}, "command of found is not a str"),
        ({"found": {"settings": []}}, "settings of found is not a dict"),
        ({"found": {"left_out": [1]}}, "a workload that was left out needs its name"),
        ({"found": {"left_out": [{"workload": "x"}]}}, "a number from 0 in penalized_slowdown"),
        ({"policy": "easy(order=sise)"}, "sise"),
    ],
)
def test_wrong_card(tmp_path: Path, change: dict[str, object], message: str) -> None:
    """What is wrong with a card is named."""
    path = tmp_path / "mine.json"
    write_card(path, CARD)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(PolicyError, match=message):
        find_policy(f"agent:{path}")


def test_name_in_error(tmp_path: Path) -> None:
    """The error names the card, whichever of its fields is damaged."""
    path = tmp_path / "mine.json"
    write_card(path, replace(CARD, division="open"))
    with pytest.raises(PolicyError, match=re.escape(f"{path}: its card is damaged: division")):
        read_card(path)


def test_file_of_a_model_in_error(tmp_path: Path) -> None:
    """What is wrong with a model's card is said of the card's file."""
    model = tmp_path / "mine.zip"
    model.write_bytes(b"")
    (tmp_path / "mine.card.json").write_text("{}")
    with pytest.raises(PolicyError, match="mine.card.json: is not a card of format"):
        read_card(model)


@pytest.mark.parametrize(
    "policy",
    [
        "code_of_a_card:policy",
        "code_of_a_card:make(limit=3)",
        "agent:mine",
        "agent(name='code_of_a_card:policy')",
        "easy(order='code_of_a_card:order')",
        "no-such-policy",
    ],
)
def test_no_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], policy: str
) -> None:
    """A card names only policies of bfenv: the module that another one names is not imported."""
    (tmp_path / "code_of_a_card.py").write_text("print('IMPORTED')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    write_card(tmp_path / "mine.json", replace(CARD, policy=policy))
    for name in ("agent:mine.json", "agent(name=mine.json)"):
        with pytest.raises(PolicyError, match="cards may name only policies of bfenv"):
            find_policy(name)
        monkeypatch.setattr("sys.argv", ["bfenv", "evaluate", "-p", name, "-w", MODEL])
        with pytest.raises(SystemExit) as end:
            main()
        output = capfd.readouterr()
        assert end.value.code == 2 and "cards may name only" in output.err
        assert "IMPORTED" not in output.out + output.err
    assert "code_of_a_card" not in sys.modules


def test_settings_on_a_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the settings on a network's card, only those of how it acts count: no code is named."""
    (tmp_path / "code_of_a_card.py").write_text("raise SystemExit('IMPORTED')")
    monkeypatch.syspath_prepend(tmp_path)
    content = json.loads(MODELS.joinpath("network.json").read_bytes())
    content["settings"]["reward"] = "code_of_a_card:reward"
    (tmp_path / "agent.json").write_text(json.dumps(content))
    assert set(load_network(tmp_path / "agent.json").settings) == set(ACTING)


def hostile_card(folder: Path, kind: str) -> Path:
    """Write a card whose texts would steer a terminal."""
    steering = "\x1b]0;owned\x07\x1b[2J\x9b1m\u202e"
    content = json.loads(
        MODELS.joinpath("network.json" if kind == "network" else "formula.json").read_bytes()
    )
    content |= {"name": steering, "what": steering, "failures": [steering]}
    content["found"]["command"] = steering
    for score in content["scores"]:
        score |= {name: steering for name in ("on", "workload") if name in score}
    for span in (*content["trained_on"], *content.get("validated_on", ())):
        span |= {name: steering for name in ("trace", "workload") if name in span}
    path = folder / "agent.json"
    path.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize("kind", ["network", "policy"])
@pytest.mark.parametrize("format", [*Format])
def test_control_characters(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], kind: str, format: str
) -> None:
    """Control characters of a card are not printed, in any format."""
    path = hostile_card(tmp_path, kind)
    show_agent(str(path), Format(format))
    output = capfd.readouterr().out
    assert output and not set(output) & {"\x1b", "\x07", "\x9b", "\u202e"}


def test_wrong_file(tmp_path: Path) -> None:
    """Unknown names, missing files, other files and what JSON cannot hold are errors."""
    with pytest.raises(UnknownNameError, match="agent"):
        find_policy("agent:nobody")
    with pytest.raises(PolicyError, match="cannot be read"):
        find_policy(f"agent:{tmp_path / 'none.json'}")
    (tmp_path / "bad.json").write_bytes(b"\x80\x04")
    with pytest.raises(PolicyError, match="is not a card"):
        find_policy(f"agent:{tmp_path / 'bad.json'}")
    with pytest.raises(BfenvError, match="must be JSON"):
        write_card(tmp_path / "mine.json", replace(CARD, found={"x": np.zeros(1)}))


def test_training_jobs_are_refused() -> None:
    """An agent is refused on jobs it was trained on, at any load, and taken on others."""
    card = replace(CARD, trained_on=tuple(searched_spans((MODEL,), "all")))
    for source in (MODEL, f"{MODEL},split=test", "lublin:jobs=400,procs=32,load=0.5"):
        with pytest.raises(PolicyError, match="agent:mine was trained on"):
            _check(card, source)
    _check(card, f"{MODEL},seed=5")


def test_split_of_a_log(tmp_path: Path) -> None:
    """On a log, jobs are told apart by their numbers: the test split is taken, the rest is not."""
    from bfenv.workloads import write_swf

    path = tmp_path / "log.swf"
    write_swf(load_workload(MODEL), path)
    card = replace(CARD, trained_on=tuple(searched_spans((str(path),), "train")))
    for load in ("", ",load=0.5"):
        _check(card, f"{path}:split=test{load}")
    first, last = split_range(load_workload(path), "test")
    with pytest.raises(PolicyError, match=f"trained on 3 of the {last - first + 3} jobs"):
        _check(card, f"{path}:first_job={first - 3}")


def _check(card: Card, source: str) -> None:
    check_unseen(f"agent:{card.name}", card.seen_jobs, load_workload(source), source=source)


def test_large_model(tmp_path):
    """A model of more than 256 MiB is refused when its card is read."""
    (tmp_path / "model.zip").touch()
    os.truncate(tmp_path / "model.zip", 2**40)
    with pytest.raises(BfenvError, match="model.zip: has more than 268,435,456 bytes"):
        hash_of(tmp_path / "model.zip")
