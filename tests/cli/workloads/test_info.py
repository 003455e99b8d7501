"""`bfenv workloads info`: numbers for people and for programs, and a picture."""

import csv
import io
import json

import pytest

import bfenv
from bfenv.workloads.summary import summarize

WORKLOAD = "lublin:jobs=300,high_priority_share=0.75,requested_start_share=0.05,seed=3"


@pytest.fixture
def info(run):
    """Run `bfenv workloads info`: (status, stdout, stderr)."""
    return lambda *arguments: run("workloads", "info", *arguments)


def test_table(info):
    """The table has the machine, the load and the estimates."""
    status, text, _ = info(WORKLOAD)
    assert status == 0
    trace = bfenv.load_workload(WORKLOAD)
    top = summarize(trace)["popular"][0]
    for expected in (
        "300 jobs",
        "256 processors",
        f"{trace.offered_load:.3f}",
        "75.0 % of the jobs",
        "5.0 % of the jobs",
        "18 h",
        f"{100 * top['share']:.1f} %",
        trace.hash[:16],
    ):
        assert expected in text


def test_only_estimate(info, tmp_path):
    """A single estimate is not the most popular of several."""
    job = "1 0 -1 30 2 -1 -1 2 60 -1 1 1 1 1 1 1 -1 -1\n"
    (tmp_path / "log.swf").write_text("; MaxProcs: 8\n" + job)
    assert "The only estimate:\n" in info(tmp_path / "log.swf")[1]


def test_cleaning(info, tmp_path):
    """What was dropped, changed or missing in a log is shown, of some of its jobs as of the log."""
    line = "{} {} -1 {} 2 -1 -1 2 {} -1 1 {} 1 1 1 1 -1 -1\n"
    rows = [(1, 0, 30, 60, 1), (2, 5, 90, 60, 1), (3, 9, 0, 60, 1), (4, 9, 5, -1, -1)]
    (tmp_path / "log.swf").write_text("; MaxProcs: 8\n" + "".join(line.format(*r) for r in rows))
    status, text, _ = info(tmp_path / "log.swf", "--format", "markdown")
    assert status == 0
    for expected in (
        "| dropped | 1 ran for 0 s, or no runtime |",
        "| changed | 1 no estimate |",
        "| 1 runtime cut to the estimate |",
        "| span | 9 s, from 00:00 |",
        "33.3 % requested time",
        "33.3 % user",
        "wait time, average CPU time",
        "| users | 1, 33.3 % of the jobs without |",
    ):
        assert expected in text, expected
    text = info(f"{tmp_path / 'log.swf'}:job_count=1", "--format", "markdown")[1]
    assert "| changed, whole log | 1 no estimate |" in text  # which is of another job


def test_formats(info):
    """json and csv have every number."""
    numbers = summarize(bfenv.load_workload(WORKLOAD))
    assert json.loads(info(WORKLOAD, "--format", "json")[1]) == [numbers]
    rows = list(csv.DictReader(io.StringIO(info(WORKLOAD, "-f", "csv")[1])))
    values = {row["what"]: row["value"] for row in rows}
    assert len(values) == len(rows)
    assert values["runtime.mean"] == str(numbers["runtime"]["mean"])
    assert values["popular.1.estimate"] == str(numbers["popular"][0]["estimate"])
    assert values["weekday"] == ""


def test_plot(info, tmp_path):
    """A picture is written, and overwritten with --force only."""
    pytest.importorskip("matplotlib")
    path = tmp_path / "a.svg"
    assert info("lublin:jobs=300", "--plot", path)[0] == 0
    before = path.read_bytes()
    status, text, err = info("lublin:jobs=300,seed=1", "--plot", path)
    assert (status, text) == (2, "") and str(path) in err and "--force" in err
    assert path.read_bytes() == before
    assert info("lublin:jobs=300,seed=1", "--plot", path, "--force")[0] == 0
    assert path.read_bytes() != before


def test_all_at_once(info):
    """Jobs that are all submitted at once have no offered load."""
    status, text, _ = info("lublin:jobs=300,all_at_once=true")
    assert status == 0 and "all jobs at once" in text
