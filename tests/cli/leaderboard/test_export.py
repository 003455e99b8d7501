"""`bfenv leaderboard export`: rows and schedules for other programs."""

import csv
import io
import json
import re

import pytest

import bfenv
from tests.leaderboard.stores import make_store


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    return make_store(tmp_path_factory.mktemp("export") / "board")


def test_rows(run, board, tmp_path):
    """Rows are exported as CSV and as lines of JSON."""
    text = run("leaderboard", "export", board)[1]
    assert len(list(csv.DictReader(io.StringIO(text)))) == 16
    out = tmp_path / "rows.jsonl"
    assert run("leaderboard", "export", board, "--format", "jsonl", "--out", out)[0] == 0
    assert len([json.loads(line) for line in out.read_text().splitlines()]) == 16
    status, _, error = run("leaderboard", "export", board, "--out", out)
    assert status == 2 and "--force" in error


def test_schedules(run, board, tmp_path):
    """Schedules are exported to a folder, each in a file of its own."""
    folder = tmp_path / "swf"
    assert run("leaderboard", "export", board, "-f", "swf", "-o", folder)[0] == 0
    (one,) = folder.glob("easy_lublin-64*.swf.gz")
    trace = bfenv.load_workload("lublin:procs=64,jobs=600,load=0.8,seed=0")
    waits = bfenv.simulate(trace, "easy").wait
    assert bfenv.read_swf(one).records[:, 2].tolist() == waits.tolist()
    assert len(list(folder.iterdir())) == 16
    assert "--out" in run("leaderboard", "export", board, "-f", "batsim")[2]
    assert "--force" in run("leaderboard", "export", board, "-f", "batsim", "-o", folder)[2]
    assert run("leaderboard", "export", board, "-f", "batsim", "-o", folder, "--force")[0] == 0
    assert len(list(folder.glob("*_jobs.csv"))) == 16


def test_missing_schedule(run, tmp_path):
    """A schedule that cannot be made is reported, and the others are written."""
    folder = make_store(tmp_path / "board", policies=("easy", "fcfs"))
    (changed, *_) = sorted((folder / "rows").glob("*easy*"))
    row = json.loads(changed.read_text())
    changed.write_text(json.dumps(row | {"workload_hash": "sha256:" + "0" * 64}))
    status, _, error = run("leaderboard", "export", folder, "--format", "swf", "-o", tmp_path / "o")
    assert status == 2 and re.search(r"1 of 4 schedules .* easy on", error)
    assert len(list((tmp_path / "o").iterdir())) == 3
