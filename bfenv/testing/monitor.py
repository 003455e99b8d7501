"""A monitor around a policy: it checks what each decision does to the cluster."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

import bfenv.core.cluster as c
from bfenv.baselines.registry import simulate
from bfenv.core.errors import StarvationError
from bfenv.core.illegal_start import find_illegal_start
from bfenv.core.jobs import Jobs, Trace
from bfenv.core.policy import Policy
from bfenv.core.schedule import Schedule
from bfenv.parallel.failures import describe_error

MOST_IDLE = 10_000  # consecutive passes in which no job starts, ends or arrives

OnPass = Callable[[Trace, int], None]  # called with the trace and the clock (s) before each pass


class Fault(NamedTuple):
    """A fault of a policy."""

    kind: str  # one of `bfenv.testing.KINDS`
    what: str  # one line

    def __str__(self) -> str:
        return f"{self.kind}: {self.what}"


class PolicyFault(Exception):
    """A fault that ends a run."""

    def __init__(self, kind: str, text: str):
        super().__init__(text)
        self.fault = Fault(kind, text)


@dataclass
class PolicyMonitor:
    """A `decide` function that calls that of a policy and checks its effect on the cluster.

    Calling it raises PolicyFault at the first fault.
    """

    decide: Callable[[Any, Jobs, Any], None]
    trace: Trace
    on_pass: OnPass
    seconds: list[float] = field(default_factory=list)  # per pass
    passes: list[tuple[int, int]] = field(default_factory=list)  # clock, waiting jobs
    idle: int = 0  # consecutive passes in which nothing happened

    def __call__(self, cluster: c.Cluster, jobs: Jobs, memory: Any) -> None:
        """Let the policy decide, then check that it changed the cluster by its starts only."""
        now = int(cluster.state[c.NOW])
        self.on_pass(self.trace, now)
        self.passes.append((now, len(c.waiting(cluster))))
        cluster.state[c.OFFENDER] = -1  # forget an illegal start that the policy itself caught
        before = c.Cluster(*(values.copy() for values in cluster))
        requests = np.stack(jobs)
        begin = time.perf_counter()
        try:
            self.decide(cluster, jobs, memory)
        except (Exception, SystemExit) as error:
            raise self._failed(error, cluster, jobs) from error
        self.seconds.append(time.perf_counter() - begin)
        if not np.array_equal(np.stack(jobs), requests):
            raise PolicyFault("tampering", f"{self._moment(cluster)}: it writes to the jobs")
        self._check_changes(before, cluster, jobs)
        self._check_idle(cluster)

    def _failed(self, error: BaseException, cluster: c.Cluster, jobs: Jobs) -> PolicyFault:
        moment = self._moment(cluster)
        if isinstance(error, ValueError) and (illegal := find_illegal_start(cluster, jobs)):
            return PolicyFault("illegal start", f"{moment}: job {illegal.job} {illegal.reason}")
        if isinstance(error, ValueError) and "read-only" in str(error):
            return PolicyFault(
                "tampering", f"{moment}: it writes to the jobs, {describe_error(error)}"
            )
        return PolicyFault("failure", f"{moment}: {describe_error(error)}")

    def _check_changes(self, before: c.Cluster, cluster: c.Cluster, jobs: Jobs) -> None:
        """Repeat the starts on the copy, and check that both clusters are equal then."""
        now = before.state[c.NOW]
        try:
            for job in c.started(cluster).tolist():
                limit = int(cluster.kill_time[job] - now)
                if limit < jobs.estimate[job]:
                    c.try_start(before, jobs, job, limit)
                else:
                    c.start(before, jobs, job)
        except (ValueError, IndexError) as error:
            text = f"{self._moment(cluster)}: it starts jobs without start()"
            raise PolicyFault("tampering", text) from error
        expected, actual = _visible(before), _visible(cluster)
        for name in expected:
            if not np.array_equal(expected[name], actual[name]):
                text = f"{self._moment(cluster)}: it changes cluster.{name} itself"
                raise PolicyFault("tampering", text)

    def _check_idle(self, cluster: c.Cluster) -> None:
        """Check that wake-ups do not go on without effect."""
        queue = c.waiting(cluster)
        arrived = len(queue) and self.trace.jobs.submit[queue[-1]] == cluster.state[c.NOW]
        busy = arrived or len(c.started(cluster)) or len(c.finished(cluster))
        self.idle = 0 if busy else self.idle + 1
        if self.idle > MOST_IDLE:
            text = f"{self.idle:,} consecutive wake-ups had no effect"
            raise PolicyFault("endless", f"{self._moment(cluster)}: {text}")

    def _moment(self, cluster: c.Cluster) -> str:
        return f"at {int(cluster.state[c.NOW])} s of {self.trace.name!r}"


def run_monitored(policy: Policy, trace: Trace, on_pass: OnPass) -> tuple[Schedule, PolicyMonitor]:
    """Simulate a trace with seed 0, calling the policy from Python through a monitor.

    Raises PolicyFault if the policy has a fault.
    """
    monitor = PolicyMonitor(policy.decide, trace, on_pass)
    try:
        schedule = simulate(trace, replace(policy, decide=monitor, run=None)).check()
    except StarvationError as error:
        raise PolicyFault("starvation", f"{trace.name!r}: it {error.reason}") from error
    except PolicyFault:
        raise
    except (Exception, SystemExit) as error:  # of its memory or its records
        raise PolicyFault("failure", f"on {trace.name!r}: {describe_error(error)}") from error
    for name, values in schedule.records.items():
        if len(values) != len(trace):
            text = f"{len(values)} records {name!r} of {len(trace)} jobs of {trace.name!r}"
            raise PolicyFault("failure", text)
    return schedule, monitor


def _visible(cluster: c.Cluster) -> dict[str, np.ndarray]:
    """Return the parts of a cluster that a policy can see, by name."""
    state = cluster.state.copy()
    state[c.OFFENDER] = 0
    state[c.WAKE] = max(state[c.WAKE], state[c.NOW])  # a policy may request a later wake-up
    state[c.WAKE] = state[c.WAKE] > state[c.NOW]
    runs = (cluster.start >= 0) & (cluster.end < 0)
    return {
        "state": state,
        "queue": c.waiting(cluster),
        "running": c.running(cluster),
        "expected_end": c.expected_ends(cluster),
        "started": c.started(cluster),
        "finished": c.finished(cluster),
        "start": cluster.start,
        "end": cluster.end,
        "kill_time": cluster.kill_time[runs],
        "trial_start": cluster.trial_start,
        "trial_end": cluster.trial_end,
    }
