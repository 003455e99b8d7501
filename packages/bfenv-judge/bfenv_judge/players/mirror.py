"""The mirror: the machine in a player's process, built from messages alone.

It is a `Cluster` of the same engine. Its future is empty: jobs are written into it when they are
submitted, and a runtime when its job ends.
"""

import numpy as np

from bfenv.core.cluster import may_start, start, try_start, wake_at
from bfenv.core.events import allocate, reset, shown, unknown_jobs
from bfenv.core.jobs import FOREVER, REQUESTED_START, RESTARTABLE, USER, Jobs
from bfenv.core.kernel import Code
from bfenv_judge.players.frames import Frame, new_frame
from bfenv_judge.players.pass_messages import follow_pass, write_answer


class Mirror:
    """A machine that follows messages.

    * `processors`: of the machine.
    * `jobs`: how many jobs there may be; more are never submitted.
    * `users`: one more than the largest number of a user may be.
    * `requested_starts`: whether jobs may have requested start times.
    """

    def __init__(self, processors: int, jobs: int, users: int, requested_starts: bool) -> None:
        requests = np.zeros((len(Jobs._fields), jobs), dtype=np.int64)
        # Policies make their memory from placeholders: no array of theirs is then too short.
        requests[USER], requests[REQUESTED_START] = users - 1, requested_starts
        requests[RESTARTABLE] = 1  # others come only where none is tried, see `begin_message`
        known_jobs = unknown_jobs(requests, processors)
        runtime = np.full(jobs, FOREVER)  # until a job ends
        read_only = requests.view(), runtime.view()
        for values in read_only:
            values.flags.writeable = False
        most = min(jobs, processors)
        events = most + (jobs if requested_starts else 0)
        self.cluster, truth = allocate(*read_only, known_jobs, most, events)
        reset(self.cluster, truth, processors, 0, 0)
        self.jobs = shown(known_jobs)
        self._answer = new_frame(1 + 2 * len(self.cluster.started))
        self._followed = self.cluster, self.jobs, truth, requests, runtime
        self._follow = Code(follow_pass)
        self._written = self.cluster, self.jobs, self._answer.numbers
        self._write = Code(write_answer)

    def follow(self, message: np.ndarray) -> None:
        """Go on to the scheduling pass of a message, see `bfenv_judge.players.pass_messages`."""
        self._follow.call(*self._followed, message)

    def answer(self) -> tuple[Frame, int]:
        """Return what the policy has done in this pass, and how many integers that is."""
        return self._answer, self._write.call(*self._written)


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
