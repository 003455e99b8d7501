"""Cell: a process that can be killed, for code that may crash or never return.

A compiled loop does not listen to Python, and what it breaks is broken for its whole process. So
the work is done in a process of its own, which is killed when its time is up; the next call starts
another. It works in the workers of joblib and Dask as well, which may have no children of
multiprocessing's.
"""

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
from typing import Any

from bfenv.core.errors import BfenvError
from bfenv.parallel.sweep import die_with_parent

PROGRAM = "from bfenv.parallel.worker_process import serve; serve()"
TIMEOUT = 7_200.0  # seconds for a row of the leaderboard; far beyond the longest of archive-v1
IDLE = 60  # seconds without work after which a cell ends; it is given none in the last half
GRACE = 5  # seconds that a cell may go on after its time, or after its last answer


class Died(Exception):
    """The process of a cell ended before its work did; the message says why."""


class Cell:
    """Calls functions in another process, one after the other; it starts when it is needed."""

    def __init__(self):
        self._process: subprocess.Popen | None = None
        self._used = 0.0  # time.monotonic() when the last call ended

    def call(self, function: Callable, *arguments: Any, timeout: float) -> Any:
        """What `function`, a module's own, returns there within so many seconds.

        Raises Died if its process ends or is killed instead, and BfenvError with the text of
        whatever the function raises.
        """
        if self._process is not None and time.monotonic() - self._used > IDLE / 2:
            self.close()
        if self._process is None:
            self._process = _start()
        process, begin = self._process, time.monotonic()
        clock = threading.Timer(timeout, process.kill)
        clock.daemon = True
        clock.start()
        try:
            _send((timeout, function, arguments), process.stdin)
            done, value = pickle.load(process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError):
            late = time.monotonic() - begin >= timeout
            with suppress(subprocess.TimeoutExpired):
                process.wait(GRACE)  # how it ends by itself is what is to be told
            self.close()
            raise Died(
                f"no result within {timeout:g} s"
                if late
                else f"its process died ({_cause(process.returncode)})"
            ) from None
        except BaseException:  # interrupted: its answer would be taken for the next one's
            self.close()
            raise
        finally:
            clock.cancel()
            self._used = time.monotonic()
        if not done:
            raise BfenvError(value)
        return value

    def close(self) -> None:
        """End the process, whatever it does; the next call starts another."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with suppress(OSError):
                process.stdin.close()
            process.stdout.close()
            process.wait()

    def __del__(self):
        self.close()


def in_cell(function: Callable, *arguments: Any, timeout: float) -> Any:
    """`Cell.call` in the cell of this thread."""
    if not hasattr(_OWN, "cell"):
        _OWN.cell = Cell()
    return _OWN.cell.call(function, *arguments, timeout=timeout)


def close_cell() -> None:
    """End the cell of this thread, if there is one."""
    if hasattr(_OWN, "cell"):
        _OWN.cell.close()


_OWN = threading.local()


def serve() -> None:
    """What the process of a cell does: answer requests until there are none."""
    die_with_parent()
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)  # whatever prints is not to spoil the answers
    _send("ready", answers)
    while True:
        idle = threading.Timer(IDLE, os._exit, [0])
        idle.daemon = True
        idle.start()
        try:
            timeout, function, arguments = pickle.load(requests)
        except EOFError:
            return
        finally:
            idle.cancel()
        with open(os.devnull, "w") as nowhere:
            faulthandler.dump_traceback_later(timeout + GRACE, exit=True, file=nowhere)
            try:
                answer = True, function(*arguments)
            except BaseException as error:  # no Ctrl-C is heard here, so it is the function's own
                answer = False, reason(error)
            faulthandler.cancel_dump_traceback_later()
        _send(answer, answers)


def reason(error: BaseException) -> str:
    """An exception in one line that can be printed; its kind, too, where that is not our own."""
    text = " ".join(str(error).split())[:500]
    text = "".join(letter if letter.isprintable() else "?" for letter in text)
    if isinstance(error, BfenvError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _start() -> subprocess.Popen:
    """A process, ready, that finds the modules that this one finds and hears no Ctrl-C."""
    process = subprocess.Popen(
        [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}; {PROGRAM}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        pickle.load(process.stdout)
    except BaseException as error:  # interrupted, too, it is not to be left behind
        process.kill()
        process.communicate()
        if isinstance(error, EOFError):
            raise BfenvError(f"{sys.executable} cannot be started for a row") from None
        raise
    return process


def _send(message: Any, file: Any) -> None:
    pickle.dump(message, file)
    file.flush()


def _cause(status: int | None) -> str:
    if status is not None and status < 0:
        with suppress(ValueError):
            return signal.Signals(-status).name
    return f"exit status {status}"
