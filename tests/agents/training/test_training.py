"""A whole training: reproducible, resumed exactly, never on test jobs, and its agent acts."""

import json
import sys
from unittest.mock import MagicMock

import numpy as np
import pytest

import bfenv
from bfenv.agents.agent_names import open_agent
from bfenv.agents.network_agent import load_network
from bfenv.agents.training import change, find_settings
from bfenv.agents.training.checkpoint import save_checkpoint
from bfenv.agents.training.ppo import train
from bfenv.agents.training.run_folder import read_progress
from bfenv.core.errors import BfenvError
from bfenv.envs import BackfillEnv
from bfenv.workloads.transform import split_range

pytestmark = pytest.mark.torch

SMALL = change(
    find_settings("toy"),
    {"num_envs": 8, "num_steps": 24, "steps": 8 * 24 * 6, "validate_every": 2, "hidden": 8},
)

RANKER = {"network": "ranker", "warm_start": "order:-size", "warm_start_steps": 96}


def weights_in(folder):
    """The arrays of a checkpoint by name, and its JSON."""
    with np.load(folder / "checkpoint.npz", allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    content = json.loads(str(arrays.pop("json")))
    content["progress"].pop("seconds")
    return arrays, content


def assert_equal(first, second):
    (arrays, content), (others, other) = weights_in(first), weights_in(second)
    assert arrays.keys() == others.keys()
    for name, values in arrays.items():
        assert np.array_equal(values, others[name]), name
    assert content == other


class Killed(Exception):
    """In place of a signal."""


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param(
            {"environment": {"guard": 0.5, "trial_limit": "60s above 60s"}},
            marks=pytest.mark.thorough,
        ),
        RANKER | {"credit": "group", "group_size": 2},
    ],
)
def test_resume(tmp_path, changes):
    """Killed and resumed, the weights and all else are those of an uninterrupted training."""
    settings = change(SMALL, changes)

    def kill(row):
        if row["update"] == 5:  # behind the checkpoint of update 4
            raise Killed

    train(settings, tmp_path / "whole")
    with pytest.raises(Killed):
        train(settings, tmp_path / "cut", report=kill)
    train(settings, tmp_path / "cut", resume=True)
    assert_equal(tmp_path / "whole", tmp_path / "cut")
    rows = [read_progress(tmp_path / name / "progress.csv") for name in ("whole", "cut")]
    for row in rows[0] + rows[1]:
        del row["seconds"], row["steps_per_second"]
    assert rows[0] == rows[1]
    assert [int(row["update"]) for row in rows[0]] == list(range(7))
    assert float(rows[0][0]["ratio"]) > 0  # before the first update
    agents = [(tmp_path / name / "agent.json").read_text() for name in ("whole", "cut")]
    assert agents[0] == agents[1]


def test_rows(tmp_path, monkeypatch):
    """Killed right after a checkpoint and resumed, no row of the progress is missing."""

    def kill(path, progress, *state):
        save_checkpoint(path, progress, *state)
        if progress.update == 2:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("bfenv.agents.training.ppo.save_checkpoint", kill)
        with pytest.raises(Killed):
            train(SMALL, tmp_path)
    train(SMALL, tmp_path, resume=True)
    rows = read_progress(tmp_path / "progress.csv")
    assert [int(row["update"]) for row in rows] == list(range(7))


def test_copying(tmp_path, monkeypatch):
    """What was copied before the first update is not copied again, and changes nothing."""
    settings = change(SMALL, RANKER | {"steps": 8 * 24})
    train(settings, tmp_path / "whole")
    with monkeypatch.context() as patch:
        patch.setattr("bfenv.agents.training.ppo.improve", stop)
        with pytest.raises(KeyboardInterrupt):
            train(settings, tmp_path / "cut")
    monkeypatch.setattr("bfenv.agents.training.ppo.imitate", stop)
    train(settings, tmp_path / "cut", resume=True)
    assert_equal(tmp_path / "whole", tmp_path / "cut")


def stop(*arguments):
    raise KeyboardInterrupt


def test_tensorboard(tmp_path, monkeypatch):
    """TensorBoard gets what progress.csv has, by steps."""
    board = MagicMock()
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", MagicMock(SummaryWriter=board))
    train(SMALL, tmp_path, tensorboard=True)
    board.assert_called_once_with(str(tmp_path / "tensorboard"))
    written = {call.args for call in board.return_value.add_scalar.call_args_list}
    rows = read_progress(tmp_path / "progress.csv")
    ratios = {
        ("train/ratio", float(row["ratio"]), int(row["steps"])) for row in rows if row["ratio"]
    }
    assert ratios <= written and len(ratios) > 2


def test_no_tensorboard(tmp_path, monkeypatch):
    """Without TensorBoard, --tensorboard leaves no folder that stands in the way later."""
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(BfenvError, match="pip install tensorboard"):
        train(SMALL, tmp_path / "run", tensorboard=True)
    assert not (tmp_path / "run").exists()


def test_folder(tmp_path):
    """A folder with a training is not overwritten, nor continued with others; others are left."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "suite.json").touch()
    with pytest.raises(BfenvError, match="is neither empty nor a training"):
        train(SMALL, tmp_path / "other")
    tmp_path /= "run"
    train(SMALL, tmp_path)
    with pytest.raises(BfenvError, match="has a training in it"):
        train(SMALL, tmp_path)
    with pytest.raises(BfenvError, match="gamma=1.0 in it, got 0.5"):
        train(change(SMALL, {"gamma": 0.5}), tmp_path, resume=True)
    (tmp_path / "checkpoint.npz").write_bytes(b"nothing")
    with pytest.raises(BfenvError, match="not a checkpoint"):
        train(SMALL, tmp_path, resume=True)


def test_agent(tmp_path):
    """The best network is trained and validated on no test job, and acts legally without torch."""
    load, workload = [0.7, 0.9], SMALL.workload[0]
    train(change(SMALL, {"environment": {"load": load}}), tmp_path)
    agent, opened = load_network(tmp_path / "agent.json"), open_agent(str(tmp_path / "agent.json"))
    traces = [bfenv.load_workload(workload, load=each) for each in load]
    assert {span.hash for span in agent.card.trained_on} == {trace.hash for trace in traces}
    for trace in traces:
        opened.check_unseen(trace, *split_range(trace, "test"))
        for split in ("train", "validation", "all"):
            with pytest.raises(BfenvError, match="was trained on"):
                opened.check_unseen(trace, *split_range(trace, split))
    for split in ("test", "all"):
        with pytest.raises(BfenvError, match="train on others"):
            change(SMALL, {"environment": {"split": split}})
    options = {"episode_jobs": 30, "warmup_jobs": 9, **agent.settings}
    env = BackfillEnv("lublin:procs=32,jobs=300,seed=9", **options)
    observation, _ = env.reset(seed=0)
    over = False
    while not over:
        masked, _ = agent.predict(observation, action_masks=env.action_masks())
        action, _ = agent.predict(observation)
        assert masked == action
        observation, _, over, _, info = env.step(action)
        assert not info["illegal_action"]
    assert agent.card.found["command"].startswith("bfenv train --set")
    with pytest.raises(BfenvError, match="features of a job"):
        agent.predict({**observation, "queue": observation["queue"][:, 1:]})


def test_early_stopping(tmp_path):
    """Training ends after `patience` validations without improvement."""
    settings = change(SMALL, {"learning_rate": 1e-12, "validate_every": 1, "patience": 2})
    train(settings, tmp_path)
    assert len(read_progress(tmp_path / "progress.csv")) == 3
