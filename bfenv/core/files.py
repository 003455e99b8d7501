"""Files that are whole or not there, and arrays in them."""

import io
import math
import os
import re
import secrets
import stat
import time
import zipfile
from collections.abc import Collection
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np

from bfenv.core.durations import DAY
from bfenv.core.errors import BfenvError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

TEMPORARY = re.compile(r"\.bfenv-[0-9a-f]{16}\.tmp")  # name of a file until it is whole
PRIVATE = 0o600  # only the owner reads and writes
LARGEST = 2**31  # bytes of a file
HARMLESS = 2**26  # bytes to which a file of arrays may unpack, however small it is
RATIO = 200  # of unpacked to packed arrays, at most; zeros have 1000
PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
SUFFIX = ".npy"  # of an array in an archive


def write_atomically(path: Path, data: bytes, *, private: bool = False) -> None:
    """Write a file in one step: readers see either the old content or all of the new.

    A `private` file can be read by its owner only.

    Raises BfenvError if the path is not a file or cannot be written. No partial file remains.
    """
    try:
        if path.exists() and not path.is_file():
            raise BfenvError(f"{path}: exists and is not a file")
        remove_leftovers(path.parent)
        written = False
        while not written:
            written = _write_and_rename(path, data, private)
    except OSError as error:
        raise BfenvError(f"{path}: cannot be written: {error.strerror}") from error


def _write_and_rename(path: Path, data: bytes, private: bool) -> bool:
    """Write a temporary file and give it its name; False if it was removed as a leftover.

    A lock shows other processes that its writer lives. It ends with the writer, however that ends.
    """
    temporary = path.parent / f".bfenv-{secrets.token_hex(8)}.tmp"
    opener = partial(os.open, mode=PRIVATE) if private else None
    try:
        with open(temporary, "xb", opener=opener) as file:
            if fcntl is not None:
                with suppress(OSError):  # some file systems have no locks
                    fcntl.flock(file, fcntl.LOCK_EX)
                if os.fstat(file.fileno()).st_nlink == 0:  # before it was locked
                    return False
            file.write(data)
            file.flush()
            if fcntl is not None:
                os.replace(temporary, path)
        if fcntl is None:  # Windows renames only what is closed
            os.replace(temporary, path)
        return True
    finally:
        with suppress(OSError):
            os.unlink(temporary)


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files in a folder whose writers were killed.

    Where there are no locks, these are the files that are a day old.
    """
    try:
        leftovers = [name for name in os.listdir(folder) if TEMPORARY.fullmatch(name)]
    except OSError:  # no such folder, or not a readable one
        return
    for name in leftovers:
        with suppress(OSError):
            if _is_left(folder / name):
                os.unlink(folder / name)


def _is_left(file: Path) -> bool:
    """Tell whether no process writes a temporary file. Raises OSError if it is gone or locked."""
    if fcntl is None:
        return time.time() - file.lstat().st_mtime > DAY
    number = os.open(file, os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # this file system has no locks
        return time.time() - os.fstat(number).st_mtime > DAY
    finally:
        os.close(number)
    return True


def read_file(path: str | os.PathLike[str], most: int = LARGEST, *, follow: bool = True) -> bytes:
    """Return the content of a file that may come from anywhere.

    Only a regular file is read: a pipe or a device might never end.

    * `path`: the file.
    * `most`: bytes that it may have.
    * `follow`: read the file that a link leads to.

    Raises OSError if the file cannot be read. Raises BfenvError if it is not a regular file, or is
    larger.
    """
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
    if not follow and os.path.islink(path):
        raise BfenvError(f"{path}: is a link, not a file")
    number = os.open(path, flags | (0 if follow else getattr(os, "O_NOFOLLOW", 0)))
    try:
        status = os.fstat(number)
        if not stat.S_ISREG(status.st_mode):
            raise BfenvError(f"{path}: is not a regular file")
        with open(number, "rb", closefd=False) as file:
            data = file.read(min(status.st_size, most) + 1)
    finally:
        os.close(number)
    if len(data) > most:
        raise BfenvError(f"{path}: has more than {most:,} bytes")
    return data


def load_arrays(
    path: str | os.PathLike[str],
    names: Collection[str] | None = None,
    *,
    most: int | None = None,
    follow: bool = True,
) -> dict[str, np.ndarray]:
    """Return the arrays in a file by name; no code in it is run.

    * `path`: the file, which may come from anywhere.
    * `names`: read only these; those that are not in the file are left out. None reads all.
    * `most`: bytes that they may have together, unpacked. None allows any file HARMLESS bytes, and
      RATIO times its own size.
    * `follow`: read the file that a link leads to.

    Raises OSError if the file cannot be read. Raises ValueError if it is not such a file, is
    damaged, or unpacks to more.
    """
    try:
        data = read_file(path, follow=follow)
        if most is None:
            most = max(HARMLESS, RATIO * len(data))
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [name for name in archive.namelist() if name.endswith(SUFFIX)]
            members = [
                name for name in members if names is None or name.removesuffix(SUFFIX) in names
            ]
            if sum(archive.getinfo(name).file_size for name in members) > most:
                raise ValueError(f"it unpacks to more than {most:,} bytes")
            if any(archive.getinfo(name).compress_type not in PACKED for name in members):
                raise ValueError("it is packed in another way than numpy's files")
            return {name.removesuffix(SUFFIX): _read_array(archive, name) for name in members}
    except OSError:
        raise
    except BfenvError as error:
        raise ValueError(str(error).removeprefix(f"{path}: ")) from error
    except Exception as error:  # numpy, zipfile, zlib and tokenize have errors of their own
        raise ValueError(f"it is damaged, or not a file of arrays: {error}") from error


def _read_array(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    """Read an array of an archive; ValueError if its heading promises more than there is."""
    content = io.BytesIO(archive.read(name))
    version = np.lib.format.read_magic(content)
    if version != (1, 0):
        raise ValueError(f"an array of version {version}")
    shape, _, dtype = np.lib.format.read_array_header_1_0(content)
    if math.prod(shape) * dtype.itemsize > len(content.getbuffer()):
        raise ValueError(f"the heading of {name} promises more than there is")
    content.seek(0)
    array: np.ndarray = np.lib.format.read_array(content, allow_pickle=False)
    return array
