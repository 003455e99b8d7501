"""Exports: what is written can be read back, and the formats are those of the other tools."""

import csv
import io
import json
from dataclasses import replace
from itertools import pairwise

import pytest

import bfenv
import bfenv.leaderboard.export as export
from bfenv.evaluation.row import Curves, Versus
from bfenv.leaderboard.store import read_leaderboard
from tests.leaderboard.stores import make_store


@pytest.fixture(scope="module")
def leaderboard(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export") / "store"
    workloads = {"small": "lublin:procs=32,jobs=200"}
    return read_leaderboard(make_store(folder, ("easy", "sjf"), workloads))


@pytest.mark.parametrize("name", ["one.swf", "one.swf.gz"])
def test_swf(tmp_path, name):
    """A schedule in SWF is read back as the same jobs with their waits."""
    trace = bfenv.load_workload("lublin:procs=32,jobs=300")
    schedule = bfenv.simulate(trace, "easy")
    export.write_schedule(schedule, tmp_path / name)
    again = bfenv.read_swf(tmp_path / name)
    for written, read in zip(trace.jobs[:4], again.jobs[:4], strict=True):
        assert written.tolist() == read.tolist()
    assert again.runtime.tolist() == trace.runtime.tolist()
    assert again.records[:, 2].tolist() == schedule.wait.tolist()
    assert again.records[:, 4].tolist() == trace.jobs.size.tolist()
    assert schedule.wait.max() > 0


def test_batsim_columns():
    """Batsim's columns agree with each other and with the schedule."""
    trace = bfenv.load_workload("lublin:procs=32,jobs=300")
    schedule = bfenv.simulate(trace, "easy")
    rows = list(csv.DictReader(io.StringIO(export.batsim_csv(schedule))))
    assert tuple(rows[0]) == export.BATSIM_COLUMNS
    assert [int(row["starting_time"]) for row in rows] == schedule.start.tolist()
    for row in rows:
        number = {k: int(v) for k, v in row.items() if k.endswith("_time") or k == "job_id"}
        assert number["finish_time"] == number["starting_time"] + number["execution_time"]
        assert number["waiting_time"] == number["starting_time"] - number["submission_time"]
        assert number["turnaround_time"] == number["finish_time"] - number["submission_time"]
        assert float(row["stretch"]) == number["turnaround_time"] / number["execution_time"]
        assert len(processors(row["allocated_resources"])) == int(
            row["requested_number_of_resources"]
        )


def processors(intervals):
    found = []
    for interval in intervals.split():
        first, _, last = interval.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def test_batsim_processors():
    """In Batsim's file no processor has two jobs at once."""
    trace = bfenv.load_workload("lublin:procs=32,jobs=300")
    rows = csv.DictReader(io.StringIO(export.batsim_csv(bfenv.simulate(trace, "easy"))))
    busy = {}
    for row in rows:
        for processor in processors(row["allocated_resources"]):
            assert 0 <= processor < 32
            busy.setdefault(processor, []).append(
                (int(row["starting_time"]), int(row["finish_time"]))
            )
    for spans in busy.values():
        spans.sort()
        assert all(a[1] <= b[0] for a, b in pairwise(spans))


def test_batsim_killed_job(tmp_path):
    """A job that was cut at its estimate did not complete for Batsim."""
    line = "{} 0 -1 {} 1 -1 -1 1 20 -1 1 1 1 1 1 1 -1 -1\n"
    path = tmp_path / "log.swf"
    path.write_text("; MaxProcs: 4\n" + line.format(1, 20) + line.format(2, 21))
    rows = csv.DictReader(
        io.StringIO(export.batsim_csv(bfenv.simulate(bfenv.read_swf(path), "fcfs")))
    )
    assert [(row["success"], row["final_state"]) for row in rows] == [
        ("1", "COMPLETED_SUCCESSFULLY"),
        ("0", "COMPLETED_WALLTIME_REACHED"),
    ]


def test_rows(leaderboard):
    """Rows become lines of JSON with all values, and lines of CSV with all but the curves."""
    rows = leaderboard.rows
    lines = [json.loads(line) for line in export.rows_jsonl(rows).splitlines()]
    assert lines == [export.flattened(row) for row in rows]
    assert lines[0]["metrics.mean_wait"] == rows[0].metrics["mean_wait"]
    assert lines[0]["curves.queue_length.time"] == list(rows[0].curves.queue_length.time)
    assert len(lines[0]["curves.wait_quantiles"]) == 101
    assert (lines[0]["schema"], lines[0]["key"]) == (1, rows[0].key)
    table = list(csv.DictReader(io.StringIO(export.rows_csv(rows))))
    assert [line["policy"] for line in table] == [row.policy for row in rows]
    assert float(table[0]["versus.mean_wait.low"]) == rows[0].versus.differences["mean_wait"].low
    assert list(table[0])[:6] == ["suite", "policy", "workload", "seed", "status", "error"]
    assert not [name for name in table[0] if name.startswith("curves")]


def test_failed_rows(leaderboard):
    """Rows without results have empty cells, and the columns are those of all rows."""
    (easy, sjf) = leaderboard.rows
    failed = replace(
        sjf, status="failed", error="a,b", metrics={}, classes={}, versus=Versus(), curves=Curves()
    )
    table = list(csv.DictReader(io.StringIO(export.rows_csv([failed, easy]))))
    assert (table[0]["error"], table[0]["metrics.mean_wait"]) == ("a,b", "")
    assert float(table[1]["metrics.mean_wait"]) == easy.metrics["mean_wait"]


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t", "=\r"])
def test_formulas(leaderboard, begin):
    """Text that a spreadsheet would take for a formula is marked as text; numbers are not."""
    row = replace(leaderboard.rows[0], policy=f"{begin}cmd|' /C calc'!A0", status="failed")
    (line,) = csv.DictReader(io.StringIO(export.rows_csv([row]), newline=""))
    assert line["policy"] == f"'{row.policy}".replace("\r", " ").replace("\t", " ")
    assert line["seed"] == str(row.seed)
