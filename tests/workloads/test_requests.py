"""Changed requests: estimates, priorities and requested start times."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bfenv
import bfenv.workloads.requests as rq
from bfenv.core.errors import WorkloadError
from bfenv.workloads.transform import transformed
from tests.conftest import small_traces
from tests.workloads.refusals import refused

PARAMETERS = {
    "deterministic": {"factor": 3.0},
    "uniform-zotkin": {"factor": 3.0},
    "uniform-tsafrir": {"factor": 3.0},
    "phi": {"exact_share": 0.2},
    "tsafrir": {"emax": 20_000},
}
seeds = st.integers(0, 2**40)


# Estimates


def sample(jobs=400, seed=0):
    """Long and short jobs whose users ask for twice their runtime."""
    rng = np.random.default_rng(seed)
    runtime = np.exp(rng.uniform(0, np.log(40_000), jobs)).astype(int)
    return bfenv.make_trace(np.arange(jobs), [1] * jobs, runtime, 4, estimate=2 * runtime)


@given(st.sampled_from(sorted(rq.MODELS)), seeds)
def test_models(model, seed):
    """No estimate is below the runtime, and a seed always makes the same estimates."""
    before = sample()
    after = rq.with_estimates(before, model, seed=seed, **PARAMETERS.get(model, {}))
    assert np.all(after.runtime <= after.jobs.estimate)
    again = rq.with_estimates(before, model, seed=seed, **PARAMETERS.get(model, {}))
    assert again.hash == after.hash
    other = rq.with_estimates(before, model, seed=seed + 1, **PARAMETERS.get(model, {}))
    assert (other.hash != after.hash) == (model in rq.RANDOM)
    for column in ("submit", "size", "user", "priority", "requested_start"):
        assert np.array_equal(getattr(after.jobs, column), getattr(before.jobs, column))


def test_simple_models():
    """The simple models make multiples of the runtime, each with its bound and mean."""
    before = sample()
    runtime = before.runtime
    longest = {"exact": 1, "deterministic": 3, "uniform-zotkin": 6, "uniform-tsafrir": 3}
    for model, factor in longest.items():
        estimate = rq.with_estimates(before, model, **PARAMETERS.get(model, {})).jobs.estimate
        assert np.all(estimate <= factor * runtime)
        mean = {"uniform-zotkin": 3.5, "uniform-tsafrir": 2}.get(model, factor)
        assert np.mean(estimate[runtime > 99] / runtime[runtime > 99]) == pytest.approx(
            mean, rel=0.1
        )
    doubled = rq.with_estimates(before, "doubled")
    assert np.array_equal(doubled.jobs.estimate, 4 * runtime)
    assert rq.with_estimates(before, "user").hash == before.hash
    exact = np.mean(rq.with_estimates(before, "phi", exact_share=0.5).jobs.estimate == runtime)
    assert exact == pytest.approx(0.5, abs=0.1)


def test_modal_estimates():
    """Modal estimates cut and count longer runtimes, and by default cut none."""
    before = sample(jobs=2000)
    short = rq.with_estimates(before, "tsafrir", emax=20_000, emax_share=0.3)
    assert np.array_equal(short.runtime, np.minimum(before.runtime, 20_000))
    assert short.cleaning.clipped == np.count_nonzero(before.runtime > 20_000) > 0
    assert np.mean(short.jobs.estimate == 20_000) == 0.3
    assert rq.with_estimates(before, "tsafrir").jobs.estimate.max() == before.jobs.estimate.max()
    few = bfenv.make_trace(np.arange(400), [1] * 400, [60] * 400, 4)
    assert rq.with_estimates(few, "tsafrir").jobs.estimate.max() == 18 * 3600
    assert np.array_equal(rq.with_estimates(before, "tsafrir").runtime, before.runtime)


@pytest.mark.parametrize(
    ("model", "parameters", "named"),
    [
        ("exact", {"factor": 2}, ["unnamed", "exact", "factor"]),
        ("phi", {"factor": 2}, ["unnamed", "phi", "exact_share", "factor"]),
        ("phi", {}, ["unnamed", "phi", "exact_share"]),
        ("phi", {"exact_share": 2}, ["exact_share", "2"]),
        ("deterministic", {"factor": "2"}, ["unnamed", "factor", "'2'"]),
        ("deterministic", {"factor": 0.5}, ["factor", "0.5"]),
        ("tsafrir", {"emax": 10**30}, ["emax", 10**30]),
        ("tsafrir", {"emax": 9000.5}, ["emax", "9000.5"]),
        ("exact", {"seed": -1}, ["seed", "-1"]),
        ("exact", {"seed": 0.5}, ["seed", "0.5"]),
    ],
)
def test_bad_parameter(model, parameters, named):
    """A parameter that is missing, unknown or out of range is named."""
    with refused(bfenv.WorkloadError, *named):
        rq.with_estimates(sample(), model, **parameters)


def test_unknown_model():
    """An unknown model is refused with similar names."""
    with refused(bfenv.UnknownNameError, "'uniform'", "uniform-tsafrir"):
        rq.with_estimates(sample(), "uniform")


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "los", "multiqueue"])
@given(before=small_traces(jobs=12))
@settings(max_examples=10)
def test_estimates_times_factor(policy, before):
    """Policies plan with three times the estimate, and jobs are killed at the estimate itself."""
    after = transformed(before, estimates="user", factor=3)
    assert np.array_equal(after.jobs.estimate, 3 * before.jobs.estimate)
    schedule = bfenv.simulate(after, policy).check()
    killed = before.runtime == before.jobs.estimate
    length = schedule.end - schedule.start
    assert np.array_equal(length[killed], before.jobs.estimate[killed])
    assert transformed(before, factor=1).hash == before.hash


def test_longer_estimates_by_hand():
    """Job 2 would end a second after job 1 should start; three times job 0's estimate is enough.

    The hole ends at 30 then, and job 2, which is planned until 29, runs until 11.
    """
    before = bfenv.make_trace([0, 1, 2], [3, 4, 1], [10, 5, 9], 4, estimate=[10, 5, 9])
    after = transformed(before, factor=3)
    assert bfenv.simulate(before, "easy").start.tolist() == [0, 10, 15]
    assert bfenv.simulate(after, "easy").start.tolist() == [0, 11, 2]


# Priorities and requested start times


@given(small_traces(jobs=30), st.floats(0, 0.5), st.floats(0, 0.5), seeds)
def test_priority_levels(before, share, higher, seed):
    """Each level above the lowest has its share of the jobs; one level is that of a number."""
    after = rq.with_priorities(before, (share, higher), seed=seed)
    counts = np.bincount(after.jobs.priority, minlength=3)
    wanted = int(share * len(before) + 0.5)
    assert counts[1] == wanted
    assert counts[2] == min(int(higher * len(before) + 0.5), len(before) - wanted)
    one = rq.with_priorities(before, (share,), seed=seed)
    assert one.hash == rq.with_priorities(before, share, seed=seed).hash


@given(small_traces(jobs=30), st.floats(0, 1), seeds)
def test_high_priority_share(before, share, seed):
    """The share of jobs of high priority is exact, and a seed draws the same jobs."""
    after = rq.with_priorities(before, share, seed=seed)
    assert after.jobs.priority.sum() == int(share * len(before) + 0.5)
    assert set(after.jobs.priority.tolist()) <= {0, 1}
    assert rq.with_priorities(before, share, seed=seed).hash == after.hash


@given(small_traces(jobs=30), st.floats(0, 1), seeds, st.integers(1, 10**6))
def test_requested_starts(before, share, seed, most):
    """The share of requested starts is exact, and they are within the longest advance."""
    after = rq.with_requested_starts(before, share, seed=seed, max_advance=most)
    requested = after.jobs.requested_start > 0
    assert requested.sum() == int(share * len(before) + 0.5)
    delay = (after.jobs.requested_start - after.jobs.submit)[requested]
    assert np.all((1 <= delay) & (delay <= most))
    assert rq.with_requested_starts(before, share, seed=seed, max_advance=most).hash == after.hash


def test_streams_of_one_seed():
    """With one seed, the urgent jobs are not those with a requested start time."""
    count = 1000
    before = bfenv.make_trace(range(count), [2] * count, [50] * count, 4)
    one = transformed(before, high_priority_share=0.25, requested_start_share=0.25, seed=7)
    urgent, requested = one.jobs.priority > 0, one.jobs.requested_start > 0
    assert 30 < np.count_nonzero(urgent & requested) < 95  # 62.5 if independent
    assert np.corrcoef(np.arange(1000), urgent)[0, 1] == pytest.approx(0, abs=0.1)


def test_shares_above_one():
    """Shares of levels add up to at most 1."""
    with refused(bfenv.WorkloadError, "high_priority_share", "add up to at most 1"):
        rq.with_priorities(sample(), (0.7, 0.7), seed=1)


@pytest.mark.parametrize("share", [1.1, -0.1, float("nan"), "0.5", True])
def test_bad_share(share):
    """A share that is not from 0 to 1 is named."""
    with refused(bfenv.WorkloadError, "high_priority_share", repr(share)):
        rq.with_priorities(sample(), share, seed=1)
    with refused(bfenv.WorkloadError, "requested_start_share", repr(share)):
        rq.with_requested_starts(sample(), share, seed=1)


@pytest.mark.parametrize("most", [0, -1, 1.5, "1d"])
def test_bad_advance(most):
    """A longest advance that is not an integer from 1 up is named."""
    with refused(bfenv.WorkloadError, "max_advance", repr(most)):
        rq.with_requested_starts(sample(), 0.5, seed=1, max_advance=most)


@pytest.mark.parametrize(
    "function",
    [
        lambda one: rq.with_estimates(one, "exact"),
        lambda one: rq.with_priorities(one, 0.5, seed=1),
        lambda one: rq.with_requested_starts(one, 0.5, seed=1),
    ],
)
def test_name_as_trace(function):
    """A name is refused with the call that makes a trace of it."""
    with refused(bfenv.WorkloadError, "load_workload('lublin')"):
        function("lublin")


def test_restartable_jobs():
    """A share of the jobs is drawn by the seed; by default all are restartable."""
    trace = bfenv.load_workload("lublin:jobs=200")
    assert trace.jobs.restartable.all()
    some, others = (
        bfenv.load_workload(f"lublin:jobs=200,restartable_share=0.3,seed={seed}") for seed in (1, 2)
    )
    assert some.jobs.restartable.sum() == others.jobs.restartable.sum() == 60
    assert not np.array_equal(some.jobs.restartable, others.jobs.restartable)
    assert not rq.with_restartable_jobs(trace, 0, seed=0).jobs.restartable.any()
    with refused(WorkloadError, "restartable_share must be"):
        rq.with_restartable_jobs(trace, 1.5, seed=0)
