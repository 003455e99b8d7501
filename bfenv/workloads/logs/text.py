"""The text of a log's file, decompressed, up to the size that a log can have."""

import codecs
import gzip
import lzma
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bfenv.core.errors import WorkloadError

MOST = 2 * 2**30  # bytes; the archive's largest log has 9 million lines, about 1 GB
RATIO = 60  # of unzipped to zipped, at most: logs have 5 to 30, and zeros have 1000
HARMLESS = 2**24  # bytes that a file may have at any ratio
LONGEST = 2**22  # characters of a line; one that names a thousand hosts has a hundredth of that
FEW = 2**20  # lines that may be of any length
SHORTEST = 8  # characters of a line, on average, in a file that has more lines
CHUNK = 2**18  # bytes
MAGIC = b"\x1f\x8b"  # gzip
XZ, ZSTD = b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"
SUFFIXES = {".gz": "a gzip", ".xz": "an xz", ".zst": "a zstd"}
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_lines(path: str | os.PathLike[str], encoding: str) -> list[str]:
    """Return all lines of a file, compressed (gzip, xz, zstd) or not, whatever ends them.

    A byte order mark is left out; that of UTF-16 counts instead of `encoding`. Bytes that cannot
    be decoded are replaced.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    WorkloadError
        If it is not a file, cannot be read, is a damaged compressed file, or is larger or has
        longer or more lines than any log: a small file must not fill the memory.
    """
    text = _decoded(_read(Path(path)), encoding)
    count = text.count("\n")
    if count > FEW and count * SHORTEST > len(text):
        raise WorkloadError(
            f"{path}: {count:,} lines of less than {SHORTEST} characters on average, "
            "which no log has"
        )
    lines = text.split("\n")
    del text
    if max(map(len, lines)) > LONGEST:
        number = next(i for i, line in enumerate(lines, start=1) if len(line) > LONGEST)
        raise WorkloadError(f"{path}:{number}: a line of more than {LONGEST:,} characters")
    return lines


def read_text(path: str | os.PathLike[str]) -> str:
    """Return a file's text, compressed or not, that is not one of lines.

    Raises
    ------
    FileNotFoundError, WorkloadError
        As `read_lines` does, whatever the lines are.
    """
    return _decoded(_read(Path(path)), "utf-8")


def first_lines(path: str | os.PathLike[str]) -> list[str]:
    """Return the lines with which a file begins and that are not blank; the last may be cut.

    Raises
    ------
    FileNotFoundError, WorkloadError
        As `read_lines` does, and if the file begins with no such line.
    """
    text = _decoded(_read(Path(path), whole=False), "utf-8")
    if not (found := [line for line in text.split("\n") if line.strip()]):
        raise WorkloadError(f"{path}: the file is empty")
    return found


def numbered_lines(path: str | os.PathLike[str]) -> Iterator[tuple[int, str]]:
    """Return an iterator over number and text of the lines that are not blank.

    It forgets each line, because what is made of them takes memory as well.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    WorkloadError
        If the file cannot be read, see `read_lines`, or has no such line.
    """
    lines = read_lines(path, "utf-8")
    if all(not line or line.isspace() for line in lines):
        raise WorkloadError(f"{path}: the file is empty")
    return _consumed(lines)


def unzip(path: Path) -> Iterator[bytes]:
    """Yield the content of a compressed file, chunk by chunk.

    Raises
    ------
    WorkloadError
        If the file is damaged, zstd cannot be read without pyarrow, or the file swells to more
        than MOST bytes or, beyond HARMLESS bytes, to more than RATIO times its size.
    """
    most = min(MOST, max(HARMLESS, RATIO * path.stat().st_size))
    size = 0
    try:
        with _decompressed(path) as file:
            while chunk := file.read(CHUNK):
                size += len(chunk)
                if size > most:
                    raise WorkloadError(
                        f"{path}: unzips to more than {most:,} bytes, which no log of its size "
                        "does; if you trust it, decompress it first"
                    )
                yield chunk
    except EOFError as error:
        raise WorkloadError(
            f"{path}: the compressed file is cut off; download or copy it again"
        ) from error
    except (gzip.BadGzipFile, zlib.error, lzma.LZMAError) as error:
        kind = "xz" if _begin(path).startswith(XZ) else "gzip"
        raise WorkloadError(f"{path}: corrupted {kind} file: {error}") from error


def _read(path: Path, whole: bool = True) -> bytes:
    """Return the content of a file, decompressed, or the first CHUNK of it."""
    if not os.path.exists(path):
        raise FileNotFoundError(f"no such file: {path}")
    if not os.path.isfile(path):  # a pipe might never end
        raise WorkloadError(f"{path}: not a file")
    try:
        if _begin(path).startswith((MAGIC, XZ, ZSTD)):
            chunks = unzip(path)
            return b"".join(chunks) if whole else next(chunks, b"")
        if path.suffix in SUFFIXES:
            raise WorkloadError(f"{path}: not {SUFFIXES[path.suffix]} file")
        if path.stat().st_size > MOST:
            raise WorkloadError(f"{path}: more than {MOST:,} bytes, which no log has")
        with open(path, "rb") as file:
            return file.read(-1 if whole else CHUNK)
    except OSError as error:
        raise WorkloadError(f"{path}: cannot be read: {error.strerror or error}") from error


def _consumed(lines: list[str]) -> Iterator[tuple[int, str]]:
    count = len(lines)
    lines.reverse()
    while lines:
        line = lines.pop()
        if line and not line.isspace():
            yield count - len(lines), line


def _decoded(data: bytes, encoding: str) -> str:
    encoding = "utf-16" if data.startswith(UTF_16) else encoding
    text = data.removeprefix(codecs.BOM_UTF8).decode(encoding, errors="replace")
    del data
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _begin(path: Path) -> bytes:
    with open(path, "rb") as file:
        return file.read(len(XZ))


def _decompressed(path: Path) -> Any:
    """Open a compressed file for reading what was compressed."""
    begin = _begin(path)
    if begin.startswith(XZ):
        return lzma.open(path)
    if not begin.startswith(ZSTD):
        return gzip.open(path)
    try:
        import pyarrow
    except ImportError:
        raise WorkloadError(
            f"{path}: zstd needs pyarrow: pip install 'bfenv[parquet]', or decompress it first"
        ) from None
    return pyarrow.input_stream(str(path), compression="zstd")
