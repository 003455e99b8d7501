"""Downloads of the Parallel Workloads Archive: complete, checked, and one at a time.

pooch keeps the cache: it compares hashes and moves a file there in one step. Hashes are those of
the text, because packed copies differ, and the text is what is stored.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from bfenv.core.errors import WorkloadError
from bfenv.core.files import write_atomically
from bfenv.workloads.archive.catalogue import Log, find_log
from bfenv.workloads.archive.local import cache_folder, locate, locate_in
from bfenv.workloads.logs.text import unzip

if TYPE_CHECKING:
    from bfenv.workloads.archive.transfer import Progress

BASES = (
    "https://www.cs.huji.ac.il/labs/parallel/workload",
    "http://www.cs.huji.ac.il/labs/parallel/workload",  # only for logs whose hash is known
)
TIMEOUT = 30.0  # seconds without a byte

Transfer = Callable[[str, str, object], None]  # pooch's: address, file to write, and itself


def fetch(
    name: str,
    folder: str | os.PathLike[str] | None = None,
    progress: "Progress | None" = None,
    *,
    bases: tuple[str, ...] | None = None,
    timeout: float = TIMEOUT,
) -> Path:
    """Download a log of the archive, unless it is on this machine.

    The log's text is stored in one step, once it is complete and has the hash of the catalogue, or
    else that of the first download. A download that broke off is kept beside it as .part; the next
    one continues it. Two downloads of a log take turns, where the file system has locks.

    Parameters
    ----------
    name
        The log, with or without .swf or .swf.gz.
    folder
        Where to look for it and to store it. None looks in all folders, see `locate`, and stores
        in the user's cache.
    progress
        Called with the bytes so far, and the bytes in all or None.
    bases
        Addresses of the archive, by default BASES. The others are tried if the first does not
        answer and the hash is in the catalogue.
    timeout
        Seconds to wait for a byte.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    UnknownNameError
        If the archive has no such log.
    WorkloadError
        If the network or the server fails, or what it sends is not the log. The message has the
        address, and where to save the file by hand.
    """
    from bfenv.workloads.archive.transfer import download  # loads modules that few need

    log = find_log(name)
    if path := locate(log.name) if folder is None else locate_in(Path(folder), log.name):
        return path
    folder = Path(cache_folder() if folder is None else folder)
    part = folder / f"{log.name}.swf.gz.part"
    urls = [f"{base}/{log.folder}/{log.name}.swf.gz" for base in bases or BASES]

    def transfer(url: str, output: str, _: object) -> None:
        download(urls if log.sha256 else urls[:1], part, timeout, progress)
        _unzip(part, output)

    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _alone(part):
            return _retrieve(log, urls[0], folder, transfer)
    except (OSError, WorkloadError) as error:
        reason = f"{part}: {error.strerror or error}" if isinstance(error, OSError) else error
        target = folder / f"{log.name}.swf.gz"
        raise WorkloadError(
            f"{log.name} cannot be downloaded: {reason}; by hand: save {urls[0]} as {target}"
        ) from error


@contextmanager
def _alone(part: Path) -> Iterator[None]:
    """Wait until no other download uses this .part; remove it afterwards if it is empty."""
    with _lock(part):
        try:
            yield
        finally:
            if part.is_file() and not part.stat().st_size:
                part.unlink()


@contextmanager
def _lock(part: Path) -> Iterator[None]:
    """Hold a lock on the file; it ends with the process, however that ends."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    while True:
        with open(part, "ab") as file:
            with suppress(OSError):  # some network file systems have no locks
                fcntl.flock(file, fcntl.LOCK_EX)
            if _same(file.fileno(), part):  # else another download has moved or removed it
                yield
                return


def _same(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _retrieve(log: Log, url: str, folder: Path, transfer: Transfer) -> Path:
    """Return the text's file, there already or downloaded; note its hash if none was known."""
    import pooch

    pooch.get_logger().setLevel("WARNING")  # it reports every step
    name = f"{log.name}.swf"
    pin = cache_folder() / f"{name}.sha256"
    known, source = log.sha256, "that of the log"
    if known is None and pin.is_file():
        known = pin.read_text(errors="replace").partition(" ")[0]
        source = f"that of the first download, noted in {pin}"
    try:
        path = Path(pooch.retrieve(url, known, name, folder, downloader=transfer))
    except WorkloadError:
        raise
    except ValueError as error:
        raise WorkloadError(f"{error} The known hash is {source}") from error
    if known is None:
        pin.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(pin, f"{pooch.file_hash(path)}  {name}\n".encode())
    return path


def _unzip(part: Path, output: str) -> None:
    """Write the text of the .part, and empty the .part; WorkloadError if it has no text.

    The .part is not removed: it is the lock, and the text is not yet in its place.
    """
    try:
        with open(output, "wb") as file:
            for chunk in unzip(part):
                file.write(chunk)
            if not file.tell():
                raise WorkloadError("what the server sends is empty")
    except WorkloadError:
        os.truncate(part, 0)
        raise
    os.truncate(part, 0)
