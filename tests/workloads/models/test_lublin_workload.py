"""The workload "lublin": the very jobs it has always had, and what its options do."""

import numpy as np
import pytest

import bfenv
from bfenv.workloads.models.lublin_workload import lublin
from bfenv.workloads.models.modal_estimates import FEWEST_JOBS
from bfenv.workloads.models.sud_workload import sud
from bfenv.workloads.requests import MODELS
from tests.workloads.refusals import refused

SMALL = {"jobs": 300}  # quick to generate


@pytest.mark.parametrize(
    ("workload", "begin"),
    [
        ("lublin", "4517d2682b6b5ef1"),
        ("lublin:typed=true", "b361ec603a6c7f5b"),
        ("lublin:procs=100,jobs=100,load=none,seed=3", "1cf995135ae9ed8a"),
        ("lublin:estimates=exact", "43b0257e1d49bbfe"),
    ],
)
def test_content(workload, begin):
    """The generator makes the very jobs it has always made."""
    assert bfenv.load_workload(workload).hash.startswith(begin)


def test_options():
    """Machine, number of jobs, load and longest estimate are as given."""
    trace = lublin(procs=64, jobs=400, load=0.5, seed=3, emax=36_000)
    assert (trace.processors, len(trace)) == (64, 400)
    assert trace.jobs.estimate.max() == 36_000
    assert trace.offered_load == pytest.approx(0.5, rel=0.1)  # that counts from the first job
    exact = lublin(procs=64, jobs=400, seed=3, estimates="exact")
    assert np.array_equal(exact.jobs.estimate, exact.runtime)
    assert lublin(typed=True, **SMALL).hash != trace.hash
    own, lower = lublin(load=None, **SMALL), lublin(load=0.1, **SMALL)
    assert own.offered_load > 2 * lower.offered_load
    assert bfenv.load_workload("lublin:load=none", **SMALL).hash == own.hash


def test_longest_estimate_as_duration():
    """The longest estimate may be text with units."""
    assert bfenv.load_workload("lublin(emax=10h)", **SMALL).jobs.estimate.max() == 36_000


def test_models_of_estimates():
    """Every model of estimates but the users' own is available, on the same runtimes."""
    parameters = {
        "deterministic": {"factor": 3},
        "uniform-zotkin": {"factor": 3},
        "uniform-tsafrir": {"factor": 3},
        "phi": {"exact_share": 0.2},
        "tsafrir": {"emax_share": 0.4},
    }
    own = lublin(estimates="exact", **SMALL)
    for model in MODELS:
        trace = lublin(estimates=model, **parameters.get(model, {}), **SMALL)
        assert np.all(trace.runtime <= trace.jobs.estimate)
        longest = 64_800 if model in ("tsafrir", "doubled", "user") else own.runtime.max()
        assert np.array_equal(trace.runtime, np.minimum(own.runtime, longest))
    usual, doubled = lublin(**SMALL), lublin(estimates="doubled", **SMALL)
    assert np.array_equal(doubled.jobs.estimate, 2 * usual.jobs.estimate)
    assert lublin(estimates="user", **SMALL).hash == usual.hash
    tripled = lublin(estimates="user", factor=3, **SMALL)
    assert np.array_equal(tripled.jobs.estimate, 3 * usual.jobs.estimate)
    worse = lublin(emax_share=0.4, jobs=1000)
    assert np.mean(worse.jobs.estimate == 64_800) == 0.4


def test_seed():
    """Equal seeds make equal traces, which begin with their first job."""
    one = lublin(seed=5, **SMALL)
    assert lublin(seed=5, **SMALL).hash == one.hash
    assert one.jobs.submit[0] == 0 < one.time_of_day < 86_400


def test_short_sample():
    """A short sample has the estimates of a long one."""
    for jobs in (1, 2, FEWEST_JOBS - 1):
        for seed in range(20):
            trace = lublin(jobs=jobs, seed=seed)
            assert len(trace) == jobs and np.all(trace.jobs.estimate >= trace.runtime)
    values = [lublin(jobs=100, seed=seed).jobs.estimate for seed in range(20)]
    assert np.mean(np.concatenate(values) == 64_800) == pytest.approx(0.217, abs=0.04)


def test_shares():
    """The shares of serial jobs and of powers of two are as given."""
    size = lublin(p_serial=0.6, p_pow2=0.4, jobs=4000, procs=64).jobs.size
    assert (size == 1).mean() == pytest.approx(0.6, abs=4 * np.sqrt(0.24 / 4000))
    assert set(np.unique(size)) <= {1, 2, 4, 8, 16, 32, 64}
    assert len(np.unique(lublin(p_pow2=0, jobs=4000, procs=64).jobs.size)) > 30


def test_runtime_and_size():
    """The lower `pa`, the more closely runtime follows size."""

    def rank_correlation(pa):
        trace = lublin(jobs=4000, pa=pa, estimates="exact")
        ranks = np.argsort(
            np.argsort([trace.jobs.size, trace.runtime], axis=1, kind="stable"), axis=1
        )
        return np.corrcoef(ranks)[0, 1]

    none, published, strong = rank_correlation(0.0), rank_correlation(None), rank_correlation(-0.05)
    assert abs(none) < 0.05
    assert none + 0.05 < published < strong - 0.05


@pytest.mark.parametrize("hour", [0, 9, 23])
def test_start_hour(hour):
    """The sample begins at its hour of the day."""
    trace = lublin(start_hour=hour, **SMALL)
    assert 0 <= (trace.time_of_day - hour * 3600) % 86_400 < 6 * 3600


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"jobs": 0}, ["jobs", "got 0"]),
        ({"jobs": 10**30}, ["jobs", "100,000,000", 10**30]),
        ({"jobs": 2.5}, ["jobs", "2.5"]),
        ({"procs": -1}, ["procs", "-1"]),
        ({"procs": 10**30}, ["procs", "2,147,483,648"]),
        ({"emax": 10**30}, ["emax", "2,147,483,648"]),
        ({"emax": 10}, ["emax", "10"]),
        ({"emax_share": 0.9}, ["emax_share", "0.9"]),
        ({"load": 0}, ["load", "0"]),
        ({"load": float("nan")}, ["load", "nan"]),
        ({"load": 1e-300}, ["1e-300"]),
        ({"seed": -1}, ["seed", "-1"]),
        ({"estimates": "exact", "emax": 36_000}, ["exact", "emax"]),
        ({"estimates": "exact", "emax_share": 0.1}, ["exact", "emax_share"]),
        ({"estimates": "exact", "popular_values": 9}, ["exact", "popular_values"]),
        ({"popular_values": 0}, ["popular_values", "0"]),
        ({"jobs": 300, "factor": 2}, ["tsafrir", "factor"]),
        ({"jobs": 300, "estimates": "deterministic"}, ["deterministic", "factor"]),
        ({"p_serial": 0.9}, ["p_serial=0.9", "p_pow2=0.576"]),
        ({"p_pow2": -1}, ["p_pow2=-1"]),
        ({"p_serial": float("nan")}, ["p_serial=nan"]),
        ({"pa": 0.1}, ["pa", "0.1"]),
        ({"typed": True, "pa": -0.1}, ["typed", "pa"]),
        ({"start_hour": 24}, ["start_hour", "24"]),
    ],
)
def test_bad_option(options, named):
    """A value out of range, or for another model, is named."""
    with refused(bfenv.WorkloadError, *named):
        lublin(**options)


@pytest.mark.parametrize(("model", "suggested"), [("exat", "exact"), ("users", "user")])
def test_unknown_model(model, suggested):
    """An unknown model of estimates is refused with those there are."""
    with refused(bfenv.UnknownNameError, repr(model), suggested):
        lublin(estimates=model)


def test_sud_workload_content():
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


@pytest.mark.compiled
def test_table_5():
    """Zotkin, Keleher and Perkovic (2000), Table 5: mean waits if all jobs come at once."""
    for policy, factor, wait in (("fcfs", 1, 46.12e6), ("easy", 1, 28.07e6), ("easy", 2, 26.00e6)):
        trace = bfenv.load_workload(f"sud:all_at_once=true,estimates=deterministic,factor={factor}")
        schedule = bfenv.simulate(trace, policy)
        assert bfenv.metrics(schedule)["mean_wait"] == pytest.approx(wait, rel=0.02)


@pytest.mark.compiled
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
def test_sud_workload_bad_option(options, named):
    """A value out of range is named."""
    with refused(bfenv.WorkloadError, *named):
        sud(**options)
