"""A binary heap of events, ordered by time and, at the same time, by entry.

It is in three fields of `bfenv.core.events.Truth`: event_count[0] events, each with an event_time
and an event_entry, the first at index 0. The children of event i are 2 * i + 1 and 2 * i + 2.
"""

from bfenv.core.kernel import kernel


@kernel
def push(truth, time, entry):
    """Add an event."""
    i = truth.event_count[0]
    truth.event_count[0] += 1
    while i > 0:
        parent = (i - 1) >> 1
        above = truth.event_time[parent]
        if above < time or (above == time and truth.event_entry[parent] <= entry):
            break
        truth.event_time[i] = truth.event_time[parent]
        truth.event_entry[i] = truth.event_entry[parent]
        i = parent
    truth.event_time[i] = time
    truth.event_entry[i] = entry


@kernel
def pop(truth):
    """Remove the first event and return its entry; the heap must not be empty."""
    first = truth.event_entry[0]
    truth.event_count[0] -= 1
    length = truth.event_count[0]
    # The last one is placed again, from the top
    time, entry = truth.event_time[length], truth.event_entry[length]
    i = 0
    while 2 * i + 1 < length:
        child = 2 * i + 1
        if child + 1 < length:
            left, right = truth.event_time[child], truth.event_time[child + 1]
            child += right < left or (
                right == left and truth.event_entry[child + 1] < truth.event_entry[child]
            )
        if time < truth.event_time[child] or (
            time == truth.event_time[child] and entry <= truth.event_entry[child]
        ):
            break
        truth.event_time[i] = truth.event_time[child]
        truth.event_entry[i] = truth.event_entry[child]
        i = child
    truth.event_time[i] = time
    truth.event_entry[i] = entry
    return first
