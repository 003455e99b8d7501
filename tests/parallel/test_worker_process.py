"""Worker processes: work that crashes or never returns affects nothing else."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import bfenv.parallel.worker_process as wp
from bfenv.core.errors import BfenvError, UnknownNameError
from bfenv.workloads.load import load_workload
from tests.leaderboard.sample_agents import spin
from tests.parallel.processes import is_alive

LONG = 120.0  # seconds, never reached


def add(a, b):
    print("this is printed", flush=True)
    os.write(1, b"and this written")
    return a + b


def my_id():
    return os.getpid()


def fail(kind):
    if kind == "unknown":
        raise UnknownNameError("thing", "x", ["y"])
    if kind == "interrupt":
        raise KeyboardInterrupt("mine")
    raise ZeroDivisionError("a\nb")


def die(how):
    os._exit(7) if how is None else os.kill(os.getpid(), how)


def die_slowly():
    os.closerange(3, 64)  # its answers, too
    time.sleep(0.3)
    os._exit(7)


def loop():
    spin(1)  # compiled: does not react to signals


@pytest.fixture
def worker():
    worker = wp.WorkerProcess()
    yield worker
    worker.close()


def test_call(worker):
    """Functions run in another process, the same one each time; printing does no harm."""
    first = worker.call(my_id, timeout=LONG)
    assert first != os.getpid()
    assert worker.call(add, 2, 3, timeout=LONG) == 5
    assert worker.call(my_id, timeout=LONG) == first


def test_exception(worker):
    """What a function raises is raised here as a BfenvError of one line: type, text and place."""
    with pytest.raises(BfenvError, match=r"^unknown thing 'x'; known: y$"):
        worker.call(fail, "unknown", timeout=LONG)
    with pytest.raises(BfenvError, match=r"^ZeroDivisionError: a b \(test_worker.*py, line \d+\)$"):
        worker.call(fail, "other", timeout=LONG)
    with pytest.raises(
        BfenvError, match=r"^KeyboardInterrupt: mine \(test_worker.*py, line \d+\)$"
    ):
        worker.call(fail, "interrupt", timeout=LONG)


@pytest.mark.parametrize(
    ("how", "why"), [(None, "exit status 7"), (signal.SIGSEGV, "SIGSEGV"), (signal.SIGKILL, "KILL")]
)
def test_crash(worker, how, why):
    """The error names how the process ended, and the next call has a new process."""
    before = worker.call(my_id, timeout=LONG)
    with pytest.raises(wp.WorkerDiedError, match=f"its process died .*{why}"):
        worker.call(die, how, timeout=LONG)
    assert worker.call(my_id, timeout=LONG) != before


def test_killed_between_calls(worker):
    """A process that was killed while it had no work is replaced."""
    before = worker.call(my_id, timeout=LONG)
    os.kill(before, signal.SIGKILL)
    # Until all its threads have ended; it is not reaped, which is up to the worker.
    os.waitid(os.P_PID, before, os.WEXITED | os.WNOWAIT)
    assert worker.call(my_id, timeout=LONG) != before


def test_folder(worker, tmp_path, monkeypatch):
    """Relative paths mean the same there as here, also after a change of the working directory."""
    assert worker.call(os.getcwd, timeout=LONG) == os.getcwd()
    monkeypatch.chdir(tmp_path)
    assert worker.call(os.getcwd, timeout=LONG) == str(tmp_path)


def test_slow_end(worker):
    """A process that takes some time to end is reported as it ends, not as killed."""
    with pytest.raises(wp.WorkerDiedError, match=r"its process died \(exit status 7\)"):
        worker.call(die_slowly, timeout=LONG)


def test_endless_loop(worker):
    """A compiled endless loop is killed when its time is up."""
    before = worker.call(my_id, timeout=LONG)
    with pytest.raises(wp.WorkerDiedError, match=r"^no result within 0.5 s$"):
        worker.call(loop, timeout=0.5)
    assert not is_alive(before)
    assert worker.call(add, 1, 1, timeout=LONG) == 2


def test_own_worker():
    """Each thread has one worker process, until it is closed."""
    first = wp.call_in_worker(my_id, timeout=LONG)
    assert wp.call_in_worker(my_id, timeout=LONG) == first
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(wp.call_in_worker, my_id, timeout=LONG)
        assert other.result() != first
        pool.submit(wp.close_worker).result()
    wp.close_worker()
    assert wp.call_in_worker(my_id, timeout=LONG) != first
    wp.close_worker()


def test_describe_error():
    """One printable line, with the type of exceptions that are not bfenv's."""
    assert wp.describe_error(ValueError("a\n b\x1b[2J")) == "ValueError: a b?[2J"
    assert wp.describe_error(BfenvError("a\nb")) == "a b"
    assert wp.describe_error(KeyboardInterrupt()) == "KeyboardInterrupt"
    assert len(wp.describe_error(ValueError("x" * 10_000))) < 600
    with pytest.raises(AttributeError) as hidden:
        load_workload("lublin:jobs=1").jobs.runtime  # noqa: B018
    assert "use jobs.estimate" in wp.describe_error(hidden.value)


@pytest.mark.skipif(sys.platform != "linux", reason="prctl is of Linux only")
def test_parent_ended_before():
    """A process whose parent has ended before it could watch it ends at once."""
    program = (
        "import os; from bfenv.parallel.worker_process import die_with_parent\n"
        "die_with_parent(os.getppid()); print('alive', flush=True)\n"
        "die_with_parent(os.getppid() + 1); print('still alive', flush=True)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (run.stdout, run.returncode) == ("alive\n", 1)


@pytest.mark.skipif(sys.platform != "linux", reason="prctl is of Linux only")
def test_parent_killed():
    """A worker process in an endless loop ends with its parent."""
    program = (
        "from bfenv.parallel.worker_process import call_in_worker\n"
        "from tests.parallel import test_worker_process as t\n"
        "print(call_in_worker(t.my_id, timeout=120), flush=True)\n"
        "call_in_worker(t.loop, timeout=120)"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    with parent:
        child = int(parent.stdout.readline())
        assert is_alive(child)
        parent.kill()
    deadline = time.monotonic() + 30
    while is_alive(child) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not is_alive(child)
