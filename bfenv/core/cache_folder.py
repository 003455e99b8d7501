"""The folder where compiled kernels are kept: private, pruned, and never a reason to fail."""

import os
import shutil
import stat
import sys
import tempfile
import threading
import time
from functools import cache
from pathlib import Path

import platformdirs

from bfenv.core.durations import DAY
from bfenv.core.errors import BfenvError
from bfenv.core.files import remove_leftovers, write_atomically

READ_ONLY = "BFENV_CACHE_READ_ONLY"  # variable of a process that may load kernels, and keep none
KEPT_FOR = 30 * DAY  # a folder not used for so long is removed
writing = threading.Lock()  # held while a file of the cache is being written
KEPT_DIGESTS = 8  # of a module; checkouts side by side, and branches, have digests of their own


@cache
def cache_root() -> Path | None:
    """The first of $BFENV_CACHE and the user's cache folder that can be written and is private."""
    reason = "no folder is named"
    for parent in (os.environ.get("BFENV_CACHE"), platformdirs.user_cache_path("bfenv")):
        if not parent:
            continue
        try:
            folder = Path(parent).resolve() / "kernels"
            if READ_ONLY in os.environ:
                if folder.is_dir() and _open_to_others(folder) is None:
                    return folder
                continue
            folder.parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
            open_to_others = _open_to_others(folder)
            if open_to_others is None:
                with tempfile.TemporaryFile(dir=folder):
                    return folder
            reason = f"others may write to {open_to_others}"
        except OSError as error:
            reason = str(error)
    _complain(reason)
    return None


def _open_to_others(folder: Path) -> Path | None:
    """Return where others could put files into the cache, as what is loaded from it is run.

    That is the folder itself, or one that it is in, where they could put another in its place.
    None if there is no such place.
    """
    if not hasattr(os, "geteuid"):
        return None
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or _shared(status):
        return folder
    for parent in folder.parents:
        status = parent.stat()
        is_sticky = status.st_mode & stat.S_ISVTX  # there, only owners replace what is theirs
        if status.st_uid not in (0, os.geteuid()) or (_shared(status) and not is_sticky):
            return parent
    return None


def _shared(status: os.stat_result) -> bool:
    """Tell whether others may write to a folder."""
    group = 0 if status.st_gid == _own_group() else stat.S_IWGRP
    return bool(status.st_mode & (group | stat.S_IWOTH))


def _own_group() -> int | None:
    """Return the group that has the user's name, where systems make one for each user."""
    import grp
    import pwd

    try:
        return grp.getgrnam(pwd.getpwuid(os.geteuid()).pw_name).gr_gid
    except KeyError:
        return None


_complaints: list[str] = []


def _complain(reason: str) -> None:
    """Say once per process that compiled kernels are lost when it ends."""
    if not _complaints:
        print(f"bfenv: compiled kernels are not kept: {reason}", file=sys.stderr, flush=True)
    _complaints.append(reason)


def write_to_cache(file: Path, data: bytes) -> None:
    """Write a file as a whole; if that is impossible, say once that nothing is kept."""
    if READ_ONLY in os.environ:
        return
    try:
        file.parent.mkdir(mode=0o700, exist_ok=True)
        with writing:
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
    remove_leftovers(root)
    try:
        for entry in root.iterdir():
            age = time.time() - entry.stat().st_mtime
            if entry.is_dir():
                remove_leftovers(entry)
                latest.setdefault(entry.name.rpartition("-")[0], []).append((age, entry))
    except OSError:  # another process prunes, too
        return
    for folders in latest.values():
        for i, (age, folder) in enumerate(sorted(folders)):
            if i >= KEPT_DIGESTS or age > KEPT_FOR:
                shutil.rmtree(folder, ignore_errors=True)
