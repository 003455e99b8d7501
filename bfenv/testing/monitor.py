"""A policy under observation: what each of its decisions does to the machine."""

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bfenv.baselines.registry import simulate
from bfenv.core.cluster import (
    NOW,
    OFFENDER,
    WAKE,
    Cluster,
    expected_ends,
    finished,
    running,
    start,
    started,
    try_start,
    waiting,
)
from bfenv.core.errors import StarvationError
from bfenv.core.illegal_start import find_illegal_start
from bfenv.core.jobs import Jobs, Trace
from bfenv.core.policy import Policy
from bfenv.core.schedule import Schedule

MOST_IDLE = 10_000  # passes in a row in which nothing starts, ends or arrives
PACKAGE = Path(__file__).resolve().parent.parent


class Fault(NamedTuple):
    """Something wrong with a policy."""

    kind: str
    what: str  # one line

    def __str__(self) -> str:
        return f"{self.kind}: {self.what}"


class Faulty(Exception):
    """Ends a run in which a fault was found."""

    def __init__(self, kind: str, what: str):
        super().__init__(what)
        self.fault = Fault(kind, what)


@dataclass
class Spy:
    """A `decide` that calls another one and looks at what it did; raises Faulty."""

    decide: Callable
    trace: Trace
    beat: Callable[[Trace, int], None]  # told of every pass before it begins
    seconds: list[float] = field(default_factory=list)  # per pass
    passes: list[tuple[int, int]] = field(default_factory=list)  # clock, waiting jobs
    idle: int = 0

    def __call__(self, cluster: Cluster, jobs: Jobs, memory: Any) -> None:
        """Let the policy decide; the machine must then differ by its starts and nothing else."""
        now = int(cluster.state[NOW])
        self.beat(self.trace, now)
        self.passes.append((now, len(waiting(cluster))))
        cluster.state[OFFENDER] = -1  # an illegal start that was caught by the policy itself
        before = Cluster(*(values.copy() for values in cluster))
        begin = time.perf_counter()
        try:
            self.decide(cluster, jobs, memory)
        except (Exception, SystemExit) as error:
            raise self._failed(error, cluster, jobs) from error
        self.seconds.append(time.perf_counter() - begin)
        self._compare(before, cluster, jobs)
        self._count_idle(cluster)

    def _failed(self, error: BaseException, cluster: Cluster, jobs: Jobs) -> Faulty:
        when = self._when(cluster)
        if isinstance(error, ValueError) and (illegal := find_illegal_start(cluster, jobs)):
            return Faulty("illegal start", f"{when}: job {illegal.job} {illegal.reason}")
        if isinstance(error, ValueError) and "read-only" in str(error):
            return Faulty("tampering", f"{when}: it writes to the jobs, {raised(error)}")
        return Faulty("failure", f"{when}: {raised(error)}")

    def _compare(self, before: Cluster, cluster: Cluster, jobs: Jobs) -> None:
        """Repeat the starts on the copy; the two machines must then be alike."""
        now = before.state[NOW]
        try:
            for job in started(cluster).tolist():
                limit = int(cluster.kill_time[job] - now)
                if limit < jobs.estimate[job]:
                    try_start(before, jobs, job, limit)
                else:
                    start(before, jobs, job)
        except (ValueError, IndexError) as error:
            what = f"{self._when(cluster)}: it starts jobs otherwise than by start()"
            raise Faulty("tampering", what) from error
        one, two = _visible(before), _visible(cluster)
        for name in one:
            if not np.array_equal(one[name], two[name]):
                raise Faulty(
                    "tampering", f"{self._when(cluster)}: it changes cluster.{name} itself"
                )

    def _count_idle(self, cluster: Cluster) -> None:
        line = waiting(cluster)
        arrived = len(line) and self.trace.jobs.submit[line[-1]] == cluster.state[NOW]
        busy = arrived or len(started(cluster)) or len(finished(cluster))
        self.idle = 0 if busy else self.idle + 1
        if self.idle > MOST_IDLE:
            what = f"it has asked for {self.idle:,} passes in a row without doing anything"
            raise Faulty("endless", f"{self._when(cluster)}: {what}")

    def _when(self, cluster: Cluster) -> str:
        return f"at {int(cluster.state[NOW])} s of {self.trace.name!r}"


def spied(policy: Policy, trace: Trace, beat: Callable[[Trace, int], None]) -> tuple[Schedule, Spy]:
    """The schedule of a policy, seed 0, driven from Python under observation; raises Faulty."""
    spy = Spy(policy.decide, trace, beat)
    try:
        schedule = simulate(trace, replace(policy, decide=spy, run=None)).check()
    except StarvationError as error:
        raise Faulty("starvation", f"{trace.name!r}: it {error.reason}") from error
    except Faulty:
        raise
    except (Exception, SystemExit) as error:  # of its memory or its records
        raise Faulty("failure", f"on {trace.name!r}: {raised(error)}") from error
    for name, values in schedule.records.items():
        if len(values) != len(trace):
            what = f"{len(values)} records {name!r} of {len(trace)} jobs of {trace.name!r}"
            raise Faulty("failure", what)
    return schedule, spy


def _visible(cluster: Cluster) -> dict[str, np.ndarray]:
    """The parts of the machine that mean something, by name."""
    state = cluster.state.copy()
    state[OFFENDER] = 0
    state[WAKE] = max(state[WAKE], state[NOW])  # a policy may ask to be woken later
    state[WAKE] = state[WAKE] > state[NOW]
    runs = (cluster.start >= 0) & (cluster.end < 0)
    return {
        "state": state,
        "queue": waiting(cluster),
        "running": running(cluster),
        "expected_end": expected_ends(cluster),
        "started": started(cluster),
        "finished": finished(cluster),
        "start": cluster.start,
        "end": cluster.end,
        "kill_time": cluster.kill_time[runs],
        "trial_start": cluster.trial_start,
        "trial_end": cluster.trial_end,
    }


def raised(error: BaseException) -> str:
    """Kind, message and place of an error, in one line."""
    message = " ".join(str(error).split())[:160]
    text = f"{type(error).__name__}: {message}".removesuffix(": ")
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not Path(frame.filename).is_relative_to(PACKAGE)]
    if own:
        text += f" ({Path(own[0].filename).name}, line {own[0].lineno})"
    return text
