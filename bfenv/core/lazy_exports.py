"""Names that a module does not define: exports of rooms, imported when first used, and hints.

Rooms import their public names lazily, so that parts of them load alone.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from bfenv.core.text import suggest

SCHEDULING = "bfenv.scheduling"  # the public module for writers of policies


def export_lazily(room: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a room whose `exports` imports its public names."""

    def get(name: str) -> Any:
        """Import a public name when it is asked for first."""
        if (module := sys.modules.get(f"{room}.{name}")) is not None:
            return module  # which is being imported, so that it is no attribute yet
        exports = import_module(f"{room}.exports")
        public = [export for export in vars(exports) if not export.startswith("_")]
        if name == "__all__":
            return public
        if name not in public:
            hint = suggest(name, public)
            raise AttributeError(f"module {room!r} has no attribute {name!r}{hint and '; ' + hint}")
        return getattr(exports, name)

    def names() -> list[str]:
        """Return the names that the room has, imported yet or not, sorted."""
        return sorted({*vars(import_module(room)), *get("__all__")})

    return get, names


def hint_at_scheduling(module: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module, which tells where the functions for policies are.

    It raises ImportError for a name that `bfenv.scheduling` has, because `from ... import` hides
    the message of an AttributeError.
    """

    def get(name: str) -> Any:
        """Raise the error for a name that the module does not have."""
        # Python itself asks for names such as __path__, also while modules are being imported.
        if not name.startswith("_") and name in import_module(SCHEDULING).__all__:
            raise ImportError(
                f"cannot import name {name!r} from {module!r}; use: from {SCHEDULING} import {name}"
            )
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return get
