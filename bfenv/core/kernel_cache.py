"""The kernels' disk cache, keyed by all the code that a kernel can call.

numba's own cache checks a function against its own source file only, by time and line number: a
change in a function called from another file goes unnoticed, and a changed comment recompiles.
Here the key is a digest of syntax trees, without comments, docstrings and positions: that of the
kernel's own module and those of all modules it imports, directly or not. Imports are followed into
bfenv, into the kernel's own top-level package, and into every source file that lies neither in the
standard library nor in site-packages. Versions of Python, numba and numpy belong to the key, too.

A module has a folder for each digest, `MODULE-DIGEST`, and in it a file per compiled signature.
Nothing that goes wrong here may fail a run: what cannot be read is compiled anew.
"""

import ast
import hashlib
import importlib.util
import inspect
import json
import os
import pickle
import re
import shutil
import stat
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import numba
import numpy as np
import platformdirs
from numba.core import caching
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

OWN = {"bfenv"}  # followed even where they are installed in site-packages
LIBRARIES = tuple(
    os.path.join(folder, "")
    for folder in {os.path.dirname(os.__file__), *map(sysconfig.get_path, ("stdlib", "platstdlib"))}
)
INSTALLED = {"site-packages", "dist-packages"}
BEGAN = time.time()
DAY = 86_400  # seconds
KEPT_FOR = 30 * DAY  # a folder not used for so long is removed
KEPT_DIGESTS = 8  # of a module; checkouts side by side, and branches, have digests of their own
PLAIN = int | float | str | bytes | np.generic | None  # what a closure may hold
CHECKSUM = hashlib.sha256().digest_size


# The key --------------------------------------------------------------------------------------


@cache
def code_digest(module: str, file: str, stamp: tuple[int, ...]) -> str | None:
    """Digest the code that functions of `module`, read from `file`, can call.

    `stamp` is that of the file: a module that is edited and reloaded has another digest. None when
    another file was changed after this process began: what is in memory may be older.
    """
    files = {name: (path, digest) for name, path, digest in _closure(module, file)}
    for path, _ in files.values():
        status = os.stat(path)
        if path != file and max(status.st_mtime, status.st_ctime) > BEGAN:
            return None
    environment = (sys.version, numba.__version__, np.__version__, numba.config.BOUNDSCHECK)
    # the path because a module may read data from beside it, which numba freezes as it does globals
    code = [module, file, *environment, *sorted((name, files[name][1]) for name in files)]
    return hashlib.sha256(repr(code).encode()).hexdigest()[:16]


def _closure(module: str, file: str) -> Iterator[tuple[str, str, str]]:
    """Name, file and digest of a module and of every module it imports, directly or not."""
    top, known, found = module.partition(".")[0], {}, {module}
    memo = _Memo()
    todo = [(module, file)]
    while todo:
        name, path = todo.pop()
        known[path] = memo.get(path, _stamp(path)) or _parsed(path)
        digest, imports = known[path]
        yield name, path, digest
        package = _package(name, path)
        for imported in imports:
            try:
                imported = importlib.util.resolve_name(imported, package)
            except ImportError:  # relative, and beyond the top
                continue
            if imported not in found:
                found.add(imported)
                path = _file(imported)
                if path is not None and _followed(imported, path, top):
                    todo.append((imported, path))
    memo.write(known)


def _package(module: str, file: str) -> str:
    """The package that relative imports in the module start from."""
    spec = getattr(sys.modules.get(module), "__spec__", None)
    if module == "__main__" and spec is not None:  # python -m
        module = spec.name
    return module if Path(file).stem == "__init__" else module.rpartition(".")[0]


def _followed(module: str, path: str, top: str) -> bool:
    """Whether what a module says belongs to the key of a kernel in the top-level package `top`."""
    if module.partition(".")[0] in OWN | {top}:
        return True
    return not (path.startswith(LIBRARIES) or INSTALLED & set(Path(path).parts))


def _file(module: str) -> str | None:
    """The file of a module; None if there is no such module, or it has none.

    One that is not imported yet is looked for without importing the package that it is in.
    """
    if module in sys.modules:
        return getattr(sys.modules[module], "__file__", None)
    spec = _spec(module)
    return spec.origin if spec is not None and spec.has_location else None


def _spec(module: str) -> Any:
    parent, path = module.rpartition(".")[0], None
    if parent:
        package = sys.modules.get(parent) or _spec(parent)
        path = getattr(package, "__path__", getattr(package, "submodule_search_locations", None))
        if path is None:
            return None
    for finder in sys.meta_path:
        spec = finder.find_spec(module, path)
        if spec is not None:
            return spec
    return None


def _parsed(path: str) -> tuple[str, list[str]]:
    """Digest of a file's syntax tree, and the modules it imports; of no Python, of its bytes."""
    source = Path(path).read_bytes()
    try:
        tree = ast.parse(source if path.endswith(".py") else "?")
    except (SyntaxError, ValueError):
        return hashlib.sha256(source).hexdigest(), []
    imports = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                imports.add(alias.name)
                if alias.asname is None:  # the packages are bound as well
                    parts = alias.name.split(".")
                    imports.update(".".join(parts[:end]) for end in range(1, len(parts)))
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            imports.add(base)
            dot = "" if base.endswith(".") else "."
            # a name may be a submodule
            imports.update(base + dot + alias.name for alias in node.names if alias.name != "*")
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if ast.get_docstring(node, clean=False) is not None:
                del node.body[0]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest(), sorted(imports)


def _stamp(path: str) -> tuple[int, ...]:
    """What changes when a file does, even where its time is set back."""
    status = os.stat(path)
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


class _Memo:
    """Digests and imports of files by path, kept between processes: parsing takes a second."""

    def __init__(self):
        self.file = root() / "sources.json"
        try:
            self.entries = dict(json.loads(self.file.read_bytes()))
        except (OSError, ValueError, TypeError):  # none yet, or damaged
            self.entries = {}

    def get(self, path: str, stamp: tuple[int, ...]) -> tuple[str, list[str]] | None:
        """Digest and imports of a file, if it is the one that was looked at."""
        try:
            known, digest, imports = self.entries[path]
            if tuple(known) == stamp and isinstance(digest, str):
                return digest, [str(name) for name in imports]
        except (KeyError, TypeError, ValueError):
            pass
        return None

    def write(self, known: dict[str, tuple[str, list[str]]]) -> None:
        """Keep what is new, unless changed so recently that its time would not show another."""
        new = {}
        for path, (digest, imports) in known.items():
            stamp = _stamp(path)
            if self.get(path, stamp) is None and stamp[0] < (time.time() - 2) * 1e9:
                new[path] = [stamp, digest, imports]
        if new:
            kept = {path: entry for path, entry in self.entries.items() if os.path.exists(path)}
            self.entries = kept | new
            _write(self.file, json.dumps(self.entries).encode())


# The folder -----------------------------------------------------------------------------------


@cache
def root() -> Path | None:
    """The first of $BFENV_CACHE and the user's cache folder that can be written and is private."""
    why = "no folder is named"
    for parent in (os.environ.get("BFENV_CACHE"), platformdirs.user_cache_path("bfenv")):
        if not parent:
            continue
        folder = Path(parent) / "kernels"
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
            if _private(folder):
                with tempfile.TemporaryFile(dir=folder):
                    return folder
            why = f"others may write to {folder}"
        except OSError as error:
            why = error
    _complain(why)
    return None


def _private(folder: Path) -> bool:
    """Whether nobody else can put files here: what is loaded from a cache is run."""
    if not hasattr(os, "geteuid"):
        return True
    status = folder.lstat()
    return (
        stat.S_ISDIR(status.st_mode)
        and status.st_uid == os.geteuid()
        and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )


_complaints: list[str] = []


def _complain(why: Any) -> None:
    """Say once per process that compiled kernels are lost when it ends."""
    if not _complaints:
        print(f"bfenv: compiled kernels are not kept: {why}", file=sys.stderr, flush=True)
    _complaints.append(str(why))


def _write(file: Path, data: bytes) -> None:
    """Put data into a file at once: other processes find the old content or the new."""
    try:
        file.parent.mkdir(mode=0o700, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=file.parent, suffix=".tmp")
        try:
            with open(handle, "wb") as stream:
                stream.write(data)
            os.replace(name, file)
        except OSError:
            os.unlink(name)
            raise
    except OSError as error:  # a full disk, say
        _complain(error)


def _used(folder: Path) -> None:
    """Note in a folder's time that it is in use, once a day."""
    try:
        if folder.stat().st_mtime < time.time() - DAY:
            os.utime(folder)
    except OSError:  # another process has just removed it, or it cannot be written
        pass


@cache
def prune(root: Path) -> None:
    """Remove, once per process, what has not been used for long, and all but the latest digests.

    Another process that loses a folder so has its kernels in memory, or compiles them anew.
    """
    latest: dict[str, list[tuple[float, Path]]] = {}
    try:
        for entry in root.iterdir():
            age = time.time() - entry.stat().st_mtime
            if entry.is_dir():
                latest.setdefault(entry.name.rpartition("-")[0], []).append((age, entry))
            elif entry.suffix == ".tmp" and age > DAY:  # of a process that was killed
                entry.unlink()
    except OSError:  # another process prunes, too
        return
    for folders in latest.values():
        for place, (age, folder) in enumerate(sorted(folders)):
            if place >= KEPT_DIGESTS or age > KEPT_FOR:
                shutil.rmtree(folder, ignore_errors=True)


# A kernel's cache -----------------------------------------------------------------------------


class KernelCache(caching._Cache):
    """The cache of one kernel, in the place of the one that numba would give it.

    `role` keeps two ways of compiling one function apart.
    """

    def __init__(self, function: FunctionType, role: str):
        self._function, self._role, self._enabled = function, role, True
        self._file = os.path.abspath(inspect.getfile(function))
        self._seen = _stamp(self._file) if os.path.exists(self._file) else None

    @property
    def cache_path(self) -> str | None:
        """The folder of the kernel's module; None if nothing can be kept."""
        return None if self._folder is None else str(self._folder)

    @cached_property
    def _folder(self) -> Path | None:
        if self._seen is None or root() is None:  # typed at a prompt; nowhere to keep it
            return None
        try:
            if _stamp(self._file) != self._seen:  # edited since it was imported
                return None
            digest = code_digest(self._function.__module__, self._file, self._seen)
        except OSError:  # a source is gone
            return None
        if digest is None:
            return None
        return root() / f"{_tame(self._function.__module__)}-{digest}"

    def enable(self) -> None:
        """Use the cache."""
        self._enabled = True

    def disable(self) -> None:
        """Neither load nor save."""
        self._enabled = False

    def flush(self) -> None:
        """Forget every signature of this kernel."""
        if self._folder is not None:
            for file in self._folder.glob(f"{self._name()}-*.nbc"):
                file.unlink(missing_ok=True)

    def load_overload(self, sig: Any, target_context: Any) -> CompileResult | None:
        """The compiled signature; None if it is not there, or damaged."""
        target_context.refresh()
        key = self._key(sig, target_context.codegen())
        if key is None:
            return None
        try:
            data = self._place(key).read_bytes()
            if hashlib.sha256(data[CHECKSUM:]).digest() != data[:CHECKSUM]:
                return None
            kept, compiled = pickle.loads(data[CHECKSUM:])
            if kept != key:
                return None
            compiled = CompileResult._rebuild(target_context, *compiled)
        except Exception:  # whatever is wrong with a file, compiling helps
            return None
        _used(self._folder)
        return compiled

    def save_overload(self, sig: Any, data: CompileResult) -> None:
        """Keep a compiled signature, unless it holds addresses of this process."""
        key = self._key(sig, data.codegen)
        if key is None or data.lifted or data.library.has_dynamic_globals:
            return
        try:
            content = dumps((key, data._reduce()))
        except Exception:  # what cannot be pickled is compiled in each process
            return
        prune(root())
        _write(self._place(key), hashlib.sha256(content).digest() + content)

    def _key(self, sig: Any, codegen: Any) -> tuple | None:
        """What tells one compiled version of the function from another; None for no caching."""
        if not self._enabled or self._folder is None:
            return None
        cells = self._function.__closure__ or ()
        try:
            values = tuple(cell.cell_contents for cell in cells)
        except ValueError:  # not assigned yet
            return None
        if not all(isinstance(value, PLAIN) for value in values):  # code, perhaps from elsewhere
            return None
        return sig, codegen.magic_tuple(), dumps(values)

    def _place(self, key: tuple) -> Path:
        signature = hashlib.sha256(repr(key).encode()).hexdigest()[:16]
        return self._folder / f"{self._name()}-{signature}.nbc"

    def _name(self) -> str:
        """A name of the function's own: of two in a module called alike, the code differs."""
        function = self._function
        code = _description(function.__code__, function.__doc__ is not None)
        digest = hashlib.sha256(code.encode()).hexdigest()[:16]
        return f"{_tame(function.__qualname__)}-{self._role}-{digest}"


def _tame(name: str) -> str:
    return re.sub(r"[^\w.]", "", name)[-60:]


def _description(code: CodeType, documented: bool = False) -> str:
    """All of a function's code but its places in the file and its docstring, the first constant."""
    constants = [
        _description(constant) if isinstance(constant, CodeType) else repr(constant)
        for constant in code.co_consts[documented:]
    ]
    return repr((code.co_code, code.co_names, code.co_varnames, code.co_freevars, constants))
