"""Files that are written whole or not at all."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from bfenv.core.errors import BfenvError


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file in one step: readers see either the old content or all of the new.

    Raises
    ------
    BfenvError
        If the path is not a file or cannot be written. No partial file remains.
    """
    temporary = path.parent / f".{secrets.token_hex(8)}.tmp"
    try:
        if path.exists() and not path.is_file():
            raise BfenvError(f"{path}: exists and is not a file")
        with open(temporary, "xb") as file:
            file.write(data)
        os.replace(temporary, path)
    except OSError as error:
        raise BfenvError(f"{path}: cannot be written: {error.strerror}") from error
    finally:
        with suppress(OSError):
            os.unlink(temporary)
