"""Saved models as agents."""

import json
import zipfile

import pytest

import bfenv
from bfenv.envs.backfill import BackfillEnv
from bfenv.leaderboard.agents import code_hash
from bfenv.leaderboard.run import run_suite
from bfenv.leaderboard.saved_model import load_model
from tests.leaderboard.suites import TINY, json_rows

TRACE = bfenv.load_workload("lublin:procs=32,jobs=150,load=0.9,seed=3")


@pytest.mark.parametrize("algorithm", ["sb3_contrib:MaskablePPO", "stable_baselines3:PPO"])
def test_run(tmp_path, algorithm):
    """A model runs only where it is trusted; another model of its name has another row."""
    package, _, kind = algorithm.partition(":")
    package = pytest.importorskip(package)
    env = BackfillEnv(TRACE, window=4, episode_jobs=10, warmup_jobs=10)
    path = tmp_path / "model.zip"

    def train(seed):
        options = {"n_steps": 16, "batch_size": 16, "seed": seed, "device": "cpu"}
        getattr(package, kind)("MultiInputPolicy", env, **options).save(path)

    train(0)
    name, store = str(path), tmp_path / "store"
    with pytest.raises(bfenv.BfenvError, match="--trust"):
        run_suite(TINY, ["easy"], [name], out=store)
    assert not store.exists()
    run_suite(TINY, ["easy"], [name], out=store, trust=True)
    row = next(row for row in json_rows(store) if row["kind"] == "agent")
    assert row["code"] == code_hash("agent", name) and "torch" in row["versions"]
    if kind == "MaskablePPO":
        assert row["status"] == "ok", row["error"]
    else:  # it takes no masks, so it may do what is illegal
        assert row["status"] == "ok" or row["error"].startswith("illegal action")
    assert len(run_suite(TINY, [], [name], out=store, trust=True).existing_rows) == 1
    train(1)
    assert len(run_suite(TINY, [], [name], out=store, trust=True).new_rows) == 1
    assert len(json_rows(store)) == 2


def test_no_model(tmp_path):
    """A file that is not a model is named, and costs its row only."""
    path = tmp_path / "x.zip"
    path.write_bytes(b"no archive")
    (row,) = run_suite(TINY, [], [str(path)], out=tmp_path / "store", trust=True).new_rows
    assert not row.ok and str(path) in row.error


@pytest.mark.parametrize(
    ("data", "named"),
    [
        ({"policy_class": {"__module__": "my.own"}}, "my.own"),
        ({"policy_class": {"__module__": 7}}, "x.zip"),
        ({"policy_class": []}, "x.zip"),
        ([], "x.zip"),
        (None, "x.zip"),
    ],
)
def test_unknown_model(tmp_path, data, named):
    """A model of an unknown algorithm, or none at all, is refused by name."""
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other" if data is None else "data", json.dumps(data))
    with pytest.raises(bfenv.BfenvError) as error:
        load_model(str(path))
    assert named in str(error.value)
