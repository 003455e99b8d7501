"""The filter of system calls: what it closes, and what it leaves open."""

import errno
import platform
import sys

import pytest

import bfenv
from bfenv.players.system_calls import CLOSED, LIMITED, MACHINES, filter_of_calls
from tests.players.programs import few_jobs, player

pytestmark = pytest.mark.skipif(not filter_of_calls(), reason="this system has no such filter")

CALLS = """import ctypes
call = ctypes.CDLL(None, use_errno=True).syscall
wrong = []
for name, number in NUMBERS.items():
    if call(number, -1, -1, -1, -1, -1, -1) != -1 or ctypes.get_errno() != EPERM:
        wrong.append(name)
assert not wrong, wrong"""

OPEN = """import fcntl, resource, select, socket, subprocess, tempfile
resource.prlimit(0, resource.RLIMIT_NOFILE)
one, other = socket.socketpair()
one.setblocking(False)
os.set_inheritable(other.fileno(), True)
with tempfile.TemporaryFile() as file:
    assert not file.isatty()
    file.write(b'123')
    file.flush()
    assert os.preadv(os.dup(file.fileno()), [bytearray(5)], 0) == 3
    fcntl.fcntl(file, fcntl.F_SETFL, fcntl.fcntl(file, fcntl.F_GETFL) | os.O_APPEND)
command = [sys.executable, '-S', '-c', 'print(1)']
assert subprocess.run(command, capture_output=True).stdout == b'1\\n'"""

# Each would tell something to others that have the same file or the same names of sockets, and
# would not fail, or with another error, without the filter.
MESSAGES = """import fcntl, socket
folder = os.open(os.environ['TMPDIR'], os.O_RDONLY)
file = os.open('file', os.O_RDWR | os.O_CREAT, dir_fd=folder)
lock = fcntl.F_RDLCK.to_bytes(2, sys.byteorder) + bytes(30)
got_through = []
for message in (
    lambda: fcntl.fcntl(file, fcntl.F_SETLK, lock),
    lambda: fcntl.fcntl(file, fcntl.F_SETLKW, lock),
    lambda: fcntl.fcntl(file, fcntl.F_GETLK, lock),
    lambda: fcntl.fcntl(file, fcntl.F_OFD_SETLK, lock),
    lambda: fcntl.fcntl(file, fcntl.F_OFD_GETLK, lock),
    lambda: fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK),
    lambda: fcntl.fcntl(file, fcntl.F_GETLEASE),
    lambda: fcntl.fcntl(folder, fcntl.F_NOTIFY, 0),
    lambda: fcntl.fcntl(file, 1036, bytes(8)),  # F_SET_RW_HINT
    lambda: fcntl.flock(file, fcntl.LOCK_SH),
    lambda: fcntl.ioctl(file, 0x80086601, bytes(8)),  # FS_IOC_GETFLAGS
    lambda: fcntl.ioctl(file, 0x40086602, bytes(8)),  # FS_IOC_SETFLAGS
    lambda: os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED),
    lambda: os.preadv(file, [bytearray(1)], 0, os.RWF_NOWAIT),
    lambda: socket.socketpair(type=socket.SOCK_DGRAM),
    lambda: socket.socketpair()[0].bind(chr(0) + 'runtime'),
):
    try:
        message()
    except PermissionError:
        continue
    except OSError as error:
        pass
    got_through.append(message.__code__.co_firstlineno)
assert not got_through, got_through"""


@pytest.mark.parametrize("first", [CALLS, OPEN, MESSAGES], ids=["closed", "open", "messages"])
def test_calls(first):
    """Closed calls and other arguments of limited ones fail with EPERM; what is needed works."""
    column = list(MACHINES).index(platform.machine())
    calls = CLOSED | LIMITED
    numbers = {name: call[column] for name, call in calls.items() if call[column] >= 0}
    assert len(numbers) > 40
    first = first.replace("NUMBERS", repr(numbers)).replace("EPERM", str(errno.EPERM))
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
