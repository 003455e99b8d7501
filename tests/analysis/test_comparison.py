"""A schedule beside another of the same jobs."""

import numpy as np
import pytest

import bfenv
import bfenv.analysis.comparison as cmp
from bfenv.analysis.schedule_metrics import slowdown
from bfenv.core.errors import BfenvError
from tests.analysis.drawn import drawn

TRACE = bfenv.make_trace([0, 0], [1, 1], [4, 2], 1)
FIRST, SECOND = drawn(TRACE, [0, 4]), drawn(TRACE, [2, 0])  # slowdowns 1 and 3, or 1.5 and 1


def test_slowdown_ratio():
    """(2 - 1.25) / 1.25: SECOND outdoes FIRST by 60 %, and the other way round."""
    assert cmp.slowdown_ratio(SECOND, FIRST) == 0.6
    assert cmp.slowdown_ratio(FIRST, SECOND) == -0.6
    assert cmp.slowdown_ratio(FIRST, FIRST) == 0


def test_unbounded():
    """At most 1 s of 10 is nothing to a bounded slowdown."""
    assert bfenv.metrics(FIRST)["mean_bounded_slowdown"] == 1
    assert cmp.slowdown_ratio(SECOND, FIRST) != 0


def test_longest_wait_ratio():
    """The longest waits are compared; without any wait there is no starvation."""
    assert cmp.longest_wait_ratio(FIRST, SECOND) == 2
    wide = bfenv.make_trace([0, 0], [1, 1], [4, 2], 2)
    both, later = drawn(wide, [0, 0]), drawn(wide, [0, 1])
    assert cmp.longest_wait_ratio(both, both) == 1
    assert cmp.longest_wait_ratio(both, later) == 0
    assert cmp.longest_wait_ratio(later, both) == np.inf


def test_batches():
    """There is one ratio for each complete batch of submissions."""
    trace = bfenv.load_workload("lublin:jobs=1050,procs=32")
    schedule, easy = bfenv.simulate(trace, "sjf"), bfenv.simulate(trace, "easy")
    times, ratios = cmp.slowdown_ratios(schedule, easy, batch=100)
    assert len(times) == len(ratios) == 10
    for place in range(10):
        jobs = slice(place * 100, place * 100 + 100)
        mine, theirs = slowdown(schedule)[jobs].mean(), slowdown(easy)[jobs].mean()
        assert times[place] == trace.jobs.submit[place * 100]
        assert ratios[place] == pytest.approx((theirs - mine) / min(theirs, mine))
    assert len(cmp.slowdown_ratios(schedule, easy)[0]) == 1
    assert len(cmp.slowdown_ratios(schedule, easy, batch=2000)[1]) == 0


def test_differences():
    """Differences are those of the means, and change sign when the sides are exchanged."""
    trace = bfenv.load_workload("lublin:jobs=600,procs=32")
    schedule, easy = bfenv.simulate(trace, "fcfs"), bfenv.simulate(trace, "easy")
    mine, theirs = bfenv.metrics(schedule), bfenv.metrics(easy)
    there, back = cmp.differences(schedule, easy), cmp.differences(easy, schedule)
    assert set(there) == {"mean_bounded_slowdown", "mean_wait"}
    for name, found in there.items():
        assert found.value == pytest.approx(mine[name] - theirs[name])
        assert found.low < found.value < found.high and found.batches == 20
        assert back[name][:3] == pytest.approx((-found.value, -found.high, -found.low))
    assert there["mean_wait"].low > 0  # FCFS is surely worse
    assert all(found[:3] == (0, 0, 0) for found in cmp.differences(easy, easy).values())


def test_other_jobs():
    """Schedules of other jobs are refused, with both policies and traces."""
    other = drawn(bfenv.make_trace([0, 0], [1, 1], [4, 3], 1, name="other"), [0, 4])
    with pytest.raises(BfenvError, match="drawn on unnamed .* drawn on other"):
        cmp.check_comparable(FIRST, other)
    cmp.check_comparable(FIRST, drawn(bfenv.make_trace([0, 0], [1, 1], [4, 2], 1), [0, 4]))
