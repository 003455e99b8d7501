"""Kernels as plain Python: the same functions, which call each other and not the compiled ones.

An uncompiled kernel reads the globals of its module from a copy, in which every kernel and every
`inlined` function is uncompiled as well. So a call from kernel to kernel costs what any call in
Python does. As in compiled code, a global that is assigned later makes no difference.
"""

import inspect
import os
import sys
from collections.abc import Callable
from functools import update_wrapper
from importlib import import_module
from types import CellType, FunctionType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from bfenv.core.kernel_sources import file_stamp

_copies: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}  # by id: globals, and their copy
_functions: WeakKeyDictionary[Any, FunctionType] = WeakKeyDictionary()  # by the original function


class UncompiledKernel:
    """A kernel as it was written.

    * `py_func`: the function.
    * `is_shared`: whether kernels that call it share one copy of its machine code.
    * `file`: the source file, as an absolute path.
    * `stamp`: the `file_stamp` of the file; None for a function that was typed at a prompt.
    """

    def __init__(self, function: Callable[..., Any], is_shared: bool = False) -> None:
        wrapper: Any = self
        update_wrapper(wrapper, function)  # name, module and docstring
        self.py_func, self.is_shared = function, is_shared
        self.file = os.path.abspath(inspect.getfile(function))
        self.stamp = file_stamp(self.file) if os.path.exists(self.file) else None

    @property
    def place(self) -> str:
        """Module and name, for `find_kernel`."""
        return f"{self.py_func.__module__}:{self.py_func.__qualname__}"

    @property
    def is_importable(self) -> bool:
        """Whether another process finds this kernel by its module and name."""
        return self.py_func.__module__ != "__main__" and find_kernel(self.place) is self

    def run_uncompiled(self, *arguments: Any, **named: Any) -> Any:
        """Run the function as plain Python, with the arithmetic of compiled code: no warnings."""
        with np.errstate(all="ignore"):
            return uncompiled(self.py_func)(*arguments, **named)

    def __reduce__(self) -> Any:
        """Pickle the name, or the function if another process does not find it by the name."""
        if self.is_importable:
            return self.py_func.__qualname__
        return type(self), (self.py_func, self.is_shared)


def find_kernel(place: str) -> Any:
    """Return what stands at "module:name"; None if there is nothing."""
    module, _, name = place.partition(":")
    try:
        target: Any = sys.modules.get(module) or import_module(module)
        for part in name.split("."):
            target = getattr(target, part)
    except (ImportError, AttributeError):
        return None
    return target


def uncompiled(function: Callable[..., Any]) -> FunctionType:
    """Return a function, as it was written, that calls uncompiled kernels only."""
    written: Any = getattr(function, "py_func", function)
    if written not in _functions:
        cells = tuple(CellType() for _ in written.__closure__ or ())
        copy = FunctionType(
            written.__code__,
            _copied(written.__globals__),
            written.__name__,
            written.__defaults__,
            cells,
        )
        copy.__kwdefaults__ = written.__kwdefaults__
        _functions[written] = copy  # before its cells are filled: a function may call itself
        for cell, original in zip(cells, written.__closure__ or (), strict=True):
            cell.cell_contents = _uncompiled_value(original.cell_contents)
    return _functions[written]


def _copied(original: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of a module's globals, in which the kernels are uncompiled."""
    if id(original) not in _copies:
        copy = dict(original)
        _copies[id(original)] = original, copy  # with the original, so that its id is not reused
        for name, value in original.items():
            copy[name] = _uncompiled_value(value)
    return _copies[id(original)][1]


def _uncompiled_value(value: Any) -> Any:
    return uncompiled(value) if hasattr(value, "py_func") else value
