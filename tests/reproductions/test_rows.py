"""Rows: made of a run, written, resumed, split in shards, merged."""

import json

import pytest

from bfenv.baselines import simulate
from bfenv.core.errors import BfenvError
from bfenv.workloads import load_workload
from reproductions.item import Content, Line, Panel, Run, Value
from reproductions.rows import make_row, plan, read_rows, row_file, run, write_rows
from tests.reproductions.made_up import item

WORKLOAD = "lublin(procs=16, jobs=60)"
LONGER = "lublin(procs=16, jobs=200, load=0.9)"
EXACT = (("estimates", "exact"),)
RANDOM = (("estimates", "uniform-tsafrir"), ("factor", 3.0))


def content(*runs):
    """Content that needs the mean wait of these runs."""
    lines = tuple(Line(str(i), (Value(one, "wait"),)) for i, one in enumerate(runs))
    return Content((), (Panel("", "", "", lines),))


def test_a_row_has_what_its_simulations_gave():
    """Means of the very schedules that `simulate` makes, and of their gain on the reference's."""
    row = make_row(Run(WORKLOAD, "easy", EXACT, reference="fcfs"), ("wait", "gain-wait"))
    trace = load_workload(WORKLOAD, estimates="exact")
    wait, fcfs = (simulate(trace, policy).wait.mean() for policy in ("easy", "fcfs"))
    assert row["values"]["wait"] == [pytest.approx(wait, rel=1e-6)]
    ((gain, low, high),) = row["values"]["gain-wait"]
    assert low < gain < high and gain == pytest.approx(fcfs - wait, rel=1e-5)
    assert (row["jobs"], row["processors"]) == (60, 16)
    longer = make_row(Run(WORKLOAD, "easy", (("runtime_factor", 2.0),)), ("wait",))
    assert longer["values"]["wait"][0] > wait


def test_seeds_draw_estimates_and_decisions():
    """Each seed has its own estimates; a deterministic run has equal values."""
    for policy, steps in (("easy", RANDOM), ("conservative-replan-random", ())):
        row = make_row(Run(LONGER, policy, steps, 3), ("wait",))
        assert len(set(row["values"]["wait"])) == 3
    row = make_row(Run(WORKLOAD, "easy", EXACT, 2), ("wait",))
    assert len(set(row["values"]["wait"])) == 1


def test_rows_are_read_again(tmp_path):
    """From its own file, or from the file of all rows, if it has the measures."""
    one = Run(WORKLOAD, "easy", EXACT)
    row = make_row(one, ("wait",))
    (tmp_path / "rows").mkdir()
    assert read_rows(tmp_path, {one: {"wait"}}) == {}
    row_file(tmp_path, one).write_text(json.dumps(row))
    assert read_rows(tmp_path, {one: {"wait"}}) == {one: row}
    assert read_rows(tmp_path, {one: {"wait", "makespan"}}) == {}
    row_file(tmp_path, one).write_text('{"torn": ')
    assert read_rows(tmp_path, {one: {"wait"}}) == {}
    write_rows(tmp_path, [row])
    assert read_rows(tmp_path, {one: {"wait"}}) == {one: row}
    (tmp_path / "rows.jsonl").write_text("nonsense\n")
    with pytest.raises(BfenvError, match=r"rows\.jsonl"):
        read_rows(tmp_path, {one: {"wait"}})


def test_a_run_resumes(tmp_path):
    """Rows that are there are not made again; two shards make the others; a log may be missing."""
    runs = [Run(WORKLOAD, policy) for policy in ("fcfs", "easy", "sjf", "saf")]
    made = []
    absent = Run("no-such-log", "easy")
    first, second = (item(lambda quick, n=n: content(*runs[:n], absent)) for n in (2, 4))
    run(plan([first], tmp_path), tmp_path, done=made.append)
    planned = plan([second], tmp_path)
    assert planned.unavailable == {"no-such-log"}
    for shard in ((1, 2), (2, 2)):
        rows = run(planned, tmp_path, shard=shard, done=made.append)
    assert sorted(made) == sorted(runs)
    assert len(rows) == 3  # of the second shard and those that were there
    assert plan([second], tmp_path).missing == []


def test_a_row_is_json():
    """Without NaN, which JSON does not have."""
    row = make_row(Run("sud(jobs=20)"), ("overestimation-18h-50", "jobs"))
    assert row["values"]["overestimation-18h-50"] == [None]
    assert json.loads(json.dumps(row, allow_nan=False)) == row
