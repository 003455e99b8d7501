"""The kernels' disk cache, keyed by all the code that a kernel can call.

numba's own cache checks a function against its own source file only, by time and line number: a
change in a function called from another file goes unnoticed, and a changed comment recompiles.
Here the key is `code_digest`. A module has a folder for each digest, `MODULE-DIGEST`, and in it a
file per compiled signature. Nothing that goes wrong here may fail a run: what cannot be read is
compiled again.
"""

import hashlib
import os
import pickle
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np
from filelock import FileLock
from numba.core import caching
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from bfenv.core.cache_folder import READ_ONLY, cache_root, note_use, prune, write_to_cache
from bfenv.core.kernel_sources import code_digest, file_stamp
from bfenv.core.uncompiled import UncompiledKernel

PLAIN = int | float | str | bytes | np.generic | None  # what a closure may hold
FAILURE = ".impossible"  # suffix of the file that says why there is no code
LOCK = ".lock"  # suffix of the file that a process locks while it compiles
CHECKSUM = hashlib.sha256().digest_size
Key = tuple[Any, Any, bytes]  # signature, what the code is compiled for, values of the closure


class KernelCache(caching._Cache):
    """The cache of one kernel, in the place of the one that numba would give it.

    `role` keeps two ways of compiling one function apart.
    """

    def __init__(self, kernel: UncompiledKernel, role: str) -> None:
        self._kernel, self._role, self._enabled = kernel, role, True

    @property
    def cache_path(self) -> str | None:
        """The folder of the kernel's module; None if nothing can be kept."""
        return None if self._folder is None else str(self._folder)

    @cached_property
    def _folder(self) -> Path | None:
        root, file, stamp = cache_root(), self._kernel.file, self._kernel.stamp
        if stamp is None or root is None:  # typed at a prompt; nowhere to keep it
            return None
        try:
            if file_stamp(file) != stamp:  # edited since it was imported
                return None
            digest = code_digest(self._kernel.py_func.__module__, file, stamp, root)
        except OSError:  # a source is gone
            return None
        return None if digest is None else root / f"{self._module}-{digest}"

    @property
    def _module(self) -> str:
        """The kernel's module, as the names of its folders begin."""
        return _tame(self._kernel.py_func.__module__)

    @property
    def is_kept(self) -> bool:
        """Whether code can be kept, as far as can be told without a look at the sources."""
        has_file = self._kernel.stamp is not None
        return has_file and cache_root() is not None and self._values() is not None

    def holds(self, sig: Any, codegen: Any) -> bool:
        """Tell whether the compiled signature is there, without loading it."""
        file = self._file_of(sig, codegen)
        return file is not None and file.exists()

    @contextmanager
    def compiling(self, sig: Any, codegen: Any) -> Iterator[None]:
        """Let no other process compile the signature within this context.

        To enter it may take as long as another process takes, whose code is there afterwards. The
        system releases the lock of a process that ends, however it ends. Where there can be no
        lock, processes compile side by side.
        """
        key, lock = self._key(sig, codegen), None
        if key is not None and self._folder is not None and READ_ONLY not in os.environ:
            file = self._path(self._folder, key)
            with suppress(OSError, NotImplementedError):
                if not file.exists():
                    file.parent.mkdir(mode=0o700, exist_ok=True)
                    lock = FileLock(file.with_suffix(LOCK))
                    lock.acquire()
        try:
            yield
        finally:
            if lock is not None:
                lock.release()
                with suppress(OSError):  # another process may have opened it
                    os.unlink(lock.lock_file)

    def failure(self, sig: Any, codegen: Any) -> str | None:
        """Return why the signature cannot be compiled; None if that is not known."""
        file = self._file_of(sig, codegen)
        try:
            return None if file is None else file.with_suffix(FAILURE).read_text()
        except (OSError, UnicodeError):
            return None

    def keep_failure(self, sig: Any, codegen: Any, reason: str) -> None:
        """Keep why a signature cannot be compiled."""
        key = self._key(sig, codegen)
        if key is not None and self._folder is not None:
            file = self._path(self._folder, key)
            write_to_cache(file.with_suffix(FAILURE), reason.encode())

    def _file_of(self, sig: Any, codegen: Any) -> Path | None:
        """Return where the compiled signature would be; None if its module has nothing there yet.

        To digest the sources takes a second. Another process has done that where a folder exists.
        """
        root = cache_root()
        if root is None or next(root.glob(f"{self._module}-*"), None) is None:
            return None
        key = self._key(sig, codegen)
        return None if key is None or self._folder is None else self._path(self._folder, key)

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
        if key is None or self._folder is None:
            return None
        try:
            data = self._path(self._folder, key).read_bytes()
            if hashlib.sha256(data[CHECKSUM:]).digest() != data[:CHECKSUM]:
                return None
            kept, compiled = pickle.loads(data[CHECKSUM:])
            if kept != key:
                return None
            compiled = CompileResult._rebuild(target_context, *compiled)
        except Exception:  # whatever is wrong with a file, compiling helps
            return None
        note_use(self._folder)
        return compiled

    def save_overload(self, sig: Any, data: CompileResult) -> None:
        """Keep a compiled signature, unless it holds addresses of this process."""
        key = self._key(sig, data.codegen)
        if key is None or self._folder is None:
            return
        if data.lifted or data.library.has_dynamic_globals:
            return
        try:
            content = dumps((key, data._reduce()))
        except Exception:  # what cannot be pickled is compiled in each process
            return
        prune(self._folder.parent)
        write_to_cache(self._path(self._folder, key), hashlib.sha256(content).digest() + content)

    def _key(self, sig: Any, codegen: Any) -> Key | None:
        """What tells one compiled version of the function from another; None for no caching."""
        values = self._values()
        if not self._enabled or self._folder is None or values is None:
            return None
        return sig, codegen.magic_tuple(), dumps(values)

    def _values(self) -> tuple[Any, ...] | None:
        """Return the values of the closure; None if some are not plain: code, say."""
        try:
            values = tuple(cell.cell_contents for cell in self._kernel.py_func.__closure__ or ())
        except ValueError:  # not assigned yet
            return None
        return values if all(isinstance(value, PLAIN) for value in values) else None

    def _path(self, folder: Path, key: Key) -> Path:
        signature = hashlib.sha256(repr(key).encode()).hexdigest()[:16]
        return folder / f"{self._name()}-{signature}.nbc"

    def _name(self) -> str:
        """A name of the function's own: of two in a module called alike, the code differs."""
        function = self._kernel.py_func
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
