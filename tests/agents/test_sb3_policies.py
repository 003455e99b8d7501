"""ScorerPolicy, the networks as policies of MaskablePPO, and their export."""

import numpy as np
import pytest

import bfenv
from bfenv.agents import load_agent, save_model
from bfenv.agents.network_agent import load_network
from bfenv.envs.features import JOB_ESTIMATE, JOB_LEGAL, JOB_SIZE, LOG_LONGEST
from bfenv.envs.sb3 import BackfillVecEnv

torch = pytest.importorskip("torch")
contrib = pytest.importorskip("sb3_contrib")
pytestmark = pytest.mark.torch

from stable_baselines3.common.vec_env import VecNormalize  # noqa: E402

from bfenv.agents.networks import MASKED, OBSERVATION  # noqa: E402
from bfenv.agents.sb3_policies import ScorerPolicy, export_network  # noqa: E402


def make_model(window=6, network="scorer", saf=0.0, wrapper=lambda env: env, **settings):
    env = wrapper(BackfillVecEnv(4, window=window, episode_jobs=10, warmup_jobs=40, **settings))
    own = {"network": network, "hidden": 8, "saf": saf}
    steps = {"n_steps": 16, "batch_size": 16, "policy_kwargs": own}
    return contrib.MaskablePPO(ScorerPolicy, env, seed=0, device="cpu", **steps)


@pytest.mark.parametrize("network", ["scorer", "ranker"])
def test_policy(network):
    """The policy's distribution is the masked softmax of the network's scores."""
    model = make_model(network=network)
    tensors, _ = model.policy.obs_to_tensor(model.env.reset())
    masks = np.array(model.env.env_method("action_masks"))
    with torch.no_grad():
        scores, values = model.policy.scorer(*(tensors[part] for part in OBSERVATION))
        own = model.policy.get_distribution(tensors, masks).distribution.probs
    expected = scores.masked_fill(~torch.from_numpy(masks), MASKED).softmax(dim=1)
    assert torch.allclose(own, expected, atol=1e-6)
    assert torch.equal(model.policy.predict_values(tensors)[:, 0], values)


def test_saf():
    """The linear part of a ranker begins as the order of areas; another network has none."""
    model = make_model(network="ranker", saf=3.0)
    tensors, _ = model.policy.obs_to_tensor(model.env.reset())
    with torch.no_grad():
        model.policy.scorer.score.weight.zero_()
        scores, _ = model.policy.scorer(*(tensors[part] for part in OBSERVATION))
    queue = tensors["queue"]
    area = torch.log(queue[:, :, JOB_SIZE]) + LOG_LONGEST * queue[:, :, JOB_ESTIMATE]
    value = torch.where(queue[:, :, JOB_LEGAL] > 0, scores[:, :-1] + 3 * area, torch.nan)
    first = value.nanmean(dim=1, keepdim=True).expand_as(value)
    assert (~value.isnan()).sum(dim=1).max() > 1
    assert torch.allclose(value[~value.isnan()], first[~value.isnan()], atol=1e-3)
    with pytest.raises(bfenv.BfenvError, match="saf"):
        make_model(saf=1.0)


def test_size():
    """The window does not change the number of weights."""
    sizes = {sum(p.numel() for p in make_model(w).policy.parameters()) for w in (4, 64)}
    assert len(sizes) == 1


def test_learns_and_loads(tmp_path):
    """Training changes all weights; a saved model acts as before."""
    model = make_model()
    before = [weight.clone() for weight in model.policy.parameters()]
    model.learn(64)
    pairs = zip(before, model.policy.parameters(), strict=True)
    assert all((old != new).any() for old, new in pairs)
    agent = load_agent(save_model(model, tmp_path / "model.zip"), trust=True)
    observation = model.env.reset()
    masks = np.array(model.env.env_method("action_masks"))
    own, _ = agent.predict(observation, action_masks=masks, deterministic=True)
    assert (own == model.predict(observation, action_masks=masks, deterministic=True)[0]).all()


@pytest.mark.parametrize("network", ["scorer", "ranker"])
def test_export(tmp_path, network):
    """An exported network acts as its model does, on a file whose card has the training's jobs."""
    model = make_model(network=network)
    for weight in model.policy.parameters():  # those of a new network hardly tell jobs apart
        torch.nn.init.normal_(weight, std=0.4)
    agent = load_network(export_network(model, tmp_path / "model.json"))
    assert agent.settings["window"] == 6 and agent.trained_on
    observation = model.env.reset()
    for _ in range(20):
        masks = np.array(model.env.env_method("action_masks"))
        expected, _ = model.predict(observation, action_masks=masks, deterministic=True)
        assert (agent.predict(observation, action_masks=masks)[0] == expected).all()
        observation, *_ = model.env.step(expected)


def test_export_refused(tmp_path):
    """What is no such model, and another name, observations or weights, are refused by name."""
    model = make_model()
    with pytest.raises(bfenv.BfenvError, match="must end in .json"):
        export_network(model, tmp_path / "model.zip")
    other = contrib.MaskablePPO("MultiInputPolicy", model.get_env(), n_steps=16, batch_size=16)
    with pytest.raises(bfenv.BfenvError, match="only a ScorerPolicy"):
        export_network(other, tmp_path / "model.json")
    normalized = make_model(wrapper=VecNormalize)
    with pytest.raises(bfenv.BfenvError, match="VecNormalize"):
        export_network(normalized, tmp_path / "model.json")
    with pytest.raises(bfenv.BfenvError, match="only a ScorerPolicy can be exported, got int"):
        export_network(3, tmp_path / "model.json")
    diverged = make_model()
    torch.nn.init.constant_(next(diverged.policy.scorer.parameters()), torch.nan)
    with pytest.raises(bfenv.BfenvError, match="model.json is not written: the weights .* finite"):
        export_network(diverged, tmp_path / "model.json")
    assert not list(tmp_path.iterdir())
