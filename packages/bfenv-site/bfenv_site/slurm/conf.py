"""What a site's slurm.conf says of its nodes, partitions and priorities.

Source: slurm.conf(5) of Slurm 22.05 to 25.11. Lines that say nothing of which job starts when are
passed over; those that do and are not modelled are named in a warning with their places, see
UNMODELLED.
"""

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bfenv.core.durations import DAY, MINUTE
from bfenv.core.errors import PolicyError
from bfenv.core.names import LARGEST
from bfenv.core.text import listed, shown
from bfenv.workloads.logs.times import read_duration
from bfenv_site.slurm.conf_lines import (
    MOST_NODES,
    Line,
    error_prefix,
    expand_names,
    read_lines,
    with_defaults,
)

MOST_FEATURES = 10**7  # of all nodes together
MOST_CPUS = 2**16  # of a node, as in Slurm
UNSET = ("", "none", "no", "infinite", "unlimited", "0", "off")
# Lines on which the schedule may depend, if they are set to anything but UNSET
UNMODELLED = (
    "PriorityWeightAssoc",
    "PriorityWeightQOS",
    "PriorityWeightTRES",
    "PriorityUsageResetPeriod",
    "PrioritySiteFactorPlugin",
    "PreemptType",
    "PreemptMode",
    "TopologyPlugin",
    "Licenses",
    "GresTypes",
    "JobSubmitPlugins",
    "AccountingStorageEnforce",
    "OverTimeLimit",
    "ResumeProgram",
)
UNMODELLED_OF_NODES = ("Gres", "Weight", "CoreSpecCount")
UNMODELLED_OF_PARTITIONS = (
    "AllowAccounts",
    "AllowGroups",
    "AllowQos",
    "Alternate",
    "DenyAccounts",
    "DenyQos",
    "ExclusiveTopo",
    "ExclusiveUser",
    "LLN",
    "MaxCPUsPerNode",
    "MaxCPUsPerSocket",
    "MaxNodes",
    "MaxTime",
    "MinNodes",
    "PreemptMode",
    "QOS",
    "TRESBillingWeights",
)
# PriorityFlags that change which job comes first, beside those of Multifactor
UNMODELLED_FLAGS = (
    "CALCULATE_RUNNING",
    "DEPTH_OBLIVIOUS",
    "INCR_ONLY",
    "MAX_TRES",
    "MAX_TRES_GRES",
    "NO_NORMAL_ALL",
    "NO_NORMAL_ASSOC",
    "NO_NORMAL_PART",
    "NO_NORMAL_QOS",
    "NO_NORMAL_TRES",
)


CPU_SETTINGS = (
    "cpus",
    "boards",
    "sockets",
    "socketsperboard",
    "corespersocket",
    "threadspercore",
)  # of which a node has at least one, or it has one CPU
ABSENT = "FUTURE"  # the state of nodes that are not there
OUT_OF_SERVICE = ("DOWN", "DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING")  # that take no jobs
CLOSED = ("DOWN", "INACTIVE")  # states of partitions in which no job starts
# What a file that does not say has, by the version from which on: PriorityType and SelectType
DEFAULTS = {
    "22.05": ("priority/basic", "select/linear"),
    "23.11": ("priority/multifactor", "select/cons_tres"),
}


class Partition(NamedTuple):
    """A partition of the nodes."""

    name: str
    nodes: np.ndarray  # (k,) int64 numbers of its nodes, from 0
    tier: int = 1  # PriorityTier
    factor: int = 1  # PriorityJobFactor
    is_whole: bool = False  # OverSubscribe=EXCLUSIVE: no other job is on the nodes of its jobs
    is_closed: bool = False  # State=DOWN or INACTIVE: no job starts


class Multifactor(NamedTuple):
    """The settings of priority/multifactor; all weights are 0 under priority/basic."""

    is_on: bool = False
    age: float = 0.0  # weights
    fair_share: float = 0.0
    job_size: float = 0.0
    partition: float = 0.0
    max_age: int = 7 * DAY  # seconds
    favor_small: bool = False
    by_time: bool = False  # SMALL_RELATIVE_TO_TIME
    from_submission: bool = False  # ACCRUE_ALWAYS: jobs age from their submission on
    fair_tree: bool = True
    half_life: float = 7.0 * DAY  # seconds; 0 for usage that does not decay
    damping: float = 1.0  # FairShareDampeningFactor
    period: int = 5 * MINUTE  # seconds between two calculations


class Site(NamedTuple):
    """What is modelled of a slurm.conf."""

    sizes: np.ndarray  # (k,) int64 CPUs of each node that takes jobs
    partitions: tuple[Partition, ...]
    default: int  # the partition of a job that names none
    is_backfill: bool = True  # False for sched/builtin
    is_whole: bool = False  # no two jobs share a node
    priority: Multifactor = Multifactor()
    parameters: str = ""  # SchedulerParameters
    unmodelled: tuple[str, ...] = ()
    names: tuple[str, ...] = ()  # of the nodes
    down: tuple[int, ...] = ()  # CPUs of each node that takes no jobs
    future: int = 0  # nodes that are not there
    absent: tuple[str, ...] = ()  # names of the nodes that take no jobs, or are not there
    without_cpus: tuple[str, ...] = ()  # lines of nodes that do not say how many CPUs they have
    conf: str = ""  # path of the slurm.conf, for messages; empty without one


DEFAULT_SITE_NAME = "all"  # the partition of a machine without a slurm.conf


def site_of(sizes: np.ndarray) -> Site:
    """Return nodes of these sizes with one partition, without a slurm.conf."""
    whole = Partition(DEFAULT_SITE_NAME, np.arange(len(sizes), dtype=np.int64))
    return Site(sizes, (whole,), 0)


def read_conf(path: str | os.PathLike[str], version: str = "23.11") -> Site:
    """Read a slurm.conf, and the files that it includes.

    `version` is a key of DEFAULTS: the defaults of that version of Slurm and of later ones.

    Nodes of State=FUTURE are not there. Nodes in DownNodes, or of another state in which they take
    no jobs, are out of service for the whole time. Partitions may be without nodes.

    Raises:
        FileNotFoundError: If there is no such file.
        PolicyError: If a line cannot be read, an included file is not found, there are no nodes or
            no partitions, a partition has a node that is not there, or a plugin schedules that is
            not Slurm's own.
    """
    if version not in DEFAULTS:
        raise PolicyError(f"version must be {' or '.join(DEFAULTS)}, got {shown(version)}")
    with error_prefix(path):
        site = _site(read_lines(Path(path), Path(path)), version)
    return site._replace(conf=str(path))


def _site(lines: list[Line], version: str) -> Site:
    """Return what is modelled of the lines of a slurm.conf; see `read_conf`."""
    settings = {
        name: (value, line.position)
        for line in lines
        if len(line.values) == 1
        for name, value in line.values.items()
    }
    values = dict(zip(("prioritytype", "selecttype"), DEFAULTS[version], strict=True))
    values |= {name: value for name, (value, _) in settings.items()}
    node_lines = with_defaults(lines, "nodename")
    partition_lines = with_defaults(lines, "partitionname")
    sizes, down, future = _nodes(node_lines, lines)
    if not (sizes or down) or not partition_lines:
        raise PolicyError(f"no {'PartitionName' if sizes else 'NodeName'} in it")
    node_numbers = {name: number for number, name in enumerate(sizes)}
    node_numbers |= dict.fromkeys((*down, *future), -1)
    sets = _node_sets(node_lines, lines, node_numbers)
    if twice := sorted(sets.keys() & node_numbers):
        raise PolicyError(f"{twice[0]} is the name of a NodeSet and of a node")
    partitions = [_partition(line.values, node_numbers, sets) for line in partition_lines]
    is_default = [line.values.get("default", "").lower() == "yes" for line in partition_lines]
    scheduler = values.get("schedulertype", "sched/backfill").lower()
    if scheduler not in ("sched/backfill", "sched/builtin"):
        raise PolicyError(f"SchedulerType {shown(scheduler)} is not backfill or builtin")
    is_linear = values.get("selecttype", "").lower() == "select/linear"
    return Site(
        np.array(list(sizes.values()), dtype=np.int64),
        tuple(partitions),
        is_default.index(True) if True in is_default else 0,
        scheduler == "sched/backfill",
        is_linear or all(part.is_whole for part in partitions),
        _multifactor(values),
        values.get("schedulerparameters", ""),
        _unmodelled(settings, node_lines, partition_lines),
        tuple(sizes),
        tuple(down.values()),
        len(future),
        (*down, *future),
        tuple(line.position for line in node_lines if not set(CPU_SETTINGS) & line.values.keys()),
    )


def _nodes(
    node_lines: list[Line], lines: list[Line]
) -> tuple[dict[str, int], dict[str, int], list[str]]:
    """Return the CPUs of nodes that take jobs, and of those that take none, by name.

    Also return the names of nodes that are not there.
    """
    sizes: dict[str, int] = {}
    down: set[str] = set()
    future: list[str] = []
    for line in node_lines:
        names = expand_names(line.values["nodename"])
        if len(sizes) + len(future) + len(names) > MOST_NODES:
            raise PolicyError(f"more than {MOST_NODES:,} nodes")
        state = line.values.get("state", "").upper()
        if state == ABSENT:
            future += names
            continue
        sizes |= dict.fromkeys(names, _cpus(line.values))
        if state in OUT_OF_SERVICE:
            down |= set(names)
    for line in lines:
        if "downnodes" in line.values:
            state = line.values.get("state", "DOWN").upper()
            names = expand_names(line.values["downnodes"])
            if state in OUT_OF_SERVICE:
                down |= set(names)
            elif state == ABSENT:
                future += [name for name in names if sizes.pop(name, 0)]
    return (
        {name: size for name, size in sizes.items() if name not in down},
        {name: size for name, size in sizes.items() if name in down},
        future,
    )


def _node_sets(
    node_lines: list[Line],
    lines: list[Line],
    node_numbers: Mapping[str, int],
) -> dict[str, list[str]]:
    """Return the nodes of each NodeSet: those that it names, and those that have its feature.

    * `node_numbers`: the numbers of all nodes by name.
    """
    features: dict[str, list[str]] = {}
    total = 0
    for line in node_lines:
        names = expand_names(line.values["nodename"])
        node_features = {
            feature.strip().lower() for feature in line.values.get("feature", "").split(",")
        }
        total += len(names) * len(node_features)
        if total > MOST_FEATURES:
            raise PolicyError(f"more than {MOST_FEATURES:,} features of nodes")
        for feature in node_features:
            features.setdefault(feature, []).extend(names)
    sets = {}
    for line in lines:
        if "nodeset" in line.values:
            feature = line.values.get("feature", "").strip().lower()
            set_names = expand_names(line.values.get("nodes", ""))
            if unknown := [name for name in set_names if name not in node_numbers]:
                raise PolicyError(
                    f"{line.position}: NodeSet={line.values['nodeset']:.40} has nodes "
                    f"{listed(unknown)}, which no NodeName has"
                )
            sets[line.values["nodeset"]] = set_names + (
                features.get(feature, []) if feature else []
            )
    return sets


def _number(
    settings: Mapping[str, str],
    name: str,
    default: Any,
    read: Callable[[str], Any],
) -> Any:
    """Return the value of a setting, or the default; PolicyError if it cannot be read."""
    text = settings.get(name.lower())
    if text is None:
        return default
    try:
        value = read(text)
    except ValueError:
        value = None
    if value is None or not 0 <= value < LARGEST:
        raise PolicyError(f"{name}={text:.40} is not a number of the kind that Slurm takes")
    return value


def _time(text: str) -> float:
    """Return the seconds of a time that counts in minutes."""
    seconds = 0 if text.lower() in UNSET else read_duration(text, MINUTE)
    if seconds is None:
        raise ValueError(text)
    return float(seconds)


def _cpus(line: Mapping[str, str]) -> int:
    """Return the CPUs of the nodes of a line."""
    boards, sockets, cores, threads = (
        _number(line, name, 1, int)
        for name in ("Boards", "SocketsPerBoard", "CoresPerSocket", "ThreadsPerCore")
    )
    sockets = _number(line, "Sockets", boards * sockets, int)
    count: int = _number(line, "CPUs", sockets * cores * threads, int)
    if not 1 <= count <= MOST_CPUS:
        fault = "no CPUs" if count < 1 else f"more than {MOST_CPUS:,} CPUs"
        raise PolicyError(f"NodeName={line['nodename']:.40} has {fault}")
    return count


def _partition(
    line: Mapping[str, str],
    node_numbers: Mapping[str, int],
    sets: Mapping[str, list[str]],
) -> Partition:
    """Return the partition of a line.

    * `node_numbers`: the numbers of nodes by name; -1 for those that take no jobs.
    * `sets`: the nodes of each NodeSet.
    """
    name, nodes = line["partitionname"], line.get("nodes", "")
    names: dict[str, None] = {}
    for item in dict.fromkeys(expand_names(nodes)):
        names |= dict.fromkeys(node_numbers if item.upper() == "ALL" else sets.get(item, [item]))
    unknown = [node for node in names if node not in node_numbers]
    if unknown:
        fault = f"nodes {listed(unknown)}, which no NodeName has"
        raise PolicyError(f"PartitionName={name:.40} has {fault}")
    priority = _number(line, "Priority", 1, int)  # an older name for the two
    return Partition(
        name,
        np.array(sorted({node_numbers[node] for node in names} - {-1}), dtype=np.int64),
        _number(line, "PriorityTier", priority, int),
        _number(line, "PriorityJobFactor", priority, int),
        line.get("oversubscribe", "").upper() == "EXCLUSIVE",
        line.get("state", "").upper() in CLOSED,
    )


def _multifactor(settings: Mapping[str, str]) -> Multifactor:
    """Return the settings of priority/multifactor; all weights are 0 under priority/basic."""
    plugin = settings["prioritytype"].lower()
    if plugin == "priority/basic":
        return Multifactor()
    if plugin != "priority/multifactor":
        raise PolicyError(f"PriorityType {shown(plugin)} is not basic or multifactor")
    flags = {flag.strip().upper() for flag in settings.get("priorityflags", "").split(",")}

    def weight(name: str) -> float:
        return float(_number(settings, f"PriorityWeight{name}", 0, int))

    return Multifactor(
        True,
        weight("Age"),
        weight("FairShare"),
        weight("JobSize"),
        weight("Partition"),
        max(1, int(_number(settings, "PriorityMaxAge", 7.0 * DAY, _time))),
        settings.get("priorityfavorsmall", "").lower() == "yes",
        "SMALL_RELATIVE_TO_TIME" in flags,
        "ACCRUE_ALWAYS" in flags,
        "NO_FAIR_TREE" not in flags,
        _number(settings, "PriorityDecayHalfLife", 7.0 * DAY, _time),
        max(1.0, _number(settings, "FairShareDampeningFactor", 1.0, float)),
        max(1, int(_number(settings, "PriorityCalcPeriod", 5.0 * MINUTE, _time))),
    )


def _unmodelled(
    settings: Mapping[str, tuple[str, str]],
    node_lines: list[Line],
    partition_lines: list[Line],
) -> tuple[str, ...]:
    """Return the settings that have an effect in Slurm and none here, with their places."""

    def is_set(value: str) -> bool:
        return value.lower().rpartition("/")[2] not in UNSET

    unmodelled = []
    for name in UNMODELLED:
        value, position = settings.get(name.lower(), ("", ""))
        if is_set(value):
            unmodelled.append(f"{name} ({position})")
    flags, position = settings.get("priorityflags", ("", ""))
    set_flags = flags.upper().split(",")
    unmodelled += [
        f"PriorityFlags={flag} ({position})" for flag in UNMODELLED_FLAGS if flag in set_flags
    ]
    for kind, names, lines in (
        ("nodes", UNMODELLED_OF_NODES, node_lines),
        ("partitions", UNMODELLED_OF_PARTITIONS, partition_lines),
    ):
        for name in names:
            places = [line.position for line in lines if is_set(line.values.get(name.lower(), ""))]
            if places:
                unmodelled.append(f"{name} of {kind} ({places[0]}{', ...' * (len(places) > 1)})")
    memory, position = settings.get("selecttypeparameters", ("", ""))
    if re.search("MEMORY|SOCKET|LLN|PACK", memory, re.IGNORECASE):
        unmodelled.append(f"SelectTypeParameters={memory:.40} ({position})")
    for line in partition_lines:
        shared = line.values.get("oversubscribe", "")
        if re.fullmatch("(YES|FORCE)(:(?!1$).*)?", shared, re.IGNORECASE):
            unmodelled.append(f"OverSubscribe={shared:.40} of a partition ({line.position})")
    return tuple(unmodelled)
