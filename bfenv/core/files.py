"""Files that are whole or not there, and arrays in them."""

import io
import os
import secrets
from collections.abc import Collection
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np

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
        opener = partial(os.open, mode=PRIVATE) if private else None
        with open(temporary, "xb", opener=opener) as file:
            file.write(data)
        os.replace(temporary, path)
    except OSError as error:
        raise BfenvError(f"{path}: cannot be written: {error.strerror}") from error
    finally:
        with suppress(OSError):
            os.unlink(temporary)


def load_arrays(
    path: str | os.PathLike[str], names: Collection[str] | None = None
) -> dict[str, np.ndarray]:
    """Return the arrays in a file by name; no code in it is run.

    * `path`: the file.
    * `names`: read only these; those that are not in the file are left out. None reads all.

    Raises OSError if the file cannot be read. Raises ValueError if it is not such a file, or is
    damaged.
    """
    try:
        memory = io.BytesIO(Path(path).read_bytes())  # numpy does not close a damaged file
        with np.load(memory, allow_pickle=False) as file:
            known = [name for name in file.files if names is None or name in names]
            return {name: file[name] for name in known}
    except OSError:
        raise
    except Exception as error:  # numpy, zipfile, zlib and tokenize have errors of their own
        raise ValueError(f"it is damaged, or not a file of arrays: {error}") from error
