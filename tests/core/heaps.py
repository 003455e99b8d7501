"""Heaps of events that are no machine's."""

import numpy as np

from bfenv.core.events import Truth, allocate


def new_heap(capacity: int) -> Truth:
    """An empty heap that holds up to `capacity` events, of a machine without jobs."""
    requests = np.zeros((7, 0), dtype=np.int64)
    known = np.zeros((7, 1), dtype=np.int64)
    return allocate(requests, np.zeros(0, dtype=np.int64), known, 0, capacity)[1]
