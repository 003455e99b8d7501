"""FCFS and EASY against hand-solved cases, the naive versions, and published schedules.

Joined here: `fcfs` and `easy`, which share their cases.
"""

import pytest
from hypothesis import given

import bfenv
from bfenv.core.cluster import shadow, waiting
from tests.baselines.machines import thesis_machine
from tests.conftest import as_naive, log, small_traces
from tests.oracles import machine as naive


def test_thesis_schedule():
    """The schedule of the thesis in Table 1.1 is that of FCFS.

    Shmueli 2003, Figures 1.1 and 1.2: jobs of size 3 2 4 3 for 2 4 2 2 s on 5 processors.
    """
    #  P
    #  5 |11  3344
    #  4 |11  3344
    #  3 |11  3344
    #  2 |222233
    #  1 |2222
    trace = bfenv.make_trace([0] * 4, [3, 2, 4, 3], [2, 4, 2, 2], 5)
    result = bfenv.simulate(trace, "fcfs").check()
    assert result.start.tolist() == [0, 0, 4, 6]
    assert result.end.tolist() == [2, 4, 6, 8]
    assert result.wait.tolist() == [0, 0, 4, 6]
    metrics = bfenv.metrics(result)
    assert metrics["makespan"] == 8
    assert metrics["utilization"] == 0.70


def test_thesis_shadow():
    """Shadow time and extra nodes are those of the thesis in Figures 3.2 and 3.4."""
    cluster, trace = thesis_machine()
    assert waiting(cluster).tolist() == [1, 2, 3, 4, 5]
    assert tuple(shadow(cluster, trace.jobs, 1)) == (28, 3)


@given(small_traces())
def test_naive_versions(trace):
    """FCFS and EASY equal their naive versions."""
    for policy in ("fcfs", "easy"):
        for order in ("standard", "pyss"):
            result = bfenv.simulate(trace, policy, event_order=order)
            expected = getattr(naive, policy)(*as_naive(trace), event_order=order)
            assert list(zip(result.start.tolist(), result.end.tolist(), strict=True)) == expected


@pytest.mark.parametrize(
    ("policy", "mean_wait", "mean_bounded_slowdown"),
    [("fcfs", 353776, 6814.97), ("easy", 6836.87, 92.5765)],
)
def test_published_schedules(policy, mean_wait, mean_bounded_slowdown):
    """The published schedules of KTH are reproduced.

    Gaussier, Glesser, Reis and Trystram, SC'15, whose schedules come from pyss.
    """
    result = bfenv.simulate(log("KTH-SP2-1996-2"), policy, event_order="pyss").check()
    metrics = bfenv.metrics(result)
    digits = 0 if policy == "fcfs" else 2
    assert round(metrics["mean_wait"], digits) == mean_wait
    assert float(f"{metrics['mean_bounded_slowdown']:.6g}") == mean_bounded_slowdown
    if policy == "easy":
        assert round(metrics["utilization"], 6) == 0.685613
        assert metrics["makespan"] == 29_363_626
