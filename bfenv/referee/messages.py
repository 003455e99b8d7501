"""The player's end of the connection: one JSON object per line, on standard input and output."""

import json
import os
import sys
from collections.abc import Mapping
from typing import Any


class Connection:
    """Reads messages and sends replies; what the player prints goes to stderr instead."""

    def __init__(self) -> None:
        self._messages = os.fdopen(os.dup(0), "rb")
        self._replies = os.dup(1)
        with open(os.devnull) as nothing:
            os.dup2(nothing.fileno(), 0)
        os.dup2(2, 1)

    def receive(self) -> dict[str, Any]:
        """Return the next message; SystemExit if the referee has closed the connection."""
        line = self._messages.readline()
        if not line:
            sys.exit()
        message: dict[str, Any] = json.loads(line.decode())
        return message

    def send(self, reply: Mapping[str, Any]) -> None:
        """Send a reply."""
        data = json.dumps(reply).encode() + b"\n"
        while data:
            data = data[os.write(self._replies, data) :]
