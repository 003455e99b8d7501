"""Schedules: which are possible, and how one is shown."""

from dataclasses import replace

import numpy as np
import pytest

import bfenv

TRACE = bfenv.make_trace([0, 1, 1], [2, 2, 1], [4, 3, 2], 4, requested_start=[0, 0, 3])
#  P
#  4 | 111      starts 0, 1, 4
#  3 | 111
#  2 |000022
#  1 |0000
#    +-------> t
GOOD = bfenv.Schedule(
    TRACE,
    "by hand",
    0,
    np.array([0, 1, 4]),
    np.array([4, 4, 6]),
    np.array([-1, -1, -1]),
    np.array([-1, -1, -1]),
)


def test_a_possible_schedule_passes_and_is_returned():
    assert GOOD.check() is GOOD
    times, used = GOOD.usage()
    assert times.tolist() == [0, 1, 4, 6]
    assert used.tolist() == [2, 4, 1, 0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": [-1, 1, 4], "end": [3, 4, 6]}, "job 0 never starts"),
        ({"start": [0, 0, 4], "end": [4, 3, 6]}, "job 1 starts before it is submitted"),
        ({"start": [0, 1, 2], "end": [4, 4, 4]}, "job 2 starts before its requested start time"),
        ({"end": [4, 5, 6]}, "job 1 does not run for its runtime"),
        ({"start": [0, 1, 3], "end": [4, 4, 5]}, "5 of 4 processors in use at 3 s"),
        ({"trial_start": [-1, 0, -1], "trial_end": [-1, 1, -1]}, "job 1 is tried before"),
        ({"trial_start": [-1, -1, 3], "trial_end": [-1, -1, 5]}, "job 2 starts before its trial"),
        ({"trial_start": [-1, -1, 2], "trial_end": [-1, -1, 4]}, "5 of 4 processors .* at 2 s"),
    ],
)
def test_an_impossible_schedule_is_refused_by_what_is_wrong(change, message):
    with pytest.raises(bfenv.PolicyError, match=message):
        replace(GOOD, **{name: np.array(values) for name, values in change.items()}).check()


def test_repr():
    """A schedule shows its trace, policy, mean wait and mean bounded slowdown in one line."""
    shown = "<Schedule of 'unnamed' by by hand: mean wait 1 s, mean bounded slowdown 1.00>"
    assert repr(GOOD) == str(GOOD) == shown
    late = replace(GOOD, policy="late", start=GOOD.start + 3600, end=GOOD.end + 3600)
    slowdown = sum((wait + runtime) / 10 for wait, runtime in [(3600, 4), (3600, 3), (3603, 2)]) / 3
    assert repr(late).endswith(
        f"by late: mean wait 60.0 min, mean bounded slowdown {slowdown:.2f}>"
    )


def test_identity():
    """Schedules are compared by identity."""
    twin = replace(GOOD)
    assert GOOD != twin and len({GOOD, twin}) == 2
