"""What bfenv changes of numba's compiler; `bfenv.core.compiled_kernel` compiles by it.

A kernel that only kernels call is optimized, and becomes machine code, in its callers. What a
kernel does for a field that is None is dropped. NamedTuples of bfenv whose values differ in type
are passed as one value. Code that counts a negative index from the end is left out of bfenv's own
kernels. That replaces a private function of numba's.
"""

import inspect
from typing import Any

import llvmlite.binding as llvm
from numba.core import ir, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.consts import ConstantInference
from numba.core.datamodel import models, register_default
from numba.core.ir_utils import build_definitions, get_definition, guard
from numba.core.registry import cpu_target
from numba.core.untyped_passes import InlineInlinables
from numba.np import arrayobj

from bfenv.core.distributions import is_own

OWN = "_ZN5bfenv"  # how the compiler's names of bfenv's own functions begin
# How the names of environments begin: a function keeps there the Python objects that it needs.
ENVIRONMENT = "_ZN08NumbaEnv"


class _Called(JITCodeLibrary):
    """The code of a kernel that Python calls."""

    def _optimize_final_module(self) -> None:
        # numba optimizes twice, and looks for reference counts in between. Kernels have none.
        passes = self._codegen._module_pass_manager()
        passes, *builder = passes if isinstance(passes, tuple) else (passes,)  # before numba 0.62
        passes.run(self._final_module, *builder)


class _Inlined(JITCodeLibrary):
    """The code of a kernel that kernels call. Only its callers become machine code."""

    _final_module: Any

    def _optimize_final_module(self) -> None:
        """Do nothing: the code is optimized where callers have it written out."""

    def _finalize_final_module(self) -> None:
        """Give the code to the callers, and make machine code of its environments alone."""
        self._shared_module = self._final_module  # what callers are given
        for function in self._shared_module.functions:
            if not function.is_declaration and function.linkage == llvm.Linkage.external:
                function.linkage = llvm.Linkage.linkonce_odr  # as numba does
        self._finalize_dynamic_globals()  # numba will look for them in the environments only
        environments = self._codegen._create_empty_module(self.name)
        for variable in self._shared_module.global_variables:
            if variable.name.startswith(ENVIRONMENT):
                cpu_target.target_context.declare_env_global(environments, variable.name)
        self._final_module = llvm.parse_assembly(str(environments))
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


class KernelCompiler(Compiler):
    """numba's compiler, with a pass and a kind of library of our own."""

    library: type[JITCodeLibrary] = _Called

    def __init__(self, typing_context: Any, target_context: Any, *rest: Any) -> None:
        super().__init__(typing_context, target_context, *rest)
        self.state.library = self.library(target_context.codegen(), "kernel")
        self.state.library.enable_object_caching()

    def define_pipelines(self) -> Any:
        """Return numba's passes and our own."""
        pipelines = super().define_pipelines()
        pipelines[0].add_pass_after(_FieldsThatAreNone, InlineInlinables)
        pipelines[0].finalize()
        return pipelines


class InlinedCompiler(KernelCompiler):
    """The compiler of a kernel that kernels call."""

    library = _Inlined


class _PassedWhole(models.TupleModel):
    """How kernels pass a NamedTuple of bfenv whose values differ in type: as one value."""

    def get_argument_type(self) -> Any:
        """Return the type of the argument."""
        return self.get_value_type()

    def as_argument(self, builder: Any, value: Any) -> Any:
        """Return what a call passes."""
        return value

    def from_argument(self, builder: Any, value: Any) -> Any:
        """Return the value of what is passed."""
        return value


def _model_of_named_tuple(manager: Any, kind: Any) -> Any:
    """Choose how kernels pass a NamedTuple, when numba first meets it.

    Those of other packages are passed number by number, as numba does: it keeps compiled functions
    on disk, which programs without bfenv call, too. For a NamedTuple whose values have one type,
    such as the cluster, numba has another type, which is left as it is: passed as one value, it
    makes orders with expressions 14 % slower.
    """
    is_ours = is_own(kind.instance_class.__module__)
    return (_PassedWhole if is_ours else models.TupleModel)(manager, kind)


register_default(types.NamedTuple)(_model_of_named_tuple)  # type: ignore[attr-defined]  # no hints


def has_index_patch() -> bool:
    """Tell whether kernels skip the test for negative indices, for 1.2 times the speed.

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
