"""Files of networks: read back as written, and refused if they are anything else."""

import json
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import bfenv
from bfenv.agents import PolicyAgent
from bfenv.agents.agent_names import open_agent
from bfenv.agents.card import ACTING, MODELS, NETWORK, Card, shipped_names
from bfenv.agents.network_agent import (
    load_network,
    save_network,
)
from bfenv.agents.seen_jobs import span_of
from bfenv.analysis.comparison import STARVES
from bfenv.baselines import find_competitor
from bfenv.cli.app import app
from bfenv.core.errors import BfenvError, PolicyError
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.features import CLUSTER, PROFILE, QUEUE, VERSION
from bfenv.envs.settings import DEFAULTS
from bfenv.leaderboard.suite import find_suite
from bfenv.leaderboard.task import plan_rows
from bfenv.testing.report import report_on
from bfenv.workloads.transform import split_range
from tests.agents.acting import play_whole

HIDDEN = 3


def some_weights():
    """Weights of a scorer, as torch names and shapes them."""
    rng = np.random.default_rng(0)
    context = len(PROFILE) + len(CLUSTER)
    shapes = {
        "context.weight": (HIDDEN, context),
        "context.bias": (HIDDEN,),
        "job.weight": (HIDDEN, len(QUEUE)),
        "job.bias": (HIDDEN,),
        "job_context.weight": (HIDDEN, HIDDEN),
        "second.weight": (HIDDEN, HIDDEN),
        "second.bias": (HIDDEN,),
        "second_context.weight": (HIDDEN, 2 * HIDDEN),
        "score.weight": (1, HIDDEN),
        "state.weight": (HIDDEN, 2 * HIDDEN),
        "state.bias": (HIDDEN,),
        "outputs.weight": (2, HIDDEN),
        "outputs.bias": (2,),
    }
    return {name: rng.normal(size=s).astype(np.float32) for name, s in shapes.items()}


CARD = Card(
    name="some",
    division="completion",
    kind="network",
    what="a network",
    network="scorer",
    hidden=HIDDEN,
    settings={name: DEFAULTS[name] for name in ACTING} | {"window": 4},
    observation_version=VERSION,
    queue_features=tuple(feature.name for feature in QUEUE),
    cluster_features=tuple(feature.name for feature in CLUSTER),
)


def test_round_trip(tmp_path):
    """Card and weights are those that were saved, to the last bit."""
    weights = some_weights()
    save_network(tmp_path / "a.json", CARD, weights)
    agent = load_network(tmp_path / "a.json")
    assert agent.card == CARD
    for name, values in weights.items():
        assert np.array_equal(agent.weights[name], values)


@pytest.mark.parametrize("name", shipped_names(NETWORK))
def test_shipped(name):
    """A network that bfenv comes with is small, and beats EASY on unseen jobs, and starves none."""
    path = MODELS.joinpath(f"{name}.json")
    assert len(path.read_bytes()) < 1_000_000
    opened = open_agent(f"agent:{name}")
    card = load_network(name).card
    assert card.name == name
    assert all(score["ratio"] < 1 and score["wait_ratio"] <= STARVES for score in card.scores)
    assert card.scores and card.failures and card.found["command"].startswith("python -m bfenv.")
    for trace in BackfillEnv(split="test").batch.source.traces:
        opened.check_unseen(trace, 0, len(trace))
    for trace in BackfillEnv(split="train").batch.source.traces:
        with pytest.raises(BfenvError, match="was trained on"):
            opened.check_unseen(trace, *split_range(trace, "train"))


def test_unknown_column(tmp_path):
    """A network that reads a column that observations do not have is refused."""
    card = replace(CARD, cluster_features=("free", "moon"))
    save_network(tmp_path / "a.json", card, some_weights())
    with pytest.raises(BfenvError, match="other columns: free, moon"):
        load_network(tmp_path / "a.json")


def broken(content, **changes):
    return json.dumps({**content, **changes})


def test_damaged(tmp_path):
    """A file that is not such a network is refused in one line, whatever is wrong."""
    path = tmp_path / "a.json"
    save_network(path, CARD, some_weights())
    content = json.loads(path.read_text())
    weights = content["weights"]
    infinite = {"shape": [2], "float32": "AACAfwAAgH8="}
    texts = {
        "not a card of format": ["", "[]", "{}", broken(content, format="bfenv scorer 1")],
        "is a policy, not a network; use --policy agent:": [broken(content, kind="policy")],
        "observations of version 5": [broken(content, observation_version=5)],
        "observations of version 1": [broken(content, observation_version=1)],
        "damaged": [
            broken(content, weights={}),
            broken(content, weights=[]),
            broken(content, weights=weights | {"second.weight": weights["context.weight"]}),
            broken(content, weights=weights | {"outputs.bias": infinite}),
            broken(content, weights=weights | {"outputs.bias": {"shape": [2], "float32": "!"}}),
        ],
        "not a span of jobs": [broken(content, trained_on=[{"trace": "x"}])],
        "has no network 'attention'": [broken(content, network="attention")],
    }
    for message, each in texts.items():
        for text in each:
            path.write_text(text)
            with pytest.raises(BfenvError, match=message) as caught:
                load_network(path)
            assert "\n" not in str(caught.value)
    with pytest.raises(BfenvError, match="cannot be read"):
        load_network(tmp_path / "missing.json")


TRACE = "lublin:procs=64,jobs=200,seed=9,load=0.9"


def test_same_schedule() -> None:
    """As a policy, a network makes the schedule that it makes as an agent."""
    name, trace = "agent:network", bfenv.load_workload(TRACE)
    shares, agent = [], play_whole(trace, name, 0)[0]
    schedule = bfenv.simulate(trace, name, watch=shares.append).check()
    assert schedule.policy == name and shares[0]() == 1.0
    assert not find_competitor(name).trials
    for column in ("start", "end", "trial_start", "trial_end"):
        assert np.array_equal(getattr(schedule, column), getattr(agent, column))


def test_elsewhere() -> None:
    """It can be sent to another process, and runs there."""
    policy = pickle.loads(pickle.dumps(find_competitor("agent:network")))
    trace = bfenv.load_workload(TRACE)
    schedules = bfenv.simulate_many([trace], [policy, "agent:network"], jobs=2)
    first, second = (schedule.start for schedule in schedules)
    assert np.array_equal(first, second)


def test_seen_jobs(tmp_path: Path) -> None:
    """`bfenv evaluate` says that a network was trained on the jobs it is scored on."""
    agent, path = load_network("network"), tmp_path / "mine.json"
    spans = (span_of(bfenv.load_workload(TRACE)),)
    save_network(path, replace(agent.card, trained_on=spans), agent.weights)
    result = CliRunner().invoke(app, ["evaluate", "-w", TRACE, "-p", f"agent:{path}"])
    assert "was trained on" in result.output


def test_leaderboard() -> None:
    """A leaderboard ranks it as the agent that it is, whichever option names it."""
    suite = find_suite("smoke-v1")
    rows = plan_rows(suite, ["easy", "agent:network"], ["agent:network"])
    assert rows == plan_rows(suite, ["easy"], ["agent:network"])


def test_no_passes() -> None:
    """Whatever needs single passes of a policy says that a network has none."""
    with pytest.raises(PolicyError, match="cannot decide pass by pass"):
        report_on("agent:network")
    env = BackfillEnv(TRACE, episode_jobs=20, warmup_jobs=0)
    with pytest.raises(PolicyError, match="makes whole schedules"):
        PolicyAgent("agent:network", env)
    with pytest.raises(BfenvError, match="has no event order"):
        bfenv.simulate(bfenv.load_workload(TRACE), "agent:network", event_order="pyss")
