"""Logs of the Parallel Workloads Archive: download them, find those at hand.

pooch keeps the cache: it compares hashes and puts a file there in one step. It cannot continue a
download, nor limit what one unpacks to, and requests would unpack a log that a server labels as
gzip-encoded, which leaves nothing to continue; so the bytes come by the standard library's client.
The hashes are of the text, as a log may be packed differently from copy to copy: the text is what
is stored.
"""

import http.client
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import platformdirs

from bfenv.core.errors import WorkloadError
from bfenv.core.files import write_atomically
from bfenv.workloads.archive.catalogue import Log, find_log
from bfenv.workloads.logs.text import CHUNK, MOST, unzipped

BASES = (
    "https://www.cs.huji.ac.il/labs/parallel/workload",
    "http://www.cs.huji.ac.il/labs/parallel/workload",  # only for logs whose hash is known
)
SUFFIXES = (".swf.gz", ".swf")
TIMEOUT = 30.0  # seconds without a byte

Progress = Callable[[int, int | None], None]  # bytes so far, of how many if that is known


class _Unreachable(WorkloadError):
    """A server that does not answer."""


def fetch(
    name: str,
    folder: str | os.PathLike | None = None,
    progress: Progress | None = None,
    *,
    bases: tuple[str, ...] | None = None,
    timeout: float = TIMEOUT,
) -> Path:
    """The path of a log of the archive, which is downloaded unless it is at hand.

    Its text goes into `folder`, or else the user's cache, in one step and only when it is whole and
    has the hash in the catalogue, or else the one of the first download. What there is of a
    download that broke off is kept as .part beside it and continued by the next one. Two at once
    take turns, where the file system has locks. `bases` are addresses of the archive instead of
    BASES: the first, and if it cannot be reached and the hash is in the catalogue, the others.

    Raises UnknownNameError for what is no log of the archive, and WorkloadError, with the address
    and where to put the file by hand, if there is no network, the server has no such file, sends
    nothing for `timeout` seconds, or sends something else than the log.
    """
    log = find_log(name)
    if found := locate(log.name) if folder is None else _in(Path(folder), log.name):
        return found
    folder = Path(cache_folder() if folder is None else folder)
    part = folder / f"{log.name}.swf.gz.part"
    urls = [f"{base}/{log.folder}/{log.name}.swf.gz" for base in bases or BASES]

    def download(url: str, output: str, _) -> None:
        _download(urls if log.sha256 else urls[:1], part, timeout, progress)
        _unzip(part, output)

    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _alone(part):
            return _retrieve(log, urls[0], folder, download)
    except (OSError, WorkloadError) as error:
        reason = f"{part}: {error.strerror or error}" if isinstance(error, OSError) else error
        target = folder / f"{log.name}.swf.gz"
        raise WorkloadError(
            f"{log.name} cannot be fetched: {reason}; by hand: save {urls[0]} as {target}"
        ) from error


def locate(name: str) -> Path | None:
    """The file of a log at hand, by its name with or without .swf or .swf.gz.

    The first in the folders of $BFENV_TRACES and the user's cache; of a log and its zipped form,
    the latter.
    """
    if os.path.basename(name) != name:
        return None  # a path, which may lead anywhere
    return next(filter(None, (_in(folder, name) for folder in folders())), None)


def at_hand() -> dict[str, Path]:
    """All SWF files that `locate` finds: name -> path."""
    found: dict[str, Path] = {}
    for folder in folders():
        for suffix in SUFFIXES:
            for path in folder.glob(f"*{suffix}"):
                if path.is_file():
                    found.setdefault(path.name.removesuffix(suffix), path)
    return dict(sorted(found.items()))


def folders() -> list[Path]:
    """Where logs are looked for: the folders that $BFENV_TRACES names, then the user's cache."""
    named = os.environ.get("BFENV_TRACES", "").split(os.pathsep)
    return [*(Path(folder) for folder in named if folder), cache_folder()]


def cache_folder() -> Path:
    """Where downloads go; it need not exist."""
    return Path(os.environ.get("BFENV_CACHE") or platformdirs.user_cache_path("bfenv")) / "traces"


def _in(folder: Path, name: str) -> Path | None:
    """The file of that log in a folder."""
    names = [name] if name.endswith(SUFFIXES) else [name + suffix for suffix in SUFFIXES]
    return next((folder / one for one in names if os.path.isfile(folder / one)), None)


@contextmanager
def _alone(part: Path) -> Iterator[None]:
    """Wait until no other fetch is at this .part; afterwards, leave none that is empty."""
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
            if _same(file.fileno(), part):  # else the one waited for has moved or removed it
                yield
                return


def _same(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _download(urls: list[str], part: Path, timeout: float, progress: Progress | None) -> None:
    """Complete the .part from the first server that answers."""
    for url in urls:
        try:
            return _continue(url, part, timeout, progress or (lambda done, total: None))
        except _Unreachable:
            if url == urls[-1]:
                raise


def _continue(url: str, part: Path, timeout: float, progress: Progress) -> None:
    """Append to the .part what it lacks; a server that sends all of it makes it start anew."""
    done = part.stat().st_size if part.exists() else 0
    headers = {"User-Agent": "bfenv", "Range": f"bytes={done}-"}
    if not done:
        del headers["Range"]
    try:
        response = urlopen(Request(url, headers=headers), timeout=timeout)
    except HTTPError as error:
        with error:
            whole = error.headers.get("Content-Range") == f"bytes */{done}"
        if error.code != 416 or not done:
            raise WorkloadError(f"the server says {error.code} {error.reason}") from error
        if not whole:
            os.truncate(part, 0)
            _continue(url, part, timeout, progress)
        return
    except (OSError, http.client.HTTPException) as error:
        raise _Unreachable(f"no answer from the server ({_why(error)})") from error
    with response, open(part, "ab") as file:
        if response.status != 206:
            done = 0
            file.truncate(0)
        elif not response.headers.get("Content-Range", "").startswith(f"bytes {done}-"):
            file.truncate(0)
            raise WorkloadError("the server sends another part than asked for")
        length = response.headers.get("Content-Length", "")
        total = done + int(length) if re.fullmatch("[0-9]{1,18}", length) else None
        progress(done, total)
        for chunk in _chunks(response):
            file.write(chunk)
            done += len(chunk)
            progress(done, total)
            if done > MOST:
                file.truncate(0)
                raise WorkloadError(f"more than {MOST:,} bytes, which no log has")
    if total is not None and done < total:
        raise WorkloadError(
            f"the download ended after {done:,} of {total:,} bytes, which the next one continues"
        )


def _chunks(response: http.client.HTTPResponse) -> Iterator[bytes]:
    try:
        while chunk := response.read1(CHUNK):
            yield chunk
    except (OSError, http.client.HTTPException) as error:
        raise WorkloadError(
            f"the download broke off ({_why(error)}), the next one continues it"
        ) from error


def _why(error: Exception) -> str:
    reason = getattr(error, "reason", error)
    return str(getattr(reason, "strerror", None) or reason or type(error).__name__)


def _retrieve(log: Log, url: str, folder: Path, download: Callable) -> Path:
    """The text in the folder, there already or downloaded; a hash not known before is noted."""
    import pooch

    pooch.get_logger().setLevel("WARNING")  # it tells of every step
    name = f"{log.name}.swf"
    pin = cache_folder() / f"{name}.sha256"
    known, source = log.sha256, "that of the log"
    if known is None and pin.is_file():
        known = pin.read_text(errors="replace").partition(" ")[0]
        source = f"that of the first download, noted in {pin}"
    try:
        path = Path(pooch.retrieve(url, known, name, folder, downloader=download))
    except WorkloadError:
        raise
    except ValueError as error:
        raise WorkloadError(f"{error} The known hash is {source}") from error
    if known is None:
        pin.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(pin, f"{pooch.file_hash(path)}  {name}\n".encode())
    return path


def _unzip(part: Path, output: str) -> None:
    """Write the text of the .part, which is then of no more use; WorkloadError if it has none.

    It is emptied and not removed, for it is the lock, and the text is not in its place yet.
    """
    try:
        with open(output, "wb") as file:
            for chunk in unzipped(part):
                file.write(chunk)
            if not file.tell():
                raise WorkloadError("what the server sends is empty")
    except WorkloadError:
        os.truncate(part, 0)
        raise
    os.truncate(part, 0)
