"""Groups of jobs with equal requests, numbered as their first jobs are seen.

A job belongs to the group of two numbers, such as its user and its estimate. Groups of different
kinds are numbered separately. All are in one hash table with chains. The groups are stored
consecutively, so that the few thousand groups of a log stay in the processor's cache.
"""

from typing import NamedTuple

import numpy as np

from bfenv.core.kernel import kernel

NEXT, FIRST, SECOND, NUMBER = range(4)  # columns of Groups.rows
KINDS = 3
FACTORS = 0x9E3779B97F4A7C1, 0xC2B2AE3D27D4EB5  # odd; they spread numbers over the chains


class Groups(NamedTuple):
    """The groups seen so far, and where each chain begins."""

    chain: np.ndarray  # (c,) int64: index in `rows` of the first group in each chain; 0 for none
    rows: np.ndarray  # (g + 1, 4) int64: index of the next in the chain, the two numbers, and the
    # group's; in row 0 the number of rows, then the numbers of groups of each kind


def new_groups(most: int) -> Groups:
    """Return a table with room for `most` groups; its memory is used as it fills."""
    chains = 1 << max(0, most // 16).bit_length()
    return Groups(np.zeros(chains, dtype=np.int64), np.zeros((most + 1, 4), dtype=np.int64))


FULL = "there are more groups than the table was made for"


@kernel
def group_of(groups, kind, first, second):
    """Return the number of the group of two integers, from 1; a new group gets the next number.

    Raises ValueError if the table is full.
    """
    number = find_group(groups, kind, first, second)
    if number > 0:
        return number
    chain, rows = groups.chain, groups.rows
    first = KINDS * first + kind
    place = _chain_of(chain, first, second)
    row = rows[0, 0] + 1
    if row == len(rows):
        raise ValueError(FULL)
    rows[0, 0] = row
    rows[0, 1 + kind] += 1
    rows[row, NEXT], chain[place] = chain[place], row
    rows[row, FIRST], rows[row, SECOND] = first, second
    rows[row, NUMBER] = rows[0, 1 + kind]
    return rows[row, NUMBER]


@kernel
def find_group(groups, kind, first, second):
    """Return the number of the group of two integers; 0 for a group that is new."""
    chain, rows = groups.chain, groups.rows
    first = KINDS * first + kind
    row = chain[_chain_of(chain, first, second)]
    while row > 0:
        if rows[row, FIRST] == first and rows[row, SECOND] == second:
            return rows[row, NUMBER]
        row = rows[row, NEXT]
    return 0


@kernel
def _chain_of(chain, first, second):
    mixed = first * FACTORS[0] + second * FACTORS[1]
    return (mixed ^ (mixed >> 29)) & (len(chain) - 1)
