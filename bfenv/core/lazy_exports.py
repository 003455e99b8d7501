"""Rooms that import their public names when one is first used, so that parts of them load alone."""

from collections.abc import Callable
from importlib import import_module
from typing import Any


def export_lazily(room: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a room whose `exports` imports its public names."""

    def get(name: str) -> Any:
        exports = import_module(f"{room}.exports")
        public = [one for one in vars(exports) if not one.startswith("_")]
        if name == "__all__":
            return public
        if name not in public:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        return getattr(exports, name)

    def names() -> list[str]:
        return sorted({*vars(import_module(room)), *get("__all__")})

    return get, names
