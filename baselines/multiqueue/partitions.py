"""Partitions: whose processors a job runs on.

Lawson and Smirni 2002, section 2.1 and equation (1). The machine is divided among the queues, one
partition each. Processors that are idle in one partition can move to another for a start.
"""

from typing import NamedTuple

import numpy as np

from bfenv.core.cluster import running
from bfenv.core.jobs import Jobs
from bfenv.core.kernel import kernel


class Partitions(NamedTuple):
    """The bounds between the partitions, and the processors of each."""

    bounds: np.ndarray  # (k - 1,) int64 seconds, of equation (1)
    partition: np.ndarray  # (n,) int64, of each job; -1 where not looked at
    owned: np.ndarray  # (k,) int64 processors
    busy: np.ndarray  # (k,) int64 processors in use, when a job last started
    reassigned: np.ndarray  # (n,) int64 processors reassigned to its partition for a job's start


def new_partitions(jobs: Jobs, processors: int, bounds: tuple[int, ...]) -> Partitions:
    """Divide the machine equally; the processors left over belong to the first partitions."""
    count = len(bounds) + 1
    owned = np.full(count, processors // count, dtype=np.int64)
    owned[: processors % count] += 1
    return Partitions(
        bounds=np.array(bounds, dtype=np.int64),
        partition=np.full(len(jobs.submit), -1),
        owned=owned,
        busy=np.zeros(count, dtype=np.int64),
        reassigned=np.zeros(len(jobs.submit), dtype=np.int64),
    )


@kernel
def partition_of(partitions, jobs, job):
    """Return the partition of a job by equation (1), counted from 0."""
    if partitions.partition[job] < 0:
        below = np.searchsorted(partitions.bounds, jobs.estimate[job], side="right")
        partitions.partition[job] = below
    return partitions.partition[job]


@kernel
def reassign_processors(partitions, cluster, jobs, job):
    """Lines 6a.I and 7c.I: give the partition of a job just started the processors it lacks.

    Other partitions come first. They lack processors only where others have started jobs.
    """
    if len(partitions.owned) == 1:
        return
    partitions.busy[:] = 0
    for other in running(cluster):
        partitions.busy[partition_of(partitions, jobs, other)] += jobs.size[other]
    p = partition_of(partitions, jobs, job)
    for q in range(len(partitions.owned)):
        if q != p:
            _reassign(partitions, q)
    partitions.reassigned[job] = _reassign(partitions, p)


@kernel
def _reassign(partitions, p):
    """Give partition p the processors that it lacks for those in use, and return their number.

    They come from the partition with the most idle processors, then from the next.
    """
    owned, busy = partitions.owned, partitions.busy
    lacking = max(0, busy[p] - owned[p])
    missing = lacking
    while missing > 0:
        source = -1
        for q in range(len(owned)):
            idle_q = owned[q] - busy[q]
            if q != p and (source < 0 or idle_q > owned[source] - busy[source]):
                source = q
        moved = min(missing, owned[source] - busy[source])
        owned[source] -= moved
        owned[p] += moved
        missing -= moved
    return lacking
