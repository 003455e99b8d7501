"""The folder of a leaderboard, written and read."""

import json
import os

import numpy as np
import pytest

from bfenv.core.errors import BfenvError
from bfenv.evaluation.row import PARTS, Row
from bfenv.leaderboard.store import (
    TimeSpent,
    find_row,
    open_store,
    read_leaderboard,
    schedule_file,
    time_spent,
    write_row,
)
from bfenv.leaderboard.suite import SUITES
from tests.leaderboard.stores import write_store
from tests.leaderboard.suites import TINY


def test_read_leaderboard(store, rows):
    """All rows of the folder are read, and the failed ones kept apart."""
    leaderboard = read_leaderboard(store)
    assert (leaderboard.folder, leaderboard.suite) == (store, "test-v1")
    assert read_leaderboard(str(store)) == leaderboard
    assert [row.key for row in leaderboard.rows] == sorted(row.key for row in leaderboard.rows)
    assert len(leaderboard.rows) == 16 and leaderboard.failed == []
    assert {(row.policy, row.workload) for row in leaderboard.rows} == set(rows)
    for row in leaderboard.rows:
        assert row.metrics == rows[row.policy, row.workload]["metrics"]


def test_failed_rows(rows, tmp_path):
    """A row with any status but "ok" has failed."""
    row = {name: value for name, value in rows["los", "lublin-64-0.8"].items() if name not in PARTS}
    failed = row | {"status": "failed", "error": "out of time"}
    leaderboard = read_leaderboard(
        write_store(tmp_path / "one", [failed, rows["easy", "lublin-64-0.8"]])
    )
    assert [row.policy for row in leaderboard.rows] == ["easy"]
    assert [(row.policy, row.error) for row in leaderboard.failed] == [("los", "out of time")]
    assert [row.policy for row in leaderboard.all_rows] == ["easy", "los"]


def test_bad_file(rows, tmp_path):
    """A file that is not a row is named."""
    folder = write_store(tmp_path / "one", [rows["easy", "lublin-64-0.8"]])
    for text in ("{}", "", json.dumps(rows["easy", "lublin-64-0.8"] | {"seed": True})):
        (folder / "rows" / "bad.json").write_text(text)
        with pytest.raises(BfenvError, match=r"bad\.json"):
            read_leaderboard(folder)


def test_two_suites(rows, tmp_path):
    """Rows of two suites do not make a leaderboard."""
    one, two = (rows[policy, "lublin-64-0.8"] for policy in ("easy", "los"))
    folder = write_store(tmp_path / "suites", [one, two | {"suite": "other-v1"}])
    with pytest.raises(BfenvError, match="two suites, test-v1, other-v1"):
        read_leaderboard(folder)


def test_one_run_twice(rows, tmp_path):
    """Two rows of one policy, workload and seed are refused, and their files named."""
    folder = write_store(tmp_path / "twice", [])
    for name in ("a", "b"):
        (folder / "rows" / f"{name}.json").write_text(json.dumps(rows["easy", "lublin-64-0.8"]))
    with pytest.raises(BfenvError, match="a and b are of the same run"):
        read_leaderboard(folder)


def test_no_rows(tmp_path):
    """A folder without rows is refused."""
    with pytest.raises(BfenvError, match="no rows"):
        read_leaderboard(tmp_path / "nothing")


def test_write_row(store, tmp_path):
    """What is written is found again by its key, as the same bytes."""
    (row, *_) = read_leaderboard(store).rows
    open_store(tmp_path, TINY)
    assert find_row(tmp_path, row.key) is None
    write_row(tmp_path, row, {"row_seconds": 1.0}, {"start": np.arange(3)})
    assert find_row(tmp_path, row.key) == row
    name = f"{row.key}.json"
    assert (tmp_path / "rows" / name).read_bytes() == (store / "rows" / name).read_bytes()
    (tmp_path / "rows" / "other.json").write_bytes(row.to_json())
    assert find_row(tmp_path, "other") is None
    assert json.loads((tmp_path / "timings" / name).read_bytes()) == {"row_seconds": 1.0}
    with np.load(schedule_file(tmp_path, row.key)) as arrays:
        assert arrays["start"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"status": "failed"}', '{"schema": 1'])
def test_damaged_row(tmp_path, text):
    """A damaged file, as a full disk leaves it, is no row."""
    open_store(tmp_path, TINY)
    (tmp_path / "rows" / "one.json").write_text(text)
    assert find_row(tmp_path, "one") is None


def test_one_suite_per_folder(store, tmp_path):
    """A folder with rows is its suite's; one without is taken over."""
    open_store(tmp_path, TINY)
    open_store(tmp_path, SUITES["smoke-v1"])
    text = (tmp_path / "suite.json").read_bytes()
    assert json.loads(text) == json.loads(json.dumps(SUITES["smoke-v1"].description()))
    row: Row = read_leaderboard(store).rows[0]
    write_row(tmp_path, row, {}, {})
    open_store(tmp_path, SUITES["smoke-v1"])
    with pytest.raises(BfenvError, match="tiny-v1 needs a folder of its own"):
        open_store(tmp_path, TINY)


def test_leftovers(tmp_path):
    """What killed runs left half written is removed when a board is opened; all else stays."""
    left, other = ".bfenv-0123456789abcdef.tmp", ".other.tmp"
    open_store(tmp_path, TINY)
    folders = [tmp_path, tmp_path / "rows", tmp_path / "timings"]
    for folder in folders:
        for name in (left, other):
            (folder / name).touch()
            os.utime(folder / name, (1, 1))  # so old that it is one on systems without locks, too
    open_store(tmp_path, TINY)
    for folder in folders:
        assert {path.name for path in folder.glob(".*")} == {other}


def test_not_a_folder(tmp_path):
    """A path that cannot be made a folder is named."""
    (tmp_path / "file").touch()
    with pytest.raises(BfenvError, match="file: cannot be made a folder"):
        open_store(tmp_path / "file", TINY)


def test_time_spent(tmp_path):
    """Times are summed by policy and by workload, longest first; damaged files are left out."""
    (tmp_path / "timings").mkdir()
    for i, (policy, workload, seconds) in enumerate(
        [("easy", "a", 1.0), ("easy", "b", 2.0), ("sjf", "a", 4.0), ("sjf", "b", 0.5)]
    ):
        timing = {"policy": policy, "workload": workload, "row_seconds": seconds}
        (tmp_path / "timings" / f"{i}.json").write_text(json.dumps(timing))
    for i, text in enumerate(["", "{}", "[]", '{"row_seconds": "x"}']):
        (tmp_path / "timings" / f"bad{i}.json").write_text(text)
    (tmp_path / "timings" / "folder.json").mkdir()
    assert time_spent(tmp_path) == {
        "policy": [TimeSpent("sjf", 2, 4.5), TimeSpent("easy", 2, 3.0)],
        "workload": [TimeSpent("a", 2, 5.0), TimeSpent("b", 2, 2.5)],
    }


def test_empty_folder(tmp_path):
    """A folder without timings has none."""
    assert time_spent(tmp_path) == {"policy": [], "workload": []}
