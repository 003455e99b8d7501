"""Which hours of a schedule are shown."""

import numpy as np

import bfenv
from bfenv.analysis.plots.gantt_interval import choose_begin, readable_span
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
