"""Find the packages that are top-level folders in a checkout, beside the folder `bfenv`."""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType

ROOMS = ("agents", "baselines")


class RoomFinder(MetaPathFinder):
    """Finds `bfenv.agents` and `bfenv.baselines` in a folder, and nothing else in it.

    Were the folder on the path of the package, all that is in it could be imported a second time by
    another name, such as `bfenv.tests`.
    """

    def __init__(self, folder: Path) -> None:
        self.inits = {f"bfenv.{room}": folder / room / "__init__.py" for room in ROOMS}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the specification of a room; None of any other module."""
        init = self.inits.get(fullname)
        return None if init is None else spec_from_file_location(fullname, init)


def find_rooms_beside(package: Path) -> None:
    """Let the rooms beside the folder of the package be imported, if they are not in it."""
    if not any((package / room).is_dir() for room in ROOMS):
        # First: an editable install of another checkout would find the rooms of that one.
        sys.meta_path.insert(0, RoomFinder(package.parent))
