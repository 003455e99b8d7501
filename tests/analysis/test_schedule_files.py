"""Exports: what is written can be read back, and the formats are those of the other tools."""

import csv
import io
from itertools import pairwise

import pytest

import bfenv
import bfenv.analysis.schedule_files as export
from bfenv.analysis.formatting import csv_text


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


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t", "=\r"])
def test_formulas(begin):
    """Text that a spreadsheet would take for a formula is marked as text; numbers are not."""
    policy = f"{begin}cmd|' /C calc'!A0"
    (line,) = csv.DictReader(io.StringIO(csv_text(["policy", "seed"], [[policy, -1]]), newline=""))
    assert line["policy"] == f"'{policy}".replace("\r", " ").replace("\t", " ")
    assert line["seed"] == "-1"
