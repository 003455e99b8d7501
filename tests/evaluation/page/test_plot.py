"""Scales of the report's charts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfenv.evaluation.page.plot import signed_scale

SECONDS = st.floats(-1e18, 1e18)


@pytest.mark.parametrize("smallest", [2.2e-311, 5e-324])
def test_tiny_difference(smallest):
    """A difference too small to divide by still has a place."""
    position = signed_scale([smallest, 1.0])
    assert 0 < position(0.0) <= position(smallest) <= position(1.0) < 1


@given(st.lists(SECONDS, min_size=1))
def test_signed_scale(values):
    """Every value is within the chart, in order, with 0 between losses and gains."""
    position = signed_scale(values)
    places = [position(value) for value in sorted([*values, 0.0])]
    assert places == sorted(places)
    assert all(0 <= place <= 1 for place in places)
