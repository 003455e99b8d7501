"""All scheduling passes of a policy, one after the other, such that Ctrl-C ends them."""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from bfenv.core.cluster import FINISHED, HORIZON, NOW, Cluster, finished
from bfenv.core.errors import PolicyError
from bfenv.core.events import Truth, advance
from bfenv.core.jobs import Jobs
from bfenv.core.kernel import Code, Kernel
from bfenv.core.policy import Policy, TwoArguments, pass_of
from bfenv.core.uncompiled import uncompiled

THREAD = "bfenv-passes"
LOOK = 0.2  # seconds between two looks for signals, where a lock cannot be interrupted
GRACE = 0.5  # seconds that an interrupted loop has to reach the end of its pass


def run_passes(policy: Policy, cluster: Cluster, jobs: Jobs, truth: Truth, memory: Any) -> None:
    """Run a policy until `advance` returns False.

    Python handles signals in the main thread only, and only between two of its instructions. A
    compiled loop therefore runs in another thread, without the interpreter's lock, and the main
    thread waits. If a signal handler raises an exception, as Ctrl-C's does, the exception is
    raised at once. The other thread ends after its pass; `cluster` and `memory` are then of no use.
    A thread costs a tenth of a millisecond: what simulates often and little calls `run_here`.

    Raises Exception whatever the policy raises, and what a signal handler raises.
    """
    decide = policy.decide.function if isinstance(policy.decide, TwoArguments) else policy.decide
    run: Any = policy.run
    if isinstance(policy.run, Kernel):
        _call_aside(partial(_run_kernel, policy, cluster, jobs, truth, memory), cluster)
    elif run is not None:
        run(cluster, jobs, truth, memory)
    elif isinstance(decide, Kernel):
        _call_aside(partial(_decide_always, policy, cluster, jobs, truth, memory), cluster)
    else:
        _decide_always(policy, cluster, jobs, truth, memory)


def run_here(policy: Policy, cluster: Cluster, jobs: Jobs, truth: Truth, memory: Any) -> None:
    """Do what `run_passes` does, in this thread and without checks: for many short runs.

    Raises Exception whatever the policy raises.
    """
    if policy.run is not None:
        policy.run(cluster, jobs, truth, memory)
        return
    while advance(cluster, jobs, truth):
        policy.decide(cluster, jobs, memory)


def _run_kernel(policy: Policy, cluster: Cluster, jobs: Jobs, truth: Truth, memory: Any) -> None:
    """Run the compiled loop; until it is compiled, make the same passes uncompiled."""
    run = policy.run
    assert isinstance(run, Kernel)
    go_on, decide = uncompiled(advance), uncompiled(policy.decide)
    with np.errstate(all="ignore"):  # the arithmetic of compiled code
        while (loop := run.code_for(cluster, jobs, truth, memory)) == run.run_uncompiled:
            if not go_on(cluster, jobs, truth):
                return
            decide(cluster, jobs, memory)
    loop(cluster, jobs, truth, memory)


def _decide_always(policy: Policy, cluster: Cluster, jobs: Jobs, truth: Truth, memory: Any) -> None:
    """Run all passes of a policy that is called from Python, and check what it left of the past.

    Raises PolicyError if the policy has changed when a job started or ended.
    """
    state, end = cluster.state, np.full(len(jobs.submit), -1)
    go_on = Code(advance)
    decide = pass_of(policy, cluster, jobs, memory)
    while go_on.call(cluster, jobs, truth):
        if state[FINISHED]:
            end[finished(cluster)] = state[NOW]
        decide()
    ended = end >= 0
    changed = (cluster.end != end) | (ended & (cluster.start != end - truth.runtime))
    if changed.any():
        job = int(np.argmax(changed))
        raise PolicyError(f"{policy.name} changed the start or the end of job {job} afterwards")


def _call_aside(loop: Callable[[], None], cluster: Cluster) -> None:
    """Call a loop in another thread, and wait for it in the main thread."""
    if threading.current_thread() is not threading.main_thread():  # no signals are handled here
        loop()
        return
    errors: list[BaseException] = []
    done = threading.Event()

    def call() -> None:
        try:
            loop()
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    thread = threading.Thread(target=call, name=THREAD, daemon=True)
    try:
        thread.start()  # a signal may arrive here, when the other thread already makes passes
        while not done.wait(LOOK):
            pass
    except BaseException:
        cluster.state[HORIZON] = -1  # `advance` returns False
        done.wait(GRACE)
        raise
    thread.join()
    if errors:
        raise errors[0]
