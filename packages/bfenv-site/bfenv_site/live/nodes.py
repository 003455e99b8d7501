"""The nodes of a live cluster, as Slurm's `sinfo` prints them, and the jobs they have room for.

Source: the manual page sinfo(1) of Slurm 25.11.
"""

import os
import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

import bfenv_site.live.reasons as rs
from bfenv.core.errors import WorkloadError
from bfenv.core.text import shown
from bfenv.workloads.logs.text import read_json, read_lines
from bfenv_site.defaults import SINFO
from bfenv_site.live.squeue import Entry, Snapshot, no_answer, whole_number
from bfenv_site.slurm.conf_lines import error_prefix, expand_names

# Words of a node's state. A lost node is lost with its jobs; a draining node finishes its jobs and
# takes no new ones. Slurm writes some of these states as a flag after the word.
LOST = re.compile(r"down|drained|fail|maint|inval|unk|fut|err|perfctrs")
DRAINING = re.compile(
    r"drain|drng|res(er)?v|reboot(?!_cancel)|block|pow(er(ing)?)?_?(down|dn|drain)|no(t)?_?respond"
)
FLAGS = "*~#!%$@^-"
LOST_FLAGS, DRAINING_FLAGS = "$", "*%!@^"  # maintenance; no answer, powers down, reboots


class Node(NamedTuple):
    """A node of a live cluster."""

    name: str
    size: int  # processors
    is_up: bool  # it takes new jobs
    partitions: tuple[str, ...]
    is_lost: bool = False  # jobs on it hold nothing that others could have
    default: str = ""  # the one of its partitions that sinfo marks as the default, if any


def read_sinfo(path: str | os.PathLike[str]) -> list[Node]:
    """Return the nodes that the command SINFO has printed, or the JSON of sinfo or scontrol.

    A node that drains is not up, and not lost either: it runs the jobs that it has.

    Raises:
        BfenvError: If the file is something else.
    """
    lines, _ = read_lines(path)
    if not "".join(lines).lstrip().startswith("{"):
        return nodes_of(path, lines)
    content, _ = read_json(path)
    if not isinstance(content, dict) or not any(
        isinstance(content.get(key), list) for key in ("nodes", "sinfo")
    ):
        raise WorkloadError(
            f"{path}: not the output of sinfo --json or scontrol show nodes --json: it has no list "
            "'sinfo' or 'nodes'"
        )
    try:
        rows = [row for node in content.get("nodes", []) for row in _rows_of_scontrol(node)]
        rows += [row for group in content.get("sinfo", []) for row in _rows_of_sinfo(group)]
    except (AttributeError, KeyError, TypeError):
        raise WorkloadError(
            f"{path}: a node lacks its name, its number of cpus, its state or its partition"
        ) from None
    return _nodes((f"{path}: node {shown(row[0])}", *row) for row in rows)


def nodes_of(source: Any, lines: Iterable[str]) -> list[Node]:
    """Return the nodes in lines of the command SINFO; `source` is the file's name, for messages.

    Raises BfenvError as `read_sinfo` does.
    """
    rows = []
    for number, line in enumerate(lines, 1):
        fields = [field.strip() for field in line.split("|")]
        if fields == [""] or fields[1:2] == ["CPUS"]:  # a header
            continue
        if len(fields) != 4:
            fault = no_answer(line) or f"not four fields; print it with {SINFO}"
            raise WorkloadError(f"{source}, line {number}: {fault}")
        rows.append((f"{source}, line {number}", *fields))
    return _nodes(rows)


def _nodes(rows: Iterable[tuple[str, ...]]) -> list[Node]:
    """Return nodes from rows of a place, names, processors, a state, and one of its partitions.

    Names are as Slurm lists them, such as "n[1-4]" of equal nodes.
    """
    nodes: dict[str, Node] = {}
    for place, names, size, state, partition in rows:
        count = whole_number(place, size)
        is_up, is_lost = read_state(state)
        with error_prefix(place):
            node_names = expand_names(names)
        for name in node_names:
            partitions = nodes[name].partitions if name in nodes else ()
            default = nodes[name].default if name in nodes else ""
            bare = partition.rstrip("*")
            default = bare if bare != partition else default
            nodes[name] = Node(name, count, is_up, (*partitions, bare), is_lost, default)
    return list(nodes.values())


def read_state(text: str) -> tuple[bool, bool]:
    """Tell from a state whether a node takes new jobs, and whether the jobs on it are lost.

    A state is a word with flags after it, as in "idle*", or words, as in "IDLE+DRAIN".
    """
    words = text.strip().lower().rstrip(FLAGS).split("+")
    flags = set(text.strip()) & set(FLAGS)
    is_lost = any(map(LOST.match, words)) or bool(flags & set(LOST_FLAGS))
    drains = any(map(DRAINING.match, words)) or bool(flags & set(DRAINING_FLAGS))
    return not is_lost and not drains, is_lost


def _rows_of_scontrol(node: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Return the rows of a node of `scontrol show nodes --json`, one for each partition."""
    state = _state(node["state"], node.get("state_flags") or [])
    partitions = node.get("partitions") or [""]
    partitions = partitions.split(",") if isinstance(partitions, str) else partitions
    return [(str(node["name"]), str(node["cpus"]), state, str(part)) for part in partitions]


def _rows_of_sinfo(group: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Return the rows of a group of equal nodes of `sinfo --json`."""
    cpus, partition = group["cpus"], group["partition"]["name"]
    size = str(cpus["maximum"]) if cpus["maximum"] == cpus["minimum"] else "of several sizes"
    state = _state(group["node"]["state"], [])
    names = group["nodes"]["nodes"]
    names = names if isinstance(names, str) else ",".join(map(str, names))
    return [(names, size, state, str(partition))]


def _state(state: str | list[str], flags: list[str]) -> str:
    """Return a state of JSON as scontrol prints it, such as "IDLE+DRAIN"."""
    return "+".join(map(str, [*([state] if isinstance(state, str) else state), *flags]))


def partition_names(nodes: Iterable[Node]) -> list[str]:
    """Return the names of all partitions of nodes, in their order."""
    return list(dict.fromkeys(part for node in nodes for part in node.partitions))


def partition_sizes(nodes: Sequence[Node]) -> dict[str, int]:
    """Return how many processors take jobs in each partition, by its name."""
    sizes = dict.fromkeys(filter(None, partition_names(nodes)), 0)
    for node in nodes:
        for part in set(node.partitions) & sizes.keys() if node.is_up else ():
            sizes[part] += node.size
    return sizes


def without_old_reasons(snapshot: Snapshot, nodes: Iterable[Node]) -> Snapshot:
    """Return a queue in which no job waits for nodes that take jobs again.

    Slurm keeps the reason ReqNodeNotAvail of a job after the nodes that it names have come back,
    until the main scheduler looks at the job. Such a job waits for processors.
    """
    up = {node.name for node in nodes if node.is_up}
    node_lists = {entry.misses for entry in snapshot.apart if entry.misses}
    with error_prefix("squeue"):
        are_up = {names: set(expand_names(names)) <= up for names in node_lists}
    entries = [*snapshot.entries]
    apart: list[Entry] = []
    for entry in snapshot.apart:
        (entries if are_up.get(entry.misses) else apart).append(entry)
    return snapshot._replace(entries=entries, apart=apart)


def without_room(snapshot: Snapshot, nodes: list[Node]) -> Snapshot:
    """Return a queue in which no job waits that the nodes of its partitions have no room for."""
    waiting = [entry for entry in snapshot.entries if not entry.runs]
    kept, left_out = on_nodes(waiting, nodes, sum(node.size for node in nodes if node.is_up))
    runs = [entry for entry in snapshot.entries if entry.runs]
    return snapshot._replace(entries=[*runs, *kept], apart=[*snapshot.apart, *left_out])


def on_nodes(
    entries: list[Entry], nodes: list[Node], processors: int
) -> tuple[list[Entry], list[Entry]]:
    """Return the jobs that matter on the nodes that take jobs, and those that are left out.

    A running job counts with its processors on these nodes. Without any there, it holds nothing
    that others could have: it is left out, and listed only if its nodes are lost or not known. A
    waiting job is left out if the nodes of its partitions have too few processors. The reason of
    each job that is listed as left out says why.

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

    @cache
    def room(partition: str) -> tuple[set[str], int]:
        """Return which of a job's partitions there are, and the processors that are up there."""
        allowed = partitions & set(partition.split(","))
        if not allowed:
            return allowed, processors
        return allowed, sum(n.size for n in nodes if n.is_up and allowed & set(n.partitions))

    for entry in entries:
        if not entry.runs:
            allowed, most = room(entry.partition)
            if partitions and entry.partition and not allowed:
                reason = f"partition {entry.partition}, which sinfo does not list"
                left_out.append(entry._replace(reason=reason))
            elif entry.size > most:
                place = entry.partition if allowed else "the machine"
                left_out.append(entry._replace(reason=f"too few working processors in {place}"))
            else:
                kept.append(entry)
            continue
        with error_prefix("squeue"):
            names = expand_names(entry.nodes) if nodes else []
        up_names = [name for name in names if name in up]
        if not names or len(up_names) == len(names):
            kept.append(entry)
        elif up_names:
            processors_there = sum(size.get(name, 0) for name in names) or 1
            share = -(-entry.size * sum(size[name] for name in up_names) // processors_there)
            kept.append(entry._replace(size=max(1, share), nodes=",".join(up_names)))
        elif any(name in lost for name in names):
            left_out.append(entry._replace(reason=rs.LOST_NODES))
        elif not any(name in size for name in names):
            left_out.append(entry._replace(reason=rs.UNKNOWN_NODES))
    return kept, left_out
