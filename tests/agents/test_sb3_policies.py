"""The network that scores every slot with the same weights."""

import numpy as np
import pytest

import bfenv
from bfenv.agents import load_agent, save_model
from bfenv.envs.backfill import BackfillEnv

torch = pytest.importorskip("torch")
contrib = pytest.importorskip("sb3_contrib")
pytestmark = pytest.mark.torch

from bfenv.agents.sb3_policies import SlotSharedPolicy  # noqa: E402

OPTIONS = {"episode_jobs": 10, "warmup_jobs": 40}


def make_model(window, **settings):
    env = BackfillEnv(window=window, **OPTIONS, **settings)
    steps = {"n_steps": 16, "batch_size": 16}
    return contrib.MaskablePPO(SlotSharedPolicy, env, seed=0, device="cpu", **steps)


def logits(model, observation):
    tensors, _ = model.policy.obs_to_tensor(observation)
    with torch.no_grad():
        return model.policy.get_distribution(tensors).distribution.logits.numpy()[0]


def test_slots_are_alike():
    """If two jobs change places, their scores do; all others and the value stay."""
    model = make_model(6)
    observation = model.observation_space.sample()
    scores = logits(model, observation)
    order = [0, 4, 2, 3, 1, 5]
    changed = {**observation, "queue": observation["queue"][order]}
    assert np.allclose(logits(model, changed), scores[[*order, 6]], atol=1e-6)
    assert len(set(np.round(scores, 6))) > 5
    values = [
        model.policy.predict_values(model.policy.obs_to_tensor(one)[0]).item()
        for one in (observation, changed)
    ]
    assert values[0] == pytest.approx(values[1], abs=1e-5)


def test_parts():
    """The score of a slot depends on its job and the cluster; that of the pass on no job."""
    model = make_model(3)
    observation = model.observation_space.sample()
    scores = logits(model, observation)
    for part in ("queue", "cluster", "profile"):
        other = {**observation, part: observation[part] * 0.5}
        changed = logits(model, other)
        moved = np.ptp(np.diff(changed - scores)[:-1]) > 1e-7 or part == "profile"
        assert moved and not np.array_equal(changed, scores)


def test_size():
    """The window does not change the number of weights."""
    sizes = {sum(p.numel() for p in make_model(w).policy.parameters()) for w in (4, 64)}
    assert len(sizes) == 1 and sizes.pop() < 10_000


def test_learns_and_loads(tmp_path):
    """Training changes all networks; a saved model acts as before."""
    model = make_model(4)
    before = {name: p.clone() for name, p in model.policy.named_parameters()}
    model.learn(64)
    after = dict(model.policy.named_parameters())
    assert {n.split(".")[1] for n in after if n.startswith("mlp")} == {"slot", "skip", "value"}
    assert all((before[name] != p).any() for name, p in after.items())
    agent = load_agent(save_model(model, tmp_path / "model.zip"), trust=True)
    observation, _ = BackfillEnv(window=4, **OPTIONS).reset(seed=3)
    assert np.array_equal(logits(agent._model, observation), logits(model, observation))


def test_flat():
    """A flat observation has no parts, and actions for trials no scores."""
    with pytest.raises(bfenv.BfenvError, match="flat=False"):
        make_model(4, flat=True)
    with pytest.raises(bfenv.BfenvError, match="trial_limit"):
        make_model(4, trial_limit=600)
