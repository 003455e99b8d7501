"""Load and splits: what moves, what stays, and that no job is lost between two parts."""

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import bfenv
from bfenv.workloads.transform import split_range, with_load

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
    with pytest.raises(bfenv.UnknownName, match="unknown split 'tests'; did you mean test"):
        split_range(trace([0, 9]), "tests")
