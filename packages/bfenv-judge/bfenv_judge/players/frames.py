"""Frames: the binary form of messages between a referee and a player.

A frame is an integer n, and then n integers, a pass or its answer, see
`bfenv_judge.players.pass_messages`.
If n is negative, -n bytes of JSON follow instead. Integers have 64 bits, in the machine's order.
"""

from typing import NamedTuple

import numpy as np

INTEGER = 8  # bytes


class Frame(NamedTuple):
    """Room for a frame of integers; all its parts are views of one array."""

    head: np.ndarray  # (1,) int64: how many integers follow
    numbers: np.ndarray  # (most,) int64
    memory: memoryview  # the bytes of both

    def bytes_of(self, count: int) -> memoryview:
        """Return the bytes of a frame of the first `count` numbers."""
        self.head[0] = count
        return self.memory[: INTEGER * (1 + count)]


def new_frame(most: int) -> Frame:
    """Make room for a frame of `most` integers."""
    words = np.empty(1 + most, dtype=np.int64)
    return Frame(words[:1], words[1:], words.data.cast("B"))


def text_frame(text: bytes) -> bytes:
    """Return the bytes of a frame of JSON."""
    return np.int64(-len(text)).tobytes() + text
