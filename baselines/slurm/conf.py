"""What a site's slurm.conf says of its nodes, partitions and priorities.

Source: slurm.conf(5) of Slurm 22.05. Lines that say nothing of which job starts when are passed
over; those that do and are not modelled are named in a warning, see UNMODELLED.
"""

import os
import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bfenv.core.durations import DAY, MINUTE
from bfenv.core.errors import PolicyError
from bfenv.core.text import listed, shown
from bfenv.workloads.logs.times import read_duration

MOST_NODES = 10**6  # of a list of names; more is a mistake
NAME = re.compile(r"[^,\[\]]+|\[[^\[\]]*\]")
UNSET = ("", "none", "no", "infinite", "unlimited", "0", "off")
# Lines on which the schedule may depend, if they are set to anything but UNSET
UNMODELLED = (
    "PriorityWeightAssoc", "PriorityWeightQOS", "PriorityWeightTRES", "PriorityUsageResetPeriod",
    "PrioritySiteFactorPlugin", "PreemptType", "PreemptMode", "TopologyPlugin", "Licenses",
    "GresTypes", "JobSubmitPlugins", "AccountingStorageEnforce", "OverTimeLimit", "Include",
    "ResumeProgram",
)  # fmt: skip
UNMODELLED_OF_NODES = ("Feature", "Features", "Gres", "Weight", "CoreSpecCount")
UNMODELLED_OF_PARTITIONS = (
    "AllowAccounts", "AllowGroups", "AllowQos", "Alternate", "DenyAccounts", "DenyQos", "LLN",
    "MaxCPUsPerNode", "MaxNodes", "MaxTime", "MinNodes", "PreemptMode", "QOS", "TRESBillingWeights",
)  # fmt: skip
# PriorityFlags that change which job comes first, beside those of Multifactor
UNMODELLED_FLAGS = (
    "CALCULATE_RUNNING", "DEPTH_OBLIVIOUS", "INCR_ONLY", "MAX_TRES", "MAX_TRES_GRES",
    "NO_NORMAL_ALL", "NO_NORMAL_ASSOC", "NO_NORMAL_PART", "NO_NORMAL_QOS", "NO_NORMAL_TRES",
)  # fmt: skip


class Partition(NamedTuple):
    """A partition of the nodes."""

    name: str
    nodes: np.ndarray  # (k,) int64 numbers of its nodes, from 0
    tier: int = 1  # PriorityTier
    factor: int = 1  # PriorityJobFactor


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

    sizes: np.ndarray  # (k,) int64 CPUs of each node
    partitions: tuple[Partition, ...]
    default: int  # the partition of a job that names none
    is_backfill: bool = True  # False for sched/builtin
    is_whole: bool = False  # no two jobs share a node
    priority: Multifactor = Multifactor()
    parameters: str = ""  # SchedulerParameters
    unmodelled: tuple[str, ...] = ()
    names: tuple[str, ...] = ()  # of the nodes


DEFAULT_SITE_NAME = "all"  # the partition of a machine without a slurm.conf


def site_of(sizes: np.ndarray) -> Site:
    """Return nodes of these sizes with one partition, without a slurm.conf."""
    whole = Partition(DEFAULT_SITE_NAME, np.arange(len(sizes), dtype=np.int64))
    return Site(sizes, (whole,), 0)


def read_conf(path: str | os.PathLike[str]) -> Site:
    """Read a slurm.conf.

    Raises:
        FileNotFoundError: If there is no such file.
        PolicyError: If a line cannot be read, there are no nodes or no partitions, a partition has
            a node that is not there, or a plugin schedules that is not Slurm's own.
    """
    lines = _lines(path)
    settings = {name: value for line in lines if len(line) == 1 for name, value in line.items()}
    node_lines = _with_defaults([line for line in lines if "nodename" in line], "nodename")
    partition_lines = _with_defaults(
        [line for line in lines if "partitionname" in line], "partitionname"
    )
    sizes: dict[str, int] = {}
    for line in node_lines:
        sizes |= dict.fromkeys(expand_names(path, line["nodename"]), _cpus(path, line))
    if not sizes or not partition_lines:
        raise PolicyError(f"{path}: no {'PartitionName' if sizes else 'NodeName'} in it")
    numbers = {name: number for number, name in enumerate(sizes)}
    partitions = [_partition(path, line, numbers) for line in partition_lines]
    is_default = [line.get("default", "").lower() == "yes" for line in partition_lines]
    scheduler = settings.get("schedulertype", "sched/backfill").lower()
    if scheduler not in ("sched/backfill", "sched/builtin"):
        raise PolicyError(f"{path}: SchedulerType {shown(scheduler)} is not backfill or builtin")
    shared = [line.get("oversubscribe", "").lower() == "exclusive" for line in partition_lines]
    is_linear = settings.get("selecttype", "").lower() == "select/linear"
    if any(shared) and not all(shared):
        raise PolicyError(f"{path}: OverSubscribe=EXCLUSIVE must be in all partitions or in none")
    return Site(
        np.array(list(sizes.values()), dtype=np.int64),
        tuple(partitions),
        is_default.index(True) if True in is_default else 0,
        scheduler == "sched/backfill",
        is_linear or all(shared),
        _multifactor(path, settings),
        settings.get("schedulerparameters", ""),
        _unmodelled(settings, node_lines, partition_lines),
        tuple(sizes),
    )


def expand_names(path: str | os.PathLike[str], text: str) -> list[str]:
    """Return the names in a list such as "n[01-16,20],login"; PolicyError if it cannot be read."""
    names: list[str] = []
    for item in re.findall(r"(?:[^,\[\]]|\[[^\[\]]*\])+", text):
        found = [""]
        for part in NAME.findall(item):
            pieces = [part]
            if part[0] == "[":
                pieces = []
                for piece in part[1:-1].split(","):
                    first, dash, last = piece.partition("-")
                    last = last if dash else first
                    if not (first.isdecimal() and last.isdecimal()) or int(last) < int(first):
                        raise PolicyError(f"{path}: {shown(piece)} in {shown(text)} is no range")
                    if int(last) - int(first) > MOST_NODES:
                        raise PolicyError(f"{path}: {shown(text)} has too many names")
                    numbers = range(int(first), int(last) + 1)
                    pieces += [f"{number:0{len(first)}}" for number in numbers]
            if len(found) * len(pieces) > MOST_NODES:
                raise PolicyError(f"{path}: {shown(text)} has too many names")
            found = [name + piece for name in found for piece in pieces]
        names += found
    return names


def _lines(path: str | os.PathLike[str]) -> list[dict[str, str]]:
    """Return the settings of each line, by their names in lower case."""
    text = re.sub(r"\\\n", "", Path(path).read_text(errors="replace"))
    found = []
    for number, line in enumerate(text.split("\n"), start=1):
        line = re.sub(r"(?<!\\)#.*", "", line).strip()
        if line[:8].lower() == "include ":
            found.append({"include": line[8:].strip()})
            continue
        try:
            items = [item.partition("=") for item in shlex.split(line)]
        except ValueError:
            raise PolicyError(f"{path}: line {number}: a quote is not closed") from None
        if not all(equals for _, equals, _ in items):
            raise PolicyError(f"{path}: line {number}: {shown(line)} is not NAME=VALUE")
        if items and items[0][0].lower() in ("nodename", "partitionname"):
            found.append({name.lower(): value for name, _, value in items})
        else:
            found += [{name.lower(): value} for name, _, value in items]
    return found


def _with_defaults(lines: list[dict[str, str]], kind: str) -> list[dict[str, str]]:
    """Return the lines of nodes or partitions with what the line DEFAULT before them says."""
    default: dict[str, str] = {}
    found = []
    for line in lines:
        if line[kind].upper() == "DEFAULT":
            default |= line
        else:
            found.append({**default, **line})
    return found


def _number(
    path: str | os.PathLike[str],
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
    if value is None or value < 0:
        raise PolicyError(f"{path}: {name}={text} is not a number of the kind that Slurm takes")
    return value


def _time(text: str) -> float:
    """Return the seconds of a time that counts in minutes."""
    seconds = 0 if text.lower() in UNSET else read_duration(text, MINUTE)
    if seconds is None:
        raise ValueError(text)
    return float(seconds)


def _cpus(path: str | os.PathLike[str], line: Mapping[str, str]) -> int:
    """Return the CPUs of the nodes of a line."""
    boards, sockets, cores, threads = (
        _number(path, line, name, 1, int)
        for name in ("Boards", "SocketsPerBoard", "CoresPerSocket", "ThreadsPerCore")
    )
    sockets = _number(path, line, "Sockets", boards * sockets, int)
    count: int = _number(path, line, "CPUs", sockets * cores * threads, int)
    if count < 1:
        raise PolicyError(f"{path}: NodeName={line['nodename']} has no CPUs")
    return count


def _partition(
    path: str | os.PathLike[str], line: Mapping[str, str], numbers: Mapping[str, int]
) -> Partition:
    """Return the partition of a line."""
    name, nodes = line["partitionname"], line.get("nodes", "")
    names = list(numbers) if nodes.upper() == "ALL" else expand_names(path, nodes)
    unknown = [node for node in names if node not in numbers]
    if unknown or not names:
        what = f"nodes {listed(unknown)}, which no NodeName has" if unknown else "no nodes"
        raise PolicyError(f"{path}: PartitionName={name} has {what}")
    both = _number(path, line, "Priority", 1, int)  # an older name for the two
    return Partition(
        name,
        np.array(sorted({numbers[node] for node in names}), dtype=np.int64),
        _number(path, line, "PriorityTier", both, int),
        _number(path, line, "PriorityJobFactor", both, int),
    )


def _multifactor(path: str | os.PathLike[str], settings: Mapping[str, str]) -> Multifactor:
    """Return the settings of priority/multifactor; the default of Slurm 22.05 is priority/basic."""
    plugin = settings.get("prioritytype", "priority/basic").lower()
    if plugin == "priority/basic":
        return Multifactor()
    if plugin != "priority/multifactor":
        raise PolicyError(f"{path}: PriorityType {shown(plugin)} is not basic or multifactor")
    flags = {flag.strip().upper() for flag in settings.get("priorityflags", "").split(",")}

    def weight(name: str) -> float:
        return float(_number(path, settings, f"PriorityWeight{name}", 0, int))

    return Multifactor(
        True,
        weight("Age"),
        weight("FairShare"),
        weight("JobSize"),
        weight("Partition"),
        max(1, int(_number(path, settings, "PriorityMaxAge", 7.0 * DAY, _time))),
        settings.get("priorityfavorsmall", "").lower() == "yes",
        "SMALL_RELATIVE_TO_TIME" in flags,
        "ACCRUE_ALWAYS" in flags,
        "NO_FAIR_TREE" not in flags,
        _number(path, settings, "PriorityDecayHalfLife", 7.0 * DAY, _time),
        max(1.0, _number(path, settings, "FairShareDampeningFactor", 1.0, float)),
        max(1, int(_number(path, settings, "PriorityCalcPeriod", 5.0 * MINUTE, _time))),
    )


def _unmodelled(
    settings: Mapping[str, str],
    node_lines: list[dict[str, str]],
    partition_lines: list[dict[str, str]],
) -> tuple[str, ...]:
    """Return the settings that have an effect in Slurm and none here."""

    def is_set(values: Mapping[str, str], name: str) -> bool:
        value = values.get(name.lower(), "").lower()
        return value.rpartition("/")[2] not in UNSET

    flags = settings.get("priorityflags", "").upper().split(",")
    return (
        *(name for name in UNMODELLED if is_set(settings, name)),
        *(f"PriorityFlags={flag}" for flag in UNMODELLED_FLAGS if flag in flags),
        *(
            f"{name} of {kind}"
            for kind, names, lines in (
                ("nodes", UNMODELLED_OF_NODES, node_lines),
                ("partitions", UNMODELLED_OF_PARTITIONS, partition_lines),
            )
            for name in names
            if any(is_set(line, name) for line in lines)
        ),
    )
