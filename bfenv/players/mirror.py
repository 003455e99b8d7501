"""The mirror: the machine in a player's process, built from messages alone.

It is a `Cluster` of the same engine. Its future is empty: jobs are written into it when they are
submitted, and a runtime when its job ends.
"""

from collections.abc import Sequence

import numpy as np

from bfenv.core.cluster import LAST_JOB, may_start, start, try_start, wake_at
from bfenv.core.events import new_cluster
from bfenv.core.jobs import FOREVER, Jobs, Trace
from bfenv.core.kernel import compiled_for
from bfenv.players.frames import Frame, new_frame
from bfenv.players.pass_messages import follow_pass, write_answer

SOMETIME = FOREVER // 8  # seconds, submit time of jobs that are not known yet


class Mirror:
    """A machine that follows messages.

    Parameters
    ----------
    processors
        Of the machine.
    jobs
        How many jobs there may be; more are never submitted.
    users
        One more than the largest number of a user may be.
    requested_starts
        Whether jobs may have requested start times.
    """

    def __init__(self, processors: int, jobs: int, users: int, requested_starts: bool) -> None:
        # Policies make their memory from these: no array of theirs is then too short.
        request = (SOMETIME, processors, 1, users - 1, 0, int(requested_starts))
        columns = same_jobs(jobs, request)
        runtime = np.ones(jobs, dtype=np.int64)
        views = Jobs(*(column.view() for column in columns))
        trace = Trace(views, runtime.view(), processors)
        self.jobs = trace.jobs  # read-only, as policies always get them
        self.cluster, truth = new_cluster(trace)
        runtime[:] = FOREVER  # until a job ends
        self.cluster.state[LAST_JOB] = 0
        self._answer = new_frame(1 + 2 * len(self.cluster.started))
        self._followed = self.cluster, columns, truth._replace(runtime=runtime)
        self._follow = compiled_for(follow_pass, *self._followed, self._answer.numbers)
        self._written = self.cluster, self.jobs, self._answer.numbers
        self._write = compiled_for(write_answer, *self._written)

    def follow(self, message: np.ndarray) -> None:
        """Go on to the scheduling pass of a message, see `bfenv.players.pass_messages`."""
        self._follow(*self._followed, message)

    def answer(self) -> tuple[Frame, int]:
        """Return what the policy has done in this pass, and how many integers that is."""
        return self._answer, self._write(*self._written)


def same_jobs(count: int, request: Sequence[int]) -> Jobs:
    """Return jobs that all have one request, in the order of the columns."""
    return Jobs(*(np.full(count, value, dtype=np.int64) for value in request))


def warm_mirror() -> None:
    """Compile what a player needs, or load its compiled code: a player cannot keep any."""
    mirror = Mirror(1, 4, 1, False)
    cluster, jobs = mirror.cluster, mirror.jobs
    request = 0, 1, 9, -1, 0, 0
    mirror.follow(np.array([0, 2, 0, 0, 0, *request, 1, *request]))
    wake_at(cluster, 5)
    try_start(cluster, jobs, 0, 5)
    mirror.answer()
    mirror.follow(np.array([5, 0, 0, 1, 0]))
    start(cluster, jobs, 1)
    mirror.follow(np.array([14, 0, 1, 0, 1]))
    may_start(cluster, jobs, 0)
