"""Files of scorers: to the last bit, and what is refused."""

import json
import math

import numpy as np
import pytest

import bfenv
from bfenv.agents.search import dimension, load_scorer, save_scorer, weights
from bfenv.agents.search.scorers import NAMES
from bfenv.baselines.registry import find_policy
from tests.agents.search.scoring_traces import HIDDEN, hard


@pytest.mark.parametrize("hidden", HIDDEN)
def test_round_trip(tmp_path, hidden):
    """A saved scorer comes back to the last bit, with its provenance."""
    trace, file = hard(), tmp_path / "best.json"
    theta = np.random.default_rng(8).normal(size=dimension(hidden)) / 3
    save_scorer(file, theta, hidden, name="best", trained_on=trace, notes={"seed": 8})
    policy = find_policy(f"load-scorer(path={file})")
    assert policy.name == "best"
    assert policy.memory.keywords["theta"].tobytes() == theta.tobytes()
    content = json.loads(file.read_text())
    assert content["trained_on"] == {"name": "hard", "hash": trace.hash, "jobs": 400}
    assert content["notes"] == {"seed": 8} and content["bfenv"] == bfenv.__version__


def changed(**what):
    """A saved scorer with something changed."""

    def change(content):
        return json.dumps({**json.loads(content), **what})

    return change


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda content: content[:40], "best.json"),
        (lambda content: "[1, 2]", "best.json"),
        (lambda content: "[" * 100_000, "best.json"),
        (changed(format="bfenv scorer 0"), "best.json"),
        (changed(features=[*NAMES[:-1], "colour"]), "other features"),
        (changed(theta=[0.0] * 10), r"theta .*\(10,\)"),
        (changed(theta="all"), "theta .*'all'"),
        (changed(theta=[*[0.0] * 10, math.inf]), r"theta\[10\] .*inf"),
        (changed(hidden=-1), "hidden .*-1"),
    ],
)
def test_wrong_file(tmp_path, change, message):
    """A file that is not a scorer is refused."""
    file = tmp_path / "best.json"
    save_scorer(file, weights(size=1), name="best")
    file.write_text(change(file.read_text()))
    with pytest.raises(bfenv.PolicyError, match=message):
        load_scorer(file)


def test_unreadable(tmp_path):
    """A file that cannot be read or written is named."""
    with pytest.raises(bfenv.PolicyError, match="none.json: cannot be read"):
        load_scorer(tmp_path / "none.json")
    with pytest.raises(bfenv.BfenvError, match="cannot be written"):
        save_scorer(tmp_path / "none" / "a.json", weights(), name="best")
    with pytest.raises(bfenv.BfenvError, match="notes"):
        save_scorer(tmp_path / "a.json", weights(), name="best", notes={"x": math.nan})
    assert not list(tmp_path.iterdir())
