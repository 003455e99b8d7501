"""What happens within an interval of a schedule."""

import pytest

import bfenv
from bfenv.analysis.plots.gantt_scene import scene
from bfenv.core.errors import BfenvError
from tests.analysis.drawn import FOUR


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
