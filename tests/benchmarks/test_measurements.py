"""Measurements made, kept and compared."""

import json
import re
import sys

import pytest

import bfenv
from benchmarks import __main__ as command
from benchmarks.measurements import (
    PUBLISHED,
    compare,
    measurement,
    read_measurements,
    with_provenance,
    write_measurements,
)
from bfenv.cli.app import run_app


def test_best():
    """The least time and the largest rate are best."""
    times = measurement("traces", "a", "easy", 3, [3.0, 1.0, 2.0])
    assert (times["best"], times["median"]) == (1.0, 2.0)
    rates = measurement("env", "a", "easy", 3, [3.0, 1.0, 2.0], "steps/s")
    assert (rates["best"], rates["median"]) == (3.0, 2.0)


def kept(path, *rows):
    write_measurements(path, rows)
    return read_measurements(path)


def test_provenance(tmp_path):
    """A file has everything that the numbers depend on."""
    found = kept(tmp_path / "a.json", measurement("traces", "log", "easy", 3, [2.0, 1.0]))
    assert found["rows"] == [measurement("traces", "log", "easy", 3, [2.0, 1.0])]
    assert {"machine", "versions", "commit", "command", "schema"} <= set(found)
    assert found["versions"]["bfenv"] == bfenv.__version__


def test_compare(tmp_path):
    """Twice as fast is 2.0, for times as for rates."""
    before = kept(
        tmp_path / "a.json",
        measurement("traces", "log", "easy", 3, [2.0]),
        measurement("env", "64", "", 0, [100.0], "steps/s"),
        measurement("traces", "gone", "easy", 3, [2.0]),
    )
    after = kept(
        tmp_path / "b.json",
        measurement("env", "64", "", 0, [200.0], "steps/s"),
        measurement("traces", "log", "easy", 3, [1.0]),
        measurement("traces", "new", "easy", 3, [2.0]),
    )
    rows = {r["what"]: (r["before"], r["after"], r["faster"]) for r in compare(before, after)}
    assert rows == {
        "log": (2.0, 1.0, 2.0),
        "64": (100.0, 200.0, 2.0),
        "gone": (2.0, None, None),
        "new": (None, 2.0, None),
    }


ROW = measurement("traces", "log", "easy", 3, [2.0])
HEAD = with_provenance([]) | {"machine": "one"}


def whole(*rows, **head):
    return json.dumps(HEAD | head | {"rows": rows})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        json.dumps({"schema": 1, "rows": [ROW]}),
        whole(),
        whole(ROW, schema=2),
        whole(ROW, versions={}),
        whole(ROW, machine=None),
        whole(ROW, commit=3),
        whole(ROW, ROW | {"unit": "MiB"}),
        whole(ROW | {"best": "fast"}),
        whole(ROW | {"best": True}),
        whole(ROW | {"median": float("nan")}),
        whole(ROW | {"group": []}),
        whole({name: value for name, value in ROW.items() if name != "median"}),
    ],
)
def test_other_files(tmp_path, text):
    """Any other file is refused by its name."""
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(bfenv.BfenvError, match=r"other\.json"):
        read_measurements(path)


def test_valid_files(tmp_path):
    """The file from which the others differ is read, and the published one."""
    path = tmp_path / "one.json"
    path.write_text(whole(ROW))
    assert read_measurements(path)["rows"] == [ROW]
    assert len(read_measurements(PUBLISHED)["rows"]) > 100


@pytest.fixture
def run(monkeypatch, capsys):
    """Run `python -m benchmarks` in this process: (status, stdout, stderr)."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["benchmarks", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit_:
            run_app(command.app, "python -m benchmarks")
        captured = capsys.readouterr()
        return exit_.value.code or 0, captured.out, captured.err

    return run


def test_show_and_compare(run, tmp_path):
    """Measurements that were kept are shown and compared."""
    rows = [
        measurement("traces", "log", "easy", 3, [2.0]),
        measurement("env", "64", "", 0, [5.0], "steps/s"),
    ]
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    write_measurements(before, rows)
    write_measurements(after, [rows[0] | {"best": 0.5}])
    _, out, _ = run("show", before, "--group", "env")
    assert "5.00 steps/s" in out and "log" not in out and "per job" not in out
    assert "per job" in run("show", before)[1]
    _, out, _ = run("show", before, "-f", "json")
    assert json.loads(out) == rows
    _, out, _ = run("compare", before, after)
    assert re.search(r"log +easy +4.00x +2.00 s", out) and re.search(r"64 +-", out)
    for arguments, value in (
        (("show", before, "-g", "trace"), "'trace'"),
        (("show", tmp_path / "none.json"), "none.json"),
        (("compare", before, __file__), __file__),
    ):
        status, out, err = run(*arguments)
        assert (status, out) == (2, "") and value in err and err.count("\n") == 1


def test_measure(run, tmp_path, monkeypatch):
    """Measurements are printed, and written to the file of --out with the command."""
    row = measurement("traces", "log", "fcfs", 3, [2.0])
    monkeypatch.setattr(command, "measure_policies", lambda names, repeat: iter([row]))
    arguments = ("policies", "-p", "fcfs", "-f", "json", "-o", str(tmp_path / "bench.json"))
    assert json.loads(run(*arguments)[1]) == [row]
    content = read_measurements(tmp_path / "bench.json")
    assert content["rows"] == [row]
    assert content["command"] == ["python", "-m", "benchmarks", *arguments]
    assert "nosuch" in run("policies", "-p", "nosuch")[2]
    assert run("engine", "--help")[0] == 0
