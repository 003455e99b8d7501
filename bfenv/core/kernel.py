"""`kernel`: functions that numba compiles, and that run as plain Python until that is done.

A kernel whose machine code is in the disk cache is loaded from there. Otherwise, the call runs the
function uncompiled, and another process compiles it meanwhile. Once the code is there, the next
call runs it; all state is arrays, which both understand. The environment variable BFENV_COMPILE
chooses otherwise: "now" compiles before the first call, "never" does not compile.

`bfenv.core.compiled_kernel` does what needs numba. It is imported with the first call that may run
machine code. That import takes longer than all other imports together.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bfenv.core.arguments import check_choice
from bfenv.core.uncompiled import UncompiledKernel

if TYPE_CHECKING:
    from bfenv.core.compiled_kernel import CompiledKernel

MODES = MEANWHILE, NOW, NEVER = "meanwhile", "now", "never"
_inlined: list[Callable[..., Any]] = []  # functions that numba does not know yet


def kernel(function: Callable[..., Any]) -> "Kernel":
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


def shared_kernel(function: Callable[..., Any]) -> "Kernel":
    """Compile as `kernel` does, but let all callers share one copy of the code.

    For a large function with many callers, whose compilation would take long with a copy for each,
    or one that is rarely called: without it, the code around it is faster.
    """
    return Kernel(function, is_shared=True)


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let kernels call a function that only looks: it is written out at each call.

    It may return a slice of an argument, as a kernel may not; called from Python it is Python.
    """
    looking: Any = function
    looking.targetoptions = {"inline": "always"}  # numba inlines whatever has these two
    looking.py_func = function
    _inlined.append(function)
    return function


class Kernel(UncompiledKernel):
    """A function that runs as machine code, or as plain Python."""

    @cached_property
    def compiled(self) -> "CompiledKernel":
        """What numba makes of the function: machine code, and a name that other kernels call."""
        from numba.extending import register_jitable

        from bfenv.core.compiled_kernel import CompiledKernel

        while _inlined:
            register_jitable(_inlined.pop())  # gives its name a type in kernels
        # Of two threads that come here at once, both are given the first one's.
        compiled: CompiledKernel = self.__dict__.setdefault(
            "compiled", CompiledKernel(self, self.code_for)
        )
        return compiled

    @property
    def _numba_type_(self) -> Any:
        """The type of the kernel's name in other kernels, as numba asks for it."""
        return self.compiled._numba_type_

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call the function."""
        if _mode == NEVER:
            return self.code_for(*arguments)(*arguments, **named)
        return self.compiled(*arguments, **named)

    def code_for(self, *arguments: Any) -> Callable[..., Any]:
        """Return what a call with these arguments runs: machine code, or `run_uncompiled`."""
        global _uncompiled_calls
        code = None
        if _mode != NEVER:
            code = self.compiled.find_code(arguments, is_urgent=_mode == NOW)
        if code is None:
            _uncompiled_calls += 1
            return self.run_uncompiled
        return code


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
if (os.environ.get("NUMBA_DISABLE_JIT") or "0") != "0":
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
