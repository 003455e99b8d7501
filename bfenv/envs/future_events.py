"""The events to come of a copy of the machine whose jobs have other runtimes."""

from typing import Any

import numpy as np

import bfenv.core.cluster as c
from bfenv.core.jobs import Jobs


def future_events(cluster: c.Cluster, jobs: Jobs, runtime: np.ndarray) -> tuple[Any, Any]:
    """Return the events to come if jobs have these runtimes, before the starts of a pass.

    Args:
        cluster, jobs: The machine and the requests.
        runtime: (n,) int64 seconds, by job.

    Returns:
        tuple of np.ndarray: Times and entries, (e,) int64 each, in the order of
        `bfenv.core.events.Truth`: a heap.
    """
    run, queue, time = c.running(cluster), c.waiting(cluster), cluster.state[c.NOW]
    later = queue[jobs.requested_start[queue] > time]
    end = np.minimum(cluster.start[run] + runtime[run], cluster.kill_time[run])
    events = np.concatenate([end, jobs.requested_start[later]])
    entries = np.concatenate([run, ~later])
    order = np.lexsort((entries, events))
    return events[order], entries[order]
