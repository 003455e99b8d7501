"""Ctrl-C while the command `bfenv` still imports what it needs."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

INTERRUPTED = 130  # exit status after Ctrl-C


@contextmanager
def end_at_interrupt() -> Iterator[None]:
    """Let Ctrl-C end the command at once, in a block that imports.

    An exception would end in a traceback, because the code that catches it is not imported yet, and
    some imports turn it into an error of their own. Other programs that import bfenv, and workers
    of the command, handle Ctrl-C as before.
    """
    program = sys.orig_argv[-len(sys.argv) :][0]  # what stands before the program's arguments
    handler = signal.getsignal(signal.SIGINT)
    if Path(program).stem != "bfenv" or handler is not signal.default_int_handler:
        yield
        return

    def end(*_: Any) -> None:
        print("bfenv: interrupted", file=sys.stderr, flush=True)
        os._exit(INTERRUPTED)

    signal.signal(signal.SIGINT, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
