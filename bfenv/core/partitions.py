"""Partitions: parts of a machine with separate processors, each a machine for its jobs.

A line of a workload's header names them, in the text that `with_partitions` takes:

    PartitionSizes: cpu=512,gpu=64,long=cpu,*=cpu

"cpu" has 512 processors of its own, and "gpu" has 64. "long" is on the same nodes as "cpu", and
jobs that name no partition are, too. "debug&cpu" says that some nodes are in both partitions: only
a policy that knows the nodes of partitions can schedule such a workload.

Which partition a job is in stands in its record (field 16 of SWF), and lines such as
"Partition: 1 cpu" name the numbers. Without such a line, the number is the name.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from bfenv.core.errors import IllegalStartError, PolicyError, StarvationError, WorkloadError
from bfenv.core.jobs import PARTITION, SIZES_LABEL, Outage, Trace
from bfenv.core.policy import Watch
from bfenv.core.schedule import Schedule
from bfenv.core.text import listed

NAMED = re.compile(r"Partition:\s*(\d+)\s+(\S+)")  # a number of the log's header, and its name
SIZES = re.compile(rf"{SIZES_LABEL}\s*:\s*(.*\S)\s*")
ITEM = re.compile(r"([^\s=&,]+)\s*(?:=\s*([^\s=&,]+)|&\s*([^\s=&,]+))")
UNNAMED = "*"  # the partition of jobs that name none


class Machine(NamedTuple):
    """Processors that no other machine of the workload shares, and the partitions on them."""

    name: str
    processors: int
    partitions: frozenset[str]  # names, UNNAMED among them


class Partitions(NamedTuple):
    """What a workload says of its partitions."""

    machines: tuple[Machine, ...] = ()
    shared: tuple[tuple[str, str], ...] = ()  # partitions that have some nodes in common


def read_partitions(text: str) -> Partitions:
    """Read the sizes of partitions.

    Args:
        text: Items such as "cpu=512", "long=cpu" and "debug&cpu", with commas or spaces between.

    Raises:
        WorkloadError: If an item is none of these, or names an unknown partition.
    """
    items = [item for item in re.split(r"[,\s]+", text) if item]
    sizes: dict[str, int] = {}
    same: dict[str, str] = {}
    shared: list[tuple[str, str]] = []
    for item in items:
        match = ITEM.fullmatch(item)
        if match is None or match[1] in sizes or match[1] in same:
            fault = "is not like cpu=512, long=cpu or debug&cpu" if match is None else "comes twice"
            raise WorkloadError(f"partitions: {item[:40]!r} {fault}")
        name, value, partner = match.groups()
        if partner is not None:
            shared.append((name, partner))
        elif value.isdecimal():
            sizes[name] = int(value)
        else:
            same[name] = value
    for name, original in same.items():
        if original not in sizes:
            raise WorkloadError(f"partitions: {name}={original}, but {original} has no size")
    machines = tuple(
        Machine(
            name,
            size,
            frozenset([name, *(alias for alias, original in same.items() if original == name)]),
        )
        for name, size in sizes.items()
    )
    if not items or any(machine.processors < 1 for machine in machines):
        raise WorkloadError(f"partitions: {text[:60]!r} gives no processors")
    return Partitions(machines, tuple(shared))


def resized_partitions(line: str, sizes: dict[str, int]) -> str:
    """Return the line of a header with other sizes of the partitions that it gives one.

    Raises WorkloadError if one would have no processors.
    """
    for name, size in sizes.items():
        if size < 1:
            raise WorkloadError(f"partitions: {name} would have no processors")
        line = re.sub(rf"(?<=[\s,:]){re.escape(name)}=[0-9]+", f"{name}={size}", line)
    return line


def partitions_of(trace: Trace) -> Partitions:
    """Return what the header of a trace says of its partitions; nothing of most traces.

    Raises WorkloadError if the line cannot be read.
    """
    match = next(filter(None, map(SIZES.fullmatch, trace.header)), None)
    return Partitions() if match is None else read_partitions(match[1])


def is_partitioned(trace: Trace) -> bool:
    """Tell whether jobs of a trace cannot have all processors, because of their partitions."""
    machines, shared = partitions_of(trace)
    small = any(machine.processors < trace.processors for machine in machines)
    return small or len(machines) > 1 or bool(shared)


def runs_by_partition(partitions: Callable[[Trace], str] | None, trace: Trace) -> bool:
    """Tell whether a competitor runs on each partition of a trace by itself, as it knows none.

    `partitions` is that of `Policy` and of `Competitor`.
    """
    return partitions is None and is_partitioned(trace)


def with_partitions(trace: Trace, text: str) -> Trace:
    """Return the trace with the sizes of its partitions; see `read_partitions` for the text.

    Raises:
        WorkloadError: If the text cannot be read, the log does not say which partition its jobs are
            in, the partitions have more processors than the machine, or a job is in none of them
            or larger than its machine.
    """
    header = [line for line in trace.header if SIZES.fullmatch(line) is None]
    marked_trace = replace(trace, header=(*header, f"{SIZES_LABEL}: {text}"))
    if not (partitions := partitions_of(marked_trace)).shared:
        machine_of_jobs(marked_trace, partitions)
    return marked_trace


def names_of_partitions(trace: Trace) -> dict[int, str]:
    """Return the names of the partitions that jobs are in by their numbers; none without records.

    UNNAMED is the name for jobs whose records name no partition.
    """
    if trace.records is None:
        return {}
    names = {int(match[1]): match[2] for match in map(NAMED.match, trace.header) if match}
    numbers = np.unique(trace.records[:, PARTITION].astype(np.int64)).tolist()
    return {n: names.get(n, str(n) if n > 0 else UNNAMED) for n in numbers}


def machine_of_jobs(trace: Trace, partitions: Partitions) -> np.ndarray:
    """Return which machine each job runs on, (n,) int64.

    Raises WorkloadError as `with_partitions` does.
    """
    if trace.records is None:
        raise WorkloadError(f"{trace.name} does not say which partitions its jobs are in")
    total = sum(machine.processors for machine in partitions.machines)
    if total > trace.processors:
        raise WorkloadError(
            f"{trace.name}: its partitions have {total:,} processors, and the machine has "
            f"{trace.processors:,}"
        )
    place = {
        name: i for i, machine in enumerate(partitions.machines) for name in machine.partitions
    }
    numbers = trace.records[:, PARTITION].astype(np.int64)
    result = np.empty(len(trace), dtype=np.int64)
    for number, name in names_of_partitions(trace).items():
        if name not in place:
            machines = listed([machine.name for machine in partitions.machines])
            location = "in no partition" if name == UNNAMED else f"in the partition {name}"
            raise WorkloadError(f"{trace.name} has jobs {location}, and sizes of {machines} only")
        result[numbers == number] = place[name]
    sizes = np.array([machine.processors for machine in partitions.machines])
    large = trace.jobs.size > sizes[result]
    if large.any():
        job = int(np.argmax(large))
        machine = partitions.machines[result[job]]
        raise WorkloadError(
            f"{trace.name}: job {job} needs {trace.jobs.size[job]:,} processors, and the partition "
            f"{machine.name} has {machine.processors:,}"
        )
    return result


def traces_of_machines(trace: Trace) -> list[tuple[np.ndarray, Trace]]:
    """Return the jobs of each machine that has some, (k,) int64, and their trace.

    All of them keep the clock of the whole trace. An outage of the whole machine is one of each
    part. Of another outage, each part has its share, because the log does not say whose nodes it
    takes.
    """
    partitions = partitions_of(trace)
    place = machine_of_jobs(trace, partitions)
    header = tuple(line for line in trace.header if SIZES.fullmatch(line) is None)
    sizes = np.array([machine.processors for machine in partitions.machines])
    shares = [_shares(outage, trace.processors, sizes) for outage in trace.outages]
    parts = []
    for i, machine in enumerate(partitions.machines):
        jobs = np.flatnonzero(place == i)
        if not len(jobs):
            continue
        part = trace.select(
            jobs,
            processors=machine.processors,
            name=f"{trace.name}:{machine.name}",
            header=header,
            outages=tuple(
                outage._replace(processors=int(of_machines[i]))
                for outage, of_machines in zip(trace.outages, shares, strict=True)
                if of_machines[i]
            ),
        )
        parts.append((jobs, part))
    return parts


def _shares(outage: Outage, processors: int, sizes: np.ndarray) -> np.ndarray:
    """Return how many processors of each machine an outage takes, (m,) int64."""
    if outage.processors == processors:
        return sizes
    exact = sizes * outage.processors / processors
    shares = np.floor(exact).astype(np.int64)
    left = round(exact.sum()) - int(shares.sum())
    shares[np.argsort(shares - exact, kind="stable")[:left]] += 1
    return shares


def check_apart(trace: Trace, policy: str) -> None:
    """Check that no node of a trace is in several partitions.

    Raises PolicyError that names the policy, which does not know partitions.
    """
    if shared := partitions_of(trace).shared:
        name, second = shared[0]
        raise PolicyError(
            f"{policy} knows no partitions, and {name} and {second} of {trace.name} have nodes in "
            "common; a policy that knows them is slurm(conf=slurm.conf)"
        )


def per_partition(
    trace: Trace,
    policy: str,
    run: Callable[[Trace, Watch], Schedule],
    watch: Watch,
) -> Schedule:
    """Run a policy on each partition as a machine of its own, and return one schedule.

    Args:
        trace: With partitions.
        policy: The name of the policy, for messages.
        run: Returns the policy's schedule of a part; it takes the part and a `watch`.
        watch: Called with a function that returns which share of all jobs has started.

    Raises:
        PolicyError: If some nodes are in several partitions, or the policy fails. Jobs in messages
            have their numbers in the whole trace.
    """
    check_apart(trace, policy)
    parts, count = traces_of_machines(trace), len(trace)
    columns = {name: np.full(count, -1) for name in ("start", "end", "trial_start", "trial_end")}
    records: dict[str, np.ndarray] = {}
    finished, seed = 0, 0
    for jobs, part in parts:

        def watch_part(
            share: Callable[[], float], done: int = finished, size: int = len(jobs)
        ) -> None:
            watch(lambda: (done + size * share()) / count)

        try:
            schedule = run(part, watch_part)
        except IllegalStartError as error:
            number = int(jobs[error.job]) if 0 <= error.job < len(jobs) else error.job
            raise IllegalStartError(number, error.time, error.reason, error.policy) from error
        except StarvationError as error:
            raise StarvationError(jobs[list(error.jobs)].tolist(), error.policy) from error
        for name, column in columns.items():
            column[jobs] = getattr(schedule, name)
        for name, values in schedule.records.items():
            whole = records.setdefault(name, np.zeros(count, dtype=np.asarray(values).dtype))
            whole[jobs] = values
        finished, seed = finished + len(jobs), schedule.seed
    return Schedule(trace, policy, seed, **columns, records=records)
