"""What the page's Gantt chart shows, and when it is absent (with `gantt_selection`)."""

import re

import pytest

import bfenv
from bfenv.analysis.plots.gantt_scene import scene
from bfenv.core.durations import DAY
from bfenv.core.errors import BfenvError, UnknownNameError
from bfenv.leaderboard.report import gantt as module
from bfenv.leaderboard.report.gantt import gantt
from bfenv.leaderboard.report.gantt_selection import select_gantt
from bfenv.leaderboard.report.ranking import ranked
from bfenv.leaderboard.store import read_leaderboard
from tests.leaderboard.report.conftest import Page
from tests.leaderboard.site.conftest import write_site
from tests.leaderboard.stores import write_store


def test_default(leaderboard):
    """By default it shows the reference and the best policy on the first workload."""
    selection = select_gantt(leaderboard)
    best = next(line.policy for line in ranked(leaderboard) if line.policy != "easy")
    assert [schedule.policy for schedule in selection.schedules] == ["easy", best]
    assert selection.workload == leaderboard.rows[0].workload
    assert selection.absent == ""


def test_selection(leaderboard):
    """Workload, policies and hours can be chosen."""
    selection = select_gantt(leaderboard, "lublin-64-0.8", ["los"], 3600, 7200)
    assert (selection.schedules[0].policy, selection.begin, selection.span) == ("los", 3600, 7200)
    text = gantt(selection, {"los"})
    Page(text)
    assert 'class="starves"' in text and 'class="starves"' not in gantt(selection, set())


@pytest.mark.parametrize(
    ("options", "error", "named"),
    [
        ({"policies": ["eazy"]}, UnknownNameError, "'eazy'"),
        ({"workload": "lublin"}, UnknownNameError, "'lublin'"),
        ({"policies": ["easy", "los", "sjf"]}, BfenvError, "3"),
    ],
)
def test_bad_selection(leaderboard, options, error, named):
    """What the leaderboard does not have is refused by name."""
    with pytest.raises(error) as raised:
        select_gantt(leaderboard, **options)
    assert named in str(raised.value)


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
    assert "nowhere/log.swf" in gantt(selection, set())


def test_foreign_policy(rows, tmp_path):
    """A policy of a module that a row names is not run again."""
    row = rows["los", "lublin-64-0.8"] | {"policy": "evil:policy"}
    folder = write_store(tmp_path / "store", [rows["easy", "lublin-64-0.8"], row])
    selection = select_gantt(read_leaderboard(folder), policies=["evil:policy"])
    assert selection.schedules == [] and "was not kept" in selection.absent


def test_too_many_boxes(leaderboard, monkeypatch):
    """Hours without jobs are not drawn; of too many boxes, the smallest are one shape."""
    selection = select_gantt(leaderboard)
    assert "Not shown" not in gantt(selection, set())
    assert "Not shown" in gantt(selection._replace(begin=10**9), set())
    whole = gantt(selection, set())
    assert whole.count('d="M0 0" class="small"') == len(selection.schedules)
    monkeypatch.setattr(module, "MOST", 3)
    text = gantt(selection, set())
    assert 'd="M0 0" class="small"' not in text and 'class="small"' in text
    boxes = r'<rect [^>]*class="job'
    assert 0 < len(re.findall(boxes, text)) <= 3 * len(selection.schedules)
    assert len(re.findall(boxes, whole)) > len(re.findall(boxes, text))


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
        assert str(log) in gantt(selection, set())
        other = select_gantt(leaderboard, logs=[tmp_path / "other.swf"])
        assert other.absent == selection.absent
        assert f"{log}:1: " in select_gantt(leaderboard, logs=[log]).absent  # it was read


@pytest.mark.parametrize(("days", "labels"), [(0.5, r"[0-9]{2}-[0-9]{2} [0-9]{2}:00"), (9, "")])
def test_ticks(days, labels, tmp_path):
    """Ticks that are days apart are days, without a time of day; dated logs have dates."""
    log = write_site(tmp_path / "site.swf", start_time=1_767_225_600)
    for trace, whole in ((bfenv.read_swf(log), r"[0-9]{2}-[0-9]{2}"), (undated(log), "[0-9]+ d")):
        one = scene(bfenv.simulate(trace, "easy"), 0, int(days * DAY))
        found = [label for _, label in module._time_axis(one).ticks if label]
        is_dated = whole[-1] != "d"
        wanted = whole if days > 1 else labels if is_dated else "[0-9]{2}:00"
        assert len(found) >= 2 and all(re.fullmatch(wanted, label) for label in found)


def undated(log):
    """The trace of a log without the date on which it began."""
    text = log.read_text()
    log.write_text("".join(line for line in text.splitlines(True) if "UnixStart" not in line))
    return bfenv.read_swf(log)
