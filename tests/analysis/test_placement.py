"""Which processors each job gets."""

from hypothesis import given

import bfenv
from bfenv.analysis.placement import place
from tests.analysis.drawn import FOUR
from tests.conftest import small_traces


def spans(schedule, *interval):
    return {run.job: (run.start, run.end, run.spans) for run in place(schedule, *interval)}


def test_lowest_first():
    """A job gets the lowest free processors."""
    assert spans(bfenv.simulate(FOUR, "easy")) == {
        0: (0, 10, [(0, 3)]),
        2: (2, 6, [(3, 4)]),
        1: (10, 15, [(0, 4)]),
        3: (15, 21, [(0, 2)]),
    }


def test_pieces():
    """A job is in one piece if there is room for it, else in the lowest pieces."""
    # Jobs of 1, 2, 1, 1 processors; the first and the third leave at 5 and 6; a job of 1 takes
    # the gap below, one of 2 then finds 3 and 5 free only.
    trace = bfenv.make_trace([0, 0, 0, 0, 5, 6], [1, 2, 1, 1, 1, 2], [5, 20, 6, 20, 20, 20], 6)
    schedule = bfenv.simulate(trace, "fcfs")
    assert spans(schedule)[4] == (5, 25, [(0, 1)])
    assert spans(schedule)[5] == (6, 26, [(3, 4), (5, 6)])


@given(small_traces())
def test_disjoint(trace):
    """No processor has two runs at once, and each job has as many as it needs."""
    for policy in ("easy", "multiqueue"):
        schedule = bfenv.simulate(trace, policy)
        runs = place(schedule)
        assert sum(not run.trial for run in runs) == len(trace)
        for i, run in enumerate(runs):
            own = {p for first, last in run.spans for p in range(first, last)}
            assert len(own) == trace.jobs.size[run.job] and own <= set(range(trace.processors))
            for other in runs[:i]:
                if other.start < run.end and run.start < other.end:
                    assert not own & {p for first, last in other.spans for p in range(first, last)}


def test_interval():
    """An interval has the runs that overlap it."""
    schedule = bfenv.simulate(FOUR, "easy")
    assert set(spans(schedule, 6, 15)) == {0, 1}
    assert set(spans(schedule, 9, 16)) == {0, 1, 3}
