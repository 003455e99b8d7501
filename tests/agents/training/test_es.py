"""`bfenv train --algo es`: a search in a training's folder, whose result is a policy."""

import pytest

import bfenv
from bfenv.agents.agent_names import open_agent
from bfenv.agents.card import POLICY, read_card
from bfenv.agents.search.objective import WAIT_MARGIN, Score
from bfenv.agents.search.search_run import rank
from bfenv.agents.training import change, find_settings, run_folder
from bfenv.agents.training.curves import read_curves
from bfenv.agents.training.es import train
from bfenv.core.errors import BfenvError
from bfenv.workloads.transform import split_range

pytest.importorskip("cma")
pytestmark = pytest.mark.torch  # whose extra has PyYAML

SMALL = change(
    find_settings("evolved"),
    {
        "workload": "lublin:jobs=600,procs=32",
        "environment": {"load": [0.9]},
        "generations": 3,
        "population": 4,
        "threads": 1,
        "options": "guard=1.5",
    },
)


def test_train(tmp_path):
    """Progress is a curve, whole training splits are scored on, and the agent is a policy."""
    rows = []
    path = train(SMALL, tmp_path / "run", report=rows.append)
    card = read_card(path, POLICY)
    assert [row["update"] for row in rows] == [1, 2, 3]
    (span,) = card.trained_on
    whole = bfenv.load_workload(SMALL.workload[0])
    train_jobs = len(bfenv.load_workload(SMALL.workload[0], split="train"))
    assert rows[-1]["steps"] == 3 * SMALL.population * train_jobs
    assert [point.ratio for point in read_curves(tmp_path)] == [row["ratio"] for row in rows]
    assert card.policy.startswith("easy(order='") and "guard=1.5" in card.policy
    tested, _ = split_range(whole, "test")
    assert (span.hash, span.first, span.last) == (whole.hash, 0, tested)
    schedule = bfenv.simulate(bfenv.load_workload("lublin:jobs=200,seed=8"), f"agent:{path}")
    assert (schedule.check().wait >= 0).all()
    with pytest.raises(BfenvError, match="use --policy agent:"):
        open_agent(str(path))


@pytest.mark.parametrize("units", [0, 2])
def test_resume(tmp_path, units):
    """Interrupted and resumed, a training ends with the same files."""
    settings = change(SMALL, {"units": units})

    def stop(row):
        raise KeyboardInterrupt

    train(settings, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        train(settings, tmp_path / "cut", report=stop)
    with pytest.raises(BfenvError, match="use --resume"):
        train(settings, tmp_path / "cut")
    train(settings, tmp_path / "cut", resume=True)
    for name in ("agent.json", "result.json"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "cut" / name).read_bytes()
    lines = [
        (tmp_path / name / "progress.csv").read_text().count("\n") for name in ("whole", "cut")
    ]
    assert lines == [4, 4]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"units": 7}, "hidden must be an integer from 0 to 6, got 7"),
        ({"options": "gard=1"}, "easy has no option 'gard'"),
        ({"workload": "nothing"}, "nothing"),
        ({"environment": {"load": [-1]}}, "load must be a finite number > 0"),
    ],
)
def test_refused(tmp_path, changes, message):
    """Wrong settings are named before anything is written."""
    with pytest.raises(BfenvError, match=message):
        train(change(SMALL, changes), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_margin():
    """Agents are chosen with a margin to starving: a longer wait loses to any slowdown."""
    assert WAIT_MARGIN < 2
    near, far = WAIT_MARGIN, WAIT_MARGIN + 0.01
    assert rank(Score(0.0, 1.0, near)) < rank(Score(-2.0, 0.1, far))
    assert run_folder.Score(1.0, near, 0, 0).rank < run_folder.Score(0.1, far, 0, 0).rank
