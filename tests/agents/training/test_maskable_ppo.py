"""MaskablePPO through the same settings: the same network, files and validation."""

import numpy as np
import pytest
import torch

from bfenv.agents.network_agent import load_network
from bfenv.agents.training import change, find_settings
from bfenv.agents.training.maskable_ppo import new_model, train
from bfenv.agents.training.networks import MASKED
from bfenv.agents.training.run_folder import read_progress
from bfenv.core.errors import BfenvError
from bfenv.envs.sb3 import BackfillVecEnv
from tests.agents.training.test_training import Killed, assert_equal, weights_in

pytestmark = pytest.mark.torch

SMALL = change(
    find_settings("toy"),
    {
        "algo": "maskable-ppo",
        "num_envs": 4,
        "num_steps": 16,
        "steps": 128,
        "validate_every": 1,
        "environment": {"max_age": None},
    },
)


def test_train(tmp_path):
    """It trains, validates, and writes an agent, a model and the progress."""
    path = train(SMALL, tmp_path)
    agent = load_network(path)
    assert agent.card.versions.keys() >= {"sb3-contrib", "stable-baselines3"}
    rows = read_progress(tmp_path / "progress.csv")
    assert [row["steps"] for row in rows] == ["64", "128"]
    assert all(row["ratio"] and row["entropy"] for row in rows)
    assert (tmp_path / "model.zip").is_file()


def progress_of(folder):
    """The rows of a training, without their times."""
    rows = read_progress(folder / "progress.csv")
    return [
        {k: v for k, v in row.items() if k not in ("seconds", "steps_per_second")} for row in rows
    ]


@pytest.mark.parametrize(
    ("changes", "last"),
    [
        ({"steps": 64 * 6, "validate_every": 2, "environment": {"episode_jobs": 8}}, 5),
        ({"steps": 64 * 4, "anneal": True, "network": "attention"}, 2),
        ({"steps": 64 * 4 - 8, "target_kl": 1e-3, "network": "ranker"}, 4),
    ],
)
def test_resume(tmp_path, changes, last):
    """Interrupted and resumed, the weights and all else are those of an uninterrupted training."""
    settings = change(SMALL, changes)

    def kill(row):
        if row["update"] == last:  # perhaps between two checkpoints
            raise Killed

    train(settings, tmp_path / "whole")
    with pytest.raises(Killed):
        train(settings, tmp_path / "cut", report=kill)
    np.random.seed(7)
    torch.manual_seed(7)
    train(settings, tmp_path / "cut", resume=True)
    assert_equal(tmp_path / "whole", tmp_path / "cut")
    assert progress_of(tmp_path / "whole") == progress_of(tmp_path / "cut")
    agents = [(tmp_path / name / "agent.json").read_text() for name in ("whole", "cut")]
    assert agents[0] == agents[1]


def test_complete(tmp_path):
    """A complete training is not trained any further, whether its steps or patience ended it."""
    for name, changes in (
        ("steps", {}),
        ("patience", {"patience": 1, "learning_rate": 1e-9, "steps": 640}),
    ):
        settings, rows = change(SMALL, changes), []
        train(settings, tmp_path / name)
        before = (tmp_path / name / "checkpoint.npz").read_bytes()
        train(settings, tmp_path / name, resume=True, report=rows.append)
        assert rows == [] and (tmp_path / name / "checkpoint.npz").read_bytes() == before


def test_seed(tmp_path):
    """The same seed gives the same weights, another seed others."""
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        train(change(SMALL, {"seed": seed}), tmp_path / name)
    assert_equal(tmp_path / "a", tmp_path / "b")
    (a, _), (c, _) = weights_in(tmp_path / "a"), weights_in(tmp_path / "c")
    assert not np.array_equal(a["network/scorer.score.weight"], c["network/scorer.score.weight"])


def test_patience(tmp_path):
    """A training that patience ends has one row for each update."""
    train(change(SMALL, {"patience": 1, "learning_rate": 1e-9, "steps": 640}), tmp_path)
    assert [row["update"] for row in read_progress(tmp_path / "progress.csv")] == ["1"]


def test_policy():
    """The policy's distribution is the masked softmax of the network's scores."""
    envs = BackfillVecEnv(4, list(SMALL.workload), **SMALL.environment)
    model = new_model(SMALL, envs)
    observation = envs.reset()
    masks = np.array(envs.env_method("action_masks"))
    tensors, _ = model.policy.obs_to_tensor(observation)
    with torch.no_grad():
        scores, values = model.policy.scorer(*(tensors[k] for k in ("queue", "profile", "cluster")))
        own = model.policy.get_distribution(tensors, masks).distribution.probs
    expected = scores.masked_fill(~torch.from_numpy(masks), MASKED).softmax(dim=1)
    assert torch.allclose(own, expected, atol=1e-6)
    assert torch.equal(model.policy.predict_values(tensors)[:, 0], values)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"warm_start": "easy"}, "warm_start='easy' needs --algo ppo"),
        ({"horizon": "1d"}, "horizon='1d' needs --algo ppo"),
        ({"credit": "average"}, "credit='average' needs --algo ppo"),
    ],
)
def test_refused(tmp_path, changes, message):
    """What MaskablePPO cannot do is refused."""
    with pytest.raises(BfenvError, match=message):
        train(change(SMALL, changes), tmp_path)
