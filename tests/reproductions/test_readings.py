"""Readings that the pages argue against: they are schedules, and differ only where they say."""

import pytest
from hypothesis import given, settings

import bfenv
from reproductions.readings import new_promises, own_pivot_only
from tests.conftest import small_traces


@pytest.mark.thorough
@settings(max_examples=30)
@given(trace=small_traces(jobs=10))
def test_readings_are_schedules(trace):
    """Every job runs."""
    for policy in (new_promises, own_pivot_only):
        bfenv.simulate(trace, policy).check()


def test_the_own_pivot_only_lets_other_pivots_wait():
    """A wide job with a long estimate waits behind small ones that never cross their own pivot."""
    rows = [(0, 2, 900), (0, 2, 900), (1, 4, 20_000), *((10 * i, 2, 900) for i in range(1, 60))]
    trace = bfenv.make_trace(*zip(*rows, strict=True), 4)
    plain = "multiqueue(speculation=0)"
    waits = [bfenv.simulate(trace, one).wait[2] for one in (plain, own_pivot_only)]
    assert waits[0] < waits[1]
