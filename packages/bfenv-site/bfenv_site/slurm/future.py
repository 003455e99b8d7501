"""The backfill's map of time: which nodes the reservations of waiting jobs leave free, and when.

Pieces of time follow each other from now to the end of the window. Running jobs are not in the
map: when they leave enough nodes is asked of their ends, in groups that grow (`could_start`).
"""

from typing import NamedTuple

import numpy as np

import bfenv_site.slurm.nodes as nd
from bfenv.core.cluster import expected_ends, now, running
from bfenv.core.jobs import FOREVER
from bfenv.core.kernel import kernel

FIRST_GROUP = 30  # seconds between the first and the last end of the first group
PIECES, ROWS, RECORDS = range(3)  # Future.counts


class Future(NamedTuple):
    """Pieces of time in their order, each with a bitmap of the nodes that are not reserved."""

    order: np.ndarray  # (r,) int64 rows of the pieces, by time, counts[PIECES] of them
    begin: np.ndarray  # (r,) int64 seconds, by row
    end: np.ndarray  # (r,) int64 seconds, by row
    size: np.ndarray  # (r,) int64 processors of the nodes that are not reserved, by row
    open: np.ndarray  # (r, w) int64 bitmaps of them, by row
    spare: np.ndarray  # (r,) int64 rows that are not in use: the last ones, from counts[ROWS] on
    counts: np.ndarray  # (3,) int64: pieces, and rows in use, which are as many; records of Slurm's
    # table, which takes none back
    common: np.ndarray  # (w,) int64 bitmap of the nodes open in several pieces


def new_future(nodes: nd.Nodes, reservations: int) -> Future:
    """Return an empty map with room for this number of reservations."""
    rows, words = 2 * reservations + 2, len(nodes.usable)
    return Future(
        order=np.empty(rows, dtype=np.int64),
        begin=np.empty(rows, dtype=np.int64),
        end=np.empty(rows, dtype=np.int64),
        size=np.empty(rows, dtype=np.int64),
        open=np.empty((rows, words), dtype=np.int64),
        spare=np.arange(rows, dtype=np.int64),
        counts=np.zeros(3, dtype=np.int64),
        common=np.empty(words, dtype=np.int64),
    )


@kernel
def begin_map(future, nodes, begin, end):
    """Make the map one piece, in which no node is reserved."""
    for row in range(len(future.spare)):
        future.spare[row] = row
    future.counts[:] = 1
    row, future.order[0] = 0, 0
    future.begin[row], future.end[row], future.size[row] = begin, end, 0
    for word in range(len(nodes.usable)):
        future.open[row, word] = -1
    for node in range(len(nodes.size)):
        future.size[row] += nodes.size[node]


@kernel
def find_open(future, nodes, within, size, start, limit, first):
    """Find the nodes of a bitmap that are not reserved from `start` for `limit` seconds.

    Looks at the map from the piece `first` on, and writes the nodes into `wanted`. Return the place
    of the last piece in that time that has too few processors; -1 if there is none. The piece that
    begins at the very end counts, as in Slurm.
    """
    for word in range(len(nodes.wanted)):
        nodes.wanted[word] = within[word]
    place, last = first, -1
    while place < future.counts[PIECES] and future.begin[future.order[place]] <= start + limit:
        row = future.order[place]
        if future.size[row] < size:
            last = place
        elif last < 0:
            for word in range(len(nodes.wanted)):
                nodes.wanted[word] &= future.open[row, word]
        place += 1
    return last


@kernel
def next_place(future, within, place, end):
    """Return the place of the piece from which on Slurm tries again; -1 if it gives up.

    After a try from the piece `place` on, up to the time `end`, the next one is at the first later
    piece with a node of `within` that was not open in all pieces before it. Where the nodes only
    become fewer, no further try could find more of them, and Slurm makes none. It looks one piece
    further than `end`.
    """
    words = len(future.common)
    for word in range(words):
        future.common[word] = within[word]
    while place + 1 < future.counts[PIECES]:
        row, following = future.order[place], future.order[place + 1]
        for word in range(words):
            future.common[word] &= future.open[row, word]
        for word in range(words):
            if within[word] & future.open[following, word] & ~future.common[word] != 0:
                return place + 1
        if future.begin[row] > end:
            return -1
        place += 1
    return -1


@kernel
def could_start(nodes, cluster, size):
    """Return when `size` processors are free on the nodes of `wanted`, in seconds.

    The ends of running jobs are tried in groups. The first group spans FIRST_GROUP, the next twice
    as long, and so on; the start is the last end in the group after which the job fits. FOREVER
    if it never fits. `free_then` becomes what is free then on the nodes of `wanted`.
    """
    nd.look_at_now(nodes)
    total = nd.usable_now(nodes)
    if total >= size:
        return now(cluster)
    jobs_running, ends = running(cluster), expected_ends(cluster)
    span, i = FIRST_GROUP, 0
    while i < len(ends):
        begin, end = -1, -1
        while i < len(ends):
            gain = _release(nodes, jobs_running[i])
            i += 1
            if gain >= 0:
                total += gain
                end = ends[i - 1]
                if begin < 0:
                    begin = end
                if i < len(ends) and ends[i] > begin + span:
                    break
        if total >= size:
            return end
        span *= 2
    return FOREVER


@kernel
def _release(nodes, job):
    """Return how many processors the end of a job leaves usable on `wanted`; -1: it is elsewhere.

    They are added to `free_then`.
    """
    gain, entry = -1, nodes.first[job]
    while entry >= 0:
        node = nodes.entry_node[entry]
        if nd.has_bit(nodes.wanted, node):
            size = nodes.entry_size[entry]
            nodes.free_then[node] += size
            if nodes.is_whole[0]:
                size = nodes.size[node] if nodes.free_then[node] == nodes.size[node] else 0
            gain = max(gain, 0) + size
        entry = nodes.entry_next[entry]
    return gain


@kernel
def is_open(future, nodes, begin, end):
    """Tell whether no node of `mask` is reserved from `begin` up to `end`, in seconds."""
    for place in range(future.counts[PIECES]):
        row = future.order[place]
        if future.begin[row] >= end:
            return True
        if future.end[row] > begin:
            for word in range(len(nodes.mask)):
                if nodes.mask[word] & ~future.open[row, word] != 0:
                    return False
    return True


@kernel
def reserve_nodes(future, nodes, begin, end):
    """Reserve the nodes of `mask` from `begin`, not before the map's, up to `end`, in seconds.

    Neighbouring pieces with the same nodes become one.
    """
    # A cut is a new record of Slurm's table, one at the beginning of the map as well
    future.counts[RECORDS] += begin == future.begin[future.order[0]]
    _cut(future, nodes, begin)
    _cut(future, nodes, end)
    kept = 0
    for place in range(future.counts[PIECES]):
        row = future.order[place]
        if begin <= future.begin[row] < end:
            _close(future, nodes, row)
        if kept > 0 and _is_same(future, future.order[kept - 1], row):
            future.end[future.order[kept - 1]] = future.end[row]
            future.counts[ROWS] -= 1
            future.spare[future.counts[ROWS]] = row
        else:
            future.order[kept] = row
            kept += 1
    future.counts[PIECES] = kept


@kernel
def _cut(future, nodes, time):
    """Let a piece begin at `time`, if that is within the map."""
    place = future.counts[PIECES] - 1
    while place >= 0 and future.begin[future.order[place]] > time:
        place -= 1
    if place < 0:
        return
    row = future.order[place]
    if future.begin[row] == time or future.end[row] <= time:
        return
    new = future.spare[future.counts[ROWS]]
    future.counts[ROWS] += 1
    future.counts[RECORDS] += 1
    future.begin[new], future.end[new], future.size[new] = time, future.end[row], future.size[row]
    future.end[row] = time
    for word in range(len(nodes.mask)):
        future.open[new, word] = future.open[row, word]
    for i in range(future.counts[PIECES], place + 1, -1):
        future.order[i] = future.order[i - 1]
    future.order[place + 1] = new
    future.counts[PIECES] += 1


@kernel
def _close(future, nodes, row):
    """Take the nodes of `mask` out of a piece."""
    for word in range(len(nodes.mask)):
        taken = nodes.mask[word] & future.open[row, word]
        future.open[row, word] &= ~taken
        if nodes.is_single[0]:
            future.size[row] -= nd.count_bits(taken)
        elif taken != 0:
            for node in range(word * nd.WORD, min(word * nd.WORD + nd.WORD, len(nodes.size))):
                if taken & nd.BITS[node & 63] != 0:
                    future.size[row] -= nodes.size[node]


@kernel
def _is_same(future, row, other_row):
    """Tell whether two rows have the same nodes."""
    if future.size[row] != future.size[other_row]:
        return False
    for word in range(future.open.shape[1]):
        if future.open[row, word] != future.open[other_row, word]:
            return False
    return True
