"""Runs: which instants their times mean, their peak use, the numbers of their names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfenv.workloads.logs.run import Run, number_names, order_times, peak_use

instants = st.lists(st.integers(0, 20), max_size=2).map(tuple)


@pytest.mark.parametrize(
    ("submit", "start", "end", "elapsed", "expected"),
    [
        ((5,), (7,), (9,), None, (5, 7, 9)),
        ((5,), (), (), None, (5, -1, -1)),
        ((5,), (3,), (1,), None, (5, 3, 1)),  # nothing to choose
        ((5,), (3, 7), (9,), None, (5, 7, 9)),  # in order
        ((5,), (6, 7), (9,), 2, (5, 7, 9)),  # agrees with the time elapsed
        ((5,), (6, 7), (9,), None, (5, 6, 9)),  # the earlier
        ((5, 8), (3,), (), 1, (5, 3, -1)),
    ],
)
def test_order(submit, start, end, elapsed, expected):
    """Instants in order are chosen, then those that agree with the time elapsed."""
    assert order_times(submit, start, end, elapsed) == expected


@given(instants, instants, instants, st.none() | st.integers(0, 20))
def test_choice(submit, start, end, elapsed):
    """Each time is one of its instants, in order if any choice is."""
    chosen = order_times(submit, start, end, elapsed)
    for time, choices in zip(chosen, (submit, start, end), strict=True):
        assert time in choices or (time, choices) == (-1, ())
    if submit and start and end and submit[0] <= start[-1] <= end[-1] and len(submit) == 1:
        assert len(start) == len(end) == 1 or chosen[0] <= chosen[1] <= chosen[2]


def test_peak():
    """Processors of a run that ends are free at once; runs without a start do not count."""
    runs = [Run(0, 0, 10, 4), Run(0, 9, 5, 5), Run(0, 10, 5, 6), Run(0, -1, 5, 99)]
    assert peak_use(runs) == 11
    assert peak_use([]) == 0


def test_numbers():
    """Names are numbered by first appearance; no name is -1."""
    assert number_names(["b", "", "a", "b"]) == [1, -1, 2, 1]
