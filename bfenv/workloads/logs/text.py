"""The text of a log's file, decompressed, up to the size that a log can have.

Whatever reads a file raises FileNotFoundError if there is no such file. It raises WorkloadError if
it is not a file, cannot be read, is a damaged compressed file, or is larger than any log: a small
file must not fill the memory.
"""

import codecs
import gzip
import json
import lzma
import os
import zlib
from collections import Counter, deque
from collections.abc import Callable, Iterator
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
MOST_JOINED, MOST_QUOTED = 20, 1000  # lines of a record, the latter with quotes
MAGIC = b"\x1f\x8b"  # gzip
XZ, ZSTD = b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"
SUFFIXES = {".gz": "a gzip", ".xz": "an xz", ".zst": "a zstd"}
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_lines(path: str | os.PathLike[str], encoding: str | None = None) -> tuple[list[str], str]:
    """Return all lines of a file, compressed (gzip, xz, zstd) or not, whatever ends them.

    The second value is the encoding. A byte order mark is left out; that of UTF-16 counts instead
    of `encoding`. By default, text that is not UTF-8 is Latin-1, in which each byte is a character:
    names that differ in the file differ here.

    Raises WorkloadError also if there are longer or more lines than any log has.
    """
    text, encoding = _decoded(read_bytes(Path(path)), encoding)
    _check_length(path, text, text.count("\n"), "lines")
    lines = text.split("\n")
    del text
    if max(map(len, lines)) > LONGEST:
        number = next(i for i, line in enumerate(lines, start=1) if len(line) > LONGEST)
        raise WorkloadError(f"{path}:{number}: a line of more than {LONGEST:,} characters")
    return lines, encoding


def read_json(path: str | os.PathLike[str]) -> tuple[Any, str]:
    """Return what JSON holds, and its encoding.

    Raises WorkloadError also if the file is not JSON, or has more values than any log.
    """
    text, encoding = _decoded(read_bytes(Path(path)))
    _check_length(path, text, sum(map(text.count, "[{,")), "values")
    try:
        return json.loads(text), encoding
    except (ValueError, RecursionError) as error:
        raise WorkloadError(f"{path}: not JSON: {error}") from None


def first_lines(path: str | os.PathLike[str]) -> list[str]:
    """Return the lines with which a file begins and that are not blank; the last may be cut.

    Raises WorkloadError also if the file begins with no such line.
    """
    text, _ = _decoded(read_bytes(Path(path), whole=False), whole=False)
    if not (lines := [line for line in text.split("\n") if line.strip()]):
        raise WorkloadError(f"{path}: the file is empty")
    return lines


def numbered_lines(path: str | os.PathLike[str]) -> tuple[Iterator[tuple[int, str]], str]:
    """Return an iterator over number and text of the lines that are not blank, and the encoding.

    It forgets each line, because what is made of them takes memory as well.

    Raises WorkloadError as `read_lines` does, and if the file has no such line.
    """
    lines, encoding = read_lines(path)
    if all(not line or line.isspace() for line in lines):
        raise WorkloadError(f"{path}: the file is empty")
    return _consumed(lines), encoding


def join_lines(
    lines: Iterator[tuple[int, str]],
    is_whole: Callable[[str], bool],
    begins: Callable[[str, str], bool],
    counts: Counter[str],
    continues: Callable[[str], bool] | None = None,
) -> Iterator[tuple[int, str]]:
    """Join the lines of records whose text has line breaks; a space stands in for each.

    A line that is not whole takes those that follow, until both are. If that does not come about,
    it stays alone, and so do they: no record is lost to a damaged one.

    `is_whole` tells whether a text has all of a record; its ValueError means that no more lines can
    help. `begins` tells whether a line begins a record after the text of an unfinished one.
    `continues` tells whether a line can only be the rest of the record before. The "continued" of
    `counts` is how many lines were joined to others.
    """
    ahead: deque[tuple[int, str]] = deque()
    while (item := ahead.popleft() if ahead else next(lines, None)) is not None:
        number, text = item
        longer = text
        try:
            for taken in range(MOST_QUOTED if '"' in text else MOST_JOINED):
                if is_whole(longer):
                    counts["continued"] += taken
                    text = longer
                    for _ in range(taken):
                        ahead.popleft()
                    break
                if taken == len(ahead):
                    if (item := next(lines, None)) is None:
                        break
                    ahead.append(item)
                if begins(longer, ahead[taken][1]):
                    break
                longer += " " + ahead[taken][1]
        except ValueError:
            pass
        for _ in range(MOST_QUOTED if continues else 0):
            if not ahead and (item := next(lines, None)) is not None:
                ahead.append(item)
            if continues is None or not ahead or not continues(ahead[0][1]):
                break
            text += " " + ahead.popleft()[1]
            counts["continued"] += 1
        yield number, text


def unzip(path: Path) -> Iterator[bytes]:
    """Yield the content of a compressed file, chunk by chunk.

    Raises WorkloadError if the file is damaged, zstd cannot be read without pyarrow, or the file
    swells to more than MOST bytes or, beyond HARMLESS bytes, to more than RATIO times its size.
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


def read_bytes(path: Path, whole: bool = True) -> bytes:
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


def _decoded(data: bytes, encoding: str | None = None, whole: bool = True) -> tuple[str, str]:
    """Return the text of bytes, and its encoding; if not whole, the last character may be cut."""
    if data.startswith(UTF_16):
        encoding = "utf-16"
    elif encoding is None and b"\0\0" in (data[0:3:2], data[1:4:2]):  # without its mark
        encoding = "utf-16-le" if data[0] else "utf-16-be"
    data = data.removeprefix(codecs.BOM_UTF8)
    if encoding is None:
        try:
            text, encoding = codecs.getincrementaldecoder("utf-8")().decode(data, whole), "utf-8"
        except UnicodeDecodeError:
            encoding = "latin-1"
    if encoding != "utf-8":
        text = data.decode(encoding, errors="replace")
    return text.replace("\r\n", "\n").replace("\r", "\n"), encoding


def _check_length(path: str | os.PathLike[str], text: str, count: int, unit: str) -> None:
    """Refuse a text of very many lines or values that are very short on average."""
    if count > FEW and count * SHORTEST > len(text):
        short = f"of less than {SHORTEST} characters on average"
        raise WorkloadError(f"{path}: {count:,} {unit} {short}, which no log has")


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
            f"{path}: zstd needs pyarrow: pip install pyarrow, or decompress it first"
        ) from None
    return pyarrow.input_stream(str(path), compression="zstd")
