"""Shards of a list of tasks."""

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfenv.core.errors import BfenvError
from bfenv.parallel.shards import read_shard, take_shard


@given(st.integers(0, 40), st.integers(1, 12))
def test_partition(tasks, parts):
    """Shards are disjoint, make up the whole, and differ in size by at most one."""
    shards = [take_shard(range(tasks), read_shard(f"{part + 1}/{parts}")) for part in range(parts)]
    assert sorted(chain(*shards)) == list(range(tasks))
    assert max(map(len, shards)) - min(map(len, shards)) <= 1


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "a/b", "-1/3", "1/0", "", "1/3/5"])
def test_bad_shard(text):
    """Anything but I/N with 1 <= I <= N is refused by name."""
    with pytest.raises(BfenvError) as error:
        read_shard(text)
    assert repr(text) in str(error.value)
