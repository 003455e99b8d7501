"""What is wrong with a scheduler of your own, said in words: `check_policy`."""

import inspect
import multiprocessing
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any

import numpy as np

from bfenv.baselines.registry import find_policy
from bfenv.core.errors import PolicyError
from bfenv.core.jobs import Trace
from bfenv.core.policy import Policy, able
from bfenv.core.schedule import Schedule
from bfenv.testing.monitor import Fault
from bfenv.testing.probes import Times, difference, examine, first_starts, traces

# What a fault can be called; at most one of each is reported.
KINDS = (
    "illegal start",  # of a job that does not wait, does not fit, or asked to start later
    "failure",  # an exception, or the end of the process
    "starvation",  # jobs that never start though nothing else is left to happen
    "endless",  # a decision that does not come back, or wake-ups for ever
    "tampering",  # a change of the machine or the jobs other than by the verbs
    "peeking",  # decisions that depend on the runtimes of jobs that have not ended
    "look-ahead",  # decisions that depend on jobs that have not been submitted
    "global randomness",  # draws from generators that are not the policy's own
    "unrepeatable",  # another schedule under the same seed
    "leak",  # something is kept from one run to the next
    "two minds",  # the compiled loop `run` decides otherwise than `decide`
    "undeclared seed",  # the schedule depends on the seed: stochastic=True
    "undeclared state",  # it has to see every pass: stateful=True
    "undeclared trials",  # it starts jobs for a trial: trials=True
    "slow",  # a decision takes longer than `slow` seconds
)


@dataclass(frozen=True)
class Report:
    """The outcome of an examination."""

    policy: str
    faults: tuple[Fault, ...]  # one of a kind, in the order of KINDS
    jobs: int  # scheduled, in all traces
    passes: int
    slowest: float  # seconds, of a decision called from Python, the better of two runs
    mean: float  # seconds per decision

    def __str__(self) -> str:
        """One line per fault, or one that says there is none."""
        if self.faults:
            return "\n".join(f"{self.policy}: {fault}" for fault in self.faults)
        return (
            f"{self.policy}: no fault found in {self.passes} decisions on {self.jobs} jobs; "
            f"mean {self.mean * 1e3:.3f} ms, slowest {self.slowest * 1e3:.3f} ms"
        )


def check_policy(
    policy: str | Policy | Callable,
    trace: Trace | None = None,
    *,
    seconds: float = 60.0,
    slow: float = 1.0,
) -> Report:
    """The report on a policy in which `report_on` finds nothing wrong.

    Raises PolicyError with all that is wrong with it, one line each.
    """
    report = report_on(policy, trace, seconds=seconds, slow=slow)
    if report.faults:
        raise PolicyError(str(report))
    return report


def report_on(
    policy: str | Policy | Callable,
    trace: Trace | None = None,
    *,
    seconds: float = 60.0,
    slow: float = 1.0,
) -> Report:
    """Drive a policy through small traces, and through `trace` if given, and look what it does.

    What is looked for is in KINDS. A decision may take `seconds`, compilation included, before it
    is called endless, and `slow` before it is called slow. What is found is a fault; that nothing
    is found proves nothing, though a policy that peeks has to do so without effect on six instants
    of each trace. The policy runs in forked processes, so that it can be stopped and can spoil
    nothing here; where there is no fork, as on Windows, it runs here and without a time limit.
    `trace` is run some fifty times: a few hundred jobs will do.

    Raises what `find_policy` raises.
    """
    policy = find_policy(policy)
    these = traces(policy.requested_starts)
    if trace is not None and able(policy, trace.jobs):
        these.append(trace)
    starts: list[np.ndarray] = []
    faults: list[Fault] = []
    times: list[Times] = []
    for found in _apart(examine, policy, these, slow, seconds=seconds):
        kept = {np.ndarray: starts, Fault: faults, Times: times}[type(found)]
        kept.append(found)
    if len(starts) == len(these):
        faults = _with_leaks(policy, these, starts, faults, seconds)
    for name in held_traces(policy):
        what = "a trace or a schedule, in which all true runtimes are"
        faults.append(Fault("peeking", f"it can reach {name!r}, {what}"))
    faults.sort(key=lambda fault: KINDS.index(fault.kind))
    taken = [second for one in times for second in one.seconds]
    return Report(
        policy.name,
        tuple({fault.kind: fault for fault in reversed(faults)}.values())[::-1],
        sum(one.jobs for one in times),
        len(taken),
        max(taken, default=0.0),
        sum(taken) / max(len(taken), 1),
    )


def held_traces(policy: Policy) -> list[str]:
    """By what names its functions, or those they call by name, reach a Trace or a Schedule."""
    found, seen = [], set()
    todo = [policy.decide, policy.memory]
    while todo:
        function = todo.pop()
        for inside in ("function", "py_func"):  # of one without a memory, of a kernel
            function = getattr(function, inside, function)
        if not inspect.isfunction(function) or function in seen:
            continue
        seen.add(function)
        named = {name: function.__globals__.get(name) for name in _names(function.__code__)}
        for name, value in (named | inspect.getclosurevars(function).nonlocals).items():
            if isinstance(value, Trace | Schedule):
                found.append(name)
            elif not (getattr(value, "__module__", None) or "").startswith("bfenv."):
                todo.append(value)
    return found


def _names(code: CodeType) -> Iterator[str]:
    """The names that a piece of code, or one within it, looks up."""
    yield from code.co_names
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _names(part)


def _with_leaks(
    policy: Policy,
    these: list[Trace],
    starts: list[np.ndarray],
    faults: list[Fault],
    seconds: float,
) -> list[Fault]:
    """The faults and, if the traces in another order give other schedules, a leak.

    The first trace meets a fresh process either time: where it is scheduled alike, and the second
    run in one process is not, something is kept from the first.
    """
    order = [0, *reversed(range(1, len(these)))]
    fresh = list(_apart(first_starts, policy, [these[i] for i in order], seconds=seconds))
    if not all(isinstance(one, np.ndarray) for one in fresh) or len(fresh) < len(these):
        return faults
    alike = np.array_equal(fresh[0], starts[0])
    if any(fault.kind == "unrepeatable" for fault in faults):
        kind = "leak" if alike else "unrepeatable"
        return [f._replace(kind=kind) if f.kind == "unrepeatable" else f for f in faults]
    for place, one in zip(order, fresh, strict=True):
        apart = difference(starts[place], one)
        if apart:
            kind = "leak" if alike else "unrepeatable"
            what = f"{these[place].name!r}, after other traces or in another process: {apart}"
            return [*faults, Fault(kind, what)]
    return faults


def _apart(examination: Callable, policy: Policy, these: list[Trace], *options, seconds: float):
    """What examination(policy, these, *options, beat) yields, from a process of its own."""
    if "fork" not in multiprocessing.get_all_start_methods():
        yield from examination(policy, these, *options, lambda trace, now: None)
        return
    context = multiprocessing.get_context("fork")
    progress = context.RawArray("q", 3)  # decisions begun, number of the trace, its clock
    receiver, sender = context.Pipe(duplex=False)
    arguments = examination, policy, these, options, progress, sender
    child = context.Process(target=_report_back, args=arguments, daemon=True)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # forking beside threads, that only wait
        child.start()
    sender.close()
    try:
        yield from _received(receiver, child, progress, these, seconds)
    finally:
        child.kill()
        child.join()
        receiver.close()


def _report_back(examination, policy, these, options, progress, sender) -> None:
    """In the child: send everything that is found, and None at the end."""
    names = [trace.name for trace in these]

    def beat(trace: Trace, now: int) -> None:
        progress[:] = progress[0] + 1, names.index(trace.name), now

    for found in examination(policy, these, *options, beat):
        sender.send(found)
    sender.send(None)


def _received(receiver, child, progress, these: list[Trace], seconds: float) -> Iterator[Any]:
    """What the child sends; a Fault if it falls silent or ends before its time."""
    last = -1
    while True:
        quiet = not receiver.poll(seconds)
        where = f"at {progress[2]} s of {these[progress[1]].name!r}"
        if quiet and progress[0] == last:
            yield Fault("endless", f"{where}: no decision within {seconds:g} s")
            return
        last = progress[0]
        if quiet:
            continue
        try:
            found = receiver.recv()
        except EOFError:
            child.join()
            code = child.exitcode
            how = f"signal {-code}" if code < 0 else f"exit status {code}"
            yield Fault("failure", f"{where}: it ends the process, {how}")
            return
        if found is None:
            return
        yield found
