"""Measurements made, kept and compared."""

import json

import pytest

import bfenv
from bfenv.speed.measurements import (
    compare,
    measurement,
    read_measurements,
    with_provenance,
    write_measurements,
)


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
        '{"schema": 1}',
        '{"schema": 1, "rows": [{}]}',
        json.dumps({"schema": 1, "rows": [ROW]}),
        whole(),
        whole(ROW, schema=2),
        whole(ROW, versions={}),
        whole(ROW, machine=None),
        whole(ROW, commit=3),
        whole(ROW, ROW),
        whole(ROW, ROW | {"unit": "MiB"}),
        whole(ROW | {"best": "fast"}),
        whole(ROW | {"best": True}),
        whole(ROW | {"jobs": "many"}),
        whole(ROW | {"median": float("nan")}),
        whole(ROW | {"median": 1e300}),
        whole(ROW | {"group": []}),
        whole(ROW | {"unit": 3}),
        whole({name: value for name, value in ROW.items() if name != "median"}),
    ],
)
def test_other_files(tmp_path, text):
    """Any other file is refused by its name."""
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(bfenv.BfenvError, match=r"other\.json"):
        read_measurements(path)


def test_valid_file(tmp_path):
    """The file from which the others differ is read."""
    path = tmp_path / "one.json"
    path.write_text(whole(ROW))
    assert read_measurements(path)["rows"] == [ROW]
