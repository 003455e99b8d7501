"""Whether a policy makes its memory from requests that a player does not have yet.

In one process the memory may be made from all jobs of a trace. A player knows none of them at that
time, so such a policy would silently decide on placeholders.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bfenv.core.errors import PolicyError
from bfenv.core.jobs import Jobs
from bfenv.core.policy import Policy, new_memory
from bfenv.referee.mirror import same_jobs

JOBS = 2**15  # arrays of this length get new pages from the system, and these hold zeros
PROCESSORS, USERS = 64, 4
ONE = (0, PROCESSORS, 1, USERS - 1, 0, 0)  # a request, in the order of the columns of Jobs
OTHER = (9, 1, 1000, 0, 1)  # another, without a requested start time


def check_memory(policy: Policy, requested_starts: bool) -> None:
    """Check that the memory of a policy does not depend on the requests of jobs to come.

    Its memory is made twice of jobs of one kind and twice of another. An array with an entry per
    job in which the two kinds differ throughout was made from the requests.

    Raises
    ------
    PolicyError
        If it does.
    """
    other = (*OTHER, int(requested_starts))
    memories = [new_memory(policy, _jobs(kind), PROCESSORS, 0) for kind in (ONE, ONE, other, other)]
    for one, again, two, twice in zip(*map(_arrays, memories), strict=False):
        repeats = np.array_equal(one, again) and np.array_equal(two, twice)
        if repeats and one.shape == two.shape and (one != two).all():
            raise PolicyError(
                f"{policy.name} makes its memory from the requests of jobs to come, which a player "
                "does not know: read the requests of a job when it waits"
            )


def _jobs(request: Sequence[int]) -> Jobs:
    columns = same_jobs(JOBS, request)
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
