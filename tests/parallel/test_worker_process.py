"""Cells: work that crashes or never returns costs itself only."""

import os
import signal
import subprocess
import sys
import time

import pytest

from bfenv.core.errors import BfenvError, UnknownNameError
from bfenv.core.kernel import kernel
from bfenv.parallel.worker_process import Cell, Died, in_cell
from tests.parallel.test_sweep import alive

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


@kernel
def spin(number):
    while number != 0:
        number = number * 2 + 1
    return number


def loop():
    spin(1)  # compiled: deaf to all of Python


@pytest.fixture
def cell():
    cell = Cell()
    yield cell
    cell.close()


def test_a_cell_calls_in_another_process_the_same_one_each_time(cell):
    first = cell.call(my_id, timeout=LONG)
    assert first != os.getpid()
    assert cell.call(add, 2, 3, timeout=LONG) == 5
    assert cell.call(my_id, timeout=LONG) == first


def test_what_is_raised_there_is_raised_here_in_one_line(cell):
    with pytest.raises(BfenvError, match=r"^unknown thing 'x'; known: y$"):
        cell.call(fail, "unknown", timeout=LONG)
    with pytest.raises(BfenvError, match=r"^ZeroDivisionError: a b$"):
        cell.call(fail, "other", timeout=LONG)
    with pytest.raises(BfenvError, match=r"^KeyboardInterrupt: mine$"):
        cell.call(fail, "interrupt", timeout=LONG)


@pytest.mark.parametrize(
    ("how", "why"), [(None, "exit status 7"), (signal.SIGSEGV, "SIGSEGV"), (signal.SIGKILL, "KILL")]
)
def test_a_crash_is_told_and_the_next_call_has_a_new_process(cell, how, why):
    before = cell.call(my_id, timeout=LONG)
    with pytest.raises(Died, match=f"its process died .*{why}"):
        cell.call(die, how, timeout=LONG)
    assert cell.call(my_id, timeout=LONG) != before


def test_a_process_that_takes_its_time_to_end_is_not_said_to_be_killed(cell):
    with pytest.raises(Died, match=r"its process died \(exit status 7\)"):
        cell.call(die_slowly, timeout=LONG)


def test_an_endless_compiled_loop_is_killed_when_its_time_is_up(cell):
    before = cell.call(my_id, timeout=LONG)
    with pytest.raises(Died, match=r"^no result within 0.5 s$"):
        cell.call(loop, timeout=0.5)
    assert not alive(before)
    assert cell.call(add, 1, 1, timeout=LONG) == 2


def test_each_thread_has_one_cell():
    assert in_cell(my_id, timeout=LONG) == in_cell(my_id, timeout=LONG)


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel of Linux sees to it")
def test_a_cell_in_an_endless_loop_ends_with_its_parent():
    program = (
        "from bfenv.parallel.worker_process import in_cell\n"
        "from tests.parallel import test_worker_process as t\n"
        "print(in_cell(t.my_id, timeout=120), flush=True); in_cell(t.loop, timeout=120)"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    with parent:
        child = int(parent.stdout.readline())
        assert alive(child)
        parent.kill()
    deadline = time.monotonic() + 30
    while alive(child) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not alive(child)
