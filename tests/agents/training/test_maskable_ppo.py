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
    with pytest.raises(BfenvError, match="--resume needs"):
        train(SMALL, tmp_path, resume=True)
