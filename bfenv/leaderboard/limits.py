"""What code that is not bfenv's own may use, when it takes part in a leaderboard."""

import ctypes
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace

from bfenv.core.arguments import check_choice
from bfenv.leaderboard.defaults import DECISION, MEMORY

MIB = 2**20
NO_SANDBOX = "none"
SANDBOXES = (NO_SANDBOX, "bwrap")
PR_SET_DUMPABLE = 4  # option of Linux's prctl


@dataclass(frozen=True)
class PlayerLimits:
    """What a player may use; if it uses more, it fails, and its run with it."""

    greeting: float = 60.0  # seconds until it greets
    startup: float = 120.0  # seconds for `begin`, and for the first pass, which may compile
    decision: float = DECISION  # seconds for any other pass
    memory: int = MEMORY * MIB  # bytes of address space, of each of its processes
    processes: int = 512  # and threads, which it may add to those that run; root is not limited
    open_files: int = 256  # of each of its processes
    reply: int = 16 * MIB  # bytes of a reply
    file_size: int = 64 * MIB  # bytes of a file that it writes, and of all it writes to stderr
    files: int = 256 * MIB  # bytes of all the files that it writes in a sandbox
    sandbox: str = NO_SANDBOX  # one of SANDBOXES
    reads: tuple[str, ...] = ()  # what it may read in a sandbox, beside software and its own files
    hidden: tuple[str, ...] = ()  # what it may not read in these: the workload, and others' rows

    def __post_init__(self) -> None:
        check_choice("sandbox", self.sandbox, SANDBOXES)

    def hiding(self, paths: Iterable[str | os.PathLike[str]]) -> "PlayerLimits":
        """Return limits that hide files and folders from a player in a sandbox, too."""
        return replace(self, hidden=self.hidden + tuple(map(os.path.abspath, paths)))


DEFAULT_LIMITS = PlayerLimits()


def hide_memory() -> None:
    """Close the memory of this process to others of the same user, on Linux, until it ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0)
