"""Files of arrays, as `numpy.savez` writes them, read without trust in what is in them."""

import io
import os
from collections.abc import Collection
from pathlib import Path

import numpy as np


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
