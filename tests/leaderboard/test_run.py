"""Runs of suites: every row once, the same bytes whoever makes it, whatever happens."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest

import bfenv
from bfenv.leaderboard.run import run_suite
from bfenv.leaderboard.store import read_leaderboard, time_spent
from bfenv.leaderboard.suite import SUITES, suite_of
from tests.leaderboard.suites import SAMPLES, TINY, json_rows, row_files, with_other_content

SMOKE = SUITES["smoke-v1"]
POLICIES = ["fcfs", "easy", "easy-aged-random"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """An undisturbed run."""
    folder = tmp_path_factory.mktemp("whole")
    run_suite(SMOKE, POLICIES, out=folder)
    return folder


def test_folder(whole):
    """A folder has the suite, a file per row, and beside it the times of the row."""
    assert len(json_rows(whole)) == 12
    suite = json.loads((whole / "suite.json").read_bytes())
    assert suite == json.loads(json.dumps(SMOKE.description()))
    timings = [json.loads(path.read_bytes()) for path in (whole / "timings").iterdir()]
    assert {path.name for path in (whole / "timings").iterdir()} == set(row_files(whole))
    for timing in timings:
        assert 0 < timing["seconds"] <= timing["row_seconds"]
        assert {"host", "date", "argv", "workers", "decision_mean"} <= set(timing)
    for lines in time_spent(whole).values():
        assert sum(line.rows for line in lines) == 12
        total = sum(timing["row_seconds"] for timing in timings)
        assert abs(sum(line.seconds for line in lines) - total) < 1e-9


def test_workers(whole, tmp_path):
    """Two workers make the same rows, and each is announced with its cost."""
    planned, done = [], []
    outcome = run_suite(
        SMOKE,
        POLICIES,
        out=tmp_path,
        jobs=2,
        begin=lambda rows, cost: planned.append((rows, cost)),
        done=lambda row, cost: done.append(cost),
    )
    assert len(outcome.new_rows) == len(done) == 12 and min(done) > 0
    assert planned == [(12, pytest.approx(sum(done)))]
    assert row_files(tmp_path) == row_files(whole)


def test_dask(whole, tmp_path, cluster):
    """A Dask cluster makes the same rows."""
    run_suite(SMOKE, POLICIES, out=tmp_path, backend="dask", scheduler=cluster.scheduler_address)
    assert row_files(tmp_path) == row_files(whole)


def test_shards(whole, tmp_path):
    """The folders of shards, merged by copying, are that of the whole."""
    for part in (2, 1):
        run_suite(SMOKE, POLICIES, out=tmp_path / str(part), shard=(part, 2))
    one, two = row_files(tmp_path / "1"), row_files(tmp_path / "2")
    assert not set(one) & set(two) and len(one) == len(two)
    assert one | two == row_files(whole)
    shutil.copytree(tmp_path / "1", tmp_path / "2", dirs_exist_ok=True)
    outcome = run_suite(SMOKE, POLICIES, out=tmp_path / "2")
    assert (outcome.new_rows, len(outcome.existing_rows)) == ([], 12)


def test_existing_rows(whole, tmp_path):
    """A run makes the rows that are missing, and changes no other file."""
    folder = tmp_path / "copy"
    shutil.copytree(whole, folder)
    before = {path: path.stat().st_mtime_ns for path in (folder / "rows").iterdir()}
    outcome = run_suite(SMOKE, [*POLICIES, "sjf", "sjf"], out=folder)
    assert (len(outcome.new_rows), len(outcome.existing_rows)) == (4, 12)
    assert all(path.stat().st_mtime_ns == time for path, time in before.items())


@pytest.mark.parametrize(
    ("workers", "most", "limit"),
    [
        (1, 6, 1),
        pytest.param(1, 6, 40, marks=pytest.mark.thorough),
        pytest.param(2, 8, 40, marks=pytest.mark.thorough),
    ],
)
def test_killed(whole, tmp_path, workers, most, limit):
    """Killed once, or again and again, a run ends with the rows of an undisturbed one."""
    program = (
        "from bfenv.leaderboard.run import run_suite; from bfenv.leaderboard.suite import SUITES\n"
        f"run_suite(SUITES['smoke-v1'], {POLICIES}, out={str(tmp_path)!r}, jobs={workers})\n"
    )
    chance = random.Random(workers)
    expected, kills = row_files(whole), 0
    while True:
        process = subprocess.Popen(
            [sys.executable, "-c", program], stderr=subprocess.DEVNULL, env=os.environ
        )
        target = len(row_names(tmp_path)) + chance.randint(0, most)
        with process:
            while kills < limit and process.poll() is None and len(row_names(tmp_path)) < target:
                time.sleep(0.001)
            if kills < limit:
                time.sleep(chance.random() * 0.03)
                process.send_signal(signal.SIGKILL)
        found = row_files(tmp_path)
        assert found.items() <= expected.items()
        assert set(found) <= {path.name for path in (tmp_path / "timings").glob("*.json")}
        if process.returncode == 0:
            break
        kills += 1
    assert found == expected
    assert kills >= min(limit, 2)


def row_names(folder):
    return list((folder / "rows").glob("*.json"))


@pytest.mark.together
def test_bad_agents(tmp_path):
    """Agents that fail, crash or do what is illegal cost their own rows only."""
    names = ["raising", "crashing", "leaving", "illegal", "nonsense", "first"]
    agents = [f"{SAMPLES}:{name}:window=4" for name in names]
    outcome = run_suite(TINY, ["easy"], agents, out=tmp_path, jobs=2)
    failed = {row.policy.split(":")[1] for row in outcome.new_rows if not row.ok}
    assert failed == set(names) - {"first"}
    for row in json_rows(tmp_path):
        assert (row["status"] == "failed") == bool(row["error"]) == ("metrics" not in row)
        assert row["jobs"] == 40
    assert len(json_rows(tmp_path)) == 7


@pytest.mark.together
def test_failed_rows(tmp_path):
    """Failed rows stay, also those out of time, and are made again on request only."""
    agents = [f"{SAMPLES}:raising", f"{SAMPLES}:looping"]
    for agent, timeout, error in zip(
        agents,
        (60, 4),
        ("RuntimeError: it cannot decide?[2J (sample_agents.py, line 61)", "no result within 4 s"),
        strict=True,
    ):
        outcome = run_suite(TINY, ["easy"], [agent], out=tmp_path, timeout=timeout)
        assert [row.error for row in outcome.new_rows if not row.ok] == [error]
    outcome = run_suite(TINY, ["easy"], agents, out=tmp_path, timeout=4)
    assert (outcome.new_rows, len(outcome.existing_rows)) == ([], 3)
    (row,) = run_suite(TINY, ["easy"], agents[:1], out=tmp_path, retry=True).new_rows
    assert row.policy == agents[0]


def test_damaged_rows(tmp_path):
    """A file that a full disk cut off is made again."""
    run_suite(TINY, ["easy", "fcfs"], out=tmp_path)
    before = row_files(tmp_path)
    for folder in ("rows", "timings"):
        next((tmp_path / folder).glob("easy_*")).write_bytes(b"")
    assert [line[:2] for line in time_spent(tmp_path)["policy"]] == [("fcfs", 1)]
    for text in (b"", b"[]", b"{}"):
        next((tmp_path / "rows").glob("easy_*")).write_bytes(text)
        outcome = run_suite(TINY, ["easy", "fcfs"], out=tmp_path, retry=text == b"[]")
        assert [row.policy for row in outcome.new_rows] == ["easy"]
        assert row_files(tmp_path) == before
    assert len(time_spent(tmp_path)["policy"]) == 2


def test_other_content(tmp_path):
    """A trace with other content ends the run; the folder, still empty, is free for a suite."""
    with pytest.raises(bfenv.BfenvError, match="expected sha256:0, found sha256:"):
        run_suite(with_other_content(TINY), ["easy"], out=tmp_path)
    assert row_files(tmp_path) == {}
    assert len(run_suite(TINY, ["easy"], out=tmp_path).new_rows) == 1


def test_moved_log(site, tmp_path):
    """A board of one's own log goes on under its label, wherever the log is and whatever its name.

    Rows that are there are not made again.
    """
    board, moved = tmp_path / "board", tmp_path / "renamed.swf"
    run_suite(suite_of([str(site)]), ["fcfs"], out=board)
    before, described = row_files(board), (board / "suite.json").read_bytes()
    shutil.copy(site, moved)
    outcome = run_suite(suite_of([str(moved)]), ["fcfs", "easy"], out=board)
    assert [(row.policy, row.source) for row in outcome.new_rows] == [("easy", str(moved))]
    assert len(outcome.existing_rows) == len(before) == 2
    assert {row.workload for row in read_leaderboard(board).rows} == {"site"}
    assert before.items() <= row_files(board).items()
    assert (board / "suite.json").read_bytes() == described
    other = suite_of([f"{moved}:job_count=10"])
    with pytest.raises(bfenv.BfenvError, match=f"{other.name} needs a folder of its own"):
        run_suite(other, ["easy"], out=board)


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), 1e7])
def test_bad_timeout(tmp_path, timeout):
    """A timeout that is none is refused by name, before anything is written."""
    with pytest.raises(bfenv.BfenvError, match=rf"timeout .*{timeout}"):
        run_suite(TINY, ["easy"], out=tmp_path / "none", timeout=timeout)
    assert not (tmp_path / "none").exists()


def test_kept_schedules(tmp_path):
    """Schedules are kept on request, under the rows' names."""
    run_suite(TINY, ["easy", "easy-speculative"], out=tmp_path, keep_schedules=True)
    kept = {path.stem for path in (tmp_path / "schedules").iterdir()}
    assert kept == {name.removesuffix(".json") for name in row_files(tmp_path)}


@pytest.mark.together
def test_changed_module(tmp_path, monkeypatch):
    """A policy whose module has changed is run again."""
    module = tmp_path / "changing_scheduler.py"
    text = (
        "from bfenv.core.cluster import may_start, start, waiting\n"
        "def mine(cluster, jobs):\n"
        "    for job in sorted(waiting(cluster), key=lambda job: SIGN * jobs.size[job]):\n"
        "        if may_start(cluster, jobs, job):\n"
        "            start(cluster, jobs, job)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    seen = []
    for sign in (1, -1, -1):
        module.write_text(text.replace("SIGN", str(sign)))
        outcome = run_suite(TINY, ["easy", "changing_scheduler:mine"], out=tmp_path / "store")
        row = next(row for row in json_rows(tmp_path / "store") if row["policy"] != "easy")
        seen.append((len(outcome.new_rows), row["code"], row["metrics"]["mean_wait"]))
    assert [new_rows for new_rows, _, _ in seen] == [2, 1, 0]
    assert seen[0][1] != seen[1][1] == seen[2][1]
    assert seen[0][2] != seen[1][2] == seen[2][2]


@pytest.mark.parametrize("field", ["workload_hash", "source", "suite"])
def test_row_of_other_jobs(tmp_path, field):
    """A row that is there but of other jobs or another suite is made again."""
    run_suite(TINY, ["easy"], out=tmp_path)
    (path,) = (tmp_path / "rows").iterdir()
    whole = path.read_bytes()
    path.write_text(json.dumps(json.loads(whole) | {field: "lublin:jobs=10"}))
    assert len(run_suite(TINY, ["easy"], out=tmp_path).new_rows) == 1
    assert path.read_bytes() == whole
    assert run_suite(TINY, ["easy"], out=tmp_path).new_rows == []
