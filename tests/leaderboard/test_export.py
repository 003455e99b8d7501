"""Exports: what is written is read back as what was there, and the formats are what they say."""

import csv
import io
import json
from itertools import pairwise

import numpy as np
import pytest

import bfenv
from bfenv.core.errors import BfenvError
from bfenv.leaderboard.export import (
    BATSIM_COLUMNS,
    batsim_csv,
    flattened,
    rows_csv,
    rows_jsonl,
    write_schedule,
)
from bfenv.leaderboard.replay import schedule_of
from bfenv.leaderboard.store import read_board
from tests.leaderboard.boards import make_board


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export") / "board"
    return read_board(make_board(folder, ("easy", "sjf"), {"small": "lublin:procs=32,jobs=200"},
                                 keep=True))  # fmt: skip


@pytest.mark.parametrize("name", ["one.swf", "one.swf.gz"])
def test_swf_is_read_back_as_the_same_jobs_with_their_waits(tmp_path, name):
    trace = bfenv.load_workload("lublin:procs=32,jobs=300")
    schedule = bfenv.simulate(trace, "easy")
    write_schedule(schedule, tmp_path / name)
    again = bfenv.read_swf(tmp_path / name)
    for mine, read in zip(trace.jobs[:4], again.jobs[:4], strict=True):
        assert mine.tolist() == read.tolist()
    assert again.runtime.tolist() == trace.runtime.tolist()
    assert again.records[:, 2].tolist() == schedule.wait.tolist()
    assert again.records[:, 4].tolist() == trace.jobs.size.tolist()
    assert schedule.wait.max() > 0


def test_batsims_columns_agree_with_each_other_and_with_the_schedule():
    trace = bfenv.load_workload("lublin:procs=32,jobs=300")
    schedule = bfenv.simulate(trace, "easy")
    rows = list(csv.DictReader(io.StringIO(batsim_csv(schedule))))
    assert tuple(rows[0]) == BATSIM_COLUMNS
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


def test_in_batsims_file_no_processor_has_two_jobs_at_once():
    trace = bfenv.load_workload("lublin:procs=32,jobs=300")
    rows = csv.DictReader(io.StringIO(batsim_csv(bfenv.simulate(trace, "easy"))))
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


def test_a_job_cut_at_its_estimate_is_no_success_for_batsim(tmp_path):
    line = "{} 0 -1 {} 1 -1 -1 1 20 -1 1 1 1 1 1 1 -1 -1\n"
    path = tmp_path / "log.swf"
    path.write_text("; MaxProcs: 4\n" + line.format(1, 20) + line.format(2, 21))
    rows = csv.DictReader(io.StringIO(batsim_csv(bfenv.simulate(bfenv.read_swf(path), "fcfs"))))
    assert [(row["success"], row["final_state"]) for row in rows] == [
        ("1", "COMPLETED_SUCCESSFULLY"),
        ("0", "COMPLETED_WALLTIME_REACHED"),
    ]


def test_rows_are_flat_and_all_there(board):
    lines = [json.loads(line) for line in rows_jsonl(board.rows).splitlines()]
    assert lines == [flattened(row) for row in board.rows]
    assert lines[0]["metrics.mean_wait"] == board.rows[0]["metrics"]["mean_wait"]
    assert len(lines[0]["curves.wait_quantiles"]) == 101
    table = list(csv.DictReader(io.StringIO(rows_csv(board.rows))))
    assert [row["policy"] for row in table] == [row["policy"] for row in board.rows]
    assert float(table[0]["versus.mean_wait.low"]) == board.rows[0]["versus"]["mean_wait"]["low"]
    assert not [name for name in table[0] if name.startswith("curves")]


def test_a_schedule_kept_is_the_one_made_again(board, tmp_path):
    row = board.rows[0]
    kept = schedule_of(board, row)
    again = schedule_of(board._replace(folder=tmp_path), row)
    assert np.array_equal(kept.start, again.start) and np.array_equal(kept.end, again.end)


def test_a_schedule_kept_must_be_one_of_the_rows_workload(board, tmp_path):
    row, elsewhere = board.rows[0], board._replace(folder=tmp_path)
    path = tmp_path / "schedules" / f"{row['key']}.npz"
    path.parent.mkdir()
    path.write_bytes(b"no archive")
    with pytest.raises(BfenvError, match="cannot be read"):
        schedule_of(elsewhere, row)
    whole = schedule_of(board, row)
    np.savez(path, start=whole.start[1:], end=whole.end[1:])
    with pytest.raises(BfenvError, match="not the schedule of 200 jobs"):
        schedule_of(elsewhere, row)
    np.savez(path, start=np.array([{}], dtype=object), end=whole.end)
    with pytest.raises(BfenvError, match="cannot be read"):
        schedule_of(elsewhere, row)
    np.savez(path, start=whole.start * 0, end=whole.trace.runtime)
    with pytest.raises(BfenvError, match="starts before"):
        schedule_of(elsewhere, row)
