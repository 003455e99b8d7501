"""Traces: what is accepted, what is refused, and what never changes."""

import copy
import math
import pickle

import numpy as np
import pytest

import bfenv


def trace(**columns):
    columns = {"submit": [0, 5], "size": [1, 2], "runtime": [3, 4], "processors": 2} | columns
    return bfenv.make_trace(**columns)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"submit": [0, -5]}, "job 1: submit -5 is negative"),
        ({"submit": [5, 0]}, "job 1: submit 0 is before the job above"),
        ({"size": [1, 0]}, "job 1: size 0 is not positive"),
        ({"size": [3, 1]}, "job 0: size 3 exceeds 2 processors"),
        ({"runtime": [3, 0]}, "job 1: runtime 0 is not positive"),
        ({"runtime": [3, math.nan]}, "job 1: runtime nan is no whole number"),
        ({"submit": [0, math.inf]}, "job 1: submit inf is no whole number"),
        ({"size": [1, 1.5]}, "job 1: size 1.5 is no whole number"),
        ({"estimate": [3, 3]}, "job 1: estimate 3 is below the runtime"),
        ({"estimate": [3, 2**62]}, "job 1: estimate 4611686018427387904 is beyond all time"),
        ({"requested_start": [0, -1]}, "job 1: requested_start -1 is negative"),
        ({"user": [0, -2]}, "job 1: user -2 is below -1"),
        ({"submit": [0]}, "submit is int64.1., expected int64.2."),
        ({"processors": 0}, "needs processors, got 0"),
        ({"submit": [], "size": [], "runtime": []}, "the trace is empty"),
    ],
)
def test_bad_input_is_refused_by_the_name_of_what_is_wrong(columns, message):
    with pytest.raises(bfenv.WorkloadError, match=message):
        trace(**columns)


def test_without_estimates_users_know_their_runtimes():
    assert trace().jobs.estimate.tolist() == [3, 4]


def test_the_arrays_of_a_trace_cannot_be_written_even_after_pickling():
    for one in (trace(), pickle.loads(pickle.dumps(trace())), copy.deepcopy(trace())):
        for values in (*one.jobs, one.runtime):
            with pytest.raises(ValueError, match="read-only"):
                values[0] = 1


def test_making_a_trace_leaves_the_callers_arrays_writable():
    runtime = np.array([3, 4])
    trace(runtime=runtime)
    runtime[0] = 1


def test_a_slice_is_a_trace_that_begins_at_0():
    whole = trace(submit=[10, 100_000], requested_start=[0, 100_020], time_of_day=3600)
    part = whole[1:]
    assert part.jobs.submit.tolist() == [0]
    assert part.jobs.requested_start.tolist() == [20]
    assert part.time_of_day == (3600 + 100_000) % 86400
    assert part.name == "unnamed[1:2]"
    with pytest.raises(bfenv.WorkloadError, match="no jobs"):
        whole[2:]


def test_equal_content_has_equal_hashes_and_any_change_another():
    one = trace(estimate=[9, 9])
    assert one.hash == trace(estimate=[9, 9], name="other").hash
    changes = [{"estimate": [9, 8]}, {"runtime": [3, 3]}, {"processors": 3}, {"user": [0, 1]}]
    assert (
        len({trace(**{"estimate": [9, 9]} | change).hash for change in changes} | {one.hash}) == 5
    )


def test_offered_load_is_work_over_capacity_until_the_last_submit_time():
    assert trace().offered_load == (3 * 1 + 4 * 2) / (2 * 5)
    assert trace(submit=[0, 0]).offered_load == math.inf
