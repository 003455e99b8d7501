"""The nodes of a live cluster, as Slurm's `sinfo` prints them, and the jobs they have room for.

Source: the manual page sinfo(1) of Slurm 25.11.
"""

import os
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import bfenv_site.live.reasons as rs
from bfenv.core.errors import WorkloadError
from bfenv.workloads.logs.text import read_lines
from bfenv_site.defaults import SINFO
from bfenv_site.live.squeue import Entry, Snapshot, whole_number
from bfenv_site.slurm.conf import expand_names

# States of nodes, as sinfo's %T begins: with what runs on them they are lost, or they run what they
# have and take nothing new. A flag behind the state says the same of an idle or allocated node.
LOST = re.compile(
    r"(?!powered|powering_up)(down|drained|fail|maint|inval|unk|future|error|perfctrs)"
)
DRAINING = re.compile(r"drain|drng|reserved|resv|reboot|blocked|power(ing)?_?down|no_respond")
LOST_FLAGS, DRAINING_FLAGS = "$", "*%!@^"  # maintenance; no answer, powers down, reboots


class Node(NamedTuple):
    """A node of a live cluster."""

    name: str
    size: int  # processors
    is_up: bool  # it takes new jobs
    partitions: tuple[str, ...]
    is_lost: bool = False  # jobs on it hold nothing that others could have


def read_sinfo(path: str | os.PathLike[str]) -> list[Node]:
    """Return the nodes, from what the command SINFO has printed.

    A node that drains is not up, and not lost either: it runs the jobs that it has.

    Raises:
        BfenvError: If the file is something else.
    """
    return nodes_of(path, read_lines(path)[0])


def nodes_of(where: Any, lines: Iterable[str]) -> list[Node]:
    """Return the nodes in lines of the command SINFO; `where` they are from is for messages.

    Raises BfenvError as `read_sinfo` does.
    """
    nodes: dict[str, Node] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        fields = line.strip().split("|")
        if len(fields) != 4:
            raise WorkloadError(f"{where}, line {number}: not four fields; print it with {SINFO}")
        name, size, state, partition = fields
        partitions = nodes[name].partitions if name in nodes else ()
        state, count = state.lower(), whole_number(f"{where}, line {number}", size)
        is_lost = LOST.match(state) is not None or state[-1:] in tuple(LOST_FLAGS)
        drains = DRAINING.match(state) is not None or state[-1:] in tuple(DRAINING_FLAGS)
        is_up = not is_lost and not drains
        nodes[name] = Node(name, count, is_up, (*partitions, partition.rstrip("*")), is_lost)
    return list(nodes.values())


def partition_names(nodes: Iterable[Node]) -> list[str]:
    """Return the names of all partitions of nodes, in their order."""
    return list(dict.fromkeys(part for node in nodes for part in node.partitions))


def without_old_reasons(snapshot: Snapshot, nodes: Iterable[Node]) -> Snapshot:
    """Return a queue in which no job waits for nodes that take jobs again.

    Slurm keeps the reason ReqNodeNotAvail of a job after the nodes that it names have come back,
    until the main scheduler looks at the job. Such a job waits for processors.
    """
    up = {node.name for node in nodes if node.is_up}
    are_up = {
        misses: set(expand_names("squeue", misses)) <= up
        for misses in {entry.misses for entry in snapshot.apart if entry.misses}
    }
    entries = [*snapshot.entries]
    apart: list[Entry] = []
    for entry in snapshot.apart:
        (entries if are_up.get(entry.misses) else apart).append(entry)
    return snapshot._replace(entries=entries, apart=apart)


def on_nodes(
    entries: list[Entry], nodes: list[Node], processors: int
) -> tuple[list[Entry], list[Entry]]:
    """Return the jobs that matter on the nodes that take jobs, and those that are left out.

    A running job counts with its processors on these nodes. One that has none there holds nothing
    that others could have; it is left out, and named if its nodes are lost or not known. A waiting
    job is left out if the nodes of its partitions have too few processors. The reason of a job that
    is left out becomes why.

    Args:
        entries: Those that run, or wait for processors.
        nodes: All that sinfo lists; none if that is not known.
        processors: Of the machine.
    """
    size = {node.name: node.size for node in nodes}
    up = {node.name for node in nodes if node.is_up}
    lost = {node.name for node in nodes if node.is_lost}
    partitions = set(partition_names(nodes))
    kept, left_out = [], []
    for entry in entries:
        if not entry.runs:
            allowed = partitions & set(entry.partition.split(","))
            if allowed:
                most = sum(n.size for n in nodes if n.is_up and allowed & set(n.partitions))
            else:  # sinfo does not say where it may run
                most = processors
            if entry.size > most:
                where = f"{entry.partition} has" if allowed else "the machine has"
                left_out.append(entry._replace(reason=f"more processors than {where} up"))
            else:
                kept.append(entry)
            continue
        names = expand_names("squeue", entry.nodes) if nodes else []
        here = [name for name in names if name in up]
        if not names or len(here) == len(names):
            kept.append(entry)
        elif here:
            processors_there = sum(size.get(name, 0) for name in names) or 1
            share = -(-entry.size * sum(size[name] for name in here) // processors_there)
            kept.append(entry._replace(size=max(1, share), nodes=",".join(here)))
        elif any(name in lost for name in names):
            left_out.append(entry._replace(reason=rs.LOST_NODES))
        elif not any(name in size for name in names):
            left_out.append(entry._replace(reason=rs.UNKNOWN_NODES))
    return kept, left_out
