"""Kernels as plain Python: the same functions, which call each other and not the compiled ones.

An uncompiled kernel reads the globals of its module from a copy, in which every kernel and every
`inlined` function is uncompiled as well. So a call from kernel to kernel costs what any call in
Python does. As in compiled code, a global that is assigned later makes no difference.
"""

from collections.abc import Callable
from types import CellType, FunctionType
from typing import Any
from weakref import WeakKeyDictionary

_copies: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}  # by id: globals, and their copy
_functions: WeakKeyDictionary[Any, FunctionType] = WeakKeyDictionary()  # by the original function


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
