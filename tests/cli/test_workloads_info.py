"""`bfenv workloads info`: numbers for people and for programs, and a picture."""

import csv
import io
import json

import pytest
import typer
from typer.testing import CliRunner

import bfenv
from bfenv.cli.info import info
from bfenv.workloads.summary import summarize

app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
app.command()(info)
WORKLOAD = "lublin:jobs=300,high_priority_share=0.75,requested_start_share=0.05,seed=3"


def run(*arguments):
    result = CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "100"})
    return result.exception, result.stdout


def test_the_table_tells_machine_load_and_estimates():
    error, text = run(WORKLOAD)
    assert error is None
    trace = bfenv.load_workload(WORKLOAD)
    top = summarize(trace)["popular"][0]
    for expected in (
        "300 jobs", "256 processors", f"{trace.offered_load:.3f}", "75.0 % of the jobs",
        "5.0 % of the jobs", "18 h", f"{100 * top['share']:.1f} %", trace.hash[:16],
    ):  # fmt: skip
        assert expected in text


def test_what_was_dropped_cut_and_missing_is_told(tmp_path):
    line = "{} {} -1 {} 2 -1 -1 2 {} -1 1 {} 1 1 1 1 -1 -1\n"
    rows = [(1, 0, 30, 60, 1), (2, 5, 90, 60, 1), (3, 9, 0, 60, 1), (4, 9, 5, -1, -1)]
    (tmp_path / "log.swf").write_text("; MaxProcs: 8\n" + "".join(line.format(*r) for r in rows))
    error, text = run(tmp_path / "log.swf", "--format", "markdown")
    assert error is None
    for expected in (
        "| dropped | 1 ran for 0 s, or no runtime |", "| changed | 1 no estimate |",
        "| 1 runtime cut to the estimate |",
        "| span | 9 s, from 00:00 |", "33.3 % requested time", "33.3 % user",
        "wait time, average CPU time", "| users | 1, 33.3 % of the jobs without |",
    ):  # fmt: skip
        assert expected in text, expected


def test_json_and_csv_have_every_number():
    numbers = summarize(bfenv.load_workload(WORKLOAD))
    assert json.loads(run(WORKLOAD, "--format", "json")[1]) == [numbers]
    rows = list(csv.DictReader(io.StringIO(run(WORKLOAD, "-f", "csv")[1])))
    told = {row["what"]: row["value"] for row in rows}
    assert len(told) == len(rows)
    assert told["runtime.mean"] == str(numbers["runtime"]["mean"])
    assert told["popular.1.estimate"] == str(numbers["popular"][0]["estimate"])
    assert told["weekday"] == ""


def test_a_picture_is_written_and_overwritten_only_by_force(tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "a.svg"
    assert run("lublin:jobs=300", "--plot", path)[0] is None
    before = path.read_bytes()
    error, text = run("lublin:jobs=300,seed=1", "--plot", path)
    assert isinstance(error, bfenv.BfenvError) and "--force overwrites it" in str(error)
    assert not text and path.read_bytes() == before
    assert run("lublin:jobs=300,seed=1", "--plot", path, "--force")[0] is None
    assert path.read_bytes() != before


def test_jobs_all_at_once_have_no_load():
    error, text = run("lublin:jobs=300,all_at_once=true")
    assert error is None and "all jobs at once" in text
