"""The callback that saves a model with its card."""

import pytest

import bfenv
from bfenv.agents import load_agent, save_model
from bfenv.envs.backfill import BackfillEnv

contrib = pytest.importorskip("sb3_contrib")
pytestmark = pytest.mark.torch

from bfenv.agents.sb3_callback import SaveModel, ShowProgress  # noqa: E402

OPTIONS = {"window": 4, "episode_jobs": 10, "warmup_jobs": 10}


def make_model(env):
    return contrib.MaskablePPO("MultiInputPolicy", env, n_steps=16, batch_size=16, device="cpu")


def test_saves(tmp_path, monkeypatch):
    """The model is saved before, at times during, and after training, and loads as it is then."""
    steps = []

    def save(model, *others):
        steps.append(model.num_timesteps)
        return save_model(model, *others)

    monkeypatch.setattr("bfenv.agents.sb3_callback.save_model", save)
    model = make_model(BackfillEnv(**OPTIONS))
    model.learn(32, callback=SaveModel(tmp_path / "model.zip", every=10))
    assert steps == [0, 10, 20, 30, 32]
    agent = load_agent(tmp_path / "model.zip", trust=True)
    assert agent.card.found["steps"] == 32
    saved = agent._model.policy.state_dict()
    assert all((saved[name] == value).all() for name, value in model.policy.state_dict().items())


def test_fails_early(tmp_path):
    """What cannot be saved is refused before the training."""
    model = make_model(BackfillEnv(**OPTIONS))
    with pytest.raises(bfenv.BfenvError, match="written"):
        model.learn(32, callback=SaveModel(tmp_path / "no" / "folder.zip"))
    assert model.num_timesteps == 0
    with pytest.raises(bfenv.BfenvError, match="every"):
        SaveModel(tmp_path / "m.zip", every=0)


def test_progress(monkeypatch, capsys):
    """On a terminal, a bar counts the steps of training on stderr; elsewhere nothing is printed."""
    monkeypatch.setenv("TTY_COMPATIBLE", "1")  # rich takes stderr for a terminal
    make_model(BackfillEnv(**OPTIONS)).learn(32, callback=ShowProgress())
    out, err = capsys.readouterr()
    assert out == "" and "training" in err and "32 of 32 steps" in err
    monkeypatch.setenv("TTY_COMPATIBLE", "0")
    make_model(BackfillEnv(**OPTIONS)).learn(32, callback=ShowProgress())
    assert capsys.readouterr() == ("", "")
