"""What the page's Gantt chart shows, and when it is absent."""

import pytest

from bfenv.leaderboard.report.gantt_selection import select_gantt
from bfenv.leaderboard.report.ranking import ranked
from bfenv.leaderboard.store import given_logs, read_leaderboard, remember_logs
from tests.leaderboard.stores import write_store


def test_default(leaderboard):
    """By default it shows the reference and the best policy on the first workload."""
    selection = select_gantt(leaderboard)
    best = next(line.policy for line in ranked(leaderboard) if line.policy != "easy")
    assert [schedule.policy for schedule in selection.schedules] == ["easy", best]
    assert selection.workload == leaderboard.rows[0].workload
    assert selection.absent == ""


def test_changed_workload(rows, tmp_path):
    """The chart is absent, with the reason, if the workload is gone or not the rows'."""
    for row in rows.values():
        row["workload_hash"] = "sha256:0"
    leaderboard = read_leaderboard(write_store(tmp_path / "other", rows.values()))
    assert "has other jobs" in select_gantt(leaderboard).absent
    for row in rows.values():
        row["source"] = "nowhere/log.swf"
    leaderboard = read_leaderboard(write_store(tmp_path / "gone", rows.values()))
    selection = select_gantt(leaderboard)
    assert "nowhere/log.swf" in selection.absent


def test_given_before(rows, tmp_path, monkeypatch):
    """A log that this user has run is opened again, from anywhere."""
    monkeypatch.setattr("bfenv.leaderboard.store.cache_root", lambda: tmp_path)
    assert given_logs() == []
    log = tmp_path / "log.swf"
    log.write_text("no log")
    remember_logs(["lublin:jobs=9", f"{log}:load=0.9", str(log)])
    assert given_logs() == [str(log)]
    for row in rows.values():
        row["source"] = str(log)
    leaderboard = read_leaderboard(write_store(tmp_path / "store", rows.values()))
    assert f"{log}:1: " in select_gantt(leaderboard).absent  # it was read
    (tmp_path / "given-logs.json").write_text("{}")
    assert given_logs() == []


def test_foreign_policy(rows, tmp_path):
    """A policy of a module that a row names is not run again."""
    row = rows["los", "lublin-64-0.8"] | {"policy": "evil:policy"}
    folder = write_store(tmp_path / "store", [rows["easy", "lublin-64-0.8"], row])
    (only,) = select_gantt(read_leaderboard(folder)).schedules
    assert only.policy == "easy"


@pytest.mark.parametrize("options", ["", ":job_count=100"])
def test_named_files(rows, tmp_path, monkeypatch, options):
    """A file that a row names is opened only if it is given, and the page has the reason."""
    log = tmp_path / "log.swf"
    log.write_text("no log")
    monkeypatch.chdir(tmp_path)
    for source in (log, log.name):
        for row in rows.values():
            row["source"] = f"{source}{options}"
        leaderboard = read_leaderboard(
            write_store(tmp_path / f"of {len(row['source'])}", rows.values())
        )
        selection = select_gantt(leaderboard)
        assert f"a row names the file {log}" in selection.absent and "--log" in selection.absent
        other = select_gantt(leaderboard, logs=[tmp_path / "other.swf"])
        assert other.absent == selection.absent
        assert f"{log}:1: " in select_gantt(leaderboard, logs=[log]).absent  # it was read
