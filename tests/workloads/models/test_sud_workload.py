"""The workload "sud" against the numbers that its authors print."""

import numpy as np
import pytest

import bfenv
from bfenv.workloads.models.sud_workload import sud
from tests.workloads.refusals import refused


def test_content():
    """The generator makes the very jobs it has always made."""
    assert bfenv.load_workload("sud").hash.startswith("d45f914")
    assert sud().hash == bfenv.load_workload("sud").hash != sud(seed=1).hash


def test_uniform():
    """Runtimes and sizes are uniform, estimates exact, and the load is reached."""
    trace = sud()
    assert (len(trace), trace.processors) == (18_415, 256)
    assert (trace.runtime.min(), trace.runtime.max()) == pytest.approx((60, 14_400), abs=5)
    assert (trace.jobs.size.min(), trace.jobs.size.max()) == (1, 256)
    for values, longest in ((trace.runtime, 14_400), (trace.jobs.size, 256)):
        tenths = np.histogram(values, np.linspace(1, longest, 11))[0] / len(trace)
        assert np.all(np.abs(tenths - 0.1) < 0.012)
    assert trace.offered_load == pytest.approx(0.78, rel=1e-6)
    assert np.array_equal(trace.jobs.estimate, trace.runtime)


@pytest.mark.parametrize("jobs", [1, 2])
def test_few_jobs(jobs):
    """One job on one processor is a workload too."""
    assert len(sud(jobs=jobs, procs=1)) == jobs


def test_table_5():
    """Zotkin, Keleher and Perkovic (2000), Table 5: mean waits if all jobs come at once."""
    for policy, factor, wait in (("fcfs", 1, 46.12e6), ("easy", 1, 28.07e6), ("easy", 2, 26.00e6)):
        trace = bfenv.load_workload(f"sud:all_at_once=true,estimates=deterministic,factor={factor}")
        schedule = bfenv.simulate(trace, policy)
        assert bfenv.metrics(schedule)["mean_wait"] == pytest.approx(wait, rel=0.02)


def test_table_3():
    """Zotkin, Keleher and Perkovic (2000), Table 3: the mean wait under EASY."""
    schedules = [bfenv.simulate(sud(seed=seed), "easy") for seed in range(5)]
    waits = [bfenv.metrics(schedule)["mean_wait"] for schedule in schedules]
    assert np.mean(waits) == pytest.approx(38.25e3, rel=0.06)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"jobs": 0}, ["jobs", "100,000,000", "got 0"]),
        ({"procs": 0}, ["procs", "2,147,483,648", "got 0"]),
        ({"seed": -1}, ["seed", "-1"]),
        ({"load": 0}, ["load", "got 0"]),
        ({"load": float("inf")}, ["load", "inf"]),
        ({"load": 1e-300}, ["1e-300"]),
    ],
)
def test_bad_option(options, named):
    """A value out of range is named."""
    with refused(bfenv.WorkloadError, *named):
        sud(**options)
