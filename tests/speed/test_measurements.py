"""Measurements kept and compared."""

import json

import pytest

import bfenv
from bfenv.speed.engine import row
from bfenv.speed.measurements import compare, read_record, record, write_record


def kept(path, *rows):
    write_record(path, rows)
    return read_record(path)


def test_a_record_says_all_that_the_numbers_depend_on(tmp_path):
    found = kept(tmp_path / "a.json", row("traces", "log", "easy", 3, [2.0, 1.0]))
    assert found["rows"] == [row("traces", "log", "easy", 3, [2.0, 1.0])]
    assert {"machine", "versions", "commit", "command", "schema"} <= set(found)
    assert found["versions"]["bfenv"] == bfenv.__version__


def test_twice_as_fast_is_two_for_times_and_for_rates(tmp_path):
    before = kept(
        tmp_path / "a.json",
        row("traces", "log", "easy", 3, [2.0]),
        row("env", "64", "", 0, [100.0], "steps/s"),
        row("traces", "gone", "easy", 3, [2.0]),
    )
    after = kept(
        tmp_path / "b.json",
        row("env", "64", "", 0, [200.0], "steps/s"),
        row("traces", "log", "easy", 3, [1.0]),
        row("traces", "new", "easy", 3, [2.0]),
    )
    rows = {r["what"]: (r["before"], r["after"], r["faster"]) for r in compare(before, after)}
    assert rows == {
        "log": (2.0, 1.0, 2.0),
        "64": (100.0, 200.0, 2.0),
        "gone": (2.0, None, None),
        "new": (None, 2.0, None),
    }


ROW = row("traces", "log", "easy", 3, [2.0])
HEAD = record([]) | {"machine": "one"}


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
def test_another_file_is_refused_by_name(tmp_path, text):
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(bfenv.BfenvError, match="other.json holds no measurements"):
        read_record(path)


def test_the_file_that_the_others_differ_from_is_read(tmp_path):
    path = tmp_path / "one.json"
    path.write_text(whole(ROW))
    assert read_record(path)["rows"] == [ROW]
