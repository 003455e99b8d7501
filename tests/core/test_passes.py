"""Ctrl-C, and any exception of a signal handler, ends compiled policies at once."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from bfenv.core import passes
from bfenv.core.cluster import PASSES, now, wake_at
from bfenv.core.events import advance, new_cluster
from bfenv.core.jobs import make_trace
from bfenv.core.kernel import kernel
from bfenv.core.policy import Policy, make_policy, new_memory

LONG = 2**31  # passes, or steps of one: half a minute, so that no test hangs
ONE_JOB = make_trace([0], [1], [1], 1)


@kernel
def spin(cluster, jobs, memory):
    """Do not end this pass until it is allowed."""
    while memory[0] < 4 * LONG and memory[1] == 0:
        memory[0] += 1
        memory[memory[2]] += 1  # for all the compiler knows, one of those that are tested


@kernel
def spin_always(cluster, jobs, truth, memory):
    """Make all passes."""
    while advance(cluster, jobs, truth):
        spin(cluster, jobs, memory)


@kernel
def wake(cluster, jobs, memory):
    """Ask for yet another pass."""
    if now(cluster) < LONG:
        wake_at(cluster, now(cluster) + 1)


@kernel
def wake_always(cluster, jobs, truth, memory):
    """Make all passes."""
    while advance(cluster, jobs, truth):
        wake(cluster, jobs, memory)


def new_steps(jobs, processors, generator):
    """Return the steps of a pass so far, whether it may end, an index, and what it points to."""
    return np.array([0, 0, 3, 0])


SPIN = Policy("spin", spin, spin_always, new_steps)
CASES = {
    "one pass, compiled loop": SPIN,
    "one pass": Policy("spin", spin, None, new_steps),
    "passes, compiled loop": Policy("wake", wake, wake_always),
    "passes": make_policy(wake),
}


class Alarm(Exception):
    """What the handler of a signal raises."""


def interrupt(cluster):
    """Send this process a SIGINT as soon as a pass has begun."""
    while cluster.state[PASSES] < 1:
        time.sleep(0.01)
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="sends a signal to a thread")
@pytest.mark.parametrize("policy", CASES.values(), ids=CASES)
def test_signal(policy):
    """What the handler raises comes out at once; no thread goes on beyond the pass."""
    cluster, jobs, truth = new_cluster(ONE_JOB)
    memory = new_memory(policy, jobs, 1, 0)

    def ring(number, frame):
        raise Alarm

    previous = signal.signal(signal.SIGINT, ring)
    bell = threading.Thread(target=interrupt, args=[cluster])
    bell.start()
    try:
        with pytest.raises(Alarm):
            passes.run_passes(policy, cluster, jobs, truth, memory)
    finally:
        bell.join()
        signal.signal(signal.SIGINT, previous)
    assert cluster.state[PASSES] < LONG
    if len(memory):
        assert memory[0] < 4 * LONG
        memory[1] = 1  # the pass may end
    for thread in threading.enumerate():
        if thread.name == passes.THREAD:
            thread.join(600)
            assert not thread.is_alive()


def test_early_signal(monkeypatch):
    """An exception that arrives while the thread starts ends the passes, too."""

    class InterruptedThread(threading.Thread):
        def start(self):
            super().start()
            raise Alarm

    policy = CASES["passes"]
    cluster, jobs, truth = new_cluster(ONE_JOB)
    monkeypatch.setattr(passes.threading, "Thread", InterruptedThread)
    with pytest.raises(Alarm):
        passes.run_passes(policy, cluster, jobs, truth, new_memory(policy, jobs, 1, 0))
    for thread in threading.enumerate():
        if thread.name == passes.THREAD:
            thread.join(60)
            assert not thread.is_alive()


def test_other_threads():
    """A thread in which no signals are handled makes the passes itself."""
    threads = []

    def note():
        threads.append(threading.current_thread())

    mine = threading.Thread(target=passes._call_aside, args=[note, new_cluster(ONE_JOB)[0]])
    mine.start()
    mine.join()
    passes._call_aside(note, new_cluster(ONE_JOB)[0])
    assert threads[0] is mine
    assert threads[1] not in (mine, threading.main_thread())


PROGRAM = """
import sys, threading, time
import numpy as np
from bfenv.core.events import advance
from bfenv.core.kernel import kernel
from bfenv.core.policy import Policy

def memory(jobs, processors, generator):
    steps = np.array([0, 2, 0])

    def tell():
        while steps[0] == 0:
            time.sleep(0.01)
        print("running", file=sys.stderr, flush=True)

    threading.Thread(target=tell, daemon=True).start()
    return steps

@kernel
def decide(cluster, jobs, memory):
    while memory[0] >= 0:
        memory[0] = 1
        memory[memory[1]] += 1

@kernel
def run(cluster, jobs, truth, memory):
    while advance(cluster, jobs, truth):
        decide(cluster, jobs, memory)

ENDLESS = Policy("endless", decide, run, memory)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_command(tmp_path):
    """A SIGINT ends a command in an endless compiled pass, with the usual exit status."""
    (tmp_path / "endless.py").write_text(PROGRAM)
    command = [
        sys.executable,
        "-c",
        # A shell's background jobs, and their children, ignore the signal otherwise.
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "from bfenv.cli import main; main()",
        "workloads",
        "simulate",
        "--policy",
        "endless:ENDLESS",
    ]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=os.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    limit = threading.Timer(600, process.kill)  # without which the test would not end, either
    limit.start()
    with process:
        while (line := process.stderr.readline()) and b"running" not in line:
            pass
        assert line
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == b""
    limit.cancel()
    assert process.returncode == 128 + signal.SIGINT
