"""Which hours of a schedule are shown."""

import sys

import numpy as np
import pytest

import bfenv
from bfenv.analysis.plots import check_target, write_workload
from bfenv.analysis.plots.gantt_interval import choose_begin, readable_span
from bfenv.analysis.plots.gantt_scene import scene
from bfenv.core.errors import BfenvError
from tests.analysis.drawn import FOUR


def test_difference():
    """The interval is the one in which two schedules differ most."""
    # FOUR again, after a quiet time in which both policies act alike.
    quiet = [0, 100, 200, 300]
    trace = bfenv.make_trace(
        [*quiet, *(np.array([0, 1, 2, 3]) + 1000)],
        [1] * 4 + [3, 4, 1, 2],
        [5] * 4 + [10, 5, 4, 6],
        4,
    )
    pair = [bfenv.simulate(trace, policy) for policy in ("easy", "fcfs")]
    begin = choose_begin(pair, 20)
    assert begin <= 1002 < begin + 20
    assert choose_begin(pair[:1], 20) <= 1010 < choose_begin(pair[:1], 20) + 20
    assert choose_begin([pair[0], pair[0]], 20) == 0


def test_long_traces():
    """An interval is found in any length of time, and to the second."""
    late = 10**14  # seconds, an array of which no memory holds
    trace = bfenv.make_trace([0, late, late, late + 9], [1, 2, 2, 1], [5, 30, 5, 5], 2)
    schedule = bfenv.simulate(trace, "fcfs")
    assert schedule.start.tolist() == [0, late, late + 30, late + 35]
    assert choose_begin([schedule], 20) == late + 20
    assert choose_begin([schedule], 1) == late + 29


def test_readable_span():
    """A span is readable if enough jobs start in it."""
    trace = bfenv.make_trace(range(0, 360_000, 360), [1] * 1000, [60] * 1000, 4)
    assert readable_span(bfenv.simulate(trace, "easy")) == 14_400
    assert readable_span(bfenv.simulate(FOUR, "easy")) == 3_600


def test_counts():
    """A scene counts what happens within its interval."""
    one = scene(bfenv.simulate(FOUR, "easy"), 1, 10)
    assert one.used == pytest.approx((3 * 9 + 1 * 4 + 4 * 1) / 40)
    assert one.started.tolist() == [1, 2]
    assert one.backfilled.tolist() == [False, False, True, False]
    assert "2 jobs start, 1 of them backfilled" in one.heading()
    alone = scene(bfenv.simulate(FOUR, "easy"), 0, 1)
    assert "1 job starts, 0 of them backfilled" in alone.heading()
    times, jobs = one.waiting()
    assert dict(zip(times.tolist(), jobs.tolist(), strict=True)) == {1: 1, 2: 1, 3: 2, 10: 1, 11: 1}


def test_nothing_to_see():
    """An interval without a run, or without a second, is refused."""
    schedule = bfenv.simulate(FOUR, "easy")
    with pytest.raises(BfenvError, match="10 s from 21 s"):
        scene(schedule, 21, 10)
    with pytest.raises(BfenvError, match="span must be an integer >= 1, got 0"):
        scene(schedule, 0, 0)


TRACE = bfenv.load_workload("lublin", jobs=300)


@pytest.mark.parametrize("name", ["a.gif", "a", "a.png.gz"])
def test_unknown_format(tmp_path, name):
    """A suffix that names no format is refused, with the formats there are."""
    with pytest.raises(bfenv.BfenvError, match=rf"{name}: .*\.png, \.svg, \.pdf"):
        check_target(tmp_path / name)


def test_missing_folder(tmp_path):
    """A folder that does not exist is named."""
    with pytest.raises(bfenv.BfenvError, match=str(tmp_path / "nowhere")):
        check_target(tmp_path / "nowhere" / "a.png")


def test_missing_matplotlib(tmp_path, monkeypatch):
    """Without matplotlib, the error has the command that installs it."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(bfenv.BfenvError, match=r"pip install 'bfenv\[plot\]'"):
        write_workload(TRACE, tmp_path / "a.png")
    assert not list(tmp_path.iterdir())
