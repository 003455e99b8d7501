"""Readings that the pages argue against: they are schedules, and differ only where they say."""

import numpy as np
import pytest
from hypothesis import given

import bfenv
from bfenv.baselines.los import los
from reproductions.readings import (
    new_promises,
    own_pivot_only,
    selectable_only,
    selectable_only_max_slowdown,
)
from tests.conftest import small_traces


@pytest.mark.parametrize("policy", [new_promises, own_pivot_only])
@given(trace=small_traces(jobs=10))
def test_the_machine_can_run_their_schedules(policy, trace):
    """Every job runs, and no processor twice."""
    bfenv.simulate(trace, policy).check()


@pytest.mark.parametrize(
    "policy, same", [(selectable_only, {}), (selectable_only_max_slowdown, {"merit": "slowdown"})]
)
@given(trace=small_traces(jobs=12))
def test_a_lookahead_that_is_long_enough_makes_no_difference(policy, same, trace):
    """With fewer jobs than the lookahead, it does not matter which of them count."""
    own, plain = (bfenv.simulate(trace, one) for one in (policy, los(**same, lookahead=None)))
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
    wide = (0, 4, 20_000)
    small = [(10 * i, 2, 900) for i in range(60)]
    rows = sorted([(0, 2, 900), (1, *wide[1:]), *small])
    submit, size, runtime = zip(*rows, strict=True)
    trace = bfenv.make_trace(submit, size, runtime, 4)
    at = next(i for i, row in enumerate(rows) if row[1] == 4)
    plain = bfenv.baselines.find_policy("multiqueue(speculation=0)")
    literal = own_pivot_only
    waits = [bfenv.simulate(trace, one).wait[at] for one in (plain, literal)]
    assert waits[0] < waits[1]
