"""The process that compiles kernels for programs that run meanwhile, and how programs ask for it.

One process compiles for a machine and a cache. It holds a lock that the system releases when it
ends, however it ends. A program that finds the lock taken asks again later: often the code that it
waits for is the code that is being compiled.

The program sends what it needs through a pipe, which stays open as long as the program runs. If
the pipe closes without a farewell, the program was killed, and the process ends at once. After a
farewell, which a program sends when it exits, the process finishes its work: the next program finds
the code.
"""

import atexit
import os
import pickle
import queue
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

from filelock import FileLock, Timeout

from bfenv.core.cache_folder import writing
from bfenv.core.uncompiled import find_kernel

LOCK = "compiling.lock"
IDLE = 2.0  # seconds without work after which the process ends
AGAIN = 1.0  # seconds until a program tries again where it found another process
NICE = 19  # other programs come first
BUSY = 3  # exit status of a process that found another one at work
MOST_FAILURES = 3  # processes that end otherwise; the program then compiles by itself


class Request(NamedTuple):
    """A kernel to compile."""

    place: str  # module:name
    signature: bytes  # pickled types of the arguments


class CompileProcess:
    """A program's side: sends requests, and starts the process when no other one is running.

    * `root`: the folder of the cache.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.is_usable = True  # False once processes have ended MOST_FAILURES times without result
        self._failures = 0
        self._program = os.getpid()
        self._waiting: set[Request] = set()  # for what the program waits
        self._sent: set[Request] = set()  # to the present process
        self._process: subprocess.Popen[bytes] | None = None
        self._next_start = 0.0
        self._lock = threading.Lock()
        atexit.register(self._say_farewell)

    def ask(self, request: Request) -> None:
        """Ask for a kernel; call this again, now and then, as long as the code is not there."""
        with self._lock:
            if os.getpid() != self._program:  # after a fork, the process is the parent's
                self._program, self._process = os.getpid(), None
            self._waiting.add(request)
            if self._process is not None and self._process.poll() is not None:
                self._note_end(self._process.returncode)
            if self._process is None and time.monotonic() >= self._next_start and self.is_usable:
                self._start()
            if self._process is not None and self._waiting - self._sent:
                self._send(sorted(self._waiting - self._sent))
                self._sent |= self._waiting

    def receive(self, request: Request) -> None:
        """Note that a kernel is there, or that the reason why it cannot be compiled is."""
        self._waiting.discard(request)
        self._failures = 0

    def _note_end(self, status: int) -> None:
        """Note that the process has ended: the next one is sent what is still missing."""
        self._process = None
        if status != 0:
            self._next_start = time.monotonic() + AGAIN
        if status not in (0, BUSY):
            self._failures += 1
            self.is_usable = self._failures < MOST_FAILURES

    def _start(self) -> None:
        self._next_start = time.monotonic() + AGAIN
        try:
            with FileLock(self.root / LOCK, timeout=0):
                pass
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", f"from {__name__} import main; main()"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=self.root,  # the program's folder may be removed before the process ends
                env=os.environ
                | {
                    "BFENV_CACHE": str(self.root.parent),
                    "BFENV_COMPILE": "now",
                    "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path)),
                },
                start_new_session=True,  # Ctrl-C is for the program
            )
        except Timeout:
            return
        except OSError:  # a folder is gone, or the system starts no more processes
            self._note_end(1)
            return
        self._sent = set()
        self._send(str(self.root))

    def _send(self, message: Any) -> None:
        assert self._process is not None and self._process.stdin is not None
        with suppress(OSError):  # the process has just ended
            self._process.stdin.write(pickle.dumps(message))
            self._process.stdin.flush()

    def _say_farewell(self) -> None:
        if self._process is not None and os.getpid() == self._program:
            self._send(None)
            self._process.returncode = 0  # it may outlive the program: no reason for a warning


def main() -> None:
    """Compile the kernels that standard input names, and end when nothing is left to compile."""
    messages = sys.stdin.buffer
    root = Path(pickle.load(messages))
    lock = FileLock(root / LOCK, timeout=0)
    try:
        lock.acquire()
    except (Timeout, OSError):
        os._exit(BUSY)
    with suppress(OSError, AttributeError):  # not on every system
        os.nice(NICE)
    work: queue.Queue[Request | None] = queue.Queue()
    threading.Thread(target=_receive, args=(messages, work), daemon=True).start()
    with suppress(queue.Empty):
        while (request := work.get(timeout=IDLE)) is not None:
            _compile(request)
    os._exit(0)


def _receive(messages: IO[bytes], work: "queue.Queue[Request | None]") -> None:
    """Pass requests on; end the process if the program ends without a farewell."""
    try:
        while (requests := pickle.load(messages)) is not None:
            for request in requests:
                work.put(request)
        work.put(None)
    except Exception:  # the pipe is closed, or what came through it was cut off
        with writing:  # no partial file stays
            os._exit(1)


def _compile(request: Request) -> None:
    """Compile a kernel into the cache; if that fails, put the reason there.

    What the system lacks just now, such as memory, is no reason to keep: the process ends.
    """
    kernel = find_kernel(request.place).compiled
    signature = pickle.loads(request.signature)
    try:
        kernel.compile(signature)
    except (MemoryError, OSError):
        os._exit(1)
    except Exception as error:  # numba's, or of the kernel's own types
        kernel.keep_failure(signature, f"{type(error).__name__}: {error}".partition("\n")[0])
