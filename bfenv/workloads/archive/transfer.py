"""The bytes of a download, continued where an earlier one broke off.

They come by the standard library's client. pooch cannot continue a download, or limit its size; and
requests, which it uses, would unpack a file that a server labels as gzip-encoded, which then cannot
be continued.
"""

import http.client
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from bfenv.core.errors import WorkloadError
from bfenv.workloads.logs.text import CHUNK, MOST

LEISURE = 60.0  # seconds after which a download must not be too slow
SLOWEST = 1_000  # bytes per second, on average
Progress = Callable[[int, int | None], None]  # bytes so far, and in all if that is known


class _Unreachable(WorkloadError):
    """A server that does not answer."""


def download(
    urls: Sequence[str], part: Path, timeout: float, progress: Progress | None = None
) -> None:
    """Complete a file from the first server that answers.

    Parameters
    ----------
    urls
        Addresses of the file.
    part
        What there is of it, which may be nothing.
    timeout
        Seconds to wait for a byte.
    progress
        Called with the bytes so far, and the bytes in all or None.

    Raises
    ------
    WorkloadError
        If no server answers, or one answers something else than the file. What came stays in the
        .part, unless it cannot be continued.
    """
    for url in urls:
        try:
            _continue(url, part, timeout, progress or (lambda done, total: None))
            return
        except _Unreachable:
            if url == urls[-1]:
                raise


def _continue(url: str, part: Path, timeout: float, progress: Progress) -> None:
    """Append to the .part what it lacks, or start again if the server sends all of it."""
    done = part.stat().st_size if part.exists() else 0
    headers = {"User-Agent": "bfenv"} | ({"Range": f"bytes={done}-"} if done else {})
    try:
        response = urlopen(Request(url, headers=headers), timeout=timeout)
    except HTTPError as error:
        with error:
            complete = error.headers.get("Content-Range") == f"bytes */{done}"
        if error.code != 416 or not done:
            raise WorkloadError(f"the server answers {error.code} {error.reason}") from error
        if not complete:
            os.truncate(part, 0)
            _continue(url, part, timeout, progress)
        return
    except (OSError, http.client.HTTPException) as error:
        raise _Unreachable(f"no answer from the server ({_why(error)})") from error
    with response:
        _append(response, part, done, progress)


def _append(response: http.client.HTTPResponse, part: Path, done: int, progress: Progress) -> None:
    """Append what the server sends to the `done` bytes of the .part."""
    with open(part, "ab") as file:
        if response.status != 206:
            done = 0
            file.truncate(0)
        elif not response.headers.get("Content-Range", "").startswith(f"bytes {done}-"):
            file.truncate(0)
            raise WorkloadError(f"the server sends another part than that from byte {done}")
        length = response.headers.get("Content-Length", "")
        total = done + int(length) if re.fullmatch("[0-9]{1,18}", length) else None
        progress(done, total)
        begin, received = time.monotonic(), 0
        for chunk in _chunks(response):
            file.write(chunk)
            done += len(chunk)
            received += len(chunk)
            progress(done, total)
            seconds = time.monotonic() - begin
            if seconds > LEISURE and received < seconds * SLOWEST:
                raise WorkloadError(
                    f"the download is slower than {SLOWEST:,} bytes/s; fetch again to continue it"
                )
            if done > MOST:
                file.truncate(0)
                raise WorkloadError(f"more than {MOST:,} bytes, which no log has")
    if total is not None and done < total:
        raise WorkloadError(
            f"the download ended after {done:,} of {total:,} bytes; fetch again to continue it"
        )


def _chunks(response: http.client.HTTPResponse) -> Iterator[bytes]:
    try:
        while chunk := response.read1(CHUNK):
            yield chunk
    except (OSError, http.client.HTTPException) as error:
        raise WorkloadError(
            f"the download broke off ({_why(error)}); fetch again to continue it"
        ) from error


def _why(error: Exception) -> str:
    reason = getattr(error, "reason", error)
    return str(getattr(reason, "strerror", None) or reason or type(error).__name__)
