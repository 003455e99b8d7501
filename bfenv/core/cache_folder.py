"""The folder where compiled kernels are kept: private, pruned, and never a reason to fail."""

import os
import shutil
import stat
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

import platformdirs

from bfenv.core.durations import DAY
from bfenv.core.errors import BfenvError
from bfenv.core.files import write_atomically

READ_ONLY = "BFENV_CACHE_READ_ONLY"  # variable of a process that may load kernels, and keep none
KEPT_FOR = 30 * DAY  # a folder not used for so long is removed
KEPT_DIGESTS = 8  # of a module; checkouts side by side, and branches, have digests of their own


@cache
def cache_root() -> Path | None:
    """The first of $BFENV_CACHE and the user's cache folder that can be written and is private."""
    why = "no folder is named"
    for parent in (os.environ.get("BFENV_CACHE"), platformdirs.user_cache_path("bfenv")):
        if not parent:
            continue
        folder = Path(parent) / "kernels"
        try:
            if READ_ONLY in os.environ:
                if folder.is_dir() and _private(folder):
                    return folder
                continue
            folder.parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
            if _private(folder):
                with tempfile.TemporaryFile(dir=folder):
                    return folder
            why = f"others may write to {folder}"
        except OSError as error:
            why = str(error)
    _complain(why)
    return None


def _private(folder: Path) -> bool:
    """Whether only this user can put files here: what is loaded from a cache is run."""
    if not hasattr(os, "geteuid"):
        return True
    status = folder.lstat()
    return (
        stat.S_ISDIR(status.st_mode)
        and status.st_uid == os.geteuid()
        and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )


_complaints: list[str] = []


def _complain(why: str) -> None:
    """Say once per process that compiled kernels are lost when it ends."""
    if not _complaints:
        print(f"bfenv: compiled kernels are not kept: {why}", file=sys.stderr, flush=True)
    _complaints.append(why)


def write_to_cache(file: Path, data: bytes) -> None:
    """Write a file as a whole; if that is impossible, say once that nothing is kept."""
    if READ_ONLY in os.environ:
        return
    try:
        file.parent.mkdir(mode=0o700, exist_ok=True)
        write_atomically(file, data)
    except (OSError, BfenvError) as error:  # a full disk, say
        _complain(str(error))


def note_use(folder: Path) -> None:
    """Note in a folder's time that it is in use, once a day."""
    try:
        if folder.stat().st_mtime < time.time() - DAY:
            os.utime(folder)
    except OSError:  # another process has just removed it, or it cannot be written
        pass


@cache
def prune(root: Path) -> None:
    """Remove, once per process, what has not been used for long, and all but the latest digests.

    Another process that loses a folder so has its kernels in memory, or compiles them again.
    """
    latest: dict[str, list[tuple[float, Path]]] = {}
    try:
        for entry in root.iterdir():
            age = time.time() - entry.stat().st_mtime
            if entry.is_dir():
                latest.setdefault(entry.name.rpartition("-")[0], []).append((age, entry))
            elif entry.suffix == ".tmp" and age > DAY:  # of a process that was killed
                entry.unlink()
    except OSError:  # another process prunes, too
        return
    for folders in latest.values():
        for i, (age, folder) in enumerate(sorted(folders)):
            if i >= KEPT_DIGESTS or age > KEPT_FOR:
                shutil.rmtree(folder, ignore_errors=True)
