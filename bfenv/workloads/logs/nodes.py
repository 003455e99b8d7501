"""Names of nodes, as logs list them."""

import re
from functools import lru_cache
from itertools import product

ITEM = re.compile(r"(?:[^,\[\]]|\[[^\]]*\])+")  # between commas that are not in brackets
RANGE = re.compile(r"\[([^\]]*)\]")
MOST = 100_000  # nodes of an item; no cluster has more


@lru_cache(maxsize=1 << 14)
def node_names(text: str) -> tuple[str, ...]:
    """Return the names in a list such as "n[1-3,07],login"."""
    names: list[str] = []
    for item in ITEM.findall(text):
        parts = RANGE.split(item.strip())
        choices = [_numbers(part) if i % 2 else [part] for i, part in enumerate(parts)]
        names += map("".join, product(*choices[:6]))
        if len(names) > MOST:
            break
    return tuple(names)


def _numbers(text: str) -> list[str]:
    """Return the numbers in "1-3,07", of as many digits as the first has."""
    numbers = []
    for one in text.split(","):
        first, _, last = one.partition("-")
        if first.isdecimal() and last.isdecimal() and int(last) - int(first) < MOST:
            numbers += [f"{i:0{len(first)}}" for i in range(int(first), int(last) + 1)]
        else:
            numbers.append(one)
    return numbers
