"""A network has the scores of the policy that it equals."""

from dataclasses import replace

import numpy as np
import pytest

from bfenv.agents.card import ACTING, Card
from bfenv.agents.network_agent import save_network
from bfenv.envs.features import CLUSTER, JOB_ESTIMATE, PROFILE, QUEUE, VERSION
from bfenv.envs.settings import DEFAULTS
from bfenv.workloads.load import load_workload
from bfenv.workloads.transform import split_range
from bfenv_lab.scoring import SHAKE, score_card, summary
from bfenv_lab.search.cases import Case
from bfenv_lab.search.objective import score_policies

WORKLOAD = "lublin:jobs=500,procs=64,seed=3"


def shortest_first():
    """Card and weights of a ranker whose only weight that is not 0 is that of the estimate."""
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
    settings = {name: DEFAULTS[name] for name in ACTING}
    card = Card(
        name="shortest",
        division="completion",
        kind="network",
        what="shortest estimates first",
        network="ranker",
        hidden=2,
        settings=settings | {"window": 200, "reservations": "chosen"},
        queue_features=tuple(feature.name for feature in QUEUE),
        cluster_features=tuple(feature.name for feature in CLUSTER),
        observation_version=VERSION,
    )
    return card, weights


def test_same_as_policy(tmp_path):
    """A ranker that is linear in one column is EASY in this order, with the same scores."""
    card, weights = shortest_first()
    path = tmp_path / "shortest.json"
    save_network(path, card, weights)
    begin, end = split_range(load_workload(WORKLOAD), "test")
    heard = []
    card = replace(card, policy=f"agent:{path}")
    scores = score_card(card, [WORKLOAD], shakes=2, done=heard.append)
    assert heard == scores and [score["load"] for score in scores] == [None, 0.9]
    for score in scores:
        cases = [
            Case(WORKLOAD, "test", 0, end - begin, score["load"], SHAKE, seed) for seed in range(2)
        ]
        expected = summary(score_policies(["easy-sjf"], cases)[0])
        assert {name: score[name] for name in expected} == pytest.approx(expected)
        assert score["jobs"] == end - begin
