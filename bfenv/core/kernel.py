"""`kernel`: functions that numba compiles, and that run as plain Python until that is done.

A kernel whose machine code is in the disk cache is loaded from there. Otherwise, the call runs the
function uncompiled, and another process compiles it meanwhile. Once the code is there, the next
call runs it; all state is arrays, which both understand. The environment variable BFENV_COMPILE
chooses otherwise: "now" compiles before the first call, "never" does not compile.

Most kernels are called by other kernels only, which have them written out inside. numba compiles
each to separate machine code with a wrapper for calls from Python. Here that is done only for a
kernel that is called from Python, which takes five eighths of the time.

numba passes a NamedTuple number by number, and the memory of a policy has up to a thousand. Kernels
pass a NamedTuple of bfenv that is called `Memory` as one value, which is compiled faster.

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

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba._dispatcher import compute_fingerprint
from numba.core.dispatcher import OmittedArg
from numba.core.registry import CPUDispatcher
from numba.core.serialize import dumps
from numba.extending import register_jitable

from bfenv.core.arguments import check_choice
from bfenv.core.cache_folder import READ_ONLY, cache_root
from bfenv.core.compile_process import CompileProcess, Request, find_kernel
from bfenv.core.kernel_cache import KernelCache
from bfenv.core.numba_compiler import InlinedCompiler, KernelCompiler
from bfenv.core.uncompiled import uncompiled

OPTIONS = {
    "nopython": True,
    "boundscheck": None,  # as numba's configuration says
    "error_model": "numpy",
    "forceinline": True,
    "_nrt": False,
    "nogil": True,  # other threads run meanwhile, and the main thread hears Ctrl-C
    "no_cfunc_wrapper": True,  # for calls from C
}
MODES = MEANWHILE, NOW, NEVER = "meanwhile", "now", "never"
LOOK = 0.1  # seconds between two looks for code that is being compiled
PATIENCE = 10.0  # seconds of uncompiled work after which one line says that it will be faster


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let numba compile `function`; until that is done, a call runs it as plain Python.

    Kernels allocate nothing and return no arrays, which the compiler enforces: they are compiled
    without reference counting, which would cost ten times the work itself. Functions that another
    process cannot import, such as those typed at a prompt, are compiled before they are called.

    Args:
        function: A function of numbers, arrays and named tuples of these.

    Returns:
        A callable of the same arguments, which other kernels may call, too.
    """
    return Kernel(function)


def shared_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile as `kernel` does, but let all callers share one copy of the code.

    For a large function with many callers, whose compilation would take long with a copy for each,
    or one that is rarely called: without it, the code around it is faster.
    """
    return SharedKernel(function)


class Code:
    """A kernel for arguments of fixed types, whose machine code does not check them.

    Where the arguments are long tuples of arrays, a call of the kernel itself takes several times
    as long, to find their types.

    Args:
        function: A kernel, or a plain function.
    """

    call: Callable[..., Any]  # machine code as soon as it is there

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.call = self._look if isinstance(function, Kernel) else function

    def _look(self, *arguments: Any) -> Any:
        assert isinstance(self._function, Kernel)
        code = self._function.code_for(*arguments)
        if code != self._function.run_uncompiled:
            self.call = code
        return code(*arguments)

    @property
    def is_compiled(self) -> bool:
        """Whether `call` is machine code; of a plain function, it always is."""
        return self.call != self._look


_mode = os.environ.get("BFENV_COMPILE") or MEANWHILE
check_choice("BFENV_COMPILE", _mode, MODES)
if numba.config.DISABLE_JIT:
    _mode = NEVER


@contextmanager
def compiling(mode: str) -> Iterator[None]:
    """Compile "now", "meanwhile" or "never" what is called within this context."""
    global _mode
    before, _mode = _mode, mode
    try:
        yield
    finally:
        _mode = before


_uncompiled_calls = 0


def uncompiled_calls() -> int:
    """Return how often this process has run a kernel as plain Python, for want of its code."""
    return _uncompiled_calls


@cache
def _compile_process(root: Path) -> CompileProcess:
    return CompileProcess(root)


@cache
def _say_once(line: str) -> None:
    print(f"bfenv: {line}", file=sys.stderr, flush=True)


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let kernels call a function that only looks: it is written out at each call.

    It may return a slice of an argument, as a kernel may not; called from Python it is Python.
    """
    typed: Any = register_jitable(function)  # gives its name a type in kernels
    typed.targetoptions = {"inline": "always"}  # numba inlines whatever has these two
    typed.py_func = function
    inlined_function: Callable[..., Any] = typed
    return inlined_function


class Kernel(CPUDispatcher):
    """A compiled function. Python calls this one; kernels are given `inlined` instead."""

    written_out = True  # wherever a kernel calls it

    def __init__(
        self, function: Callable[..., Any], locals: Any = None, targetoptions: Any = None
    ) -> None:
        # the further arguments are numba's, from an unpickled kernel
        super().__init__(function, targetoptions=dict(OPTIONS), pipeline_class=KernelCompiler)
        self._cache = KernelCache(function, "called")
        self._cache_of_inlined = KernelCache(function, "inlined")
        self._code: dict[bytes | None, Callable[..., Any]] = {}  # that was asked for, by kind
        self._next_look = 0.0  # seconds
        self._first_look: float | None = None

    @cached_property
    def inlined(self) -> CPUDispatcher:
        """The same function for kernels to call."""
        options = OPTIONS | {"no_cpython_wrapper": True, "forceinline": self.written_out}
        made = CPUDispatcher(self.py_func, targetoptions=options, pipeline_class=InlinedCompiler)
        made._cache = self._cache_of_inlined
        return made

    @property
    def is_compiling(self) -> bool:
        """Whether a call would be a recursive one."""
        return bool(super().is_compiling or self.inlined.is_compiling)

    def code_for(self, *arguments: Any) -> Callable[..., Any]:
        """Return what a call with these arguments runs: machine code, or the function uncompiled.

        numba calls this where it has no machine code for the types of arguments.
        """
        global _uncompiled_calls
        kind: bytes | None = None
        if _mode != NEVER:
            try:
                # This distinguishes the types in a fiftieth of the time of finding them.
                kind = compute_fingerprint(arguments)
            except NotImplementedError:  # numba does not know it, as of a random generator
                kind = None
        if kind in self._code:
            return self._code[kind]
        is_ready = _mode == NOW
        if _mode == MEANWHILE and time.monotonic() >= self._next_look:
            is_ready = self._is_ready(tuple(map(self.typeof_pyval, arguments)))
            if not is_ready:
                self._next_look = time.monotonic() + LOOK
        if not is_ready:
            _uncompiled_calls += 1
            return self.run_uncompiled
        code: Callable[..., Any] = super()._compile_for_args(*arguments)
        if kind is not None:
            self._code[kind] = code
        return code

    _compile_for_args = code_for

    def compile(self, sig: Any) -> Any:
        """Compile for arguments of these types; if another process does so, load its code."""
        with self._cache.compiling(sig, self.targetctx.codegen()):
            return super().compile(sig)

    def run_uncompiled(self, *arguments: Any) -> Any:
        """Run the function as plain Python, with the arithmetic of compiled code: no warnings."""
        given = (x.value if isinstance(x, OmittedArg) else x for x in arguments)
        with np.errstate(all="ignore"):
            return uncompiled(self.py_func)(*given)

    def _is_ready(self, signature: Any) -> bool:
        """Tell whether a call need not wait for the compiler; if it would, ask for the code.

        A kernel that no other process can compile is ready: it is compiled here.
        """
        root = cache_root()
        place = f"{self.py_func.__module__}:{self.py_func.__qualname__}"
        if root is None or not self._cache.is_kept:
            return True
        if self.py_func.__module__ == "__main__" or find_kernel(place) is not self:
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

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return the types that a kernel that calls this one sees."""
        return self.inlined.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        """Return the code that a kernel that calls this one is linked with."""
        return self.inlined.get_overload(sig)


class SharedKernel(Kernel):
    """A kernel that the kernels which call it share."""

    written_out = False
