"""Schedule: when each job of a trace ran, and whether that is possible."""

from dataclasses import dataclass, field

import numpy as np

from bfenv.core.errors import PolicyError
from bfenv.core.jobs import Trace
from bfenv.core.kernel import inlined

TAU = 10  # seconds, of the bounded slowdown


def steps(time: np.ndarray, change: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Running sums of changes: distinct instants (k,), ascending, and (..., k) sums from then on.

    time (m,) and change (..., m), int64, are in any order.
    """
    order = np.argsort(time, kind="stable")
    time = time[order]
    last = np.flatnonzero(np.append(time[1:] != time[:-1], True))  # change of its instant
    return time[last], np.cumsum(change[..., order], axis=-1)[..., last]


@inlined
def bounded_slowdown(wait, runtime, tau=TAU):
    """max(1, (wait + runtime) / max(runtime, tau)), of a job or of arrays of them, in seconds.

    Feitelson et al. 1997; Shmueli 2003, section 1.1.
    """
    return np.maximum(1.0, (wait + runtime) / np.maximum(runtime, tau))


@dataclass(frozen=True, eq=False)
class Schedule:
    """The outcome of a simulation, in trace order."""

    trace: Trace
    policy: str
    seed: int
    start: np.ndarray  # (n,) int64 seconds
    end: np.ndarray  # (n,) int64 seconds, start + runtime
    trial_start: np.ndarray  # (n,) int64 seconds of a trial that was killed; -1 for none
    trial_end: np.ndarray  # (n,) int64 seconds; -1 for none
    records: dict[str, np.ndarray] = field(default_factory=dict)  # what the policy noted per job

    @property
    def wait(self) -> np.ndarray:
        """(n,) int64 seconds from submit to start."""
        return self.start - self.trace.jobs.submit

    def check(self) -> "Schedule":
        """Return the schedule itself if it is possible on this machine.

        Raises PolicyError, naming the first offending job or instant, if a job is lost, starts
        before its submit or requested start time, does not end runtime seconds after its start,
        runs while its own trial does, or if more processors are used than there are.
        """
        jobs, tried = self.trace.jobs, self.trial_end >= 0
        self._forbid(self.start < 0, "never starts")
        self._forbid(self.start < jobs.submit, "starts before it is submitted")
        self._forbid(self.start < jobs.requested_start, "starts before its requested start time")
        self._forbid(self.end - self.start != self.trace.runtime, "does not run for its runtime")
        self._forbid(tried & (self.trial_start < jobs.submit), "is tried before it is submitted")
        self._forbid(tried & (self.start < self.trial_end), "starts before its trial has ended")
        times, used = self.usage()
        if used.max() > self.trace.processors:
            worst = int(np.argmax(used > self.trace.processors))
            raise PolicyError(
                f"{self.policy}: {used[worst]} of {self.trace.processors} processors in use at "
                f"{times[worst]} s"
            )
        return self

    def usage(self) -> tuple[np.ndarray, np.ndarray]:
        """Instants (k,) int64 seconds, ascending, and (k,) int64 processors in use from then on."""
        size, tried = self.trace.jobs.size, self.trial_end >= 0
        time = np.concatenate(
            [self.start, self.end, self.trial_start[tried], self.trial_end[tried]]
        )
        change = np.concatenate([size, -size, size[tried], -size[tried]])
        return steps(time, change)

    def _forbid(self, wrong: np.ndarray, what: str) -> None:
        if wrong.any():
            raise PolicyError(f"{self.policy}: job {int(np.argmax(wrong))} {what}")
