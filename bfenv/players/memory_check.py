"""Whether a policy makes its memory from requests that a player does not have yet.

In one process the memory may be made from all jobs of a trace. A player knows none of them at that
time, so such a policy would silently decide on placeholders.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from bfenv.core.durations import MINUTE
from bfenv.core.errors import PolicyError
from bfenv.core.jobs import Jobs
from bfenv.core.policy import Policy, new_memory
from bfenv.players.mirror import same_jobs

JOBS = 2**15  # arrays of this length get new pages from the system, and these hold zeros
PROCESSORS, USERS = 64, 4
ONE = (0, PROCESSORS, 1, USERS - 1, 0, 0)  # a request, in the order of the columns of Jobs
OTHER = (9, 1, 1000, 0, 1)  # another, without a requested start time
KINDS, PRIORITIES = 1000, 10  # of different requests


def check_memory(policy: Policy, requested_starts: bool) -> None:
    """Check that the memory of a policy does not depend on the requests of jobs to come.

    Its memory is made of jobs of one kind, of another, and of many kinds, each twice. An array
    with an entry per job that depends on the kind of most jobs was made from the requests. Many
    kinds show groups of jobs that are alike: of one kind, all are in the same group.

    Raises
    ------
    PolicyError
        If it does.
    """
    alike = same_jobs(JOBS, ONE)
    for others in (same_jobs(JOBS, (*OTHER, int(requested_starts))), _many_kinds()):
        columns = [_own_arrays(jobs) for jobs in (alike, alike, others, others)]
        memories = [new_memory(policy, jobs, PROCESSORS, 0) for jobs in columns]
        for one, again, two, twice in zip(*map(_arrays, memories), strict=False):
            repeats = np.array_equal(one, again) and np.array_equal(two, twice)
            if repeats and one.shape == two.shape and np.mean(one != two) > 0.5:
                raise PolicyError(
                    f"{policy.name} makes its memory from the requests of jobs to come, which a "
                    "player does not know: read the requests of a job when it waits"
                )


def _many_kinds() -> Jobs:
    """Return jobs of KINDS kinds, which take turns, without requested start times."""
    number = np.arange(JOBS) % KINDS
    kinds = same_jobs(JOBS, ONE)
    return kinds._replace(
        submit=np.arange(JOBS),
        size=1 + number % PROCESSORS,
        estimate=MINUTE * (1 + number),
        user=number % USERS,
        priority=number % PRIORITIES,
    )


def _own_arrays(jobs: Jobs) -> Jobs:
    """Copy jobs into arrays that cannot be written to."""
    columns = Jobs(*(column.copy() for column in jobs))
    for column in columns:
        column.flags.writeable = False
    return columns


def _arrays(value: Any) -> Iterator[np.ndarray]:
    """Yield the arrays in a memory that have an entry per job."""
    if isinstance(value, np.ndarray) and value.shape[:1] == (JOBS,):
        yield value
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _arrays(part)
    elif isinstance(value, dict):
        yield from _arrays(list(value.values()))
    elif hasattr(value, "__dict__"):
        yield from _arrays(list(vars(value).values()))
