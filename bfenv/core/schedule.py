"""Schedule: when each job of a trace ran, and checks that this was possible."""

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from bfenv.core.durations import HOUR, TAU, format_duration
from bfenv.core.errors import PolicyError
from bfenv.core.jobs import Trace
from bfenv.core.kernel import inlined

LEAST_WAIT = HOUR  # a shorter longest wait of the reference counts as this, in `penalized`


def steps(time: np.ndarray, change: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sum changes over time.

    Args:
        time: (m,) int64 seconds, in any order.
        change: (..., m) int64, what each of these times adds.

    Returns:
        The distinct times (k,), ascending, and the sums (..., k) from then on.
    """
    order = np.argsort(time, kind="stable")
    time = time[order]
    last = np.flatnonzero(np.append(time[1:] != time[:-1], True))  # change of its instant
    return time[last], np.cumsum(change[..., order], axis=-1)[..., last]


@inlined
def bounded_slowdown(wait, runtime, tau=TAU):
    """Compute max(1, (wait + runtime) / max(runtime, tau)) of a job or of arrays.

    Feitelson et al. 1997; Shmueli 2003, section 1.1.

    Args:
        wait (int or np.ndarray): Seconds from submit to start.
        runtime (int or np.ndarray): In seconds.
        tau (int): Runtimes below this many seconds count as this long.

    Returns:
        float or np.ndarray: At least 1.

    Examples:
        >>> from bfenv.core import bounded_slowdown
        >>> float(bounded_slowdown(30, 60)), float(bounded_slowdown(30, 1))
        (1.5, 3.1)
    """
    return np.maximum(1.0, (wait + runtime) / np.maximum(runtime, tau))


def penalized(ratio: Any, longest: Any, usual: Any) -> Any:
    """Penalize a ratio of mean slowdowns if the longest wait is longer than the reference's.

    Args:
        ratio (float or np.ndarray): Mean bounded slowdown over the reference's.
        longest (float or np.ndarray): Longest wait, in seconds.
        usual (float or np.ndarray): Longest wait of the reference, in seconds; below an hour it
            counts as an hour.

    Returns:
        float or np.ndarray: ratio x max(1, longest / max(usual, 1 hour)).
    """
    return ratio * np.maximum(1.0, longest / np.maximum(usual, LEAST_WAIT))


@dataclass(frozen=True, eq=False, repr=False)
class Schedule:
    """The starts and ends of all jobs of a trace, as `bfenv.simulate` returns them.

    Arrays have shape (n,) and type int64, in trace order, and times are in seconds since the trace
    began. `wait`, `usage` and `check` compute from them.

    Examples:
        >>> import bfenv
        >>> trace = bfenv.make_trace(submit=[0, 5], size=[2, 4], runtime=[60, 30], processors=4)
        >>> schedule = bfenv.simulate(trace, "easy")
        >>> schedule.start, schedule.end, schedule.wait
        (array([ 0, 60]), array([60, 90]), array([ 0, 55]))
    """

    trace: Trace  # the jobs and the machine
    policy: str  # its name
    seed: int  # of the simulation
    start: np.ndarray  # (n,) int64 seconds
    end: np.ndarray  # (n,) int64 seconds, start + runtime
    trial_start: np.ndarray  # (n,) int64 seconds, start of a killed trial; -1 without one
    trial_end: np.ndarray  # (n,) int64 seconds; -1 without one
    records: dict[str, np.ndarray] = field(default_factory=dict)  # (n,) each, from the policy

    def __post_init__(self) -> None:
        """Check that the arrays belong to the trace: metrics and kernels index them by its jobs.

        Raises:
            PolicyError: If one of them is not (n,) integers.
        """
        for name in ("start", "end", "trial_start", "trial_end"):
            values = getattr(self, name)
            if np.shape(values) != (len(self.trace),) or np.asarray(values).dtype.kind not in "iu":
                raise PolicyError(
                    f"{self.policy}: {name} must be {len(self.trace)} integers, one per job"
                )

    def __repr__(self) -> str:
        """Name the trace and the policy, with the mean wait and the mean bounded slowdown."""
        wait = format_duration(float(np.mean(self.wait)))
        slowdown = np.mean(bounded_slowdown(self.wait, self.trace.runtime))
        return (
            f"<Schedule of {self.trace.name!r} by {self.policy}: mean wait {wait}, "
            f"mean bounded slowdown {slowdown:,.2f}>"
        )

    @property
    def wait(self) -> np.ndarray:
        """Seconds from submit to start, (n,) int64."""
        wait: np.ndarray = self.start - self.trace.jobs.submit
        return wait

    def columns(self) -> dict[str, Any]:
        """Return all fields but the trace: where that is, `Schedule(trace, **columns)` is equal."""
        return {field.name: getattr(self, field.name) for field in fields(self)[1:]}

    def check(self) -> "Schedule":
        """Check that the schedule is possible on its machine, and return it.

        Raises:
            PolicyError: If a job never starts, starts before its submit or requested start time,
                does not end runtime seconds after its start, or runs while its own trial does; or
                if more processors are in use than the machine has in service. The message names the
                first such job or instant.
        """
        jobs, tried = self.trace.jobs, self.trial_end >= 0
        self._forbid(self.start < 0, "never starts")
        self._forbid(self.start < jobs.submit, "starts before it is submitted")
        self._forbid(self.start < jobs.requested_start, "starts before its requested start time")
        self._forbid(self.end - self.start != self.trace.runtime, "does not run for its runtime")
        self._forbid(tried & (self.trial_start < jobs.submit), "is tried before it is submitted")
        self._forbid(tried & (self.start < self.trial_end), "starts before its trial has ended")
        times, used = self.usage(outages=True)
        if used.max() > self.trace.processors:
            worst = int(np.argmax(used > self.trace.processors))
            raise PolicyError(
                f"{self.policy}: {used[worst]} of {self.trace.processors} processors in use at "
                f"{times[worst]} s"
            )
        return self

    def usage(self, *, outages: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Compute the processors in use as a step function.

        Args:
            outages: Count processors out of service as in use.

        Returns:
            tuple:
            * `times` (np.ndarray): (k,) int64 seconds, ascending.
            * `used` (np.ndarray): (k,) int64, the processors in use from then on.
        """
        size, tried = self.trace.jobs.size, self.trial_end >= 0
        begin, end, out = (
            np.array(self.trace.outages if outages else (), dtype=np.int64).reshape(-1, 3).T
        )
        time = np.concatenate(
            [self.start, self.end, self.trial_start[tried], self.trial_end[tried], begin, end]
        )
        change = np.concatenate([size, -size, size[tried], -size[tried], out, -out])
        return steps(time, change)

    def _forbid(self, wrong: np.ndarray, fault: str) -> None:
        if wrong.any():
            raise PolicyError(f"{self.policy}: job {int(np.argmax(wrong))} {fault}")
