"""What can be done to a trace: what moves, what stays, and that no job is lost."""

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import bfenv
from bfenv.workloads.requests import (
    MODELS,
    RANDOM,
    with_estimates,
    with_priorities,
    with_requested_starts,
)
from bfenv.workloads.transform import (
    at_once,
    shaken,
    split_range,
    transformed,
    windows,
    with_arrival_rate,
    with_load,
)
from tests.conftest import small_traces

PARAMETERS = {
    "deterministic": {"factor": 3.0},
    "uniform-zotkin": {"factor": 3.0},
    "uniform-tsafrir": {"factor": 3.0},
    "phi": {"exact_share": 0.2},
    "tsafrir": {"emax": 20_000},
}
seeds = st.integers(0, 2**40)
times = st.lists(st.integers(0, 10**6), min_size=1, max_size=30).map(sorted)


def trace(submit, **columns):
    count = len(submit)
    return bfenv.make_trace(submit, [2] * count, [50] * count, 4, **columns)


# Load


def test_at_half_the_load_twice_the_time_passes_between_jobs():
    before = trace([0, 10, 10, 100])
    after = with_load(before, before.offered_load / 2)
    assert after.jobs.submit.tolist() == [0, 20, 20, 200]
    assert after.offered_load == before.offered_load / 2


def test_submit_times_are_rounded_to_the_nearest_second():
    before = trace([0, 4, 10])
    after = with_load(before, before.offered_load / 1.41)
    assert after.jobs.submit.tolist() == [0, 6, 14]


def test_only_submit_times_and_what_hangs_on_them_change():
    before = trace(
        [0, 10, 30, 100],
        estimate=[50, 60, 70, 80], user=[0, 1, -1, 0], priority=[0, 0, 3, 0],
        requested_start=[0, 15, 20, 400], time_of_day=7, name="log", header=("Note: x",),
    )  # fmt: skip
    after = with_load(before, before.offered_load / 2)
    assert after.jobs.requested_start.tolist() == [0, 25, 60, 500]
    assert after.name == "log@0.5"
    for column in ("size", "estimate", "user", "priority"):
        assert np.array_equal(getattr(after.jobs, column), getattr(before.jobs, column))
    assert np.array_equal(after.runtime, before.runtime)
    assert (after.processors, after.time_of_day, after.header) == (4, 7, ("Note: x",))
    assert before.jobs.submit.tolist() == [0, 10, 30, 100]


@given(times, st.floats(0.001, 10))
def test_the_load_is_reached_to_the_second_and_the_order_stays(submit, load):
    before = trace(submit)
    assume(1 <= (submit[-1] - submit[0]) * before.offered_load / load)
    after = with_load(before, load)
    span = int(after.jobs.submit[-1] - after.jobs.submit[0])
    work = 100 * len(submit)
    assert abs(span - work / 4 / load) <= 1.0 + 1e-6
    assert np.all(np.diff(after.jobs.submit) >= 0)


@pytest.mark.parametrize(
    ("submit", "load", "message"),
    [
        ([0, 9], 0, "load is a positive number, not 0"),
        ([0, 9], -0.5, "load is a positive number, not -0.5"),
        ([0, 9], float("nan"), "load is a positive number, not nan"),
        ([0, 9], float("inf"), "load is a positive number, not inf"),
        ([0, 9], "0.9", "load is a positive number, not '0.9'"),
        ([5, 5], 0.9, "unnamed: all jobs are submitted at once, there is no load to set"),
        ([0, 9], 1e-300, "unnamed: at load 1e-300 the jobs come later than ever"),
        ([0, 9], 5e-324, "unnamed: at load 4.94066e-324 the jobs come later than ever"),
        ([0, 9], 1e300, "unnamed: at load 1e.300 all jobs come in the same second"),
    ],
)
def test_a_load_out_of_reach_is_refused_by_name(submit, load, message):
    with pytest.raises(bfenv.WorkloadError, match=message):
        with_load(trace(submit), load)


@pytest.mark.parametrize("factor", [1.25, 1.5, 0.5])
def test_a_higher_arrival_rate_is_a_load_so_many_times_as_high(factor):
    before = trace([0, 900, 1200, 90_000], requested_start=[0, 1500, 0, 0])
    after = with_arrival_rate(before, factor)
    assert after.offered_load == pytest.approx(factor * before.offered_load, rel=1e-4)
    assert after.jobs.submit.tolist() == np.rint(before.jobs.submit / factor).tolist()
    assert after.jobs.requested_start[1] == after.jobs.submit[1] + 600
    assert after.name == f"unnamed@x{factor:g}"


@pytest.mark.parametrize(
    ("submit", "factor", "message"),
    [
        ([0, 9], -1, "arrival_rate is a positive number, not -1"),
        ([0, 9], "2", "arrival_rate is a positive number, not '2'"),
        ([5, 5], 2, "unnamed: all jobs are submitted at once, at no rate"),
        ([0, 9], 1e9, "unnamed: at arrival_rate 1e.09 all jobs come in the same second"),
    ],
)
def test_an_arrival_rate_out_of_reach_is_refused_by_name(submit, factor, message):
    with pytest.raises(bfenv.WorkloadError, match=message):
        with_arrival_rate(trace(submit), factor)


# Estimates


def sample(jobs=400, seed=0):
    """Long and short jobs whose users ask for twice their runtime."""
    rng = np.random.default_rng(seed)
    runtime = np.exp(rng.uniform(0, np.log(40_000), jobs)).astype(int)
    return bfenv.make_trace(np.arange(jobs), [1] * jobs, runtime, 4, estimate=2 * runtime)


@given(st.sampled_from(sorted(MODELS)), seeds)
def test_no_estimate_is_below_the_runtime_and_a_seed_makes_the_same_ones(model, seed):
    before = sample()
    after = with_estimates(before, model, seed=seed, **PARAMETERS.get(model, {}))
    assert np.all(after.runtime <= after.jobs.estimate)
    again = with_estimates(before, model, seed=seed, **PARAMETERS.get(model, {}))
    assert again.hash == after.hash
    other = with_estimates(before, model, seed=seed + 1, **PARAMETERS.get(model, {}))
    assert (other.hash != after.hash) == (model in RANDOM)
    for column in ("submit", "size", "user", "priority", "requested_start"):
        assert np.array_equal(getattr(after.jobs, column), getattr(before.jobs, column))


def test_the_simple_models_are_multiples_of_the_runtime():
    before = sample()
    runtime = before.runtime
    longest = {"exact": 1, "deterministic": 3, "uniform-zotkin": 6, "uniform-tsafrir": 3}
    for model, factor in longest.items():
        estimate = with_estimates(before, model, **PARAMETERS.get(model, {})).jobs.estimate
        assert np.all(estimate <= factor * runtime)
        mean = {"uniform-zotkin": 3.5, "uniform-tsafrir": 2}.get(model, factor)
        assert np.mean(estimate[runtime > 99] / runtime[runtime > 99]) == pytest.approx(
            mean, rel=0.1
        )
    doubled = with_estimates(before, "doubled")
    assert np.array_equal(doubled.jobs.estimate, 4 * runtime)
    assert with_estimates(before, "user").hash == before.hash
    exact = np.mean(with_estimates(before, "phi", exact_share=0.5).jobs.estimate == runtime)
    assert exact == pytest.approx(0.5, abs=0.1)


def test_modal_estimates_cut_and_count_longer_runtimes_and_by_default_cut_none():
    before = sample(jobs=2000)
    short = with_estimates(before, "tsafrir", emax=20_000, emax_share=0.3)
    assert np.array_equal(short.runtime, np.minimum(before.runtime, 20_000))
    assert short.cleaning.clipped == np.count_nonzero(before.runtime > 20_000) > 0
    assert np.mean(short.jobs.estimate == 20_000) == 0.3
    assert with_estimates(before, "tsafrir").jobs.estimate.max() == before.jobs.estimate.max()
    few = bfenv.make_trace(np.arange(400), [1] * 400, [60] * 400, 4)
    assert with_estimates(few, "tsafrir").jobs.estimate.max() == 18 * 3600
    assert np.array_equal(with_estimates(before, "tsafrir").runtime, before.runtime)


@pytest.mark.parametrize(
    ("model", "parameters", "message"),
    [
        ("uniform", {}, "unknown model of estimates 'uniform'; did you mean uniform-"),
        ("exact", {"factor": 2}, "unnamed: estimates=exact takes no parameters; got factor"),
        ("phi", {"factor": 2}, "unnamed: estimates=phi takes exact_share; got factor"),
        ("phi", {}, "unnamed: estimates=phi needs exact_share"),
        ("deterministic", {"factor": "2"}, "unnamed: factor is a number, not '2'"),
        ("deterministic", {"factor": 0.5}, "factor=0.5: a number from 1 to a million is needed"),
        ("tsafrir", {"emax": 10**30}, "unnamed: emax is whole seconds, not 1000"),
        ("tsafrir", {"emax": 9000.5}, "unnamed: emax is whole seconds, not 9000.5"),
        ("exact", {"seed": -1}, "seed is not negative, got -1"),
        ("exact", {"seed": 0.5}, "seed is a whole number, not 0.5"),
    ],
)
def test_a_bad_model_of_estimates_is_refused_by_name(model, parameters, message):
    with pytest.raises(bfenv.BfenvError, match=message):
        with_estimates(sample(), model, **parameters)


# Submit times and order


@given(small_traces(requested_starts=True), seeds, st.integers(0, 10))
def test_shaking_moves_every_job_a_little_and_loses_none(before, seed, amount):
    after = shaken(before, seed=seed, amount=amount)
    assert shaken(before, seed=seed, amount=amount).hash == after.hash
    assert after.jobs.submit[0] == before.jobs.submit[0]
    columns = ("size", "estimate", "user", "priority")
    for one, two in zip(rows(before, columns), rows(after, columns), strict=True):
        assert one == two
    begin = int(after.time_of_day - before.time_of_day + 43_200) % 86_400 - 43_200
    assert abs(begin) <= amount
    moved = np.sort(after.jobs.submit) + begin - np.sort(before.jobs.submit)
    assert np.all(np.abs(moved) <= amount)
    if amount == 0:
        assert np.array_equal(after.jobs.submit, before.jobs.submit)
        assert np.array_equal(after.runtime, before.runtime)


def rows(one, columns):
    """The trace's jobs without their times, in an order of their own."""
    values = [getattr(one.jobs, column).tolist() for column in columns]
    return sorted(zip(*values, one.runtime.tolist(), strict=True))


def test_shaking_takes_the_records_along_and_jobs_of_one_second_keep_their_order():
    records = np.arange(54.0).reshape(3, 18)
    before = trace([0, 1000, 2000], user=[0, 1, 2], records=records)
    orders = set()
    for seed in range(40):
        after = shaken(before, seed=seed, amount=1500)
        assert np.array_equal(after.records, records[after.jobs.user])
        orders.add(tuple(after.jobs.user.tolist()))
    assert len(orders) > 2
    tied = trace([5] * 50, user=np.arange(50))
    after = shaken(tied, seed=1, amount=1)
    assert np.all(np.diff(after.jobs.submit * 100 + after.jobs.user) > 0)


@given(small_traces(requested_starts=True))
def test_off_line_all_jobs_come_at_once_in_the_order_they_had(before):
    after = at_once(before)
    assert set(after.jobs.submit.tolist()) == {int(before.jobs.submit[0])}
    assert np.array_equal(after.runtime, before.runtime)
    for column in ("size", "estimate", "user", "priority"):
        assert np.array_equal(getattr(after.jobs, column), getattr(before.jobs, column))
    ahead = np.maximum(before.jobs.requested_start - before.jobs.submit, 0)
    left = np.maximum(after.jobs.requested_start - after.jobs.submit, 0)
    assert np.array_equal(left, ahead)


# Priorities and requested start times


@given(small_traces(jobs=30), st.floats(0, 1), seeds)
def test_the_share_of_jobs_of_high_priority_is_exact(before, share, seed):
    after = with_priorities(before, share, seed=seed)
    assert after.jobs.priority.sum() == int(share * len(before) + 0.5)
    assert set(after.jobs.priority.tolist()) <= {0, 1}
    assert with_priorities(before, share, seed=seed).hash == after.hash


@given(small_traces(jobs=30), st.floats(0, 1), seeds, st.integers(1, 10**6))
def test_the_share_of_requested_starts_is_exact_and_they_are_ahead(before, share, seed, ahead):
    after = with_requested_starts(before, share, seed=seed, ahead=ahead)
    asked = after.jobs.requested_start > 0
    assert asked.sum() == int(share * len(before) + 0.5)
    delay = (after.jobs.requested_start - after.jobs.submit)[asked]
    assert np.all((1 <= delay) & (delay <= ahead))
    assert with_requested_starts(before, share, seed=seed, ahead=ahead).hash == after.hash


def test_of_one_seed_the_urgent_jobs_are_not_those_with_a_requested_start():
    one = transformed(trace(range(1000)), high=0.25, reserved=0.25, seed=7)
    urgent, asked = one.jobs.priority > 0, one.jobs.requested_start > 0
    assert 30 < np.count_nonzero(urgent & asked) < 95  # 62.5 if independent
    assert np.corrcoef(np.arange(1000), urgent)[0, 1] == pytest.approx(0, abs=0.1)


# Windows


@given(small_traces(jobs=30), st.integers(1, 40))
def test_windows_are_the_trace_in_parts(before, jobs):
    parts = windows(before, jobs)
    assert [len(part) for part in parts[:-1]] == [jobs] * (len(parts) - 1)
    assert 1 <= len(parts[-1]) <= jobs
    assert np.array_equal(np.concatenate([part.runtime for part in parts]), before.runtime)
    gaps = [np.diff(part.jobs.submit) for part in parts]
    assert all(part.jobs.submit[0] == 0 for part in parts)
    whole = np.diff(before.jobs.submit)
    inside = np.arange(1, len(before)) % jobs != 0
    assert np.array_equal(np.concatenate(gaps), whole[inside])


@pytest.mark.parametrize("jobs", [0, -1, 2.5, "3"])
def test_a_window_of_no_jobs_is_refused(jobs):
    with pytest.raises(bfenv.WorkloadError, match="a window holds a whole number of jobs from 1"):
        windows(trace([0, 9]), jobs)


# Splits


def test_splits_are_shares_of_the_time_not_of_the_jobs():
    one = trace([0, 1, 2, 3, 4, 5, 50, 59, 60, 99, 100])
    assert split_range(one, "train") == (0, 6)
    assert split_range(one, "validation") == (6, 8)
    assert split_range(one, "test") == (8, 11)
    assert split_range(one, "all") == (0, 11)


def parts(one):
    """The ranges of the splits; an empty one where a split has no job."""
    ranges = {}
    for split in ("train", "validation", "test", "all"):
        try:
            ranges[split] = split_range(one, split)
        except bfenv.WorkloadError as error:
            assert str(error) == f"unnamed: no job in the split '{split}'"
    return ranges


@example([0, 1, 3])  # half the time is over after 1.5 s
@example([2**60 - 1, 2**60 + 300])  # which no float tells from 2**60
@given(st.one_of(times, st.lists(st.integers(0, 2**60), min_size=1, max_size=9).map(sorted)))
def test_splits_are_disjoint_in_order_and_cover_the_trace(submit):
    ranges = parts(trace(submit))
    assert ranges.pop("all") == (0, len(submit))
    assert [job for first, last in ranges.values() for job in range(first, last)] == list(
        range(len(submit))
    )
    span = submit[-1] - submit[0]
    for split, (low, high) in {"train": (0, 5), "validation": (5, 6), "test": (6, 11)}.items():
        for job in range(*ranges.get(split, (0, 0))):
            assert low * span <= 10 * (submit[job] - submit[0])
            assert 10 * (submit[job] - submit[0]) < high * span or split == "test"


def test_jobs_of_the_same_second_are_in_the_same_part():
    ranges = parts(trace([0, 50, 50, 50, 60, 60, 100]))
    assert ranges == {"train": (0, 1), "validation": (1, 4), "test": (4, 7), "all": (0, 7)}


def test_a_single_job_is_there_to_test():
    assert parts(trace([5])) == {"test": (0, 1), "all": (0, 1)}


def test_an_unknown_split_suggests_the_nearest():
    with pytest.raises(bfenv.UnknownNameError, match="unknown split 'tests'; did you mean test"):
        split_range(trace([0, 9]), "tests")
