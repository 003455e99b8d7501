"""The report on a policy: its faults, one line per kind."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any

import numpy as np

from bfenv.baselines.registry import find_policy
from bfenv.core.errors import PolicyError
from bfenv.core.jobs import Trace
from bfenv.core.policy import Policy, plans_for
from bfenv.core.schedule import Schedule
from bfenv.testing.isolation import run_isolated
from bfenv.testing.monitor import Fault
from bfenv.testing.probes import DecisionTimes, first_difference, probe, probe_traces, start_times

# The kinds of faults; a report has at most one fault of each.
KINDS = (
    "illegal start",  # of a job that is not waiting, does not fit, or requests a later start
    "failure",  # an exception, or the end of the process
    "starvation",  # jobs that still wait after the last event
    "endless",  # a decision that does not return, or endless wake-ups
    "tampering",  # a change of the cluster or the jobs without the verbs
    "peeking",  # decisions that depend on the runtimes of unfinished jobs
    "look-ahead",  # decisions that depend on jobs not yet submitted
    "global randomness",  # draws from generators other than the policy's own
    "unrepeatable",  # another schedule under the same seed
    "leak",  # something is kept from one run to the next
    "two minds",  # the compiled loop `run` does not decide like `decide`
    "undeclared seed",  # the schedule depends on the seed: stochastic=True
    "undeclared state",  # it has to see every pass: stateful=True
    "undeclared trials",  # it starts jobs for a trial: trials=True
    "slow",  # a decision takes longer than `slow` seconds
)


@dataclass(frozen=True)
class Report:
    """The result of `report_on`."""

    policy: str  # name of the policy
    faults: tuple[Fault, ...]  # one of a kind, in the order of KINDS
    jobs: int  # scheduled, in all traces
    passes: int  # calls of the policy, in all traces
    slowest: float  # seconds, of a decision called from Python, the better of two runs
    mean: float  # seconds per decision

    def __str__(self) -> str:
        """One line per fault, or one line that reports none."""
        if self.faults:
            return "\n".join(f"{self.policy}: {fault}" for fault in self.faults)
        return (
            f"{self.policy}: no fault found in {self.passes} decisions on {self.jobs} jobs; "
            f"mean {self.mean * 1e3:.3f} ms, slowest {self.slowest * 1e3:.3f} ms"
        )


def check_policy(
    policy: str | Policy | Callable[..., Any],
    trace: Trace | None = None,
    *,
    seconds: float = 60.0,
    slow: float = 1.0,
) -> Report:
    """Check a policy for faults.

    Args:
        policy, trace, seconds, slow: As for `report_on`.

    Returns:
        The report, which has no faults.

    Raises:
        PolicyError: If the policy has faults. The message has one line per fault.

    Examples:
        >>> import bfenv
        >>> from bfenv.scheduling import may_start, start, waiting
        >>> def first_fit(cluster, jobs):
        ...     for job in waiting(cluster):
        ...         if may_start(cluster, jobs, job):
        ...             start(cluster, jobs, job)
        >>> bfenv.check_policy(first_fit).faults
        ()
        >>> def overfull(cluster, jobs):
        ...     for job in waiting(cluster):
        ...         start(cluster, jobs, job)
        >>> bfenv.check_policy(overfull)
        Traceback (most recent call last):
        bfenv.core.errors.PolicyError: overfull: ...
    """
    report = report_on(policy, trace, seconds=seconds, slow=slow)
    if report.faults:
        raise PolicyError(str(report))
    return report


def report_on(
    policy: str | Policy | Callable[..., Any],
    trace: Trace | None = None,
    *,
    seconds: float = 60.0,
    slow: float = 1.0,
) -> Report:
    """Run a policy on small traces and report its faults.

    `KINDS` lists the faults. A report without faults is not a proof. A policy that looks ahead is
    found unless its decisions are the same at six tested instants of each trace. The policy runs in
    forked processes, so it can be stopped and cannot affect this process. Without fork, as on
    Windows, it runs in this process, without a time limit.

    Args:
        policy: Anything that `find_policy` accepts.
        trace: Another trace for the policy, which runs on it about fifty times. A few hundred jobs
            are enough.
        seconds: Time limit of a decision, including compilation. A longer decision is a fault.
        slow: A decision that takes more seconds is slow.

    Returns:
        The first fault of each kind, and how long decisions took.

    Raises:
        BfenvError: What `find_policy` raises.

    Examples:
        A policy that forgets wide jobs:

        >>> from bfenv.scheduling import may_start, start, waiting
        >>> from bfenv.testing import report_on
        >>> def narrow(cluster, jobs):
        ...     for job in waiting(cluster):
        ...         if jobs.size[job] == 1 and may_start(cluster, jobs, job):
        ...             start(cluster, jobs, job)
        >>> [fault.kind for fault in report_on(narrow).faults]
        ['starvation']
    """
    policy = find_policy(policy)
    traces = probe_traces(policy.requested_starts)
    if trace is not None and plans_for(policy, trace.jobs):
        traces.append(trace)
    starts: list[np.ndarray] = []
    faults: list[Fault] = []
    times: list[DecisionTimes] = []
    for finding in run_isolated(probe, policy, traces, slow, seconds=seconds):
        if isinstance(finding, Fault):
            faults.append(finding)
        elif isinstance(finding, DecisionTimes):
            times.append(finding)
        else:
            starts.append(finding)
    if len(starts) == len(traces):
        faults = _with_leaks(policy, traces, starts, faults, seconds)
    for name in held_traces(policy):
        text = "a trace or a schedule, which holds all true runtimes"
        faults.append(Fault("peeking", f"it can reach {name!r}, {text}"))
    faults.sort(key=lambda fault: KINDS.index(fault.kind))
    decisions = [second for timing in times for second in timing.seconds]
    return Report(
        policy.name,
        tuple({fault.kind: fault for fault in reversed(faults)}.values())[::-1],
        sum(timing.jobs for timing in times),
        len(decisions),
        max(decisions, default=0.0),
        sum(decisions) / max(len(decisions), 1),
    )


def held_traces(policy: Policy) -> list[str]:
    """Return the names by which a policy's functions, or those they call, reach a trace.

    Schedules count, too, because they hold their trace.
    """
    names: list[str] = []
    seen: set[Any] = set()
    functions: list[Any] = [policy.decide, policy.memory]
    while functions:
        function = functions.pop()
        for attribute in ("function", "py_func"):  # of a policy without memory, of a kernel
            function = getattr(function, attribute, function)
        if not inspect.isfunction(function) or function in seen:
            continue
        seen.add(function)
        values = {name: function.__globals__.get(name) for name in _names(function.__code__)}
        for name, value in (values | dict(inspect.getclosurevars(function).nonlocals)).items():
            if isinstance(value, Trace | Schedule):
                names.append(name)
            elif not (getattr(value, "__module__", None) or "").startswith("bfenv."):
                functions.append(value)
    return names


def _names(code: CodeType) -> Iterator[str]:
    """Yield the names that a code object, or one within it, looks up."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _with_leaks(
    policy: Policy,
    traces: list[Trace],
    starts: list[np.ndarray],
    faults: list[Fault],
    seconds: float,
) -> list[Fault]:
    """Return the faults, and a leak if the traces in another order have other schedules.

    Both orders begin with the same trace, in a new process. If its schedules are equal, but those
    of a second run in one process are not, the policy keeps something from the first run.
    """
    order = [0, *reversed(range(1, len(traces)))]
    reordered = [traces[i] for i in order]
    again = list(run_isolated(start_times, policy, reordered, seconds=seconds))
    arrays = [outcome for outcome in again if isinstance(outcome, np.ndarray)]
    if len(arrays) < len(again) or len(arrays) < len(traces):
        return faults
    kind = "leak" if np.array_equal(arrays[0], starts[0]) else "unrepeatable"
    if any(fault.kind == "unrepeatable" for fault in faults):
        return [f._replace(kind=kind) if f.kind == "unrepeatable" else f for f in faults]
    for i, outcome in zip(order, arrays, strict=True):
        differs = first_difference(starts[i], outcome)
        if differs:
            text = f"{traces[i].name!r}, after other traces or in another process: {differs}"
            return [*faults, Fault(kind, text)]
    return faults
