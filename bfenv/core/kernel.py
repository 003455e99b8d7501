"""`kernel`: numba's compiler with a disk cache that never serves stale code.

Most kernels are called by other kernels only, which have them written out inside. To compile each
as numba does, to separate machine code with two wrappers, would take twice as long: here it is
done only for a kernel that is called from Python.

In bfenv's own kernels, an index that is computed is never negative. numba would look at each, and
count a negative one from the end; that takes a tenth of the time of EASY and more than half of that
of conservative backfilling, whose loops the compiler can then not handle several steps at a time.
With NUMBA_BOUNDSCHECK=1 a negative index is an error. Kernels of your own may have negative ones.
This replaces a private function of numba's; a numba without it runs the same kernels more slowly,
see `has_index_patch`.

A field of a NamedTuple is None for what is off. What a kernel does under `if x.field is not None:`
is then not compiled; the condition must stand in the `if` itself.
"""

import inspect
import sys
import threading
from collections.abc import Callable
from functools import cached_property
from typing import Any

import llvmlite.binding as llvm
import numba
from numba.core import event, ir, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.consts import ConstantInference
from numba.core.ir_utils import build_definitions, get_definition, guard
from numba.core.registry import CPUDispatcher
from numba.core.untyped_passes import InlineInlinables
from numba.extending import register_jitable
from numba.np import arrayobj

from bfenv.core.durations import format_duration
from bfenv.core.kernel_cache import KernelCache

OPTIONS = {
    "nopython": True,
    "boundscheck": None,  # as numba's configuration says
    "error_model": "numpy",
    "forceinline": True,
    "_nrt": False,
    "nogil": True,  # other threads run meanwhile, and the main thread hears Ctrl-C
    "no_cfunc_wrapper": True,  # for calls from C
}
PATIENCE = 0.5  # seconds of compiling before it is announced
EACH = 0.1  # seconds that a kernel takes, one with another
LARGE = 60_000  # bytes of bitcode
OWN = "_ZN5bfenv"  # how the compiler's names of bfenv's own functions begin


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` with numba on first use; later processes load it from the disk cache.

    Kernels allocate nothing and return no arrays, which the compiler enforces: they are compiled
    without reference counting, which would cost ten times the work itself. Functions typed at a
    prompt have no file to be cached by and are compiled in each process.
    """
    return function if numba.config.DISABLE_JIT else Kernel(function)


def shared_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile as `kernel` does, but let all callers share one copy of the code.

    For a large function with many callers, whose compilation would take long with a copy for each.
    """
    return function if numba.config.DISABLE_JIT else SharedKernel(function)


def compiled_for(function: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """Return the machine code of a kernel for arguments of these types; it does not check them.

    Where the arguments are long tuples of arrays, a call of the kernel itself takes several times
    as long, to find their types.
    """
    if not isinstance(function, Kernel):  # numba's compiler is switched off
        return function
    code: Callable[..., Any] = function.compile(tuple(map(function.typeof_pyval, arguments)))
    return code


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let kernels call a function that only looks: it is written out at each call.

    It may return a slice of an argument, as a kernel may not; called from Python it is Python.
    """
    typed: Any = register_jitable(function)  # gives its name a type in kernels
    typed.targetoptions = {"inline": "always"}  # numba inlines whatever has these two
    typed.py_func = function
    inlined_function: Callable[..., Any] = typed
    return inlined_function


class _Called(JITCodeLibrary):
    """The code of a kernel that Python calls: the wrapper alone, with all else inside it."""

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            wrapper = function.name.startswith("_ZN7cpython")
            if not function.is_declaration and not wrapper:
                function.linkage = llvm.Linkage.internal  # not needed once it is written out
        super()._optimize_final_module()


class _Inlined(JITCodeLibrary):
    """The code of a kernel that kernels call: never separate machine code."""

    def _optimize_final_module(self) -> None:
        # A large one takes long, gains little, and is optimized again where it is written out.
        if len(self._final_module.as_bitcode()) < LARGE:
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        self._shared_module = self._final_module.clone()  # what callers are given
        for function in self._shared_module.functions:
            if not function.is_declaration and function.linkage == llvm.Linkage.external:
                function.linkage = llvm.Linkage.linkonce_odr  # as numba does
        for function in self._final_module.functions:
            if not function.is_declaration:
                function.linkage = llvm.Linkage.available_externally  # no code is made of these
        super()._finalize_final_module()


@register_pass(mutates_CFG=False, analysis_only=False)
class _FieldsThatAreNone(FunctionPass):
    """Replaces fields of arguments that are None by None, before numba drops dead branches."""

    _name = "fields_that_are_none"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Rewrite the function; tell whether it has changed."""
        function, changed = state.func_ir, False
        for block in function.blocks.values():
            for statement in block.find_insts(ir.Assign):
                field = statement.value
                if not isinstance(field, ir.Expr) or field.op != "getattr":
                    continue
                owner = guard(get_definition, function, field.value)
                kind: Any = state.args[owner.index] if isinstance(owner, ir.Arg) else None
                if hasattr(kind, "instance_class"):  # of a NamedTuple
                    of_field = dict(zip(kind.fields, kind, strict=True))
                    if of_field.get(field.attr) == types.none:
                        statement.value, changed = ir.Const(None, statement.loc), True
        if changed:
            function._definitions = build_definitions(function.blocks)
            function._consts = ConstantInference(function)
        return changed


class _Compiler(Compiler):
    """numba's compiler, which writes into a library of the class `Library`."""

    Library: type[JITCodeLibrary]

    def __init__(self, typing_context: Any, target_context: Any, *rest: Any) -> None:
        super().__init__(typing_context, target_context, *rest)
        self.state.library = self.Library(target_context.codegen(), "kernel")
        self.state.library.enable_object_caching()

    def define_pipelines(self) -> Any:
        """Return numba's passes and our own."""
        pipelines = super().define_pipelines()
        pipelines[0].add_pass_after(_FieldsThatAreNone, InlineInlinables)
        pipelines[0].finalize()
        return pipelines


class _CompilerOfCalled(_Compiler):
    Library = _Called


class _CompilerOfInlined(_Compiler):
    Library = _Inlined


class Kernel(CPUDispatcher):
    """A compiled function. Python calls this one; kernels are given `inlined` instead."""

    written_out = True  # wherever a kernel calls it

    def __init__(
        self, function: Callable[..., Any], locals: Any = None, targetoptions: Any = None
    ) -> None:
        # the further arguments are numba's, from an unpickled kernel
        super().__init__(function, targetoptions=dict(OPTIONS), pipeline_class=_CompilerOfCalled)
        self._cache = KernelCache(function, "called")
        self._cache_of_inlined = KernelCache(function, "inlined")

    @cached_property
    def inlined(self) -> CPUDispatcher:
        """The same function for kernels to call."""
        options = OPTIONS | {"no_cpython_wrapper": True, "forceinline": self.written_out}
        made = CPUDispatcher(self.py_func, targetoptions=options, pipeline_class=_CompilerOfInlined)
        made._cache = self._cache_of_inlined
        return made

    @property
    def is_compiling(self) -> bool:
        """Whether a call would be a recursive one."""
        return bool(super().is_compiling or self.inlined.is_compiling)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return the types that a kernel that calls this one sees."""
        return self.inlined.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        """Return the code that a kernel that calls this one is linked with."""
        return self.inlined.get_overload(sig)


class SharedKernel(Kernel):
    """A kernel that the kernels which call it share."""

    written_out = False


def has_index_patch() -> bool:
    """Tell whether kernels skip the test for negative indices, for 1.3 to 1.8 times the speed.

    False with a version of numba that compiles indices by another function than was known here.
    """
    return arrayobj.__dict__.get("fix_integer_index") is _index


def _index(context: Any, builder: Any, idxty: Any, idx: Any, size: Any) -> Any:
    """Write code for an index of an array; numba calls this wherever it compiles one."""
    if builder.function.name.startswith(OWN):
        return context.cast(builder, idx, idxty, types.intp)
    return _index_from_either_end(context, builder, idxty, idx, size)


_index_from_either_end: Any = getattr(arrayobj, "fix_integer_index", None)
if _index_from_either_end is not None:
    if list(inspect.signature(_index_from_either_end).parameters) == list(
        inspect.signature(_index).parameters
    ):
        arrayobj.fix_integer_index = _index


class _Announcement(event.Listener):
    """Says on stderr that the wait is a compilation of bfenv's; again only if it gets longer."""

    def __init__(self) -> None:
        self._said = 0.0  # seconds
        self.least = 1.0  # seconds that the first line names; more where much is known to follow
        self._timers: list[threading.Timer] = []  # of the kernels that are being compiled

    def on_start(self, event: Any) -> None:
        dispatcher = event.data["dispatcher"]
        timer = threading.Timer(PATIENCE, self._say, [dispatcher])
        timer.daemon = True
        if isinstance(dispatcher, Kernel):
            timer.start()
        self._timers.append(timer)

    def on_end(self, event: Any) -> None:
        self._timers.pop().cancel()

    def _say(self, kernel: Kernel) -> None:
        seconds = max(self.least, EACH * len(_called(kernel, set())))
        if seconds > self._said:
            self._said = seconds
            kept = " for the first use on this machine" if kernel.stats.cache_path else ""
            line = f"bfenv: compiling{kept}, which may take {format_duration(seconds)} ..."
            print(line, file=sys.stderr, flush=True)


def _called(function: Any, found: set[Any]) -> set[Any]:
    """Add a function and the kernels that it may call, directly or not, to those found."""
    found.add(function)
    plain = getattr(function, "py_func", function)
    for name in plain.__code__.co_names:
        value = plain.__globals__.get(name)
        if hasattr(value, "py_func") and value not in found:
            _called(value, found)
    return found


announcement = _Announcement()
event.register("numba:compile", announcement)
