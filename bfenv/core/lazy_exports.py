"""Rooms that import their public names when one is first used, so that parts of them load alone."""

from collections.abc import Callable
from importlib import import_module
from typing import Any


def export_lazily(room: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a room whose `exports` has its public names."""

    def get(name: str) -> Any:
        exports = import_module(f"{room}.exports")
        if name != "__all__" and name not in exports.__all__:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        return getattr(exports, name)

    def names() -> list[str]:
        return sorted({*vars(import_module(room)), *get("__all__")})

    return get, names
