"""The text of a log's file, unzipped, and never more of it than any log has."""

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


def read_lines(path: str | os.PathLike, encoding: str) -> list[str]:
    """All lines of a file, gzipped or not, whatever their ends; undecodable bytes are replaced.

    Raises FileNotFoundError, and WorkloadError if it is no file, cannot be read, is a damaged
    gzip file, or is larger than any log, so that a small file cannot fill the memory.
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
            data = b"".join(unzipped(path))
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


def unzipped(path: Path) -> Iterator[bytes]:
    """The content of a gzip file, chunk by chunk.

    Raises WorkloadError if the file is damaged, or swells to more than MOST bytes or, beyond
    HARMLESS ones, to more than RATIO times its size.
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
