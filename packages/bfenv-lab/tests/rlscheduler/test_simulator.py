"""RLScheduler's simulator: its printed numbers, and a slow version of it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bfenv
from bfenv.core.jobs import Outage
from bfenv.leaderboard.suite import SUITES
from bfenv.workloads.logs.records import ESTIMATE, FIELDS
from bfenv_lab.rlscheduler import simulator as rl
from lab_helpers import rlscheduler_oracle as slow
from tests.conftest import log, small_traces

pytestmark = pytest.mark.compiled  # networks look at many jobs

# Zhang et al. 2020, Tables 5 and 6, on Lublin-1, SDSC-SP2, HPC2N and Lublin-2
PRINTED = {
    ("fcfs", "theirs"): (235.82, 1595.12, 127.38, 247.61),
    ("wfp3", "theirs"): (133.87, 1083.12, 97.39, 318.35),
    ("unicef", "theirs"): (307.23, 548.01, 175.12, 379.59),
    ("sjf", "theirs"): (73.31, 2167.84, 122.04, 91.99),
    ("f1", "theirs"): (75.07, 1098.22, 71.95, 148.25),
    ("fcfs", "off"): (7273.77, 1727.54, 297.18, 7842.47),
    ("sjf", "off"): (277.35, 2680.55, 157.71, 787.89),
    ("f1", "off"): (258.37, 1232.06, 118.01, 698.34),
}
LABELS = ("lublin-1", "sdsc-sp2-extend", "hpc2n-extend", "lublin-2")


@pytest.mark.parametrize(("order", "backfill"), PRINTED)
def test_printed_heuristics(order, backfill):
    """The printed means over ten windows come out to both decimals."""
    log("SDSC-SP2-1998-4.2-cln")
    entries = {entry.label: entry for entry in SUITES["rlscheduler-windows-v2"].entries}
    policy = rl.rlscheduler(order, backfill)
    means = [
        np.mean(
            [
                bfenv.metrics(bfenv.simulate(bfenv.load_workload(trace.source), policy))[
                    "mean_bounded_slowdown"
                ]
                for trace in entries[label].traces
            ]
        )
        for label in LABELS
    ]
    assert tuple(np.round(means, 2)) == PRINTED[order, backfill]


def with_requests(trace, shorter):
    """The trace with records whose requests are shorter than the estimates, and its jobs."""
    requested = np.maximum(trace.jobs.estimate - np.resize(shorter, len(trace)), 1)
    records = np.full((len(trace), len(FIELDS)), -1.0)
    records[:, ESTIMATE] = requested
    records[:, 1] = trace.jobs.submit
    columns = (trace.jobs.submit, trace.jobs.size, requested, trace.runtime)
    return replace(trace, records=records), list(zip(*map(np.ndarray.tolist, columns), strict=True))


@given(
    trace=small_traces(jobs=12),
    shorter=st.lists(st.integers(0, 3), min_size=1, max_size=5),
    order=st.sampled_from(rl.ORDERS),
    backfill=st.sampled_from(["theirs", "off"]),
)
@settings(max_examples=300)
def test_oracle(trace, shorter, order, backfill):
    """Jobs start when the slow version starts them, even if runtimes exceed requests."""
    trace, jobs = with_requests(trace, shorter)
    schedule = bfenv.simulate(trace, rl.rlscheduler(order, backfill)).check()
    expected = slow.schedule(jobs, trace.processors, order, backfill == "theirs")
    assert schedule.start.tolist() == expected


@given(trace=small_traces())
@settings(max_examples=60)
def test_easy(trace):
    """With correct backfilling, first come first served is EASY, and SJF is EASY sorted by it."""
    for order, name in (("fcfs", "easy"), ("sjf", "easy-sjf"), ("sqf", "easy-sqf")):
        ours = bfenv.simulate(trace, rl.rlscheduler(order, "easy")).check()
        assert ours.start.tolist() == bfenv.simulate(trace, name).start.tolist()


def test_solved_by_hand():
    """Job 1 fits at 10: job 2, which ends at 9, is backfilled, and job 3, at 10, is not."""
    trace = bfenv.make_trace(
        submit=[0, 1, 2, 2], size=[3, 4, 1, 1], runtime=[10, 5, 7, 8], processors=4
    )
    assert bfenv.simulate(trace, "rlscheduler").start.tolist() == [0, 10, 2, 15]
    assert bfenv.simulate(trace, "rlscheduler(backfill=off)").start.tolist() == [0, 10, 15, 15]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("rlscheduler(order=lxf)", "order must be one of 'fcfs', .*; got 'lxf'"),
        ("rlscheduler(backfill=no)", "backfill must be one of 'theirs', 'off', 'easy'; got 'no'"),
    ],
)
def test_refused(name, message):
    """An unknown option is named, with what is known."""
    with pytest.raises(bfenv.PolicyError, match=message):
        bfenv.find_policy(name)


def test_whole_traces():
    """It needs a whole trace: the environment and outages are refused."""
    with pytest.raises(bfenv.PolicyError, match="makes whole schedules"):
        bfenv.find_policy("rlscheduler")
    trace = bfenv.make_trace([0], [1], [1], 1, outages=(Outage(0, 1, 1),))
    with pytest.raises(bfenv.PolicyError, match="outages, which rlscheduler does not follow"):
        bfenv.simulate(trace, "rlscheduler")
