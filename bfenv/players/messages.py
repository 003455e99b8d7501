"""The player's end of the connection, on standard input and output: JSON lines, or frames."""

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

from bfenv.players.frames import INTEGER, Frame, new_frame, text_frame

ROOM = 4096  # integers of a message; longer ones make more room


class Connection:
    """Reads messages and sends replies; what the player prints goes to stderr instead."""

    def __init__(self) -> None:
        self._messages = os.fdopen(os.dup(0), "rb")
        self._replies = os.dup(1)
        self._frame: Frame | None = None
        with open(os.devnull) as nothing:
            os.dup2(nothing.fileno(), 0)
        os.dup2(2, 1)

    def use_frames(self) -> None:
        """Send and receive frames from now on, not lines."""
        self._frame = new_frame(ROOM)

    def receive(self) -> Any:
        """Return the next message: a dict, or the numbers of a pass, valid until the next call.

        SystemExit if the referee has closed the connection.
        """
        if self._frame is None:
            return _parsed(self._messages.readline())
        if self._messages.readinto(self._frame.memory[:INTEGER]) < INTEGER:
            sys.exit()
        count = int(self._frame.head[0])
        if count < 0:
            return _parsed(self._messages.read(-count))
        if count > len(self._frame.numbers):
            self._frame = new_frame(2 * count)
        self._messages.readinto(self._frame.memory[INTEGER : INTEGER * (1 + count)])
        return self._frame.numbers[:count]

    def send(self, reply: Mapping[str, Any]) -> None:
        """Send a reply."""
        text = json.dumps(reply).encode()
        self._write(text + b"\n" if self._frame is None else text_frame(text))

    def send_numbers(self, frame: Frame, count: int) -> None:
        """Send the answer to a pass."""
        self._write(frame.bytes_of(count))

    def _write(self, data: bytes | memoryview) -> None:
        while data:
            data = data[os.write(self._replies, data) :]


def _parsed(text: bytes) -> Any:
    if not text:
        sys.exit()
    return json.loads(text.decode())
