"""What a player may use, and the programs and folders that it may read."""

import ctypes
import os
import site
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.machinery import all_suffixes
from pathlib import Path

import bfenv
from bfenv.core.cache_folder import READ_ONLY, cache_root
from bfenv.workloads.archive import local_logs

MIB = 2**20
PR_SET_DUMPABLE = 4  # option of Linux's prctl
# Of the environment only these variables reach a player, and what begins with these prefixes.
VARIABLES = ("HOME", "LANG", "LD_LIBRARY_PATH", "PATH", "TZ", "USER", "VIRTUAL_ENV", "BFENV_CACHE")
PREFIXES = ("LC_", "MKL_", "NUMBA_", "OMP_", "OPENBLAS_", "PYTHON")
SYSTEM = ("/bin", "/etc", "/lib", "/lib32", "/lib64", "/opt", "/run", "/sys", "/usr")
DEVICES = tuple(f"/dev/{name}" for name in ("null", "random", "urandom", "zero"))
# What others do is below /proc, too; a player can change what its own processes show there.
KERNEL = tuple(
    f"/proc/{name}" for name in ("cgroups", "cpuinfo", "filesystems", "meminfo", "stat", "sys")
)
PROGRAM_OPTION = "-c"  # of Python; the words after the program are files that it may read
MODULES = tuple(all_suffixes())  # end the files' names of modules
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
    threads: int = 1024  # of all its processes together
    reply: int = 16 * MIB  # bytes of a reply
    stderr: int = 16 * MIB  # bytes written to stderr, in all
    file_size: int = 256 * MIB  # bytes of a file that it writes
    files: int = 1024 * MIB  # bytes of all the files that it has written and not removed
    reads: tuple[str, ...] = ()  # files and folders that it may read, beside installed software
    hidden: tuple[str, ...] = ()  # what it may not read in these: the workload, and others' rows

    def hiding(self, paths: Iterable[str | os.PathLike[str] | None]) -> "PlayerLimits":
        """Return limits that hide files and folders, too; None is none."""
        found = tuple(os.path.abspath(path) for path in paths if path is not None)
        return replace(self, hidden=self.hidden + found)


DEFAULT = PlayerLimits()


@dataclass(frozen=True)
class Readable:
    """What a player may read."""

    reads: list[str]  # files, and folders with all that is in them
    lists: list[str]  # folders of which it may only see the names of what is in them


def readable(command: Sequence[str], limits: PlayerLimits) -> Readable:
    """Return what a player may read: software, its own files, and `reads`.

    Not what is `hidden`, nor the logs that workloads are found in by name.

    Of the folders that Python imports from and that are not installed, such as the current one,
    these are the modules and packages, because a user's other files may be there, too.
    """
    own = [os.path.abspath(word) for word in command if os.path.exists(word)]
    is_program = PROGRAM_OPTION not in command[1:2]  # else the files are data
    programs = [str(Path(path).parent) for path in (own if is_program else own[:1])]
    python = [sys.prefix, sys.base_prefix, *sysconfig.get_paths().values(), *site.getsitepackages()]
    package = Path(bfenv.__file__).parent
    rooms = [str(package), *(str(package.parent / room) for room in ("agents", "baselines"))]
    cache = cache_root()
    caches = [] if cache is None else [str(cache)]
    system = [*SYSTEM, *DEVICES, *KERNEL]
    folders = [*system, *own, *programs, *python, *rooms, *caches, *limits.reads]
    allowed = {Path(folder).resolve() for folder in folders}
    imports = {Path(folder).resolve() for folder in sys.path}
    imports = {path for path in imports if not any(map(path.is_relative_to, allowed))}
    modules = [entry for folder in sorted(imports) for entry in _modules_in(folder)]
    hidden = [Path(path).resolve() for path in limits.hidden]
    hidden += [path.resolve() for path in local_logs().values()]
    found = Readable([], [str(folder) for folder in sorted(imports)])
    for path in dict.fromkeys([*sorted(allowed), *modules]):
        _add_visible(path, hidden, found)
    return found


def _modules_in(folder: Path) -> list[Path]:
    """Return the modules and packages in a folder; the folder itself if it is an archive."""
    if folder.is_file():
        return [folder]
    found = []
    for entry in _entries(folder):
        is_package = not _is_module(entry) and any(map(_is_module, _entries(entry)))
        if is_package or _is_module(entry):
            found.append(entry.resolve())
    return found


def _is_module(path: Path) -> bool:
    return path.name.endswith(MODULES)


def _entries(folder: Path) -> list[Path]:
    """Return what is in a folder; nothing if it is none, or may not be read."""
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _add_visible(path: Path, hidden: Sequence[Path], found: Readable) -> None:
    """Add a path that may be read, or the parts of it that are not hidden."""
    if any(map(path.is_relative_to, hidden)):
        return
    if not any(one.is_relative_to(path) for one in hidden):
        found.reads.append(str(path))
        return
    found.lists.append(str(path))
    for entry in _entries(path):
        _add_visible(entry.resolve(), hidden, found)


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


def hide_arguments() -> None:
    """Blank the command line of this process, which every process can read, on Linux."""
    if sys.platform == "linux":
        first, last = _arguments()
        ctypes.memset(first, 0, last - first)


def _arguments() -> tuple[int, int]:
    """Return the addresses at which the command line begins and ends."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    return int(fields[45]), int(fields[46])
