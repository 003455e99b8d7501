"""Kernels as numba's compiled functions: found on disk, compiled here, or by another process.

Most kernels are called by other kernels only, which have them written out inside. numba optimizes
each on its own, and compiles it to machine code with a wrapper for calls from Python. Here that is
done only for a kernel that is called from Python. So compiling takes less than half of the time.

numba passes a NamedTuple number by number, and the memory of a policy has up to a thousand. Kernels
pass a NamedTuple of bfenv as one value if its values differ in type. That is compiled faster.

In bfenv's own kernels, an index that is computed is never negative. numba would look at each, and
count a negative one from the end, which takes a fifth of the time of conservative backfilling. With
NUMBA_BOUNDSCHECK=1 a negative index is an error. Kernels of your own may have negative ones. A
numba in which this cannot be changed runs the same kernels more slowly, see `has_index_patch`.

These are changes of numba's compiler, which `bfenv.core.numba_compiler` makes. `python -m
benchmarks kernel` measures what each of them brings.

A field of a NamedTuple is None for what is off. What a kernel does under `if x.field is not None:`
is then not compiled. The condition must stand in the `if` itself, and x must be an argument of the
kernel.
"""

import gc
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from numba._dispatcher import compute_fingerprint
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import OmittedArg
from numba.core.registry import CPUDispatcher
from numba.core.serialize import dumps

from bfenv.core.cache_folder import READ_ONLY, cache_root
from bfenv.core.compile_process import CompileProcess, Request
from bfenv.core.kernel_cache import KernelCache
from bfenv.core.numba_compiler import InlinedCompiler, KernelCompiler
from bfenv.core.uncompiled import UncompiledKernel

OPTIONS = {
    "nopython": True,
    "boundscheck": None,  # as numba's configuration says
    "error_model": "numpy",
    "forceinline": True,
    "_nrt": False,
    "nogil": True,  # other threads run meanwhile, and the main thread hears Ctrl-C
    "no_cfunc_wrapper": True,  # for calls from C
}
LOOK = 0.1  # seconds between two looks for code that is being compiled
COLLECTION = 50_000, 20, 50  # thresholds of Python's garbage collection while it compiles
PATIENCE = 10.0  # seconds of uncompiled work after which one line says that it will be faster


class CompiledKernel(CPUDispatcher):
    """Machine code of a kernel for calls from Python, by the types of arguments.

    Args:
        kernel: The kernel.
        code_for: A function of arguments that returns machine code, or `kernel.run_uncompiled`.
    """

    def __init__(self, kernel: UncompiledKernel, code_for: Callable[..., Any]) -> None:
        super().__init__(kernel.py_func, targetoptions=dict(OPTIONS), pipeline_class=KernelCompiler)
        self.kernel, self.code_for = kernel, code_for
        self._cache = KernelCache(kernel, "called")
        self._cache_of_inlined = KernelCache(kernel, "inlined")
        self._code: dict[bytes | None, Callable[..., Any]] = {}  # that was asked for, by kind
        self._next_look = 0.0  # seconds
        self._first_look: float | None = None

    @cached_property
    def inlined(self) -> CPUDispatcher:
        """The same function for kernels to call."""
        options = OPTIONS | {
            "no_cpython_wrapper": True,
            "forceinline": OPTIONS["forceinline"] and not self.kernel.is_shared,
        }
        dispatcher = CPUDispatcher(
            self.py_func, targetoptions=options, pipeline_class=InlinedCompiler
        )
        dispatcher._cache = self._cache_of_inlined
        return dispatcher

    @property
    def is_compiling(self) -> bool:
        """Whether a call would be a recursive one."""
        return bool(super().is_compiling or self.inlined.is_compiling)

    def find_code(self, arguments: tuple[Any, ...], is_urgent: bool) -> Callable[..., Any] | None:
        """Return the machine code for arguments of these types; None if it is not there yet.

        If `is_urgent`, the code is compiled here when it is not there.
        """
        try:
            # This distinguishes the types in a fiftieth of the time of finding them.
            kind = compute_fingerprint(arguments)
        except NotImplementedError:  # numba does not know it, as of a random generator
            kind = None
        if kind in self._code:
            return self._code[kind]
        if not is_urgent:
            if time.monotonic() < self._next_look:
                return None
            if not self._is_ready(tuple(map(self.typeof_pyval, arguments))):
                self._next_look = time.monotonic() + LOOK
                return None
        code: Callable[..., Any] = super()._compile_for_args(*arguments)
        if kind is not None:
            self._code[kind] = code
        return code

    def _compile_for_args(self, *arguments: Any) -> Callable[..., Any]:
        """Return what numba calls for arguments whose types it has no machine code for."""
        code = self.code_for(*arguments)
        return code if code != self.kernel.run_uncompiled else self._run_uncompiled

    def _run_uncompiled(self, *arguments: Any) -> Any:
        return self.kernel.run_uncompiled(
            *(x.value if isinstance(x, OmittedArg) else x for x in arguments)
        )

    def compile(self, sig: Any) -> Any:
        """Compile for arguments of these types; if another process does so, load its code."""
        waiting = self._cache.compiling(sig, self.targetctx.codegen())
        # Under numba's lock, no other thread takes changed thresholds for those of the program.
        with waiting, global_compiler_lock, _less_garbage_collection():
            return super().compile(sig)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return the types that a kernel that calls this one sees."""
        return self.inlined.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        """Return the code that a kernel that calls this one is linked with."""
        return self.inlined.get_overload(sig)

    def _is_ready(self, signature: Any) -> bool:
        """Tell whether a call need not wait for the compiler; if it would, ask for the code.

        A kernel that no other process can compile is ready: it is compiled here.
        """
        root, place = cache_root(), self.kernel.place
        if root is None or not self._cache.is_kept or not self.kernel.is_importable:
            return True
        codegen = self.targetctx.codegen()
        if READ_ONLY in os.environ:  # what is compiled here is lost: only your kernels are worth it
            return self._cache.holds(signature, codegen) or not place.startswith("bfenv.")
        process = _compile_process(root)
        request = Request(place, dumps(signature))
        if not process.is_usable or self._cache.holds(signature, codegen):
            process.receive(request)
            return True
        failure = self._cache.failure(signature, codegen)
        if failure is not None:
            process.receive(request)
            _say_once(f"{place} cannot be compiled, and runs as plain Python: {failure}")
            return False
        process.ask(request)
        self._first_look = self._first_look or time.monotonic()
        if time.monotonic() - self._first_look > PATIENCE:
            _say_once("this runs faster as soon as its code is compiled, which goes on meanwhile")
        return False

    def keep_failure(self, signature: Any, reason: str) -> None:
        """Keep why no code can be made for arguments of these types."""
        self._cache.keep_failure(signature, self.targetctx.codegen(), reason)


@contextmanager
def _less_garbage_collection() -> Iterator[None]:
    """Let Python look for garbage less often within this context.

    The compiler makes millions of objects and keeps most of them. At Python's usual thresholds,
    a tenth of its time goes into looking through them.
    """
    before = gc.get_threshold()
    if before[0] > 0:  # 0 turns it off
        gc.set_threshold(*map(max, before, COLLECTION))
    try:
        yield
    finally:
        gc.set_threshold(*before)


@cache
def _compile_process(root: Path) -> CompileProcess:
    return CompileProcess(root)


@cache
def _say_once(line: str) -> None:
    print(f"bfenv: {line}", file=sys.stderr, flush=True)
