"""The text of a log's file, unzipped, up to the size that a log can have."""

import codecs
import gzip
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

from bfenv.core.errors import WorkloadError

MOST = 2 * 2**30  # bytes; the archive's largest log has 9 million lines, about 1 GB
RATIO = 200  # of unzipped to zipped, at most: logs have 5 to 30, and zeros have 1000
HARMLESS = 2**24  # bytes that a file may have at any ratio
CHUNK = 2**18  # bytes
MAGIC = b"\x1f\x8b"  # gzip


def read_lines(path: str | os.PathLike[str], encoding: str) -> list[str]:
    """Return all lines of a file, gzipped or not, whatever ends them.

    A byte order mark is left out, and bytes that cannot be decoded are replaced.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    WorkloadError
        If it is not a file, cannot be read, is a damaged gzip file, or is larger than any log: a
        small file must not fill the memory.
    """
    path = Path(path)
    if not os.path.exists(path):
        raise FileNotFoundError(f"no such file: {path}")
    if not os.path.isfile(path):  # a pipe might never end
        raise WorkloadError(f"{path}: not a file")
    try:
        with open(path, "rb") as file:
            begin = file.read(len(MAGIC))
        if begin == MAGIC:
            data = b"".join(unzip(path))
        elif path.suffix == ".gz":
            raise WorkloadError(f"{path}: not a gzip file")
        elif path.stat().st_size > MOST:
            raise WorkloadError(f"{path}: more than {MOST:,} bytes, which no log has")
        else:
            data = path.read_bytes()
    except OSError as error:
        raise WorkloadError(f"{path}: cannot be read: {error.strerror}") from error
    text = data.removeprefix(codecs.BOM_UTF8).decode(encoding, errors="replace")
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def numbered_lines(path: str | os.PathLike[str]) -> list[tuple[int, str]]:
    """Return number and text of the lines that are not blank.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    WorkloadError
        If the file cannot be read, see `read_lines`, or has no such line.
    """
    lines = enumerate(read_lines(path, "utf-8"), start=1)
    numbered = [(number, line) for number, line in lines if line.strip()]
    if not numbered:
        raise WorkloadError(f"{path}: the file is empty")
    return numbered


def unzip(path: Path) -> Iterator[bytes]:
    """Yield the content of a gzip file, chunk by chunk.

    Raises
    ------
    WorkloadError
        If the file is damaged, or swells to more than MOST bytes or, beyond HARMLESS bytes, to
        more than RATIO times its size.
    """
    most = min(MOST, max(HARMLESS, RATIO * path.stat().st_size))
    size = 0
    try:
        with gzip.open(path) as file:
            while chunk := file.read(CHUNK):
                size += len(chunk)
                if size > most:
                    raise WorkloadError(
                        f"{path}: unzips to more than {most:,} bytes, which no log does"
                    )
                yield chunk
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise WorkloadError(f"{path}: corrupted gzip file: {error}") from error
