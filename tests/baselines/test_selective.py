"""Selective backfilling against hand-solved cases and the naive version."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import bfenv
from bfenv.baselines.selective import SELECTIVE, selective
from tests.baselines.machines import crowds, with_another
from tests.conftest import as_naive, small_traces
from tests.oracles import slack as naive_slack

# (submit, size, estimate) on 2 processors; job 1 needs both
JOBS = (0, 1, 4), (1, 2, 6), (2, 1, 5), (4, 1, 5), (5, 1, 5), (8, 1, 5), (8, 1, 3)


def schedule(policy, jobs, processors=2):
    submit, size, estimate = zip(*jobs, strict=True)
    return bfenv.simulate(bfenv.make_trace(submit, size, estimate, processors), policy).check()


def test_threshold():
    """A job has a reservation once its slowdown exceeds the threshold."""
    #  P
    #  2 |  2222244444111111
    #  1 |00003333366611111155555
    #  at 7 job 1 has waited 6 s of 6: its slowdown is 2 and no more, job 4 passes it; at 8 it
    #  is more, and job 1 is promised 12; at 9 job 6 ends by then and starts, job 5 would not
    result = schedule(SELECTIVE, JOBS)
    assert result.start.tolist() == [0, 12, 2, 4, 7, 18, 9]
    assert result.records["guarantee"].tolist() == [-1, 12, -1, -1, -1, 18, -1]


THRESHOLD = st.sampled_from([0, 1, 1.5, 2, 4, 1000])


@given(small_traces(jobs=10) | crowds(), THRESHOLD)
def test_naive_version(trace, threshold):
    """In both event orders, starts, ends and guarantees are those of the slow version."""
    for order in ("standard", "pyss"):
        result = bfenv.simulate(trace, selective(threshold), event_order=order)
        expected, reservation = naive_slack.selective(*as_naive(trace), threshold, order)
        assert list(zip(result.start.tolist(), result.end.tolist(), strict=True)) == expected
        guarantee = result.records["guarantee"]
        assert {job: guarantee[job] for job in np.flatnonzero(guarantee >= 0)} == reservation


@given(crowds(), THRESHOLD)
def test_reservations(trace, threshold):
    """No job starts later than its reservation."""
    result = bfenv.simulate(trace, selective(threshold)).check()
    guarantee = result.records["guarantee"]
    assert (result.start <= guarantee)[guarantee >= 0].all()


@given(small_traces(jobs=10))
def test_threshold_zero(trace):
    """With threshold zero, selective backfilling is conservative backfilling."""
    expected = bfenv.simulate(trace, "conservative").start.tolist()
    assert bfenv.simulate(trace, selective(0)).start.tolist() == expected


def test_accidental_plan():
    """A plan is dropped if another policy decided since, even if it still fills the machine."""
    trace = bfenv.make_trace([0, 1, 2, 3], [2, 1, 2, 1], [5, 1, 1, 4], 2, estimate=[5, 2, 2, 4])
    assert with_another(trace, SELECTIVE, lambda count: count % 2).tolist() == [5, 6, 7, 11]
