"""What contains a player: the limits that the system keeps, its environment, and its sandbox."""

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import bfenv.agents
import bfenv.baselines
from bfenv.core.cache_folder import READ_ONLY, cache_root
from bfenv.core.distributions import PACKAGES
from bfenv.core.errors import BfenvError
from bfenv.core.text import one_line
from bfenv.leaderboard.limits import PlayerLimits
from bfenv.workloads.archive.catalogue import local_logs

# Of the environment only these variables reach a player, and what begins with these prefixes.
VARIABLES = ("HOME", "LANG", "LD_LIBRARY_PATH", "PATH", "TZ", "USER", "VIRTUAL_ENV", "BFENV_CACHE")
PREFIXES = ("LC_", "MKL_", "NUMBA_", "OMP_", "OPENBLAS_", "PYTHON")


def system_limits(limits: PlayerLimits) -> dict[str, int]:
    """Return the limits that the system keeps, by their names in `resource`."""
    kept = {
        "RLIMIT_AS": limits.memory,
        "RLIMIT_CORE": 0,
        "RLIMIT_FSIZE": limits.file_size,
        "RLIMIT_NOFILE": limits.open_files,
    }
    if sys.platform == "linux":
        running = Path("/proc/loadavg").read_text().split()[3].partition("/")[2]
        kept["RLIMIT_NPROC"] = int(running) + limits.processes  # it counts all of the user's
    return kept


def environment(temporary: str) -> dict[str, str]:
    """Return the environment variables of a player: nothing secret, and a folder to write to."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in VARIABLES or name.startswith(PREFIXES)
    }
    return kept | {"TMPDIR": temporary, READ_ONLY: "1", "PYTHONDONTWRITEBYTECODE": "1"}


SYSTEM = ("/bin", "/lib", "/lib32", "/lib64", "/opt", "/sbin", "/usr")
SETTINGS = ("alternatives", "group", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime")
INSTALLED = ("site-packages", "dist-packages")  # end the folders of installed packages
TEMPORARY = "/tmp"  # the one folder that it may write to, in memory
ALONE = (
    *("--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"),
    *("--proc", "/proc", "--dev", "/dev"),
)
NOTHING = ("--size", "4096", "--tmpfs")  # an empty folder


@cache
def bubblewrap() -> str:
    """Return the program, after a trial.

    Raises BfenvError if it is not installed, or does not work here.
    """
    program = shutil.which("bwrap")
    if program is None:
        raise BfenvError(
            "--sandbox bwrap needs bubblewrap, which is not installed: install the package "
            "`bubblewrap` of your system (apt, dnf, pacman), or choose --sandbox none"
        )
    trial = [program, "--ro-bind", "/", "/", *ALONE, "true"]
    done = subprocess.run(trial, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BfenvError(
            f"bubblewrap does not work here ({one_line(done.stderr)[:200]}): it needs user "
            "namespaces, which some containers and systems forbid; see docs/players.md"
        )
    return program


def own_folders() -> list[str]:
    """Return the folders of the code of bfenv's installed distributions."""
    folders = [*bfenv.__path__, *bfenv.agents.__path__, *bfenv.baselines.__path__]
    for package in PACKAGES.values():
        spec = find_spec(package)
        folders += (spec and spec.submodule_search_locations) or ()
    return folders


def sandboxed(command: Sequence[str], limits: PlayerLimits) -> list[str]:
    """Return the command that runs a player in the sandbox.

    It may read installed software, the files and folders on its command line, and `reads`; not what
    is `hidden`, nor the logs that workloads are found in by name.

    Raises BfenvError as of `bubblewrap`.
    """
    paths = [os.path.abspath(word) for word in (*command, *limits.reads) if os.path.exists(word)]
    python = [sys.prefix, sys.base_prefix, *sysconfig.get_paths().values()]
    python += [folder for folder in sys.path if folder.endswith(INSTALLED)]
    rooms = own_folders()
    cache = cache_root()
    kernels = [] if cache is None else [str(cache)]
    settings = (f"/etc/{name}" for name in SETTINGS)
    names = {*SYSTEM, *settings, *python, *rooms, *kernels, *paths}
    hidden = [path.resolve() for path in (*map(Path, limits.hidden), *local_logs().values())]
    words = [bubblewrap(), *ALONE, "--size", str(limits.files), "--tmpfs", TEMPORARY]
    shown: list[Path] = []
    masks = []
    for place in sorted({*map(Path, names), *(Path(name).resolve() for name in names)}):
        if not place.exists() or any(map(place.is_relative_to, shown)):
            continue
        shown.append(place)
        words += ["--ro-bind", str(place), str(place)]
        content = place.resolve()
        for path in hidden:
            if path.is_relative_to(content) and path.exists():
                mask = str(place / path.relative_to(content))
                masks += [*NOTHING, mask] if path.is_dir() else ["--ro-bind", os.devnull, mask]
    folder = os.getcwd()
    words += [*masks, "--dir", folder, "--chdir", folder]
    for name in ("/", "/dev", "/proc"):  # root's processes may write to /proc/sys otherwise
        words += ["--remount-ro", name]
    return [*words, "--", *command]
