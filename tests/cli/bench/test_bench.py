"""`bfenv bench`: show.py and compare.py; tests/speed has what measure.py measures."""

import json
import re

import pytest

from bfenv.speed.measurements import (
    PUBLISHED,
    measurement,
    read_measurements,
    write_measurements,
)


def test_show_and_compare(run, tmp_path):
    """Measurements that were kept are shown and compared."""
    rows = [
        measurement("traces", "log", "easy", 3, [2.0]),
        measurement("env", "64", "", 0, [5.0], "steps/s"),
    ]
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    write_measurements(before, rows)
    write_measurements(after, [rows[0] | {"best": 0.5}])
    _, out, _ = run("bench", "show", before, "--group", "env")
    assert "5.00 steps/s" in out and "log" not in out and "per job" not in out
    assert "per job" in run("bench", "show", before)[1]
    _, out, _ = run("bench", "show", before, "-f", "json")
    assert json.loads(out) == rows
    _, out, _ = run("bench", "compare", before, after)
    assert re.search(r"log +easy +4.00x +2.00 s", out) and re.search(r"64 +-", out)
    for arguments, value in (
        (("show", before, "-g", "trace"), "'trace'"),
        (("show", tmp_path / "none.json"), "none.json"),
        (("compare", before, __file__), __file__),
    ):
        status, out, err = run("bench", *map(str, arguments))
        assert (status, out) == (2, "") and value in err and err.count("\n") == 1


def test_published(run):
    """Without a file, the published measurements are shown."""
    _, out, _ = run("bench", "show", "-f", "json")
    assert json.loads(out) == read_measurements(PUBLISHED)["rows"]


@pytest.mark.slow
def test_measure(run, tmp_path, monkeypatch):
    """Measurements are printed, and written to the file of --out."""
    monkeypatch.setenv("BFENV_TRACES", str(tmp_path))
    out = tmp_path / "bench.json"
    arguments = ("policies", "-p", "fcfs", "--repeat", 1, "-f", "json", "-o", out)
    status, printed, _ = run("bench", *arguments)
    assert status == 0
    content = read_measurements(out)
    assert json.loads(printed) == content["rows"]
    assert content["command"] == ["bfenv", "bench", *map(str, arguments)]
    assert {row["subject"] for row in content["rows"]} == {"fcfs"}
