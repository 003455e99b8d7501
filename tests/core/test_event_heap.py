"""The heap of events against a sorted list."""

from bisect import insort

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bfenv.core.event_heap import is_due, new_event_heap, pop, push

events = st.lists(st.tuples(st.integers(0, 9), st.integers(-9, 9)), max_size=20)


@given(events)
def test_order(events):
    """Events leave the heap by time, and at the same time by entry."""
    heap = new_event_heap(len(events))
    for time, entry in events:
        push(heap, time, entry)
    for time, entry in sorted(events):
        assert is_due(heap, time)
        assert not is_due(heap, time - 1) and not is_due(heap, time + 1)
        assert pop(heap) == entry
    assert heap.length[0] == 0 and not is_due(heap, 0)


@given(events, st.data())
def test_mixed(events, data):
    """Pushes and pops may alternate in any way."""
    heap, expected = new_event_heap(len(events)), []
    for time, entry in events:
        push(heap, time, entry)
        expected.append((time, entry))
        for _ in range(data.draw(st.integers(0, len(expected)))):
            first = min(expected)
            expected.remove(first)
            assert pop(heap) == first[1]
    assert heap.length[0] == len(expected)


def test_large():
    """Order is kept in a heap of many layers as well, while it grows and shrinks."""
    generator = np.random.default_rng(0)
    heap, expected = new_event_heap(1000), []
    for pushes, pops in ((300, 200), (400, 300), (100, 300)):
        for event in generator.integers(0, 100, (pushes, 2)).tolist():
            push(heap, *event)
            insort(expected, event)
        for _ in range(pops):
            time, entry = expected.pop(0)
            assert is_due(heap, time) and pop(heap) == entry
    assert heap.length[0] == 0
