"""Measurements made, kept, shown and compared."""

import json
import re
import sys

import pytest

import benchmarks.measurements as ms
import bfenv
from benchmarks import __main__ as command
from bfenv.cli.app import run_app

ROW = ms.measurement("traces", "log", "easy", 3, [3.0, 2.0, 4.0])
RATE = ms.measurement("env", "64", "", 0, [3.0, 5.0, 2.0], "steps/s")
HEAD = ms.with_provenance([]) | {"machine": "one"}


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
    """The least time and the largest rate are best; twice as fast is 2.00, for rates as well."""
    assert (ROW["best"], ROW["median"], RATE["best"], RATE["median"]) == (2.0, 3.0, 5.0, 3.0)
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    ms.write_measurements(before, [ROW, RATE, ROW | {"what": "gone"}])
    ms.write_measurements(
        after, [RATE | {"best": 10.0}, ROW | {"best": 0.5}, ROW | {"what": "new"}]
    )
    _, out, _ = run("show", before, "--group", "env")
    assert "5.00 steps/s" in out and "log" not in out and "per job" not in out
    assert "per job" in run("show", before)[1]
    _, out, _ = run("compare", before, after)
    assert re.search(r"log +easy +4.00x +2.00 s", out) and re.search(r"64 +2.00x +5.00", out)
    assert re.search(r"gone +easy +- +2.00 s +-", out) and re.search(r"new +easy +- +- +2", out)
    for arguments, value in (
        (("show", before, "-g", "trace"), "'trace'"),
        (("show", tmp_path / "none.json"), "none.json"),
        (("compare", before, __file__), __file__),
        (("policies", "-p", "nosuch"), "nosuch"),
    ):
        status, out, err = run(*arguments)
        assert (status, out) == (2, "") and value in err and err.count("\n") == 1
    assert json.loads(run("show", "-f", "json")[1]) == ms.read_measurements(ms.PUBLISHED)["rows"]
    assert "python -m benchmarks engine" in run("engine", "--help")[1]


def test_measure(run, tmp_path, monkeypatch):
    """Measurements are printed, and written to the file of --out with what they depend on."""
    monkeypatch.setattr(command, "measure_policies", lambda names, repeat: iter([ROW]))
    arguments = ("policies", "-p", "fcfs", "-f", "json", "-o", str(tmp_path / "bench.json"))
    assert json.loads(run(*arguments)[1]) == [ROW]
    content = ms.read_measurements(tmp_path / "bench.json")
    assert content["rows"] == [ROW]
    assert content["command"] == ["python", "-m", "benchmarks", *arguments]
    assert content["versions"]["bfenv"] == bfenv.__version__


def whole(*rows, **head):
    return json.dumps(HEAD | head | {"rows": rows})


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        whole(),
        whole(ROW, schema=2),
        whole(ROW, versions={}),
        whole(ROW, commit=3),
        whole(ROW, ROW | {"unit": "MiB"}),  # the same measurement twice
        whole(ROW | {"best": "fast"}),
        whole(ROW | {"median": float("nan")}),
        whole(ROW | {"group": []}),
        whole({name: value for name, value in ROW.items() if name != "median"}),
    ],
)
def test_other_files(tmp_path, text):
    """Any other file is refused by its name; the one from which most of these differ is not."""
    path = tmp_path / "other.json"
    path.write_text(whole(ROW))
    assert ms.read_measurements(path)["rows"] == [ROW]
    path.write_text(text)
    with pytest.raises(bfenv.BfenvError, match=r"other\.json"):
        ms.read_measurements(path)
