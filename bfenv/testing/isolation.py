"""Run probes in a separate process, which can be stopped and cannot affect this process."""

import gc
import multiprocessing
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from typing import Any

from bfenv.core.jobs import Trace
from bfenv.core.policy import Policy
from bfenv.testing.monitor import Fault
from bfenv.testing.probes import Finding

Probe = Callable[..., Iterator[Finding]]  # of policy, traces, options and on_pass


def run_isolated(
    probe: Probe, policy: Policy, traces: Sequence[Trace], *options: Any, seconds: float
) -> Iterator[Finding]:
    """Yield what probe(policy, traces, *options, on_pass) yields, from a forked process.

    If a decision takes longer than `seconds`, or the process ends early, a Fault is yielded and
    the process is stopped. Without fork, as on Windows, the probe runs in this process, without a
    time limit.
    """
    if "fork" not in multiprocessing.get_all_start_methods():
        yield from probe(policy, traces, *options, lambda trace, now: None)
        return
    context = multiprocessing.get_context("fork")
    progress = context.RawArray("q", 3)  # decisions begun, index of the trace, its clock
    receiver, sender = context.Pipe(duplex=False)
    arguments = probe, policy, traces, options, progress, sender
    child = context.Process(target=_send_findings, args=arguments, daemon=True)
    with warnings.catch_warnings():
        # Python warns of forking beside threads; those of this process only wait.
        warnings.simplefilter("ignore", DeprecationWarning)
        child.start()
    sender.close()
    try:
        yield from _receive_findings(receiver, child, progress, traces, seconds)
    finally:
        child.kill()
        child.join()
        receiver.close()


def _send_findings(
    probe: Probe,
    policy: Policy,
    traces: Sequence[Trace],
    options: tuple[Any, ...],
    progress: Any,
    sender: "Connection[Any, Any]",
) -> None:
    """Send every finding, and None at the end; runs in the child."""
    for number in (signal.SIGINT, signal.SIGTERM):  # the parent's handlers would print here, too
        signal.signal(number, signal.SIG_DFL)
    # A fork has none of its parent's threads. If an inherited object were collected here and waited
    # for one of them, this process would never go on. Frozen objects are not collected.
    gc.freeze()
    # gc does not find frozen objects either. New traces let a policy that looks for them be caught.
    traces = [replace(trace) for trace in traces]
    names = [trace.name for trace in traces]

    def on_pass(trace: Trace, now: int) -> None:
        progress[:] = progress[0] + 1, names.index(trace.name), now

    for finding in probe(policy, traces, *options, on_pass):
        sender.send(finding)
    sender.send(None)


def _receive_findings(
    receiver: "Connection[Any, Any]",
    child: ForkProcess,
    progress: Any,
    traces: Sequence[Trace],
    seconds: float,
) -> Iterator[Finding]:
    """Yield what the child sends, and a Fault if it falls silent or ends early."""
    last = -1
    while True:
        silent = not receiver.poll(seconds)
        place = f"at {progress[2]} s of {traces[progress[1]].name!r}"
        if silent and progress[0] == last:
            yield Fault("endless", f"{place}: no decision within {seconds:g} s")
            return
        last = progress[0]
        if silent:
            continue
        try:
            finding = receiver.recv()
        except EOFError:
            child.join()
            code = child.exitcode or 0
            status = f"signal {-code}" if code < 0 else f"exit status {code}"
            yield Fault("failure", f"{place}: it ends the process, {status}")
            return
        if finding is None:
            return
        yield finding
