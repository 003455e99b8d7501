"""`kernel`: numba's compiler with a disk cache that never serves stale code.

numba checks a cached function against its own source file only; a change in a function that it
calls from another file goes unnoticed. Here the cache directory is named by a digest of all the
sources a kernel may call: those of its own package or layer and of the layers below; for a package
that is not bfenv's, all layers and the baselines. A changed source means a new directory.
"""

import hashlib
import inspect
import os
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numba
import platformdirs
from numba.core import event
from numba.extending import register_jitable

CORE = Path(__file__).resolve().parent


@cache
def _cache_root() -> Path:
    """First writable of $BFENV_CACHE, the user's cache folder, a fresh temporary folder."""
    for parent in (os.environ.get("BFENV_CACHE"), platformdirs.user_cache_path("bfenv")):
        if not parent:
            continue
        try:
            root = Path(parent) / "kernels"
            root.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=root):
                return root
        except OSError:
            continue
    return Path(tempfile.mkdtemp(prefix="bfenv-kernels-"))


@cache
def _digest(*sources: Path) -> str:
    """Digest of every Python file in the given files and folders, and of numba's version."""
    digest = hashlib.sha256(numba.__version__.encode())
    for source in sources:
        files = sorted(source.rglob("*.py")) if source.is_dir() else [source]
        for file in files:
            content = file.read_bytes()
            if file.is_relative_to(CORE) or b"bfenv.core.kernel" in content:
                digest.update(file.as_posix().encode())
                digest.update(content)
    return digest.hexdigest()[:16]


def _sources(function: Callable) -> tuple[Path, ...]:
    """The files and folders of all that the function may call."""
    file = Path(inspect.getfile(function)).resolve()
    package = CORE.parent
    rooms = [package, *(package.parent / room for room in ("baselines", "agents"))]
    own = tuple(room for room in rooms if room.is_dir())
    if any(file.is_relative_to(room) for room in own):
        return own
    if not (file.parent / "__init__.py").exists():  # a module on its own: those beside it
        return *own, *sorted(file.parent.glob("*.py"))
    folder = file.parent
    while (folder.parent / "__init__.py").exists():
        folder = folder.parent
    return *own, folder


def kernel(function: Callable) -> Callable:
    """Compile `function` with numba on first use; later processes load it from the disk cache.

    Kernels allocate nothing and return no arrays, which the compiler enforces: they are compiled
    without reference counting, which would cost ten times the work itself. Functions typed at a
    prompt have no file to be cached by and are compiled in each process.
    """
    options = {"error_model": "numpy", "forceinline": True, "_nrt": False}
    if not os.path.exists(inspect.getfile(function)):
        return numba.njit(**options)(function)
    previous = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(_cache_root() / _digest(*_sources(function)))
    try:
        return numba.njit(cache=True, **options)(function)
    finally:
        numba.config.CACHE_DIR = previous


def inlined(function: Callable) -> Callable:
    """Let kernels call a function that only looks: it is written out at each call.

    It may return a slice of an argument, as a kernel may not; called from Python it is Python.
    """
    function = register_jitable(function)  # gives its name a type in kernels
    function.targetoptions = {"inline": "always"}  # numba inlines whatever has these two
    function.py_func = function
    return function


class _Announcement(event.Listener):
    """Says once per process, on stderr, that the wait is a compilation."""

    said = False

    def on_start(self, _event):
        function = _event.data["dispatcher"].py_func
        if not self.said and str(CORE.parent.parent) in inspect.getfile(function):
            self.said = True
            print(
                "bfenv: compiling its kernels, once for this machine (all of them: a minute) ...",
                file=sys.stderr,
                flush=True,
            )

    def on_end(self, _event):
        pass


event.register("numba:compile", _Announcement())
