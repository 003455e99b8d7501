"""A binary heap of events, ordered by time and, at the same time, by entry."""

from typing import NamedTuple

import numpy as np

from bfenv.core.jobs import FOREVER
from bfenv.core.kernel import inlined, kernel


class EventHeap(NamedTuple):
    """Events to come, the first at index 0; the children of event i are 2 * i + 1 and 2 * i + 2."""

    time: np.ndarray  # (h,) int64 seconds
    entry: np.ndarray  # (h,) int64, what happens then
    length: np.ndarray  # (2,) int64: number of events in the heap, and STOP of `events`


def new_event_heap(capacity: int) -> EventHeap:
    """Make an empty heap that can hold `capacity` events at once."""
    return EventHeap(
        np.empty(capacity, dtype=np.int64),
        np.empty(capacity, dtype=np.int64),
        np.array([0, FOREVER], dtype=np.int64),
    )


@inlined
def is_due(events, time):
    """Whether the first event comes at `time`, in seconds."""
    return events.length[0] > 0 and events.time[0] == time


@kernel
def push(events, time, entry):
    """Add an event."""
    i = events.length[0]
    events.length[0] += 1
    while i > 0:
        parent = (i - 1) >> 1
        above = events.time[parent]
        if above < time or (above == time and events.entry[parent] <= entry):
            break
        events.time[i] = events.time[parent]
        events.entry[i] = events.entry[parent]
        i = parent
    events.time[i] = time
    events.entry[i] = entry


@kernel
def pop(events):
    """Remove the first event and return its entry; the heap must not be empty."""
    first = events.entry[0]
    events.length[0] -= 1
    length = events.length[0]
    time, entry = events.time[length], events.entry[length]  # the last one, to be placed again
    i = 0
    while 2 * i + 1 < length:
        child = 2 * i + 1
        if child + 1 < length:
            left, right = events.time[child], events.time[child + 1]
            child += right < left or (
                right == left and events.entry[child + 1] < events.entry[child]
            )
        if time < events.time[child] or (
            time == events.time[child] and entry <= events.entry[child]
        ):
            break
        events.time[i] = events.time[child]
        events.entry[i] = events.entry[child]
        i = child
    events.time[i] = time
    events.entry[i] = entry
    return first
