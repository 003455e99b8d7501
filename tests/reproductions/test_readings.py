"""Readings that the pages argue against: they are schedules, and differ only where they say."""

import numpy as np
import pytest
from hypothesis import given, settings

import bfenv
from bfenv.baselines.los import los
from reproductions.readings import (
    new_promises,
    own_pivot_only,
    selectable_only,
    selectable_only_max_slowdown,
)
from tests.conftest import small_traces


@pytest.mark.thorough
@settings(max_examples=30)
@given(trace=small_traces(jobs=10))
def test_readings_are_schedules(trace):
    """Every job runs; with a lookahead longer than the queue, LOS's readings are the same."""
    for policy in (new_promises, own_pivot_only):
        bfenv.simulate(trace, policy).check()
    for policy, merit in ((selectable_only, "none"), (selectable_only_max_slowdown, "slowdown")):
        own, plain = (
            bfenv.simulate(trace, one) for one in (policy, los(merit=merit, lookahead=None))
        )
        assert np.array_equal(own.start, plain.start)


def test_jobs_that_the_shadow_time_excludes_do_not_count():
    """The head waits; 50 jobs would delay it; the one behind them starts, but not under `los`."""
    long, short = 50 * [(1, 1, 100)], [(1, 1, 5)]
    submit, size, runtime = zip(*[(0, 3, 10), (1, 4, 10), *long, *short], strict=True)
    trace = bfenv.make_trace(submit, size, runtime, 4)
    assert bfenv.simulate(trace, selectable_only).start[-1] == 1
    assert bfenv.simulate(trace, "los").start[-1] > 1


def test_the_own_pivot_only_lets_other_pivots_wait():
    """A wide job with a long estimate waits behind small ones that never cross their own pivot."""
    rows = [(0, 2, 900), (0, 2, 900), (1, 4, 20_000), *((10 * i, 2, 900) for i in range(1, 60))]
    trace = bfenv.make_trace(*zip(*rows, strict=True), 4)
    plain = "multiqueue(speculation=0)"
    waits = [bfenv.simulate(trace, one).wait[2] for one in (plain, own_pivot_only)]
    assert waits[0] < waits[1]
