"""What is measured of schedules and workloads, against hand-solved cases."""

import numpy as np
import pytest

import bfenv
from bfenv.core.schedule import Schedule
from reproductions.measures import MEASURES, WORKLOAD_MEASURES


def schedule(trace, start, **records):
    """A schedule with these starts."""
    start = np.array(start)
    none = np.full(len(trace), -1)
    return Schedule(trace, "", 0, start, start + trace.runtime, none, none, records)


def test_time_stolen_from_a_head_adds_up():
    """Tsafrir 2010, Figure 6: three wild backfills move job 3 from 6 to 10, so 4 are stolen."""
    trace = bfenv.make_trace(
        [0, 0, 1, 1, 1, 1], [1, 1, 2, 1, 1, 1], [6, 4, 1, 4, 3, 2], 2,
        estimate=[12, 8, 2, 8, 6, 4],
    )  # fmt: skip
    found = bfenv.simulate(trace, "easy")
    assert found.start.tolist() == [0, 0, 10, 4, 6, 8]
    assert MEASURES["stolen-from-head"](found) == 4
    assert MEASURES["wild"](found) == 0.5


def test_ratios_are_of_the_chosen_jobs():
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


def test_crashed_jobs_and_short_ones():
    """Crashed: estimates above 1000 s, runtimes below 180 s; short jobs count as they start."""
    estimates = [3600, 3600, 1000, 301]
    trace = bfenv.make_trace([0] * 4, [1] * 4, [179, 180, 100, 60], 4, estimate=estimates)
    assert WORKLOAD_MEASURES["crashed"](trace) == 1
    assert WORKLOAD_MEASURES["round-share"](trace) == 0.5  # of 5 minutes, or of hours
    trace = bfenv.make_trace([0, 0, 0], [1, 1, 1], [10, 20, 970], 1)
    found = schedule(trace, [0, 10, 30])
    counts = MEASURES["short-starts"](found)[1]
    assert (counts.sum(), MEASURES["short-starts-early"](found)) == (2, 1)
