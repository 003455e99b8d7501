"""A process that can be killed, for code that may crash or never return.

A compiled loop does not react to Python's signals, and a crash ends the process it happens in. Such
code runs in a separate process, which is killed when its time is up; the next call starts another
one. This also works inside the workers of joblib and Dask, which may not start children with
multiprocessing. It is sent the logs that its parent carries from another machine.
"""

import ctypes
import faulthandler
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any, NamedTuple, TypeVar

from bfenv.core.errors import BfenvError
from bfenv.core.jobs import Trace
from bfenv.parallel.failures import describe_error
from bfenv.workloads.load import carried_logs, carrying

PROGRAM = (
    "import sys; sys.path[:] = {path!r}; "
    "from bfenv.parallel.worker_process import serve; serve({parent})"
)
IDLE = 60  # seconds without work after which a process ends; it gets no work in the last half
GRACE = 5  # seconds that a process may go on after its time, or after its last answer
LOOK = 0.5  # seconds between two looks for the parent
PR_SET_PDEATHSIG = 1  # option of Linux's prctl

T = TypeVar("T")


class WorkerDiedError(Exception):
    """A worker process ended before its work did; the message says why."""


class _Connection(NamedTuple):
    """A running process and the two pipes to it."""

    process: subprocess.Popen[bytes]
    requests: IO[bytes]
    answers: IO[bytes]
    folder: str  # the working directory that it started in
    logs: dict[Any, Trace]  # of another machine, that it has been sent


class WorkerProcess:
    """Calls functions in another process, one after the other. The process starts on demand."""

    def __init__(self) -> None:
        self._connection: _Connection | None = None
        self._used = 0.0  # time.monotonic() when the last call ended

    def call(self, function: Callable[..., T], *arguments: Any, timeout: float) -> T:
        """Call a function in the worker process, and return what it returns.

        Args:
            function: A function that can be imported by its module and name.
            arguments: What to call it with; everything must be picklable.
            timeout: Seconds after which the process is killed.

        Raises:
            WorkerDiedError: If the process dies or is killed before the function returns.
            BfenvError: If the function raises anything; the message is that of its exception, in
                one line.
        """
        if self._connection is not None:
            is_elsewhere = self._connection.folder != os.getcwd()  # paths may be relative
            has_ended = self._connection.process.poll() is not None
            if is_elsewhere or has_ended or time.monotonic() - self._used > IDLE / 2:
                self.close()
        if self._connection is None:
            self._connection = _start()
        connection, begin = self._connection, time.monotonic()
        clock = threading.Timer(timeout, connection.process.kill)
        clock.daemon = True
        clock.start()
        try:
            logs = {
                name: trace
                for name, trace in carried_logs().items()
                if connection.logs.get(name) is not trace
            }
            connection.logs.update(logs)
            _send((timeout, function, arguments, logs), connection.requests)
            succeeded, value = pickle.load(connection.answers)
        except (EOFError, OSError, pickle.UnpicklingError):
            is_late = time.monotonic() - begin >= timeout
            with suppress(subprocess.TimeoutExpired):
                connection.process.wait(GRACE)  # report how it ends by itself, if it does
            self.close()
            cause = f"its process died ({describe_status(connection.process.returncode)})"
            raise WorkerDiedError(f"no result within {timeout:g} s" if is_late else cause) from None
        except BaseException:  # interrupted: the next call would take this one's answer for its own
            self.close()
            raise
        finally:
            clock.cancel()
            self._used = time.monotonic()
        if not succeeded:
            raise BfenvError(value)
        result: T = value
        return result

    def close(self) -> None:
        """Kill the process, whatever it is doing; the next call starts another one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.process.kill()
            with suppress(OSError):
                connection.requests.close()
            connection.answers.close()
            connection.process.wait()

    def __del__(self) -> None:
        self.close()


_local = threading.local()  # .worker: the worker process of each thread


def call_in_worker(function: Callable[..., T], *arguments: Any, timeout: float) -> T:
    """Return a function's result from this thread's own `WorkerProcess`, which lives on.

    Args:
        function, timeout: As of `WorkerProcess.call`.
        *arguments: As of `WorkerProcess.call`.

    Raises:
        WorkerDiedError, BfenvError: As of `WorkerProcess.call`.

    Examples:
        >>> import math
        >>> from bfenv.parallel import call_in_worker
        >>> call_in_worker(math.factorial, 5, timeout=60)
        120
    """
    if not hasattr(_local, "worker"):
        _local.worker = WorkerProcess()
    worker: WorkerProcess = _local.worker
    return worker.call(function, *arguments, timeout=timeout)


def close_worker() -> None:
    """Kill this thread's worker process, if there is one."""
    if hasattr(_local, "worker"):
        _local.worker.close()


def serve(parent: int) -> None:
    """Answer requests until the pipe is closed: the main function of a worker process."""
    die_with_parent(parent)
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)  # keep printed text out of the answers
    _send("ready", answers)
    logs: dict[Any, Trace] = {}
    while True:
        idle = threading.Timer(IDLE, os._exit, [0])
        idle.daemon = True
        idle.start()
        try:
            timeout, function, arguments, new_logs = pickle.load(requests)
        except EOFError:
            return
        finally:
            idle.cancel()
        with open(os.devnull, "w") as nowhere:
            faulthandler.dump_traceback_later(timeout + GRACE, exit=True, file=nowhere)
            try:
                logs |= new_logs
                with carrying(logs):
                    answer = True, function(*arguments)
            except BaseException as error:  # Ctrl-C does not reach this process: it is its own
                answer = False, describe_error(error)
            faulthandler.cancel_dump_traceback_later()
        _send(answer, answers)


def die_with_parent(parent: int) -> None:
    """End this process when its parent ends, however that ends; on Linux only.

    The parent must start it in a thread that lives as long as it is needed.

    * `parent`: process id of the parent, which may have ended already.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def watch_parent(parent: int) -> None:
    """End this process within a second after its parent has ended, however that ends.

    `die_with_parent` ends it with the thread of the parent that has started it. That is too early
    for workers that several threads use one after the other.

    * `parent`: process id of the parent, which may have ended already.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK)
        os._exit(1)

    threading.Thread(target=watch, name="bfenv-parent", daemon=True).start()


def _start() -> _Connection:
    """Start a process with the import path of this one, out of reach of Ctrl-C."""
    folder = os.getcwd()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(path=sys.path, parent=os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=folder,
        start_new_session=True,
    )
    assert process.stdin is not None and process.stdout is not None  # they are pipes
    try:
        pickle.load(process.stdout)
    except BaseException as error:  # leave no process behind, not even after Ctrl-C
        process.kill()
        process.communicate()
        if isinstance(error, EOFError):
            raise BfenvError(f"{sys.executable} cannot start a worker process") from None
        raise
    return _Connection(process, process.stdin, process.stdout, folder, {})


def _send(message: Any, file: IO[bytes]) -> None:
    pickle.dump(message, file)
    file.flush()


def describe_status(status: int | None) -> str:
    """Name the signal that ended a process, or its exit status."""
    if status is not None and status < 0:
        with suppress(ValueError):
            return signal.Signals(-status).name
    return f"exit status {status}"
