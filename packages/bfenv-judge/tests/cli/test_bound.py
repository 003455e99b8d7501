"""The command `bfenv evaluate bound`."""

import json

import pytest

WORKLOAD = "lublin:jobs=120,load=0.9"
FAST = ("--moves", "10")


@pytest.mark.compiled
def test_table(run):
    """The table is in order: the bound, the best schedules, EASY, and the policies named."""
    status, out, _ = run("evaluate", "bound", WORKLOAD, "-p", "fcfs", *FAST)
    assert status == 0
    lines = ["no schedule is below", "best found", "easy", "fcfs"]
    positions = [out.index(f" {line} ") for line in lines]
    assert positions == sorted(positions)
    assert "twice" in out or "2 times EASY" in out


@pytest.mark.compiled
def test_json(run):
    """JSON has every number; the bound has no longest wait."""
    status, out, _ = run(
        "evaluate", "bound", WORKLOAD, "-f", "json", "--metric", "mean_wait", *FAST
    )
    rows = {row["schedule"]: row for row in json.loads(out)}
    assert status == 0
    assert rows["bound"]["max_wait"] is None
    assert (
        rows["bound"]["mean_wait"] <= rows["best found"]["mean_wait"] <= rows["easy"]["mean_wait"]
    )
    assert (rows["easy"]["gap_closed"], rows["best found"]["gap_closed"]) == (0, 1)


@pytest.mark.compiled
def test_check(run, tmp_path):
    """A saved file is checked, gives the same table and holds; other jobs are refused."""
    path = tmp_path / "gap.npz"
    _, searched, _ = run("evaluate", "bound", WORKLOAD, "--out", path, *FAST)
    status, checked, _ = run("evaluate", "bound", WORKLOAD, "--check", path)
    assert status == 0 and checked.startswith(searched)
    assert " ".join(checked.removeprefix(searched).split()) == f"{path}: every number holds."
    _, data, _ = run("evaluate", "bound", WORKLOAD, "--check", path, "-f", "json")
    assert len(json.loads(data)) == 4
    status, _, err = run("evaluate", "bound", "lublin:jobs=121,load=0.9", "--check", path)
    assert status == 2 and "other jobs" in err and "give the workload" in err
    assert run("evaluate", "bound", WORKLOAD, "--out", path, *FAST)[0] == 2  # exists


def test_metric(run):
    """An unknown metric is refused by name before any work."""
    status, _, err = run("evaluate", "bound", "--metric", "max_wait")
    assert status == 2 and "max_wait" in err
