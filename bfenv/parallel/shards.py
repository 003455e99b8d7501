"""Shards: parts of a list of tasks that different machines work on."""

import re
from collections.abc import Sequence
from typing import TypeVar

from bfenv.core.errors import BfenvError

T = TypeVar("T")


def take_shard(tasks: Sequence[T], shard: tuple[int, int]) -> list[T]:
    """Return the tasks of shard i of n, counted from 1; all n shards make up the whole."""
    part, parts = shard
    return list(tasks[part - 1 :: parts])


def read_shard(text: str) -> tuple[int, int]:
    """Read a shard: "3/20" is (3, 20), the third of twenty.

    Raises
    ------
    BfenvError
        If the text is anything else; "0/20" and "21/20" are.
    """
    match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text.strip())
    part, parts = map(int, match.groups()) if match else (0, 0)
    if not 1 <= part <= parts:
        raise BfenvError(f"a shard is I/N with 1 <= I <= N, as in 3/20, got {text!r}")
    return part, parts
