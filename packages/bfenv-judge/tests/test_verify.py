"""What a leaderboard claims is checked: suite, traces, schedules, rows, bounds."""

import json
import os
import re
import shutil

import numpy as np
import pytest
from typer.testing import CliRunner

from bfenv import BfenvError
from bfenv.cli.app import app
from bfenv.evaluation.row import Row, encode_json
from bfenv.leaderboard.run import run_suite
from bfenv.leaderboard.store import read_leaderboard
from bfenv.leaderboard.suite import find_suite, suite_of
from bfenv.workloads.load import load_workload
from bfenv.workloads.logs.swf import write_swf
from bfenv_judge.verify import (
    AS_KEPT,
    HOLDS,
    UNCHECKED,
    UNVERIFIED,
    WRONG,
    CheckResult,
    verify,
)
from tests.leaderboard.suites import TINY

SUITE = find_suite("smoke-v1")


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    """EASY and FCFS on the first seed of smoke-v1, with schedules: four rows."""
    folder = tmp_path_factory.mktemp("honest")
    run_suite(SUITE, ["easy", "fcfs"], out=folder, seeds=1, keep_schedules=True)
    return folder


@pytest.fixture
def copy(honest, tmp_path):
    return shutil.copytree(honest, tmp_path / "copy")


def found(folder, **options):
    """The verdicts by check, without those that hold, and that rows were not run again."""
    verdicts = list(verify(folder, **({"sample": 0} | options)))
    return {
        (one.check, one.verdict): one.reason
        for one in verdicts
        if one.verdict != HOLDS and one.reason != AS_KEPT
    }


def change(folder, policy, /, **values):
    """Change fields of the rows of a policy."""
    for path in (folder / "rows").glob(f"{policy}_*.json"):
        path.write_bytes(encode_json(json.loads(path.read_text()) | values))


NO_BOUNDS = ("bounds", UNCHECKED)


def test_an_honest_folder_holds(honest):
    """All rows are run again, with the same bytes."""
    verdicts = list(verify(honest))
    assert {one.check for one in verdicts if one.verdict == HOLDS} == {
        "suite",
        "file",
        "name",
        "workload",
        "schedule",
        "run again",
        "bounds",
    }
    assert sum(one.check == "run again" for one in verdicts) == 4
    assert all(one.verdict == HOLDS for one in verdicts)


@pytest.mark.parametrize("value", [None, 1])
def test_wrong_metric(copy, value):
    """A metric that the schedule does not have is found, with and without running the row."""
    path = next((copy / "rows").glob("fcfs_lublin-32*.json"))
    row = json.loads(path.read_text())
    row["metrics"]["mean_wait"] = value
    path.write_bytes(encode_json(row))
    reason = found(copy)["schedule", WRONG]
    assert reason.startswith("mean_wait is ")
    assert reason.endswith(f"the row says {json.dumps(value)}")
    for schedule in (copy / "schedules").iterdir():
        schedule.unlink()
    assert found(copy, sample=None)["run again", WRONG] == "metrics.mean_wait differs"


def test_small_change(copy):
    """Two numbers that differ in their last digits are printed with these digits."""
    path = next((copy / "rows").glob("fcfs_lublin-32*.json"))
    row = json.loads(path.read_text())
    value = row["metrics"]["mean_wait"]
    claim = row["metrics"]["mean_wait"] = value * (1 + 1e-12)
    path.write_bytes(encode_json(row))
    reason = f"mean_wait is {value!r}, the row says {claim!r}"
    assert found(copy) == {("schedule", WRONG): reason}


def forget_metrics(row):
    del row["metrics"]["max_wait"], row["metrics"]["mean_bounded_slowdown"]


@pytest.mark.parametrize(
    ("forge", "reason"),
    [
        (forget_metrics, "mean_bounded_slowdown is "),
        (lambda row: row["metrics"].update(mine=1), "mine is null, the row says 1"),
        (lambda row: row["metrics"].update(mine=None), "mine does not follow from the schedule"),
        (lambda row: row["versus"].clear(), "versus does not follow from the schedule"),
        (lambda row: row.update(curves={}), "curves does not follow from the schedule"),
        (lambda row: row.update(classes={}), "classes does not follow from the schedule"),
        (lambda row: row.pop("schedule_hash"), "schedule_hash does not follow from the schedule"),
        (lambda row: row.pop("division"), "division does not follow from the schedule"),
        (
            lambda row: row.update(division="clairvoyant"),
            "division does not follow from the schedule",
        ),
    ],
)
def test_forged_results(copy, forge, reason):
    """Whatever a row leaves out, or says otherwise than its schedule, is found without a run."""
    path = next((copy / "rows").glob("fcfs_lublin-32*.json"))
    row = json.loads(path.read_text())
    forge(row)
    path.write_bytes(encode_json(row))
    reasons = found(copy)
    assert list(reasons) == [("schedule", WRONG)]
    assert reasons["schedule", WRONG].startswith(reason)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("{\n", '{\n "note": "unchecked claim",\n'),
        ("{\n", '{\n "policy": "SuperScheduler",\n'),
        ("{\n", '{\n "metrics": {"mean_bounded_slowdown": 1.0},\n'),
        ('"versus": {\n', '"versus": {\n  "mean_wait": {"difference": -9.0},\n'),
        ('"queue_length": {\n', '"queue_length": {\n   "note": 1,\n'),
        ('"seed": 0', '"seed":  0'),
        (": null", ": NaN"),
    ],
)
def test_other_bytes(copy, old, new):
    """A file with fields that no row has, or with some twice, is found without running the row."""
    path = next((copy / "rows").glob("fcfs_lublin-32*.json"))
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    assert list(found(copy)) == [("file", WRONG)]


def test_trials_in_schedule(tmp_path):
    """A policy with trials cannot be ranked among those that run jobs to completion."""
    run_suite(SUITE, ["multiqueue"], out=tmp_path, seeds=1, keep_schedules=True)
    assert found(tmp_path) == {}
    change(tmp_path, "multiqueue", division="completion")
    assert found(tmp_path) == {("schedule", WRONG): "division does not follow from the schedule"}


def test_notes_of_agents(tmp_path, monkeypatch):
    """What an agent notes is taken from its row, and must be there."""
    monkeypatch.setattr("bfenv_judge.verify.find_suite", lambda name: TINY)
    run_suite(TINY, agents=["random"], out=tmp_path, seeds=1, keep_schedules=True)
    assert found(tmp_path) == {NO_BOUNDS: "there are none: see `bfenv leaderboard bound`"}
    (path,) = (tmp_path / "rows").iterdir()
    row = json.loads(path.read_text())
    del row["metrics"]["decisions"]
    path.write_bytes(encode_json(row))
    assert found(tmp_path)["schedule", WRONG] == "decisions is nan, the row says null"


def test_forged_schedule(copy):
    """A schedule other than the row's is found, even a possible one."""
    one, other = sorted((copy / "schedules").glob("*_lublin-32*.npz"))
    shutil.copy(one, other)
    assert found(copy) == {("schedule", WRONG): "it is not the schedule of the row"}


def test_impossible_schedule(copy):
    """A schedule that the machine cannot have run is found."""
    path = next((copy / "schedules").glob("easy_lublin-32*.npz"))
    with np.load(path) as data:
        start, end = data["start"], data["end"]
    np.savez(path, start=start * 0, end=end - start)
    assert "schedule" in {check for check, verdict in found(copy) if verdict == WRONG}


def test_another_suite_is_found(copy):
    """A suite.json that is not the suite's is found, and nothing is then known of the traces."""
    text = (copy / "suite.json").read_text()
    (copy / "suite.json").write_text(text.replace('"load": 0.8', '"load": 0.7'))
    reasons = found(copy, sample=None)
    assert "suite.json is not smoke-v1" in reasons["suite", WRONG]
    assert reasons["workload", UNCHECKED] == "its suite is not known"
    assert reasons["run again", UNCHECKED] == "its workload is not known"


def test_other_jobs(copy):
    """A row whose source is not in the suite is found, and its source is not opened."""
    change(copy, "fcfs", source="/etc/passwd")
    reasons = found(copy, sample=None)
    assert reasons["workload", WRONG].startswith("/etc/passwd with this content is not in smoke-v1")
    assert reasons["schedule", UNCHECKED] == "its workload is not known"
    assert ("run again", WRONG) not in reasons


@pytest.mark.parametrize("seed", [1, 7])
def test_another_seed_is_found(copy, seed):
    """A row that says that it was made with another seed is found without running it."""
    change(copy, "fcfs", seed=seed)
    assert f"is not in smoke-v1 with seed {seed}" in found(copy)["workload", WRONG]


def test_no_such_row(copy):
    """A row of a kind that its policy is not is wrong, not merely unchecked."""
    change(copy, "fcfs", kind="log")
    assert found(copy, sample=None)["run again", WRONG] == "smoke-v1 has no such row"


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"code": "sha256:0"}, "fcfs is bfenv's own, and has no other code"),
        ({"policy": "easy(order=sjf)", "code": "sha256:0"}, "bfenv's own, and has no other code"),
        ({"policy": "eаsy"}, r"e\u0430sy: the name of a competitor has printable ASCII"),
        ({"policy": "easy\x1b"}, r"easy\x1b: the name of a competitor has printable ASCII"),
        ({"policy": "easiest"}, "bfenv has no policy easiest"),
        ({"policy": "easiest", "code": "sha256:0"}, "bfenv has no policy easiest"),
        ({"policy": "easy (order=sjf)"}, "bfenv has no policy easy (order=sjf)"),
        ({"policy": "agent:none.json"}, "none.json: cannot be read"),
        ({"policy": "los", "kind": "player"}, "is given as a player, but is the name of bfenv's"),
        ({"policy": "easy-sjf", "kind": "agent"}, "is given as an agent, but is the name of bfenv"),
        ({"policy": "agent:network", "kind": "player"}, "is given as a player, but is the"),
        ({"policy": "logged", "kind": "player"}, "the name of bfenv's own log"),
        ({"kind": "log"}, "the row of a log is 'logged', and has no code"),
    ],
)
def test_names_of_others(copy, values, reason):
    """A row that imitates one of bfenv's own is wrong without running it, even with a schedule."""
    change(copy, "fcfs", **values)
    assert reason in found(copy)["name", WRONG]


def test_other_code(copy):
    """A row made with code that is not here is not compared, and is unverified."""
    change(copy, "fcfs", policy="tests.leaderboard.sample_agents:policy", code="sha256:0")
    shutil.rmtree(copy / "schedules")
    reasons = found(copy, sample=None)
    assert reasons["run again", UNCHECKED] == "its code here is another one than the row's"
    assert reasons["results", UNVERIFIED].startswith("neither was its schedule kept nor")


def test_seed_of_sample(honest, monkeypatch):
    """As many rows as asked are run again, other ones with another seed."""
    holds = lambda row, *rest: CheckResult("run again", HOLDS, "", row)  # noqa: E731
    monkeypatch.setattr("bfenv_judge.verify._plan_again", holds)
    drawn = [
        [one.row.key for one in verify(honest, sample=1, seed=seed) if one.check == "run again"]
        for seed in (0, 0, 1)
    ]
    assert [len(keys) for keys in drawn] == [1, 1, 1]
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """A small log of one's own, and another one of the same name."""
    folder = tmp_path_factory.mktemp("logs")
    for part, seed in (("mine", 7), ("other", 8)):
        (folder / part).mkdir()
        trace = load_workload(f"lublin:procs=16,jobs=40,load=0.8,seed={seed}")
        write_swf(trace, folder / part / "site.swf")
    return folder


def test_own_logs(logs, tmp_path):
    """Rows on one's own log hold if the log is given, wherever it is, and with no other log."""
    suite = suite_of([str(logs / "mine" / "site.swf")])
    run_suite(suite, ["easy"], out=tmp_path, keep_schedules=True)
    (logs / "moved").mkdir()
    moved = shutil.move(logs / "mine" / "site.swf", logs / "moved" / "site.swf")
    assert "add them with --workload" in found(tmp_path)["suite", UNCHECKED]
    assert found(tmp_path, workloads=[str(moved)], sample=None).keys() == {NO_BOUNDS}
    reasons = found(tmp_path, workloads=[str(logs / "other" / "site.swf")])
    assert "with these workloads it is own-" in reasons["suite", WRONG]


def test_row_of_the_log(site, tmp_path):
    """The row of what a log records holds with its schedule."""
    run_suite(suite_of([str(site)]), ["fcfs"], out=tmp_path, keep_schedules=True)
    assert len(read_leaderboard(tmp_path).logged) == 1
    assert found(tmp_path, workloads=[str(site)], sample=None).keys() == {NO_BOUNDS}


@pytest.fixture
def named_log(logs, tmp_path, monkeypatch):
    """A log that is known by a name, which is also that of a policy."""
    path = tmp_path / "known" / "easy.swf"
    path.parent.mkdir()
    shutil.copy(logs / "other" / "site.swf", path)
    monkeypatch.setenv("BFENV_TRACES", str(path.parent))
    return path


def test_other_file_names(logs, named_log, tmp_path):
    """Rows on a log hold under another name of its file, and under its own name without a path."""
    made_on = [str(logs / "other" / "site.swf"), "lublin:procs=16,jobs=40"]
    run_suite(suite_of(made_on), ["easy"], out=tmp_path / "board", keep_schedules=True)
    for name in (str(named_log), "easy"):
        reasons = found(tmp_path / "board", workloads=[name, made_on[1]], sample=None)
        assert reasons.keys() == {NO_BOUNDS}
    run_suite(suite_of(["easy"]), ["easy"], out=tmp_path / "named", keep_schedules=True)
    reasons = found(tmp_path / "named", workloads=made_on[:1], sample=None)
    assert reasons.keys() == {NO_BOUNDS}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"load": null', '"load": 0.5'),
        ('"workload": "site"', '"workload": 7'),
        ('"workload": "site"', '"workload": "site", "workload": "other"'),
        ('"workload": "site"', '"workload": "lublin"'),
        ('"seeds": 3', '"seeds": 4'),
        ('"jobs": 40', '"jobs": 41'),
        ('"workloads": [', '"workloads": [3,'),
    ],
)
def test_own_suite_changed(logs, tmp_path, old, new):
    """A suite.json of one's own logs may differ in labels and sources, and in nothing else."""
    workloads = [str(logs / "other" / "site.swf"), "lublin:procs=16,jobs=40"]
    run_suite(suite_of(workloads), ["fcfs"], out=tmp_path)
    text = (tmp_path / "suite.json").read_text()
    assert old in text
    (tmp_path / "suite.json").write_text(text.replace(old, new))
    assert "suite.json is not own-" in found(tmp_path, workloads=workloads)["suite", WRONG]


def test_commands_are_not_run(tmp_path, monkeypatch):
    """Commands of players, which come from rows, are run with `trust` only."""
    run_suite(TINY, players=["false"], out=tmp_path, seeds=1)
    monkeypatch.setattr("bfenv_judge.verify.find_suite", lambda name: TINY)
    assert found(tmp_path, sample=None)["run again", UNCHECKED].startswith("a command may do any")
    assert ("run again", UNCHECKED) not in found(tmp_path, sample=None, trust=True)


def test_failed_row(tmp_path, monkeypatch):
    """A failed row has no schedule to keep, and the reason says so."""
    run_suite(TINY, players=["false"], out=tmp_path, seeds=1, keep_schedules=True)
    monkeypatch.setattr("bfenv_judge.verify.find_suite", lambda name: TINY)
    reasons = found(tmp_path)
    assert reasons["schedule", UNCHECKED] == "its row failed, so it has none"
    assert reasons["results", UNVERIFIED] == "it failed, and was not run again"


def test_a_missing_model(copy):
    """The row of a saved model that is not here is not checked, and the others are."""
    change(copy, "fcfs", kind="agent", policy="missing.zip")
    assert found(copy, sample=None)["run again", UNCHECKED] == "no such saved model: missing.zip"


def test_damaged_schedules(copy):
    """A schedule that cannot be decompressed is wrong, and the other rows are checked."""
    path = next((copy / "schedules").glob("easy_lublin-32*.npz"))
    content = bytearray(path.read_bytes())
    content[100:200] = b"\xff" * 100
    path.write_bytes(content)
    verdicts = [one.verdict for one in verify(copy, sample=0) if one.check == "schedule"]
    assert sorted(verdicts) == [HOLDS] * 3 + [WRONG]


def test_zip_bomb(copy):
    """A kept schedule may have as many numbers as its trace has jobs: a zip bomb is wrong."""
    path = next((copy / "schedules").glob("easy_lublin-32*.npz"))
    np.savez_compressed(path, start=np.zeros(2**25, dtype=np.int64), end=np.zeros(2**25))
    reason = found(copy)["schedule", WRONG]
    assert re.search(r"it unpacks to more than [0-9,]{6,9} bytes", reason)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
@pytest.mark.parametrize("part", ["rows", "schedules", "suite.json"])
@pytest.mark.parametrize("make", ["pipe", "link"])
def test_what_is_no_file(honest, copy, part, make):
    """A pipe in a board hangs neither verify, report nor run; no link is followed out of it."""
    path = copy / part if part == "suite.json" else next((copy / part).glob("easy_lublin-32*"))
    path.unlink()
    if make == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(next((honest / part).glob(path.name), honest / part))
    what = "is not a regular file" if make == "pipe" else "is a link, not a file"
    if part == "rows":
        for read in (found, read_leaderboard):
            with pytest.raises(BfenvError, match=what):
                read(copy)
    else:
        check = part.removesuffix(".json").removesuffix("s")
        assert what in found(copy)[check, WRONG]
    if make == "pipe" and part != "schedules":
        with pytest.raises(BfenvError, match=r"is not a regular file|exists and is not a file"):
            run_suite(SUITE, ["easy"], out=copy, seeds=1)


@pytest.mark.parametrize("format", ["table", "csv"])
def test_hostile_names(copy, format):
    """Names that are printed steer no terminal, and no spreadsheet takes them for formulas."""
    change(copy, "fcfs", policy="=\x1b]0;x\x07mine\x9b1m", source="elsewhere")
    arguments = ["leaderboard", "verify", str(copy), "--sample", "0", "--format", format]
    out = CliRunner().invoke(app, arguments).output
    assert "mine" in out and not set(out) & {"\x1b", "\x07", "\x9b"}
    assert ",=" not in out


@pytest.mark.parametrize(("sample", "count"), [(0, 4), (1, 3), (3, 1), (4, 0), (None, 0)])
def test_rows_not_run(honest, sample, count):
    """A row is verified only if it is run again: its schedule does not show who made it."""
    verdicts = list(verify(honest, sample=sample))
    reasons = [one.reason for one in verdicts if one.verdict == UNVERIFIED]
    assert reasons == [AS_KEPT] * count


def test_unknown_code(copy):
    """The row of code that is not here is unverified, however well its schedule gives its results.

    Here the code is an invented one, and the schedule FCFS's.
    """
    change(copy, "fcfs", policy="nobody_has_this:policy", code="sha256:0")
    for path in (copy / "rows").glob("fcfs_*.json"):
        key = Row.from_json(path.read_bytes(), path).key
        shutil.move(copy / "schedules" / f"{path.stem}.npz", copy / "schedules" / f"{key}.npz")
    verdicts = [one for one in verify(copy) if one.row and one.row.code]
    assert {(one.check, one.verdict) for one in verdicts} == {
        ("file", HOLDS),
        ("name", HOLDS),
        ("workload", HOLDS),
        ("schedule", HOLDS),
        ("run again", UNCHECKED),
        ("results", UNVERIFIED),
    }
    result = CliRunner().invoke(app, ["leaderboard", "verify", str(copy)])
    assert result.exit_code == 3
    assert "results unverified: 2 rows of 4, such as nobody_has_this:policy on" in result.stdout


def test_the_command(honest, copy):
    """Status 0 if every row was run again, 1 if one is wrong, 3 if one was not run again."""
    good = CliRunner().invoke(app, ["leaderboard", "verify", str(honest)])
    assert (good.exit_code, "unverified:" in good.stdout) == (0, False)
    check = ["leaderboard", "verify", "--sample", "0"]
    sampled = CliRunner().invoke(app, [*check, str(honest)])
    assert sampled.exit_code == 3 and "results unverified: 4 rows of 4, such as" in sampled.stdout
    for path in (copy / "schedules").glob("fcfs_lublin-32*"):
        path.unlink()
    unverified = CliRunner().invoke(app, [*check, str(copy)])
    assert unverified.exit_code == 3
    line = "1 row of 4, fcfs on lublin-32-0.8, seed 0: neither was its schedule kept nor"
    assert line in unverified.stdout
    change(copy, "fcfs", source="elsewhere")
    wrong = CliRunner().invoke(app, [*check, str(copy)])
    assert wrong.exit_code == 1
    assert "workload wrong: fcfs on lublin-32-0.8, seed 0: elsewhere with" in wrong.stdout
