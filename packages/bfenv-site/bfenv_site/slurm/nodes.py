"""The nodes of the machine: which job holds which, and on which a job would run.

The engine counts processors only. Which nodes a running job is on is kept here, from pass to pass,
in lists of (node, processors), one list per job. Sets of nodes are bitmaps: node i is bit i % 64 of
word i // 64.

Slurm's rule (select/cons_tres without a topology, 22.05): of the usable nodes, runs of consecutive
numbers are taken one after another, each time the smallest run that suffices, else the largest; of
equal ones the first. Within a run, the nodes of low numbers are taken first.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bfenv.core.cluster import finished, running
from bfenv.core.jobs import FOREVER, Jobs
from bfenv.core.kernel import inlined, kernel
from bfenv.knowledge.following import has_missed_pass

WORD = 64  # bits
BITS = np.left_shift(np.int64(1), np.arange(WORD, dtype=np.int64))  # the last one is negative
UNPLACED, NOWHERE = -2, -1  # in place of a job's first entry: not running, running without nodes

PLACED, SPARE, PICKED = range(3)  # Nodes.counts: running jobs, first unused entry, nodes picked


class Nodes(NamedTuple):
    """Nodes with one or more processors each, and the lists of those that jobs hold."""

    size: np.ndarray  # (k,) int64 processors of each node
    free: np.ndarray  # (k,) int64 processors of each that no job holds
    usable: np.ndarray  # (w,) int64 bitmap: nodes with processors that no job holds
    is_single: np.ndarray  # (1,) bool: every node has one processor
    is_whole: np.ndarray  # (2,) bool: no two jobs share a node; of the job that is looked at, and
    # of jobs that another policy started
    placed: np.ndarray  # (n,) int64 running jobs, counts[PLACED] of them
    first: np.ndarray  # (n,) int64 first entry of a job's list; UNPLACED, NOWHERE
    entry_node: np.ndarray  # (p,) int64
    entry_size: np.ndarray  # (p,) int64 processors that the job holds on it
    entry_next: np.ndarray  # (p,) int64 next entry of the list; NOWHERE at its end
    counts: np.ndarray  # (3,) int64
    last_pass: np.ndarray  # (1,) int64, see `has_missed_pass`
    wanted: np.ndarray  # (w,) int64 bitmap of the nodes among which a job may choose
    free_then: np.ndarray  # (k,) int64 processors of each that are free at the time looked at
    picked: np.ndarray  # (k,) int64 nodes that were chosen, counts[PICKED] of them
    picked_size: np.ndarray  # (k,) int64 processors on them
    mask: np.ndarray  # (w,) int64 bitmap of the same
    run_begin: np.ndarray  # (k,) int64 first node of a run
    run_size: np.ndarray  # (k,) int64 usable processors of a run


def new_nodes(jobs: Jobs, sizes: np.ndarray, *, whole: bool = False) -> Nodes:
    """Return idle nodes with these numbers of processors, (k,) int64."""
    count, jobs_count, processors = len(sizes), len(jobs.submit), int(sizes.sum())
    words = -(-count // WORD)
    return Nodes(
        size=sizes.astype(np.int64),
        free=sizes.astype(np.int64),
        usable=bitmap_of(np.arange(count), count),
        is_single=np.array([bool((sizes == 1).all())]),
        is_whole=np.array([whole, whole]),
        placed=np.empty(jobs_count, dtype=np.int64),
        first=np.full(jobs_count, UNPLACED, dtype=np.int64),
        entry_node=np.empty(processors, dtype=np.int64),
        entry_size=np.empty(processors, dtype=np.int64),
        entry_next=np.append(np.arange(1, processors, dtype=np.int64), NOWHERE),
        counts=np.zeros(3, dtype=np.int64),
        last_pass=np.zeros(1, dtype=np.int64),
        wanted=np.zeros(words, dtype=np.int64),
        free_then=np.empty(count, dtype=np.int64),
        picked=np.empty(count, dtype=np.int64),
        picked_size=np.empty(count, dtype=np.int64),
        mask=np.zeros(words, dtype=np.int64),
        run_begin=np.empty(count, dtype=np.int64),
        run_size=np.empty(count, dtype=np.int64),
    )


# Bitmaps ----------------------------------------------------------------------------------------


@inlined
def has_bit(bitmap, node):
    """Tell whether a node is in a bitmap."""
    return (bitmap[node >> 6] & BITS[node & 63]) != 0


@inlined
def count_bits(word):
    """Return the number of bits of a word that are set; it may be negative."""
    word = word - ((word >> 1) & 0x5555555555555555)
    word = (word & 0x3333333333333333) + ((word >> 2) & 0x3333333333333333)
    word = (word + (word >> 4)) & 0x0F0F0F0F0F0F0F0F
    word += word >> 8
    word += word >> 16
    word += word >> 32
    return word & 127


@inlined
def usable_of(nodes, node, free):
    """Return how many of a node's free processors a job can have."""
    return free if not nodes.is_whole[0] or free == nodes.size[node] else 0


@kernel
def usable_now(nodes):
    """Return how many processors a job can have now on the nodes of `wanted`."""
    total = 0
    for word in range(len(nodes.wanted)):
        bits = nodes.wanted[word] & nodes.usable[word]
        if nodes.is_single[0]:
            total += count_bits(bits)
        elif bits != 0:
            for node in range(word * WORD, min(word * WORD + WORD, len(nodes.size))):
                if bits & BITS[node & 63] != 0:
                    total += usable_of(nodes, node, nodes.free[node])
    return total


@kernel
def size_of_wanted(nodes):
    """Return how many processors the nodes of `wanted` have, free or in use."""
    total = 0
    for node in range(len(nodes.size)):
        if has_bit(nodes.wanted, node):
            total += nodes.size[node]
    return total


def bitmap_of(numbers: np.ndarray, count: int) -> np.ndarray:
    """Return the bitmap, (w,) int64, of nodes by their numbers, of `count` in all."""
    bitmap = np.zeros(-(-count // WORD), dtype=np.int64)
    for node in numbers.tolist():
        bitmap[node // WORD] |= BITS[node % WORD]
    return bitmap


@kernel
def want_all(nodes):
    """Write all nodes into `wanted`."""
    for word in range(len(nodes.wanted)):
        nodes.wanted[word] = -1


# Choosing ---------------------------------------------------------------------------------------


@kernel
def look_at_now(nodes):
    """Write into `free_then` what is free now."""
    for node in range(len(nodes.free)):
        nodes.free_then[node] = nodes.free[node]


@kernel
def pick(nodes, size):
    """Choose nodes of `wanted` with `size` processors that are free by `free_then`.

    Writes `picked`, `picked_size` and `mask`. If fewer are free, all of them are picked.
    """
    for word in range(len(nodes.mask)):
        nodes.mask[word] = 0
    nodes.counts[PICKED] = 0
    runs, last = 0, -2
    for node in range(len(nodes.size)):
        if nodes.wanted[node >> 6] == 0 or not has_bit(nodes.wanted, node):
            continue
        usable = usable_of(nodes, node, nodes.free_then[node])
        if usable > 0:
            if last != node - 1:
                nodes.run_begin[runs], nodes.run_size[runs] = node, 0
                runs += 1
            nodes.run_size[runs - 1] += usable
            last = node
    while size > 0:
        best, held = -1, 0
        for run in range(runs):  # the smallest that is enough, or else the largest
            processors = nodes.run_size[run]
            if size <= processors < held if held >= size else processors > held:
                best, held = run, processors
        if best < 0:
            return
        size = _take_run(nodes, nodes.run_begin[best], held, size)
        nodes.run_size[best] = 0


@kernel
def _take_run(nodes, node, left, size):
    """Pick the nodes of a run, which has `left` processors; return what of `size` is missing."""
    while size > 0 and left > 0:
        usable = usable_of(nodes, node, nodes.free_then[node])
        held = usable if nodes.is_whole[0] else min(usable, size)
        nodes.picked[nodes.counts[PICKED]] = node
        nodes.picked_size[nodes.counts[PICKED]] = held
        nodes.counts[PICKED] += 1
        nodes.mask[node >> 6] |= BITS[node & 63]
        size -= held
        left -= usable
        node += 1
    return size


# What jobs hold ---------------------------------------------------------------------------------


@kernel
def hold_picked(nodes, job):
    """Give a job that starts the nodes that `pick` chose from what is free now."""
    nodes.placed[nodes.counts[PLACED]] = job
    nodes.counts[PLACED] += 1
    nodes.first[job] = NOWHERE
    for i in range(nodes.counts[PICKED]):
        node, size, entry = nodes.picked[i], nodes.picked_size[i], nodes.counts[SPARE]
        nodes.counts[SPARE] = nodes.entry_next[entry]
        nodes.entry_node[entry], nodes.entry_size[entry] = node, size
        nodes.entry_next[entry], nodes.first[job] = nodes.first[job], entry
        nodes.free[node] -= size
        if nodes.free[node] == 0:
            nodes.usable[node >> 6] &= ~BITS[node & 63]


def open_on(nodes: Nodes, job: int, size: int, chosen: Sequence[int]) -> None:
    """Put a running job of this size on given nodes, to open a state of another machine.

    It fills them in their order, as `pick` does.
    """
    nodes.counts[PICKED] = len(chosen)
    for i, node in enumerate(sorted(chosen)):
        room = int(nodes.free[node])
        held = room if nodes.is_whole[0] else min(room, size - (len(chosen) - i - 1))
        nodes.picked[i], nodes.picked_size[i] = node, held
        size = max(0, size - held)
    hold_picked(nodes, job)


@kernel
def leave(nodes, place):
    """Take back the nodes of a running job, the one at this place of `placed`."""
    job = nodes.placed[place]
    nodes.counts[PLACED] -= 1
    nodes.placed[place] = nodes.placed[nodes.counts[PLACED]]
    entry = nodes.first[job]
    while entry != NOWHERE:
        node, following = nodes.entry_node[entry], nodes.entry_next[entry]
        nodes.free[node] += nodes.entry_size[entry]
        if nodes.free[node] > 0:
            nodes.usable[node >> 6] |= BITS[node & 63]
        nodes.entry_next[entry], nodes.counts[SPARE] = nodes.counts[SPARE], entry
        entry = following
    nodes.first[job] = UNPLACED


@kernel
def follow(nodes, cluster, jobs):
    """Bring what jobs hold up to now.

    Jobs that another policy started, and outages, are given nodes when they are first seen.
    """
    nodes.is_whole[0] = nodes.is_whole[1]
    if not has_missed_pass(cluster, nodes.last_pass):
        for job in finished(cluster):
            place = 0
            while nodes.placed[place] != job:
                place += 1
            leave(nodes, place)
        return
    for place in range(nodes.counts[PLACED] - 1, -1, -1):
        job = nodes.placed[place]
        if not (0 <= cluster.start[job] < FOREVER and cluster.end[job] < 0):
            leave(nodes, place)
    for job in running(cluster):
        if nodes.first[job] == UNPLACED:
            want_all(nodes)
            look_at_now(nodes)
            pick(nodes, jobs.size[job])
            hold_picked(nodes, job)
