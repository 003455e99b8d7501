"""Machine: one of the environments of a fleet, as those see it who may look inside."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from bfenv.core.cluster import (
    PASSES,
    QUEUE_BEGIN,
    QUEUE_END,
    WAKE,
    Cluster,
    retract,
    started,
    waiting,
)
from bfenv.core.errors import BfenvError
from bfenv.core.illegal_start import find_illegal_start
from bfenv.core.jobs import Trace
from bfenv.envs import episode

if TYPE_CHECKING:
    from bfenv.envs.batch import Fleet


class Machine:
    """Environment i of a fleet: its machine, its episode, its picture."""

    def __init__(self, fleet: "Fleet", i: int):
        self.fleet = fleet
        self.i = i
        self._screen: Any = None

    @property
    def trace(self) -> Trace:
        """The trace that the episode is taken from."""
        return self.fleet.traces[self._count(episode.TRACE)]

    @property
    def cluster(self) -> Cluster:
        """The machine as a scheduler sees it; arrays of the environment itself, not copies."""
        return episode.cluster_of(self.fleet.batch, self.i)

    @property
    def window(self) -> int:
        """How many waiting jobs the agent sees and can start."""
        return self.fleet.window

    @property
    def every_pass(self) -> bool:
        """Whether every scheduling pass is a decision point."""
        return self.fleet.every_pass

    @property
    def pass_id(self) -> tuple[int, int]:
        """Number of the episode and of the scheduling pass in it, warm-up included."""
        return self._count(episode.EPISODES), int(self.fleet.batch.cluster_state[self.i, PASSES])

    @property
    def episode_jobs(self) -> range:
        """The jobs, by index in the trace, that the episode's reward is about."""
        return range(self._count(episode.FIRST), self._count(episode.LAST))

    @property
    def unstarted(self) -> int:
        """How many of them have not started."""
        return self._count(episode.UNSTARTED)

    @property
    def illegal_actions(self) -> int:
        """How many actions of the episode were illegal."""
        return self._count(episode.ILLEGAL)

    @property
    def forced_starts(self) -> int:
        """How many starts the environment had to make, for nothing else could happen."""
        return self._count(episode.FORCED)

    def action_masks(self) -> np.ndarray:
        """(window + 1,) bool: which actions are legal now; the last, the pass, always is."""
        return self.fleet.batch.mask[self.i].astype(bool)

    def plan(self, decide: Callable, memory: Any) -> list[int]:
        """The actions by which a policy's starts of this pass are made; nothing is started.

        A wake-up that it asks for will come. The policy is shown the window of the queue, as an
        agent is. After these actions, as long as `pass_id` is the same, it would pass. Raises
        IllegalStartError on an illegal start.
        """
        cluster, jobs = self.cluster, self.trace.jobs
        queue_end = int(cluster.state[QUEUE_END])
        cluster.state[QUEUE_END] = min(queue_end, cluster.state[QUEUE_BEGIN] + self.window)
        try:
            decide(cluster, jobs, memory)
            slots = waiting(cluster).tolist()
            actions = []
            for job in started(cluster).tolist():
                actions.append(slots.index(job))
                slots.remove(job)
            return actions
        except ValueError as error:
            illegal_start = find_illegal_start(cluster, jobs)
            if illegal_start is None:  # a fault of the policy's own code
                raise
            raise illegal_start from error
        finally:
            wake = cluster.state[WAKE]
            retract(cluster, jobs)
            cluster.state[WAKE] = wake
            cluster.state[QUEUE_END] = queue_end

    def render(self):
        """A compact screen of text ("ansi") or an (h, w, 3) uint8 picture ("rgb_array")."""
        if self.fleet.render_mode is None:
            raise BfenvError("render needs render_mode='ansi' or 'rgb_array' when it is made")
        from bfenv.envs import rendering as render

        if self.fleet.render_mode == "ansi":
            return render.text(self)
        if self._screen is None:
            self._screen = render.Screen()
        return self._screen.draw(self)

    def close(self):
        """Forget the picture; may be called more than once."""
        self._screen = None

    def __getstate__(self) -> dict:
        """Everything but the picture, which is drawn anew."""
        return {**self.__dict__, "_screen": None}

    def _count(self, place: int) -> int:
        return int(self.fleet.batch.counters[self.i, place])
