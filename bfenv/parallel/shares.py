"""Shares: how much of each task is done, which workers of this machine write to one small file."""

import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from bfenv.core.policy import Watch

REFRESH = 0.25  # seconds


class Shares:
    """The fraction of each task that is done, from 0 to 1.

    * `count`: how many tasks.
    """

    def __init__(self, count: int) -> None:
        handle, path = tempfile.mkstemp(prefix="bfenv-", suffix=".shares")
        os.write(handle, np.zeros(max(count, 1)).tobytes())
        os.close(handle)
        self.path = Path(path)
        self._values = np.memmap(path, dtype=np.float64, mode="r+")

    def __getitem__(self, i: int) -> float:
        return float(self._values[i])

    def finish(self, i: int) -> None:
        """Note that a task is done."""
        self._values[i] = 1.0

    def values(self) -> np.ndarray:
        """Return (count,) float64."""
        return np.array(self._values)

    def close(self) -> None:
        """Delete the file; values that were read stay."""
        with suppress(OSError):
            self.path.unlink()


@contextmanager
def reporting(path: Path | None, i: int) -> Iterator[Watch]:
    """Yield a function that watches task i and writes its share to the file of `Shares`.

    A worker of another machine has no such file, and reports nothing.
    """
    ended = threading.Event()
    writers: list[threading.Thread] = []

    def write(share: Callable[[], float], values: np.ndarray) -> None:
        while not ended.wait(REFRESH):
            values[i] = min(max(share(), 0.0), 1.0)

    def watch(share: Callable[[], float]) -> None:
        if path is None or not path.exists():
            return
        values = np.memmap(path, dtype=np.float64, mode="r+")
        writers.append(threading.Thread(target=write, args=[share, values], daemon=True))
        writers[-1].start()

    try:
        yield watch
    finally:
        ended.set()
        for writer in writers:
            writer.join()
