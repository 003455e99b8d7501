"""Transformations of a trace: what moves, what stays, and that no job is lost."""

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import bfenv
import bfenv.workloads.transform as tr
from tests.conftest import small_traces
from tests.workloads.refusals import refused

seeds = st.integers(0, 2**40)
times = st.lists(st.integers(0, 10**6), min_size=1, max_size=30).map(sorted)


def trace(submit, **columns):
    count = len(submit)
    return bfenv.make_trace(submit, [2] * count, [50] * count, 4, **columns)


# Load


def test_half_load():
    """At half the load, twice the time passes between jobs."""
    before = trace([0, 10, 10, 100])
    after = tr.with_load(before, before.offered_load / 2)
    assert after.jobs.submit.tolist() == [0, 20, 20, 200]
    assert after.offered_load == before.offered_load / 2


def test_rounding():
    """Submit times are rounded to the nearest second."""
    before = trace([0, 4, 10])
    after = tr.with_load(before, before.offered_load / 1.41)
    assert after.jobs.submit.tolist() == [0, 6, 14]


def test_changed_columns():
    """Only submit times, and what hangs on them, change with the load."""
    before = trace(
        [0, 10, 30, 100],
        estimate=[50, 60, 70, 80],
        user=[0, 1, -1, 0],
        priority=[0, 0, 3, 0],
        requested_start=[0, 15, 20, 400],
        time_of_day=7,
        name="log",
        header=("Note: x",),
    )
    after = tr.with_load(before, before.offered_load / 2)
    assert after.jobs.requested_start.tolist() == [0, 25, 60, 500]
    assert after.name == "log@0.5"
    for column in ("size", "estimate", "user", "priority"):
        assert np.array_equal(getattr(after.jobs, column), getattr(before.jobs, column))
    assert np.array_equal(after.runtime, before.runtime)
    assert (after.processors, after.time_of_day, after.header) == (4, 7, ("Note: x",))
    assert before.jobs.submit.tolist() == [0, 10, 30, 100]


@given(times, st.floats(0.001, 10))
def test_load(submit, load):
    """The load is reached to the second, and the order stays."""
    before = trace(submit)
    assume(1 <= (submit[-1] - submit[0]) * before.offered_load / load)
    after = tr.with_load(before, load)
    span = int(after.jobs.submit[-1] - after.jobs.submit[0])
    work = 100 * len(submit)
    assert abs(span - work / 4 / load) <= 1.0 + 1e-6
    assert np.all(np.diff(after.jobs.submit) >= 0)


@pytest.mark.parametrize(
    ("submit", "load", "named"),
    [
        ([0, 9], 0, ["load", "got 0"]),
        ([0, 9], -0.5, ["load", "-0.5"]),
        ([0, 9], float("nan"), ["load", "nan"]),
        ([0, 9], float("inf"), ["load", "inf"]),
        ([0, 9], "0.9", ["load", "'0.9'"]),
        ([5, 5], 0.9, ["unnamed", "load"]),
        ([0, 9], 1e-300, ["unnamed", "1e-300", "2**53"]),
        ([0, 9], 5e-324, ["unnamed", "4.94066e-324", "2**53"]),
        ([0, 9], 1e300, ["unnamed", "1e+300"]),
    ],
)
def test_bad_load(submit, load, named):
    """A load out of reach is named."""
    with refused(bfenv.WorkloadError, *named):
        tr.with_load(trace(submit), load)


@pytest.mark.parametrize("factor", [1.25, 1.5, 0.5])
def test_arrival_rate(factor):
    """An arrival rate that is so many times as high is a load so many times as high."""
    before = trace([0, 900, 1200, 90_000], requested_start=[0, 1500, 0, 0])
    after = tr.with_arrival_rate(before, factor)
    assert after.offered_load == pytest.approx(factor * before.offered_load, rel=1e-4)
    assert after.jobs.submit.tolist() == np.rint(before.jobs.submit / factor).tolist()
    assert after.jobs.requested_start[1] == after.jobs.submit[1] + 600
    assert after.name == f"unnamed@x{factor:g}"


@pytest.mark.parametrize(
    ("submit", "rate", "named"),
    [
        ([0, 9], -1, ["arrival_rate", "-1"]),
        ([0, 9], 0, ["arrival_rate", "got 0"]),
        ([0, 9], "2", ["arrival_rate", "'2'"]),
        ([5, 5], 2, ["unnamed"]),
        ([0, 9], 1e9, ["unnamed", "1e+09"]),
    ],
)
def test_bad_arrival_rate(submit, rate, named):
    """An arrival rate out of reach is named."""
    with refused(bfenv.WorkloadError, *named):
        tr.with_arrival_rate(trace(submit), rate)


# Submit times and order


@given(small_traces(requested_starts=True), seeds, st.integers(0, 10))
def test_shaking(before, seed, amount):
    """Shaking moves every job a little and loses none."""
    after = tr.shaken(before, amount, seed=seed)
    assert tr.shaken(before, amount, seed=seed).hash == after.hash
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


def test_shaken_records():
    """Shaking takes the records along, and jobs of one second keep their order."""
    records = np.arange(54.0).reshape(3, 18)
    before = trace([0, 1000, 2000], user=[0, 1, 2], records=records)
    orders = set()
    for seed in range(40):
        after = tr.shaken(before, 1500, seed=seed)
        assert np.array_equal(after.records, records[after.jobs.user])
        orders.add(tuple(after.jobs.user.tolist()))
    assert len(orders) > 2
    tied = trace([5] * 50, user=np.arange(50))
    after = tr.shaken(tied, 1, seed=1)
    assert np.all(np.diff(after.jobs.submit * 100 + after.jobs.user) > 0)


@given(small_traces(requested_starts=True))
def test_at_once(before):
    """Off line, all jobs come at once, in the order they had."""
    after = tr.at_once(before)
    assert set(after.jobs.submit.tolist()) == {int(before.jobs.submit[0])}
    assert np.array_equal(after.runtime, before.runtime)
    for column in ("size", "estimate", "user", "priority"):
        assert np.array_equal(getattr(after.jobs, column), getattr(before.jobs, column))
    advance = np.maximum(before.jobs.requested_start - before.jobs.submit, 0)
    left = np.maximum(after.jobs.requested_start - after.jobs.submit, 0)
    assert np.array_equal(left, advance)


@given(small_traces(requested_starts=True), st.floats(1, 50), st.integers(1, 12))
def test_bursts(before, burst, period):
    """Each job keeps its period, and its time since the begin of it is divided by the burst."""
    after = tr.with_bursts(before, burst, period)
    first = int(before.jobs.submit[0])
    for old, new in zip(before.jobs.submit.tolist(), after.jobs.submit.tolist(), strict=True):
        periods, passed = divmod(old - first, period)
        assert new == first + periods * period + int(passed / burst)
        assert (new - first) // period == periods
        assert (new - first) % period <= (period - 1) / burst
    assert np.all(np.diff(after.jobs.submit) >= 0)
    late = before.jobs.requested_start > before.jobs.submit
    delays = (after.jobs.requested_start - after.jobs.submit)[late]
    assert delays.tolist() == (before.jobs.requested_start - before.jobs.submit)[late].tolist()
    assert np.array_equal(after.runtime, before.runtime)


def test_burst_options():
    """A burst of one changes no submit time, and a workload's options reach the step."""
    before = bfenv.load_workload("lublin:jobs=300,procs=32")
    assert np.array_equal(tr.with_bursts(before, 1).jobs.submit, before.jobs.submit)
    after = bfenv.load_workload("lublin:jobs=300,procs=32,burst=4,burst_period=12h")
    assert after.name == f"{before.name}+burst-4"
    expected = tr.with_bursts(before, 4, period=12 * 3600)
    assert np.array_equal(after.jobs.submit, expected.jobs.submit)
    assert after.jobs.submit.max() % 43200 <= 10800


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"burst": 0.5}, ["burst", "0.5"]),
        ({"burst": float("nan")}, ["burst", "nan"]),
        ({"burst": 2, "burst_period": 0}, ["burst_period", "0"]),
        ({"burst_period": 60}, ["burst_period=60", "needs burst"]),
    ],
)
def test_bad_burst(options, named):
    """A burst or a period out of range is named."""
    with refused(bfenv.WorkloadError, *named):
        tr.transformed(trace([0, 9]), **options)


@pytest.mark.parametrize("seconds", [-1, 1.5, "60", 2**53, True])
def test_bad_shake(seconds):
    """Seconds to shake by that are not an integer from 0 up are named."""
    with refused(bfenv.WorkloadError, "shake_seconds", repr(seconds)[:9]):
        tr.shaken(trace([0, 9]), seconds, seed=1)


def test_bad_seed():
    """A negative seed is named."""
    with refused(bfenv.WorkloadError, "seed", "-1"):
        tr.shaken(trace([0, 9]), 1, seed=-1)


# Windows


@given(small_traces(jobs=30), st.integers(1, 40))
def test_windows(before, jobs):
    """Windows are the trace in parts of so many jobs, at the end fewer, each from time 0."""
    parts = tr.windows(before, jobs)
    assert [len(part) for part in parts[:-1]] == [jobs] * (len(parts) - 1)
    assert 1 <= len(parts[-1]) <= jobs
    assert np.array_equal(np.concatenate([part.runtime for part in parts]), before.runtime)
    gaps = [np.diff(part.jobs.submit) for part in parts]
    assert all(part.jobs.submit[0] == 0 for part in parts)
    whole = np.diff(before.jobs.submit)
    inside = np.arange(1, len(before)) % jobs != 0
    assert np.array_equal(np.concatenate(gaps), whole[inside])


@pytest.mark.parametrize("jobs", [0, -1, 2.5, "3"])
def test_bad_window(jobs):
    """A number of jobs that is not an integer from 1 up is named."""
    with refused(bfenv.WorkloadError, "jobs", repr(jobs)):
        tr.windows(trace([0, 9]), jobs)


@pytest.mark.parametrize(
    ("first_job", "job_count"), [(200, None), (-1, None), (0, 0), (0, 201), (150, 51)]
)
def test_bad_range(first_job, job_count):
    """A range of jobs that leaves the trace is named, with the jobs there are."""
    named = [f"first_job={first_job}", f"job_count={job_count}", "0 to 199"]
    with refused(bfenv.WorkloadError, "unnamed", *named):
        tr.transformed(trace(range(200)), first_job=first_job, job_count=job_count)


# Splits


def parts(one):
    """The ranges of the splits; an empty one where a split has no job."""
    ranges = {}
    for split in ("train", "validation", "test", "all"):
        try:
            ranges[split] = tr.split_range(one, split)
        except bfenv.WorkloadError as error:
            assert "unnamed" in str(error) and repr(split) in str(error)
    return ranges


@example([0, 1, 3])  # half the time is over after 1.5 s
@example([2**60 - 1, 2**60 + 300])  # which no float tells from 2**60
@given(st.one_of(times, st.lists(st.integers(0, 2**60), min_size=1, max_size=9).map(sorted)))
def test_splits(submit):
    """Splits are disjoint, in order, and cover the trace."""
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


def test_unknown_split():
    """An unknown split is refused with similar names."""
    with refused(bfenv.UnknownNameError, "'tests'", "test"):
        tr.split_range(trace([0, 9]), "tests")
    with refused(bfenv.WorkloadError, "split=test:load=0.9", "commas"):
        tr.split_range(trace([0, 9]), "test:load=0.9")


# All steps


def test_nothing_to_do():
    """Without options the trace is returned as it is."""
    one = trace([0, 9])
    assert tr.transformed(one) is one


def test_parameter_without_its_step():
    """A parameter of a step that is not taken is refused."""
    with refused(bfenv.WorkloadError, "max_advance=60", "requested_start_share"):
        tr.transformed(trace([0, 9]), max_advance=60)
    with refused(bfenv.WorkloadError, "emax"):
        tr.transformed(trace([0, 9]), emax=9000)


@pytest.mark.parametrize(
    "function",
    [
        tr.transformed,
        tr.at_once,
        lambda one: tr.with_load(one, 0.9),
        lambda one: tr.windows(one, 2),
        lambda one: tr.shaken(one, 9, seed=1),
        lambda one: tr.split_range(one, "test"),
        lambda one: tr.with_arrival_rate(one, 2),
    ],
)
def test_name_as_trace(function):
    """A name is refused with the call that makes a trace of it."""
    with refused(bfenv.WorkloadError, "load_workload('lublin')"):
        function("lublin")
