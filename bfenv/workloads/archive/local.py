"""Logs on this machine: the folders where they are looked for, and their files."""

import os
from pathlib import Path

import platformdirs

SUFFIXES = (".swf.gz", ".swf")


def locate(name: str) -> Path | None:
    """Find the file of a log.

    * `name`: its name, with or without .swf or .swf.gz.

    Returns the file in the first of the `log_folders` that has one; there a zipped log wins over
    its text. None if there is no such log.
    """
    if os.path.basename(name) != name:
        return None  # a path, which may lead anywhere
    return next(filter(None, (locate_in(folder, name) for folder in log_folders())), None)


def locate_in(folder: Path, name: str) -> Path | None:
    """Find the file of a log in one folder."""
    names = [name] if name.endswith(SUFFIXES) else [name + suffix for suffix in SUFFIXES]
    return next((folder / one for one in names if os.path.isfile(folder / one)), None)


def local_logs() -> dict[str, Path]:
    """Return the file of each log that `locate` finds, by name."""
    logs: dict[str, Path] = {}
    for folder in log_folders():
        for suffix in SUFFIXES:
            for path in folder.glob(f"*{suffix}"):
                if path.is_file():
                    logs.setdefault(path.name.removesuffix(suffix), path)
    return dict(sorted(logs.items()))


def log_folders() -> list[Path]:
    """Return where logs are looked for: the folders in $BFENV_TRACES, then the user's cache."""
    named = os.environ.get("BFENV_TRACES", "").split(os.pathsep)
    return [*(Path(folder) for folder in named if folder), cache_folder()]


def cache_folder() -> Path:
    """Return where downloads are stored; it need not exist."""
    return Path(os.environ.get("BFENV_CACHE") or platformdirs.user_cache_path("bfenv")) / "traces"
