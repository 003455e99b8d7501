"""A digest of all the code that a kernel can call, by which its compiled form is kept.

It is a digest of syntax trees, without comments, docstrings and positions. It covers the kernel's
module and all modules it imports, directly or not. Imports are followed into bfenv,
into the kernel's own top-level package, and into every source file that lies neither in the
standard library nor in site-packages. The versions of Python, numba and numpy are part of it.
"""

import ast
import hashlib
import importlib.util
import json
import os
import sys
import sysconfig
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bfenv.core.cache_folder import write_to_cache

OWN = "bfenv"  # followed even where it is installed in site-packages
LIBRARIES = tuple(
    os.path.join(folder, "")
    for folder in {os.path.dirname(os.__file__), *map(sysconfig.get_path, ("stdlib", "platstdlib"))}
)
INSTALLED = {"site-packages", "dist-packages"}  # folders of what pip has installed
PROCESS_START = time.time()


@cache
def code_digest(module: str, file: str, stamp: tuple[int, ...], memo_folder: Path) -> str | None:
    """Digest the code that functions of `module`, read from `file`, can call.

    `stamp` belongs to the file: a module that is edited and reloaded has another digest. None when
    another file was changed after this process began: what is in memory may be older.
    """
    files = {name: (path, digest) for name, path, digest in _closure(module, file, memo_folder)}
    for path, _ in files.values():
        status = os.stat(path)
        if path != file and max(status.st_mtime, status.st_ctime) > PROCESS_START:
            return None
    import numba  # here, because what compiles nothing does without it

    environment = (sys.version, numba.__version__, np.__version__, numba.config.BOUNDSCHECK)
    # A module may read data from beside it, which numba freezes as it does globals. bfenv's own
    # modules read none, so all copies of one version share what is compiled.
    place = "" if module.partition(".")[0] == OWN else file
    code = [module, place, *environment, *sorted((name, files[name][1]) for name in files)]
    return hashlib.sha256(repr(code).encode()).hexdigest()[:16]


def _closure(module: str, file: str, memo_folder: Path) -> Iterator[tuple[str, str, str]]:
    """Name, file and digest of a module and of every module it imports, directly or not."""
    top = module.partition(".")[0]
    files: dict[str, tuple[str, list[str]]] = {}
    modules = {module}
    memo = _Memo(memo_folder)
    todo = [(module, file)]
    while todo:
        name, path = todo.pop()
        files[path] = memo.get(path, file_stamp(path)) or digest_and_imports(path)
        digest, imports = files[path]
        yield name, path, digest
        spec = getattr(sys.modules.get(name), "__spec__", None)
        if name == "__main__" and spec is not None:  # python -m
            name = spec.name
        # Where relative imports in the module start from
        package = name if Path(path).stem == "__init__" else name.rpartition(".")[0]
        for imported in imports:
            try:
                imported = importlib.util.resolve_name(imported, package)
            except ImportError:  # relative, and beyond the top
                continue
            if imported not in modules:
                modules.add(imported)
                origin = _file(imported)
                if origin is None:
                    continue
                is_installed = origin.startswith(LIBRARIES) or INSTALLED & set(Path(origin).parts)
                if imported.partition(".")[0] in (OWN, top) or not is_installed:
                    todo.append((imported, origin))
    memo.write(files)


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


def digest_and_imports(path: str) -> tuple[str, list[str]]:
    """Return the digest of a file's syntax tree, and the modules that it imports.

    Relative imports keep their dots. A file that is no Python has the digest of its bytes.
    """
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


def file_stamp(path: str) -> tuple[int, ...]:
    """Return what changes when a file does, even if its time is set back."""
    status = os.stat(path)
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


class _Memo:
    """Digests and imports of files by path, kept between processes: parsing takes a second."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "sources.json"
        self.entries: dict[str, Any]
        try:
            self.entries = dict(json.loads(self.file.read_bytes()))
        except (OSError, ValueError, TypeError):  # none yet, or damaged
            self.entries = {}

    def get(self, path: str, stamp: tuple[int, ...]) -> tuple[str, list[str]] | None:
        """Digest and imports of a file, if it is the one that was looked at."""
        try:
            old_stamp, digest, imports = self.entries[path]
            if tuple(old_stamp) == stamp and isinstance(digest, str):
                return digest, [str(name) for name in imports]
        except (KeyError, TypeError, ValueError):
            pass
        return None

    def write(self, known: dict[str, tuple[str, list[str]]]) -> None:
        """Keep what is new, unless changed so recently that its time would not show another."""
        new = {}
        for path, (digest, imports) in known.items():
            stamp = file_stamp(path)
            if self.get(path, stamp) is None and stamp[0] < (time.time() - 2) * 1e9:
                new[path] = [stamp, digest, imports]
        if new:
            kept = {path: entry for path, entry in self.entries.items() if os.path.exists(path)}
            self.entries = kept | new
            write_to_cache(self.file, json.dumps(self.entries).encode())
