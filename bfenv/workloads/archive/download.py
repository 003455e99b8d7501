"""Downloads of the Parallel Workloads Archive, each checked and stored in one step by pooch.

The text of a log is stored and hashed, because packed copies of the same text differ.
"""

import os
import re
from pathlib import Path

from bfenv.core.errors import WorkloadError
from bfenv.workloads.archive.catalogue import cache_folder, find_log, locate, locate_in
from bfenv.workloads.logs.text import read_bytes

BASE = "https://www.cs.huji.ac.il/labs/parallel/workload"
TIMEOUT = 30.0  # seconds without a byte
SWF = re.compile(rb"\s*[;0-9]")


def fetch(name: str, folder: str | os.PathLike[str] | None = None) -> Path:
    """Download a log of the archive, unless it is on this machine.

    Raises UnknownNameError if the archive has no such log. Raises WorkloadError if the network or
    the server fails, or what it sends is not the log. The message has the address, and where to
    save the file by hand.

    * `name`: the log, with or without .swf or .swf.gz.
    * `folder`: where to look for it and to store it. None looks in all folders, see `locate`, and
      stores in the user's cache.

    Returns the file. Its text has the hash in the catalogue, if there is one.
    """
    import pooch

    log = find_log(name)
    if path := locate(log.name) if folder is None else locate_in(Path(folder), log.name):
        return path
    folder = Path(cache_folder() if folder is None else folder)
    if log.folder is None:
        raise WorkloadError(
            f"{log.name} cannot be downloaded, because the archive does not list it; ask "
            f"{log.acknowledge}, and save it as {folder / log.name}.swf.gz"
        )
    pooch.get_logger().setLevel("WARNING")  # it reports every step
    url = f"{BASE}/{log.folder}/{log.name}.swf.gz"
    try:
        return Path(pooch.retrieve(url, log.sha256, f"{log.name}.swf", folder, downloader=_text))
    except (OSError, ValueError, WorkloadError) as error:  # those of requests are OSErrors
        raise WorkloadError(
            f"{log.name} cannot be downloaded: {' '.join(str(error).split())}; by hand: save {url} "
            f"as {folder / log.name}.swf.gz"
        ) from error


def _text(url: str, output: str, _: object) -> None:
    """Write the text at an address to a file, packed or not: a server may unpack it on the way."""
    import pooch

    part = Path(f"{output}.part")
    try:
        pooch.HTTPDownloader(timeout=TIMEOUT, stream=False)(url, str(part), None)
        text = read_bytes(part)
    finally:
        part.unlink(missing_ok=True)
    if not SWF.match(text):
        raise WorkloadError(f"the server's answer is not a log: it begins with {text[:20]!r}")
    Path(output).write_bytes(text)
