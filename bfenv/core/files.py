"""Files that are written whole or not at all."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from bfenv.core.errors import BfenvError


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that under its name there is all of it or what was there before.

    Raises BfenvError if that is impossible, and leaves nothing behind.
    """
    temporary = path.parent / f".{secrets.token_hex(8)}.tmp"
    try:
        if path.exists() and not path.is_file():
            raise BfenvError(f"{path}: is there already, and no file")
        with open(temporary, "xb") as file:
            file.write(data)
        os.replace(temporary, path)
    except OSError as error:
        raise BfenvError(f"{path}: cannot be written: {error.strerror}") from error
    finally:
        with suppress(OSError):
            os.unlink(temporary)
