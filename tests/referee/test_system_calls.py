"""The filter of system calls: what it closes, and what it leaves open."""

import errno
import platform
import sys

import pytest

import bfenv
from bfenv.referee.system_calls import CLOSED, MACHINES, PRLIMIT, filter_of_calls
from tests.referee.programs import few_jobs, player

pytestmark = pytest.mark.skipif(not filter_of_calls(), reason="this system has no such filter")

CALLS = """import ctypes, resource, socket, tempfile
call = ctypes.CDLL(None, use_errno=True).syscall
wrong = []
for name, number in NUMBERS.items():
    if call(number, -1, -1, -1, -1, -1, -1) != -1 or ctypes.get_errno() != EPERM:
        wrong.append(name)
resource.prlimit(0, resource.RLIMIT_NOFILE)
one, other = socket.socketpair()
with tempfile.TemporaryFile() as file:
    file.write(b'1')
assert not wrong, wrong"""


def test_closed_calls():
    """Every closed call fails with EPERM, also on limits of others; what programs need works."""
    column = list(MACHINES).index(platform.machine())
    numbers = {name: calls[column] for name, calls in CLOSED.items() if calls[column] >= 0}
    assert len(numbers) > 40
    numbers["prlimit of another"] = PRLIMIT[column]
    first = CALLS.replace("NUMBERS", repr(numbers)).replace("EPERM", str(errno.EPERM))
    start = bfenv.simulate(few_jobs(), player(first)).start
    assert (start == bfenv.simulate(few_jobs(), "fcfs").start).all()


@pytest.mark.parametrize("machine", ["x86_64", "aarch64", "riscv64"])
def test_other_machines(monkeypatch, machine):
    """Each machine has its own numbers; where they are unknown, there is no filter."""
    monkeypatch.setattr(platform, "machine", lambda: machine)
    program = filter_of_calls()
    assert len(program) % 8 == 0 and bool(program) == (machine in MACHINES)
    monkeypatch.setattr(sys, "platform", "darwin")
    assert filter_of_calls() == b""
