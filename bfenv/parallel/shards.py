"""Shards: parts of a list of tasks that different machines work on."""

import re
from collections.abc import Sequence
from typing import TypeVar

from bfenv.core.errors import BfenvError

T = TypeVar("T")


def take_shard(tasks: Sequence[T], shard: tuple[int, int]) -> list[T]:
    """Return the tasks of one shard, every n-th; all shards make up the whole.

    Args:
        tasks: All tasks, the same in every process.
        shard: Which shard, counted from 1, and how many there are.

    Examples:
        >>> from bfenv.parallel import take_shard
        >>> take_shard("abcdefg", (1, 3))
        ['a', 'd', 'g']
    """
    part, parts = shard
    return list(tasks[part - 1 :: parts])


def read_shard(text: str) -> tuple[int, int]:
    """Return the shard and their number that a text gives.

    Args:
        text: "I/N" with 1 <= I <= N.

    Raises:
        BfenvError: If the text is anything else.

    Examples:
        >>> from bfenv.parallel import read_shard
        >>> read_shard("3/20")
        (3, 20)
    """
    match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text.strip())
    part, parts = map(int, match.groups()) if match else (0, 0)
    if not 1 <= part <= parts:
        raise BfenvError(f"a shard is I/N with 1 <= I <= N, as in 3/20, got {text!r}")
    return part, parts
