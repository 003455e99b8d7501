"""Progress where a bar cannot be drawn, as in a batch job's output."""

import sys
import threading
import time

from rich.progress import Progress

from bfenv.core.durations import format_duration
from bfenv.core.text import one_line

INTERVAL = 60  # seconds between lines


class ProgressLines(Progress):
    """Progress as a line every minute."""

    def start(self) -> None:
        """Begin to write lines; a run of less than INTERVAL writes none."""
        self._ended = threading.Event()
        self._begin = time.monotonic()
        self._writer = threading.Thread(target=self._write, daemon=True)
        self._writer.start()

    def stop(self) -> None:
        """Write no more lines."""
        self._ended.set()
        self._writer.join()

    def _write(self) -> None:
        while not self._ended.wait(INTERVAL):
            passed = format_duration(time.monotonic() - self._begin)
            for task in self.tasks:
                share = "" if task.total is None else f", {task.percentage:.0f} %"
                line = one_line(f"bfenv: {task.description}{share} after {passed}")
                print(line, file=sys.stderr)
