"""What is measured of schedules and workloads, against hand-solved cases."""

import json

import numpy as np
import pytest
from hypothesis import given, settings

import bfenv
from bfenv.baselines import simulate
from bfenv.core.errors import BfenvError
from bfenv.core.schedule import Schedule
from bfenv.workloads import load_workload
from reproductions.examples import heel_and_toe
from reproductions.item import Content, Line, Panel, Run, Value
from reproductions.measures import MEASURES, WORKLOAD_MEASURES
from reproductions.readings import new_promises, own_pivot_only
from reproductions.rows import make_row, plan, read_rows, row_file, run, write_rows
from tests.conftest import small_traces
from tests.reproductions.made_up import item


def schedule(trace, start, **records):
    """A schedule with these starts."""
    start = np.array(start)
    none = np.full(len(trace), -1)
    return Schedule(trace, "", 0, start, start + trace.runtime, none, none, records)


def test_stolen_time():
    """Tsafrir 2010, Figure 6: three wild backfills move job 3 from 6 to 10, so 4 are stolen."""
    found = bfenv.simulate(heel_and_toe(), "easy")
    assert found.start.tolist() == [0, 0, 10, 4, 6, 8]
    assert MEASURES["stolen-from-head"](found) == 4
    assert MEASURES["wild"](found) == 0.5


def test_ratios():
    """R = (s1 - sm) / min, by class of estimates and by priority; a gain is s1 - sm."""
    trace = bfenv.make_trace([0, 0], [1, 1], [10, 10], 1, estimate=[10, 2000], priority=[1, 0])
    one, other = schedule(trace, [0, 10]), schedule(trace, [10, 0])
    assert MEASURES["ratio-all"](one, other) == 0
    assert MEASURES["ratio-small"](one, other) == 1  # slowdowns 1 and 2
    assert MEASURES["ratio-medium"](one, other) == -1
    assert MEASURES["ratio-all-high"](one, other) == 1
    assert np.isnan(MEASURES["ratio-long"](one, other))
    trace = bfenv.make_trace([0, 0], [1, 1], [20, 10], 1)
    assert MEASURES["gain-wait"](schedule(trace, [10, 0]), schedule(trace, [0, 20]))[0] == 5


def test_guarantees_and_reservations():
    """Guaranteed over actual delay of the jobs that waited; one of two requested starts is late."""
    trace = bfenv.make_trace([0, 0, 0], [1, 1, 1], [5, 5, 5], 1, requested_start=[0, 5, 4])
    found = schedule(trace, [0, 5, 10], guarantee=np.array([-1, 10, 40]))
    assert MEASURES["guarantees-median"](found) == 3
    assert MEASURES["started-at-once"](found) == pytest.approx(1 / 3)
    assert (MEASURES["reservations"](found), MEASURES["missed"](found)) == (2, 1)


def test_crashed_and_short():
    """Crashed: estimates above 1000 s, runtimes below 180 s; short jobs count as they start."""
    estimates = [3600, 3600, 1000, 301]
    trace = bfenv.make_trace([0] * 4, [1] * 4, [179, 180, 100, 60], 4, estimate=estimates)
    assert WORKLOAD_MEASURES["crashed"](trace) == 1
    assert WORKLOAD_MEASURES["round-share"](trace) == 0.5  # of 5 minutes, or of hours
    trace = bfenv.make_trace([0, 0, 0], [1, 1, 1], [10, 20, 970], 1)
    found = schedule(trace, [0, 10, 30])
    counts = MEASURES["short-starts"](found)[1]
    assert (counts.sum(), MEASURES["short-starts-early"](found)) == (2, 1)


@pytest.mark.thorough
@settings(max_examples=30)
@given(trace=small_traces(jobs=10))
def test_readings_are_schedules(trace):
    """Every job runs."""
    for policy in (new_promises, own_pivot_only):
        bfenv.simulate(trace, policy).check()


@pytest.mark.thorough
def test_own_pivot_only():
    """Where a job respects its own pivot only, other pivots wait longer.

    A wide job with a long estimate waits behind small ones that never cross their own pivot.
    """
    rows = [(0, 2, 900), (0, 2, 900), (1, 4, 20_000), *((10 * i, 2, 900) for i in range(1, 60))]
    trace = bfenv.make_trace(*zip(*rows, strict=True), 4)
    plain = "multiqueue(speculation=0)"
    waits = [bfenv.simulate(trace, one).wait[2] for one in (plain, own_pivot_only)]
    assert waits[0] < waits[1]


WORKLOAD = "lublin(procs=16, jobs=60)"
LONGER = "lublin(procs=16, jobs=200, load=0.9)"
EXACT = (("estimates", "exact"),)
RANDOM = (("estimates", "uniform-tsafrir"), ("factor", 3.0))


def content(*runs):
    """Content that needs the mean wait of these runs."""
    lines = tuple(Line(str(i), (Value(one, "wait"),)) for i, one in enumerate(runs))
    return Content((), (Panel("", "", "", lines),))


def test_row():
    """A row has what its simulations gave.

    They are means of the schedules that `simulate` makes, and of their gain on the reference's.
    """
    row = make_row(Run(WORKLOAD, "easy", EXACT, reference="fcfs"), ("wait", "gain-wait"))
    trace = load_workload(WORKLOAD, estimates="exact")
    wait, fcfs = (simulate(trace, policy).wait.mean() for policy in ("easy", "fcfs"))
    assert row["values"]["wait"] == [pytest.approx(wait, rel=1e-6)]
    ((gain, low, high),) = row["values"]["gain-wait"]
    assert low < gain < high and gain == pytest.approx(fcfs - wait, rel=1e-5)
    assert (row["jobs"], row["processors"]) == (60, 16)
    longer = make_row(Run(WORKLOAD, "easy", (("runtime_factor", 2.0),)), ("wait",))
    assert longer["values"]["wait"][0] > wait


def test_seeds():
    """Each seed draws its estimates and decisions; a deterministic run has equal values."""
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
