"""Files that are written whole or not at all."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from bfenv.core.errors import BfenvError

PRIVATE = 0o600  # only the owner reads and writes


def write_atomically(path: Path, data: bytes, *, private: bool = False) -> None:
    """Write a file in one step: readers see either the old content or all of the new.

    A `private` file can be read by its owner only.

    Raises BfenvError if the path is not a file or cannot be written. No partial file remains.
    """
    temporary = path.parent / f".{secrets.token_hex(8)}.tmp"
    try:
        if path.exists() and not path.is_file():
            raise BfenvError(f"{path}: exists and is not a file")
        with open(temporary, "xb", opener=_private if private else None) as file:
            file.write(data)
        os.replace(temporary, path)
    except OSError as error:
        raise BfenvError(f"{path}: cannot be written: {error.strerror}") from error
    finally:
        with suppress(OSError):
            os.unlink(temporary)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, PRIVATE)
