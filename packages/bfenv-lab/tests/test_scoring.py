"""A network has the scores of the policy that it equals, and is scored on unseen jobs only."""

import numpy as np
import pytest

from bfenv.agents.card import Card
from bfenv.agents.network_agent import NetworkAgent, load_network
from bfenv.agents.seen_jobs import span_of
from bfenv.core.errors import BfenvError
from bfenv.envs.features import CLUSTER, JOB_ESTIMATE, PROFILE, QUEUE
from bfenv.workloads.load import load_workload
from bfenv.workloads.transform import split_range
from bfenv_lab.scoring import SHAKE, score_network, summary
from bfenv_lab.search.cases import Case
from bfenv_lab.search.objective import score_policies
from tests.conftest import log

WORKLOAD = "lublin:jobs=500,procs=64,seed=3"


def shortest_first(trained_on=()):
    """A ranker whose only weight that is not 0 is the linear one of the estimate."""
    jobs = len(QUEUE) + 1
    shapes = {
        "context.weight": (2, len(PROFILE) + len(CLUSTER)),
        "context.bias": (2,),
        "job.weight": (2, jobs),
        "job.bias": (2,),
        "job_context.weight": (2, 2),
        "second.weight": (2, 2),
        "second.bias": (2,),
        "second_context.weight": (2, 4),
        "score.weight": (1, 2),
        "state.weight": (2, 4),
        "state.bias": (2,),
        "outputs.weight": (2, 2),
        "outputs.bias": (2,),
        "linear.weight": (1, jobs),
    }
    weights = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    weights["linear.weight"][0, JOB_ESTIMATE] = -1
    card = Card(
        name="shortest",
        division="completion",
        kind="network",
        what="shortest estimates first",
        network="ranker",
        hidden=2,
        settings={"window": 200, "reservations": "chosen"},
        queue_features=tuple(feature.name for feature in QUEUE),
        cluster_features=tuple(feature.name for feature in CLUSTER),
        trained_on=tuple(trained_on),
    )
    return NetworkAgent(card, weights)


def test_same_as_policy():
    """A ranker that is linear in one column is EASY in this order, with the same scores."""
    begin, end = split_range(load_workload(WORKLOAD), "test")
    heard = []
    scores = score_network(shortest_first(), [WORKLOAD], shakes=2, done=heard.append)
    assert heard == scores and [score["load"] for score in scores] == [None, 0.9]
    for score in scores:
        cases = [
            Case(WORKLOAD, "test", 0, end - begin, score["load"], SHAKE, seed) for seed in range(2)
        ]
        expected = summary(score_policies(["easy-sjf"], cases)[0])
        assert {name: score[name] for name in expected} == pytest.approx(expected)
        assert score["outside_window"] == 0 and score["jobs"] == end - begin


@pytest.mark.thorough
def test_shipped_scores():
    """The card of the network has the scores that are measured now."""
    agent = load_network("network")
    log("KTH-SP2-1996-2.1-cln")  # without this log, the test is skipped
    (own,) = score_network(agent, ["KTH-SP2-1996-2.1-cln"], [None], shakes=5)
    (kept,) = (
        score
        for score in agent.card.scores
        if score.get("workload") == own["workload"] and score["load"] is None
    )
    # The last bits of a product of matrices depend on the processor, and may turn a close choice.
    numbers = {name: value for name, value in own.items() if isinstance(value, int | float)}
    assert {name: kept[name] for name in numbers} == pytest.approx(numbers, rel=1e-3)
    assert {name: kept[name] for name in own if name not in numbers} == {
        name: own[name] for name in own if name not in numbers
    }


def test_seen_jobs():
    """A network is not scored on jobs that it was trained on."""
    agent = shortest_first([span_of(load_workload(WORKLOAD))])
    with pytest.raises(BfenvError, match="shortest was trained on"):
        score_network(agent, [WORKLOAD], shakes=1)
