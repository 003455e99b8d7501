"""What a player may use, and the programs and folders that it may read."""

import ctypes
import os
import site
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import bfenv
from bfenv.core.cache_folder import READ_ONLY, cache_root

MIB = 2**20
PR_SET_DUMPABLE = 4  # option of Linux's prctl
# Of the environment only these variables reach a player, and what begins with these prefixes.
VARIABLES = ("HOME", "LANG", "LD_LIBRARY_PATH", "PATH", "TZ", "USER", "VIRTUAL_ENV", "BFENV_CACHE")
PREFIXES = ("LC_", "MKL_", "NUMBA_", "OMP_", "OPENBLAS_", "PYTHON")
SYSTEM = ("/bin", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/opt", "/proc", "/run", "/sys")
PROGRAM_OPTION = "-c"  # of Python; the words after the program are files that it may read
SYSTEM_WRITES = ("/dev/null", "/dev/zero")


@dataclass(frozen=True)
class PlayerLimits:
    """What a player may use; if it uses more, it is ended, and its run fails.

    On systems other than Linux, memory and processes are limited as far as the system does it.
    """

    startup: float = 120.0  # seconds until it is ready, and for its first decision (compilation)
    decision: float = 60.0  # seconds for any later decision
    memory: int = 4096 * MIB  # bytes, of all its processes together and of each of them
    processes: int = 64
    reply: int = 16 * MIB  # bytes of a reply
    stderr: int = 16 * MIB  # bytes written to stderr, in all
    file_size: int = 256 * MIB  # bytes of a file that it writes
    reads: tuple[str, ...] = ()  # files and folders that it may read, beside installed software


DEFAULT = PlayerLimits()


def readable(command: Sequence[str], limits: PlayerLimits) -> list[str]:
    """Return the files and folders that a player may read: software, its own, and `reads`.

    Software is what this process imports from, so the current folder is among it where Python
    looks there. Workloads elsewhere cannot be read.
    """
    own = [os.path.abspath(word) for word in command if os.path.exists(word)]
    is_program = command[1:2] != [PROGRAM_OPTION]  # else the files are data
    programs = [str(Path(path).parent) for path in (own if is_program else own[:1])]
    python = [sys.prefix, sys.base_prefix, *sysconfig.get_paths().values(), *site.getsitepackages()]
    python += [str(Path(folder).absolute()) for folder in sys.path]
    package = Path(bfenv.__file__).parent
    rooms = [str(package), *(str(package.parent / room) for room in ("agents", "baselines"))]
    cache = cache_root()
    caches = [] if cache is None else [str(cache)]
    return [*SYSTEM, "/usr", *own, *programs, *python, *rooms, *caches, *limits.reads]


def environment(temporary: str) -> dict[str, str]:
    """Return the environment variables of a player: nothing secret, and a folder to write to."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in VARIABLES or name.startswith(PREFIXES)
    }
    return kept | {"TMPDIR": temporary, READ_ONLY: "1", "PYTHONDONTWRITEBYTECODE": "1"}


def hide_memory() -> None:
    """Close the memory of this process to others of the same user, on Linux, until it ends.

    Debuggers cannot attach to it then. A player cannot read it even if it runs as root, because
    its guard gives up root's capabilities.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0)
