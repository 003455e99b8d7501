"""What a leaderboard claims is checked: suite, traces, schedules, rows, bounds."""

import hashlib
import json
import shutil
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from bfenv.cli.app import app
from bfenv.core.errors import BfenvError, WorkloadError
from bfenv.leaderboard import submission
from bfenv.leaderboard.run import run_suite
from bfenv.leaderboard.submission import submit, unpacked
from bfenv.leaderboard.suite import committed, find_suite, salted, suite_of
from bfenv.leaderboard.verify import HOLDS, UNCHECKED, WRONG, Verdict, verify
from bfenv.workloads.load import load_workload
from bfenv.workloads.logs.swf import write_swf
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
    """The verdicts by check, without those that hold."""
    verdicts = list(verify(folder, **({"sample": 0} | options)))
    return {(one.check, one.verdict): one.reason for one in verdicts if one.verdict != HOLDS}


def change(folder, policy, /, **values):
    """Change fields of the rows of a policy."""
    for path in (folder / "rows").glob(f"{policy}_*.json"):
        path.write_text(json.dumps(json.loads(path.read_text()) | values))


NO_BOUNDS = ("bounds", UNCHECKED)


def test_an_honest_folder_holds(honest):
    """All rows are run again, with the same bytes."""
    verdicts = list(verify(honest))
    assert {one.check for one in verdicts if one.verdict == HOLDS} == {
        "suite", "workload", "schedule", "run again", "bounds",
    }  # fmt: skip
    assert sum(one.check == "run again" for one in verdicts) == 4
    assert all(one.verdict == HOLDS for one in verdicts)


@pytest.mark.parametrize("value", [None, 1])
def test_a_better_number_is_found(copy, value):
    """A metric that the schedule does not have is found, with and without running the row."""
    path = next((copy / "rows").glob("fcfs_lublin-32*.json"))
    row = json.loads(path.read_text())
    row["metrics"]["mean_wait"] = value
    path.write_text(json.dumps(row))
    reason = found(copy)["schedule", WRONG]
    assert reason.startswith("mean_wait is ")
    assert reason.endswith(f"the row says {json.dumps(value)}")
    for schedule in (copy / "schedules").iterdir():
        schedule.unlink()
    assert found(copy, sample=None)["run again", WRONG] == "metrics.mean_wait differs"


def forget_metrics(row):
    del row["metrics"]["max_wait"], row["metrics"]["mean_bounded_slowdown"]


@pytest.mark.parametrize(
    ("forge", "reason"),
    [
        (forget_metrics, "mean_bounded_slowdown is "),
        (lambda row: row["metrics"].update(mine=1), "mine is null, the row says 1"),
        (lambda row: row["versus"].clear(), "versus is not that of the schedule"),
        (lambda row: row.update(curves={}), "curves is not that of the schedule"),
        (lambda row: row.update(classes={}), "classes is not that of the schedule"),
        (lambda row: row.pop("schedule_hash"), "schedule_hash is not that of the schedule"),
        (lambda row: row.pop("division"), "division is not that of the schedule"),
        (lambda row: row.update(division="clairvoyant"), "division is not that of the schedule"),
    ],
)
def test_results_follow_from_the_schedule(copy, forge, reason):
    """Whatever a row leaves out, or says otherwise than its schedule, is found without a run."""
    path = next((copy / "rows").glob("fcfs_lublin-32*.json"))
    row = json.loads(path.read_text())
    forge(row)
    path.write_text(json.dumps(row))
    reasons = found(copy)
    assert list(reasons) == [("schedule", WRONG)]
    assert reasons["schedule", WRONG].startswith(reason)


def test_trials_are_seen_in_the_schedule(tmp_path):
    """A policy with trials cannot be ranked among those that run jobs to completion."""
    run_suite(SUITE, ["multiqueue"], out=tmp_path, seeds=1, keep_schedules=True)
    assert found(tmp_path) == {}
    change(tmp_path, "multiqueue", division="completion")
    assert found(tmp_path) == {("schedule", WRONG): "division is not that of the schedule"}


def test_notes_of_agents(tmp_path, monkeypatch):
    """What an agent notes is taken from its row, and must be there."""
    monkeypatch.setattr("bfenv.leaderboard.verify.find_suite", lambda name: TINY)
    run_suite(TINY, agents=["random"], out=tmp_path, seeds=1, keep_schedules=True)
    assert found(tmp_path) == {NO_BOUNDS: "there are none: see `bfenv leaderboard bound`"}
    (path,) = (tmp_path / "rows").iterdir()
    row = json.loads(path.read_text())
    del row["metrics"]["decisions"]
    path.write_text(json.dumps(row))
    assert found(tmp_path)["schedule", WRONG] == "decisions is nan, the row says null"


def test_no_hash(copy):
    """A row without the hash of its schedule is not the one that a run makes."""
    path = next((copy / "rows").glob("fcfs_lublin-32*.json"))
    row = json.loads(path.read_text())
    del row["schedule_hash"]
    path.write_text(json.dumps(row))
    assert found(copy, sample=None)["run again", WRONG] == "schedule_hash differs"


def test_a_forged_schedule_is_found(copy):
    """A schedule other than the row's is found, even a possible one."""
    one, other = sorted((copy / "schedules").glob("*_lublin-32*.npz"))
    shutil.copy(one, other)
    assert found(copy) == {("schedule", WRONG): "it is not the schedule of the row"}


def test_an_impossible_schedule_is_found(copy):
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


def test_a_row_on_other_jobs_is_found(copy):
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


def test_other_code_is_not_run(copy):
    """A row made with code that is not here is not compared."""
    change(copy, "fcfs", code="sha256:0")
    reason = found(copy, sample=None)["run again", UNCHECKED]
    assert reason == "its code here is another one than the row's"


def test_a_sample_is_drawn_by_its_seed(honest, monkeypatch):
    """As many rows as asked are run again, other ones with another seed."""
    holds = lambda row, *rest: Verdict("run again", HOLDS, "", row)  # noqa: E731
    monkeypatch.setattr("bfenv.leaderboard.verify._run_again", holds)
    drawn = [
        [one.row.key for one in verify(honest, sample=1, seed=seed) if one.check == "run again"]
        for seed in (0, 0, 1)
    ]
    assert [len(keys) for keys in drawn] == [1, 1, 1]
    assert drawn[0] == drawn[1] != drawn[2]


SALT = "a secret of some length"


def test_salt(tmp_path):
    """A salted suite has other traces, is repeatable, and is verified with its salt only."""
    suite = salted(SUITE, SALT)
    assert suite == salted(SUITE, SALT) and suite.version == SUITE.version
    traces = [trace for entry in suite.entries for trace in entry.traces]
    others = [trace for one in (SUITE, salted(SUITE, SALT[::-1])) for entry in one.entries
              for trace in entry.traces]  # fmt: skip
    assert not {trace.hash for trace in traces} & {trace.hash for trace in others}
    run_suite(suite, ["easy"], out=tmp_path, seeds=1)
    assert found(tmp_path, salt=SALT).keys() == {("schedule", UNCHECKED), NO_BOUNDS}
    assert found(tmp_path)["suite", UNCHECKED].endswith("needs its salt")
    assert (
        "with this salt it is smoke-v1+"
        in found(tmp_path, salt="a guess of some length")["suite", WRONG]
    )


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """A small log that is kept secret, and another one of the same name."""
    folder = tmp_path_factory.mktemp("logs")
    for part, seed in (("secret", 7), ("other", 8)):
        (folder / part).mkdir()
        trace = load_workload(f"lublin:procs=16,jobs=40,load=0.8,seed={seed}")
        write_swf(trace, folder / part / "site.swf")
    return folder


@pytest.fixture(scope="module")
def ranked(logs, tmp_path_factory):
    """EASY on the secret log, with its schedule, and where the log is published later."""
    folder = tmp_path_factory.mktemp("ranked")
    suite = committed(suite_of([str(logs / "secret" / "site.swf")]), SALT)
    run_suite(suite, ["easy"], out=folder / "board", keep_schedules=True)
    (folder / "published").mkdir()
    shutil.move(logs / "secret" / "site.swf", folder / "published" / "site.swf")
    return folder


def test_commitment(ranked, logs):
    """Rows on a secret log hold once it is revealed, wherever it is, and with no other log."""
    board, log = ranked / "board", str(ranked / "published" / "site.swf")
    reasons = found(board, sample=None)
    assert "they and a salt are needed" in reasons["suite", UNCHECKED]
    published = (board / "suite.json").read_bytes()
    revealed = {"workloads": [log], "salt": SALT, "commitment": published, "sample": None}
    assert found(board, **revealed).keys() == {NO_BOUNDS}
    for wrong in ({"workloads": [str(logs / "other" / "site.swf")]}, {"salt": SALT[::-1]}):
        assert (
            "with these workloads and this salt it is own-"
            in (found(board, **(revealed | wrong))["suite", WRONG])
        )
    reason = found(board, **(revealed | {"commitment": b"{}"}))["suite", WRONG]
    assert reason == "suite.json is not what was published"


def test_commitment_tells_nothing(ranked):
    """What is published has no content, no content's hash and no place, and needs a long salt."""
    log = str(ranked / "published" / "site.swf")
    plain = suite_of([log])
    suite = committed(plain, SALT)
    (trace,) = plain.entries[0].traces
    digest = hashlib.sha256(f"{SALT}/{trace.hash}".encode()).hexdigest()
    assert suite.description()["workloads"] == [
        {"workload": "site", "load": None, "traces": [{"commitment": f"sha256:{digest}"}]}
    ]
    assert suite.name != plain.name
    assert committed(plain, SALT[::-1]).description() != suite.description()
    with pytest.raises(WorkloadError, match="16 characters or more"):
        committed(plain, "short")


def test_commitment_commands(ranked, tmp_path, monkeypatch):
    """The description that `commit` writes is that of the board which `run` makes."""
    log, published = str(ranked / "published" / "site.swf"), tmp_path / "published.json"
    chosen = ["--workload", log, "--salt", SALT]
    words = ["leaderboard", "run", *chosen, "--policy", "easy", "--out", str(tmp_path / "board")]
    monkeypatch.setattr("sys.argv", ["bfenv", *words])
    for command in (["leaderboard", "commit", *chosen, "--out", str(published)], words):
        result = CliRunner().invoke(app, command)
        assert result.exit_code == 0, result.output
    assert CliRunner().invoke(app, ["leaderboard", "commit", *chosen]).output.encode() == (
        published.read_bytes()
    )
    assert (tmp_path / "board" / "suite.json").read_bytes() == published.read_bytes()
    (timing,) = (tmp_path / "board" / "timings").iterdir()
    assert SALT not in timing.read_text() and "SALT" in timing.read_text()
    check = ["leaderboard", "verify", str(tmp_path / "board"), *chosen]
    result = CliRunner().invoke(app, [*check, "--commitment", str(published)])
    assert result.exit_code == 0, result.output


def test_no_salt_for_logs():
    """The jobs of a log cannot be drawn again."""
    with pytest.raises(WorkloadError, match="archive-v1 cannot take a salt"):
        salted(find_suite("archive-v1"), SALT)


def test_salted_seeds():
    """Salts are too long to be guessed, and seeds too many for a player to try them all."""
    with pytest.raises(WorkloadError, match="a salt needs 16 characters or more, got 5"):
        salted(SUITE, "short")
    sources = [trace.source for entry in salted(SUITE, SALT).entries for trace in entry.traces]
    seeds = [int(source.rpartition("seed=")[2]) for source in sources]
    assert min(seeds) >= 2**52 and len({seed % 2**20 for seed in seeds}) == len(seeds)


def test_salt_of_the_environment(tmp_path, monkeypatch):
    """The salt may be in a variable, which other processes cannot read as they can arguments."""
    monkeypatch.setenv("BFENV_SALT", SALT)
    words = ["leaderboard", "run", "-s", "smoke-v1", "-p", "easy", "--seeds", "1", "-o"]
    result = CliRunner().invoke(app, [*words, str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert json.loads((tmp_path / "suite.json").read_text())["suite"] == salted(SUITE, SALT).name
    assert CliRunner().invoke(app, ["leaderboard", "verify", str(tmp_path)]).exit_code == 0


def test_commands_are_not_run(tmp_path, monkeypatch):
    """Commands of players, which come from rows, are run with `trust` only."""
    run_suite(TINY, players=["false"], out=tmp_path, seeds=1)
    monkeypatch.setattr("bfenv.leaderboard.verify.find_suite", lambda name: TINY)
    assert found(tmp_path, sample=None)["run again", UNCHECKED].startswith("a command may do any")
    assert ("run again", UNCHECKED) not in found(tmp_path, sample=None, trust=True)


def test_a_bundle_holds_the_folder(honest, tmp_path):
    """A bundle has the files of the folder, and the same bytes each time."""
    names = submit(honest, tmp_path / "one.zip")
    submit(honest, tmp_path / "two.zip")
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    with unpacked(tmp_path / "one.zip") as folder:
        for name in set(names) - {submission.MANIFEST}:
            assert (folder / name).read_bytes() == (honest / name).read_bytes()
    assert not folder.exists()


def test_a_bundle_has_the_code(tmp_path, monkeypatch, honest):
    """The module of a policy is in the bundle; if it has changed since, there is no bundle."""
    folder = shutil.copytree(honest, tmp_path / "copy")
    monkeypatch.syspath_prepend(tmp_path)
    module = tmp_path / "mine.py"
    module.write_text("policy = None\n")
    digest = submission.hashlib.sha256(module.read_bytes()).hexdigest()
    path = next((folder / "rows").glob("fcfs_lublin-32*.json"))
    row = json.loads(path.read_text()) | {"policy": "mine:policy", "code": f"sha256:{digest}"}
    path.write_text(json.dumps(row))
    assert "code/mine.py" in submit(folder, tmp_path / "bundle.zip")
    module.write_text("policy = 1\n")
    with pytest.raises(BfenvError, match="mine:policy: its code is not here"):
        submit(folder, tmp_path / "bundle.zip")


def test_a_bundle_of_packages(tmp_path, monkeypatch):
    """Modules of packages are where Python finds them, also if their files have the same name."""
    names = [f"{package}.mine:policy" for package in ("one", "two")]
    for name, head in zip(names, ("import bfenv", "from bfenv import policies"), strict=True):
        file = tmp_path / "modules" / name.partition(".")[0] / "mine.py"
        file.parent.mkdir(parents=True)
        file.write_text(f"{head}\nfrom bfenv.baselines.fcfs import FCFS as policy\n")
    monkeypatch.syspath_prepend(tmp_path / "modules")
    run_suite(TINY, names, out=tmp_path / "board", seeds=1)
    names = submit(tmp_path / "board", tmp_path / "bundle.zip")
    assert {"code/one/mine.py", "code/two/mine.py"} <= set(names)
    shutil.rmtree(tmp_path / "modules")
    monkeypatch.setattr("bfenv.leaderboard.verify.find_suite", lambda name: TINY)
    with unpacked(tmp_path / "bundle.zip") as folder:
        assert "there is no such module" in found(folder, sample=None)["run again", UNCHECKED]
        monkeypatch.syspath_prepend(folder / "code")
        assert not {check for check, _ in found(folder, sample=None)} & {"run again", "suite"}


def test_equal_names(tmp_path):
    """Two programs whose files have the same name cannot be in one bundle."""
    for part in ("one", "two"):
        (tmp_path / part).mkdir()
        (tmp_path / part / "mine.py").write_text(f"{part} = 1")
    programs = [f"{sys.executable} {tmp_path / part / 'mine.py'}" for part in ("one", "two")]
    run_suite(TINY, players=programs, out=tmp_path / "board", seeds=1)
    for path in (tmp_path / "board" / "rows").iterdir():
        path.write_text(json.dumps(json.loads(path.read_text()) | {"status": "ok"} | RESULTS))
    with pytest.raises(BfenvError, match="another competitor is code/mine.py, too"):
        submit(tmp_path / "board", tmp_path / "bundle.zip")


RESULTS = {"metrics": {}, "classes": {}, "versus": {}, "curves": {}}


def tampered(honest, path, **contents):
    """Write a bundle in which some files have other contents, or are new."""
    submit(honest, path)
    with zipfile.ZipFile(path) as bundle:
        files = {name: bundle.read(name) for name in bundle.namelist()}
    with zipfile.ZipFile(path, "w") as bundle:
        for name, data in (files | contents).items():
            bundle.writestr(name, data)
    return path


@pytest.fixture
def with_code(honest, tmp_path, monkeypatch):
    """A bundle with the module of a policy, and its files."""
    folder = shutil.copytree(honest, tmp_path / "copy")
    monkeypatch.syspath_prepend(tmp_path)
    code = b"policy = None\n"
    (tmp_path / "mine.py").write_bytes(code)
    digest = f"sha256:{hashlib.sha256(code).hexdigest()}"
    change(folder, "fcfs", policy="mine:policy", code=digest)
    submit(folder, tmp_path / "bundle.zip")
    with zipfile.ZipFile(tmp_path / "bundle.zip") as bundle:
        return tmp_path / "bundle.zip", {name: bundle.read(name) for name in bundle.namelist()}


def without_code(files):
    del files["code/mine.py"]


@pytest.mark.parametrize(
    ("forge", "message"),
    [
        (lambda files: files.update({"code/mine.py": b"import os\n"}), "not what made its rows"),
        (lambda files: files.update({"code/numpy.py": b""}), "code/numpy.py is the code of no row"),
        (without_code, "mine:policy: its code is not here"),
    ],
)
def test_code_is_that_of_the_rows(with_code, forge, message):
    """A bundle whose manifest is right, but whose code did not make its rows, is refused."""
    path, files = with_code
    with unpacked(path):
        pass
    forge(files)
    manifest = json.loads(files.pop(submission.MANIFEST))
    manifest["files"] = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    with zipfile.ZipFile(path, "w") as bundle:
        for name, data in (files | {submission.MANIFEST: json.dumps(manifest)}).items():
            bundle.writestr(name, data)
    with pytest.raises(BfenvError, match=message), unpacked(path):
        pass


def test_a_missing_model(copy):
    """The row of a saved model that is not here is not checked, and the others are."""
    change(copy, "fcfs", kind="agent", policy="missing.zip")
    assert found(copy, sample=None)["run again", UNCHECKED] == "no such saved model: missing.zip"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("suite.json", "suite.json is not what its manifest says"),
        ("rows/more.json", "rows/more.json is not what its manifest says"),
        ("../evil.json", "has no file '../evil.json'"),
        ("code/../evil.py", "has no file 'code/../evil.py'"),
        ("/etc/evil", "has no file '/etc/evil'"),
        ("schedules/evil.py", "has no file 'schedules/evil.py'"),
        ("manifest.json", "is not a bundle"),
    ],
)
def test_a_tampered_bundle_is_refused(honest, tmp_path, name, message):
    """A file that the manifest does not name, or that leads elsewhere, is refused."""
    path = tampered(honest, tmp_path / "bundle.zip", **{name: b"{}"})
    with pytest.raises(BfenvError, match=message), unpacked(path):
        pass
    assert not Path(tmp_path, "evil.json").exists()


@pytest.mark.parametrize("names", [["code/a", "code/a/b"], [f"code/{'a' * 300}"]])
def test_a_bundle_of_impossible_files_is_refused(tmp_path, names):
    """Files that cannot be written side by side are refused."""
    path = bundle(tmp_path, {name: hashlib.sha256(b"").hexdigest() for name in names}, *names)
    with pytest.raises(BfenvError, match=f"'{names[-1][:80]}' cannot be unpacked"), unpacked(path):
        pass


def test_a_bundle_with_another_manifest_is_refused(tmp_path):
    """The files of a manifest must be an object."""
    with pytest.raises(BfenvError, match="is not a bundle"), unpacked(bundle(tmp_path, [[1, "a"]])):
        pass


def test_an_encrypted_bundle_is_refused(tmp_path):
    """A bundle that needs a password is not read."""
    path = bundle(tmp_path, {})
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x03\x04") + 6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    with pytest.raises(BfenvError, match="is not a bundle"), unpacked(path):
        pass


def bundle(folder, files, *names):
    """Write a bundle of empty files, with what its manifest says of them."""
    path = folder / "bundle.zip"
    with zipfile.ZipFile(path, "w") as opened:
        manifest = {"format": submission.FORMAT, "files": files, "code": {}}
        opened.writestr(submission.MANIFEST, json.dumps(manifest))
        for name in names:
            opened.writestr(name, b"")
    return path


@pytest.mark.parametrize("manifest", [b"[" * 100_000, b'{"files": {}, "code": 1}', b"\xff"])
def test_a_hostile_manifest(tmp_path, manifest):
    """A manifest that cannot be read is refused, also one that is nested too deep."""
    with zipfile.ZipFile(tmp_path / "bundle.zip", "w") as bundle:
        bundle.writestr(submission.MANIFEST, manifest)
    with pytest.raises(BfenvError, match="is not a bundle"), unpacked(tmp_path / "bundle.zip"):
        pass


def test_damaged_schedules(copy):
    """A schedule that cannot be decompressed is wrong, and the other rows are checked."""
    path = next((copy / "schedules").glob("easy_lublin-32*.npz"))
    content = bytearray(path.read_bytes())
    content[100:200] = b"\xff" * 100
    path.write_bytes(content)
    verdicts = [one.verdict for one in verify(copy, sample=0) if one.check == "schedule"]
    assert sorted(verdicts) == [HOLDS] * 3 + [WRONG]


def test_a_large_bundle_is_refused(honest, tmp_path, monkeypatch):
    """A bundle that would fill the disk is not unpacked."""
    submit(honest, tmp_path / "bundle.zip")
    monkeypatch.setattr(submission, "LARGEST", 1000)
    with pytest.raises(BfenvError, match="too large"), unpacked(tmp_path / "bundle.zip"):
        pass


@pytest.mark.parametrize("format", ["table", "csv"])
def test_hostile_names(copy, format):
    """Names that are printed steer no terminal, and no spreadsheet takes them for formulas."""
    change(copy, "fcfs", policy="=\x1b]0;x\x07mine\x9b1m", source="elsewhere")
    arguments = ["leaderboard", "verify", str(copy), "--sample", "0", "--format", format]
    out = CliRunner().invoke(app, arguments).output
    assert "mine" in out and not set(out) & {"\x1b", "\x07", "\x9b"}
    assert ",=" not in out


def test_the_commands(honest, tmp_path):
    """`submit` writes a bundle that `verify` accepts; a wrong row ends with status 1."""
    runner = CliRunner()
    bundle = str(tmp_path / "bundle.zip")
    assert runner.invoke(app, ["leaderboard", "submit", str(honest), "-o", bundle]).exit_code == 0
    good = runner.invoke(app, ["leaderboard", "verify", bundle, "--sample", "0"])
    assert (good.exit_code, "schedule" in good.stdout) == (0, True)
    folder = shutil.copytree(honest, tmp_path / "copy")
    change(folder, "fcfs", source="elsewhere")
    bad = runner.invoke(app, ["leaderboard", "verify", str(folder), "--sample", "0"])
    assert bad.exit_code == 1
    assert "workload: fcfs on lublin-32-0.8, seed 0: elsewhere with" in bad.stdout
