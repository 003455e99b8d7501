"""Scales of the report's charts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfenv.evaluation.page.markup import element, escaped, short
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


def test_element():
    """Everything that is not markup is escaped."""
    assert element("p", "<b>", title='"&"') == '<p title="&quot;&amp;&quot;">&lt;b&gt;</p>'
    assert element("p", element("b", "x"), None, ["<", element("i")]) == (
        "<p><b>x</b>&lt;<i></i></p>"
    )
    assert element("input", class_="x", data_p=1, checked=True, open=False, title=None) == (
        '<input class="x" data-p="1" checked>'
    )


def test_escaped():
    """Characters that act without being visible are replaced."""
    assert escaped("a\x00b\u202e") == "a\ufffdb\ufffd"


def test_short():
    """Long text is cut."""
    assert short("a" * 34) == "a" * 34
    assert short("a" * 35) == "a" * 33 + "…"
