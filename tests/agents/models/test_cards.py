"""Cards of agents: what is shipped, what is refused, and that nothing in them runs."""

import json
import pickle
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
    metrics,
    simulate,
)
from bfenv.agents.models import Card, agent_names, check_unseen, read_card, write_card
from bfenv.agents.models.scoring import find_failures, geometric_means, score_card
from bfenv.agents.models.training import training_record
from bfenv.core.names import parse_name
from bfenv.leaderboard.suite import SUITES, WINDOWS, suite_contents
from bfenv.workloads import split_range
from tests.conftest import log

MODEL = "lublin:jobs=400,procs=32,load=0.9"
WINDOWED = "lublin_256_10k", "lublin_256_new2"  # logs of which a suite has WINDOWS
CARD = Card(
    name="mine",
    division="completion",
    kind="policy",
    what="Shortest estimates first.",
    policy="easy(order='estimate')",
    found={"command": "bfenv search ..."},
    training=(),
)


@pytest.mark.parametrize("name", agent_names())
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
    assert card.found["command"].startswith("bfenv search ") and card.training and card.scores


@pytest.mark.parametrize("name", agent_names())
def test_no_test_job_in_training(name: str) -> None:
    """No range trained on reaches into a test split or a window, nor is a suite's trace in it."""
    card = read_card(name)
    frozen = {trace.hash for trace in suite_contents().values()}
    for part in card.training:
        assert part["hash"] not in frozen and part["jobs_hash"] not in frozen
        if part["workload"] in WINDOWED:
            begin, end = part["first_job"], part["end_job"]
            assert all(end <= first or first + 1024 <= begin for first in WINDOWS)
        elif "first_number" in part:  # a log, whose last 40 % of the time are the test split
            assert part["split"] == "train" and part["end_job"] < part["jobs"]
    named = {part["workload"] for part in card.training}
    trained = {(part["workload"], part["split"]) for part in card.training}
    for score in card.scores:
        assert score["split"] == "test" or (score["workload"], score["split"]) not in trained
    assert named


@pytest.mark.slow
@pytest.mark.parametrize("name", agent_names())
def test_suite_is_unseen(name: str) -> None:
    """The recorded hashes and numbers of jobs exclude all jobs of the suites of logs."""
    card = read_card(name)
    for entry in SUITES["archive-v1"].entries[::2]:
        (frozen,) = entry.traces
        check_unseen(card, frozen.source, log(entry.label, split="test"))
    for entry in SUITES["rlscheduler-windows-v1"].entries:
        for window in entry.traces:
            check_unseen(card, window.source, load_workload(window.source))


@pytest.mark.parametrize(("entry", "slowdown"), [(0, 8.34), (1, 25.77)])
def test_windows_formula(entry: int, slowdown: float) -> None:
    """On its windows, the agent is below the best classical policies; docs/agents/scores.md."""
    log(WINDOWED[entry])
    windows = [
        load_workload(trace.source)
        for trace in SUITES["rlscheduler-windows-v1"].entries[entry].traces
    ]

    def mean(policy: str) -> float:
        schedules = [simulate(window, policy) for window in windows]
        return float(np.mean([metrics(one)["mean_bounded_slowdown"] for one in schedules]))

    assert round(mean("agent:windows-formula"), 2) == slowdown
    assert slowdown < 0.6 * min(mean(policy) for policy in ("saf", "easy-f2", "easy-f4"))


def test_round_trip(tmp_path: Path) -> None:
    """A card reads back as it was written, and its file is an agent."""
    path = tmp_path / "mine.json"
    write_card(path, replace(CARD, versions={"bfenv": "1"}))
    assert read_card(str(path)) == replace(CARD, versions={"bfenv": "1"})
    agent = find_policy(f"agent:{path}")
    trace = load_workload(MODEL)
    assert np.array_equal(simulate(trace, agent).start, simulate(trace, "easy-sjf").start)
    assert find_policy(f"agent(name='{path}')").name == agent.name


def test_no_pickle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading an agent unpickles nothing."""

    def refuse(*arguments: object) -> None:
        raise AssertionError("unpickled")

    write_card(tmp_path / "mine.json", CARD)
    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    find_policy(f"agent:{tmp_path / 'mine.json'}")


@pytest.mark.parametrize(
    "change, message",
    [
        ({"format": "other"}, "is not a card"),
        ({"policy": 3}, "policy is not"),
        ({"training": [1]}, "must be lists of objects"),
        ({"division": "open"}, "division must be one of completion, trials, clairvoyant"),
        ({"kind": "tree"}, "does not know agents of the kind 'tree'"),
        ({"policy": "agent:mine"}, "its policy is another agent"),
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
    card = replace(CARD, training=tuple(training_record((MODEL,), "all")))
    for source in (MODEL, f"{MODEL},split=test", "lublin:jobs=400,procs=32,load=0.5"):
        with pytest.raises(PolicyError, match="agent:mine was trained on"):
            check_unseen(card, source, load_workload(source))
    other = f"{MODEL},seed=5"
    check_unseen(card, other, load_workload(other))


def test_split_of_a_log(tmp_path: Path) -> None:
    """On a log, jobs are told apart by their numbers: the test split is taken, the rest is not."""
    from bfenv.workloads import write_swf

    path = tmp_path / "log.swf"
    write_swf(load_workload(MODEL), path)
    card = replace(CARD, training=tuple(training_record((str(path),), "train")))
    for load in ("", ",load=0.5"):
        check_unseen(card, *_source(path, f"split=test{load}"))
    first, _ = split_range(load_workload(path), "test")
    source, trace = _source(path, f"first_job={first - 3}")
    with pytest.raises(PolicyError, match=f"trained on 3 of the {len(trace)} jobs"):
        check_unseen(card, source, trace)


def _source(path: Path, options: str):  # type: ignore[no-untyped-def]
    source = f"{path}:{options}"
    return source, load_workload(source)


def test_scores() -> None:
    """EASY in its own order has ratios of 1; training jobs are refused; failures are sentences."""
    easy = replace(CARD, policy="easy(order=fcfs)")
    scores = score_card(easy, [MODEL], [None], shakes=2)
    (score,) = scores
    assert (score["slowdown_ratio"], score["wait_ratio"], score["copies"]) == (1.0, 1.0, 2)
    assert find_failures(scores) == ()
    assert geometric_means(scores) == {"own": 1.0}
    bad = dict(score, slowdown_ratio=1.2, wait_ratio=1.9, highest_wait_ratio=2.5)
    assert len(find_failures([bad])) == 2
    seen = replace(easy, training=tuple(training_record((MODEL,), "all")))
    with pytest.raises(PolicyError, match="was trained on"):
        score_card(seen, [MODEL], [None], shakes=1)
