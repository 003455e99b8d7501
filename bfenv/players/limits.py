"""What a player may use, and what reaches it of this process."""

import ctypes
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from bfenv.core.arguments import check_choice
from bfenv.core.cache_folder import READ_ONLY

MIB = 2**20
NO_SANDBOX = "none"
SANDBOXES = (NO_SANDBOX, "bwrap")
PR_SET_DUMPABLE = 4  # option of Linux's prctl
# Of the environment only these variables reach a player, and what begins with these prefixes.
VARIABLES = ("HOME", "LANG", "LD_LIBRARY_PATH", "PATH", "TZ", "USER", "VIRTUAL_ENV", "BFENV_CACHE")
PREFIXES = ("LC_", "MKL_", "NUMBA_", "OMP_", "OPENBLAS_", "PYTHON")


@dataclass(frozen=True)
class PlayerLimits:
    """What a player may use; if it uses more, it fails, and its run with it."""

    greeting: float = 60.0  # seconds until it greets
    startup: float = 120.0  # seconds for `begin`, and for the first pass, which may compile
    decision: float = 10.0  # seconds for any other pass
    memory: int = 4096 * MIB  # bytes of address space, of each of its processes
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

    def of_system(self) -> dict[str, int]:
        """Return the limits that the system keeps, by their names in `resource`."""
        limits = {
            "RLIMIT_AS": self.memory,
            "RLIMIT_CORE": 0,
            "RLIMIT_FSIZE": self.file_size,
            "RLIMIT_NOFILE": self.open_files,
        }
        if sys.platform == "linux":
            running = Path("/proc/loadavg").read_text().split()[3].partition("/")[2]
            limits["RLIMIT_NPROC"] = int(running) + self.processes  # it counts all of the user's
        return limits


DEFAULT = PlayerLimits()


def environment(temporary: str) -> dict[str, str]:
    """Return the environment variables of a player: nothing secret, and a folder to write to."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in VARIABLES or name.startswith(PREFIXES)
    }
    return kept | {"TMPDIR": temporary, READ_ONLY: "1", "PYTHONDONTWRITEBYTECODE": "1"}


def hide_memory() -> None:
    """Close the memory of this process to others of the same user, on Linux, until it ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0)
