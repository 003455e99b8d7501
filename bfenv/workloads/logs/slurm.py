"""What Slurm's `sacct` prints, as a trace.

Source: the manual page sacct(1) of Slurm 25.11, <https://slurm.schedmd.com/sacct.html>.
"""

import math
import os
import re
from collections.abc import Callable
from datetime import tzinfo
from functools import lru_cache, partial
from sys import intern

from bfenv.core.arguments import check_choice
from bfenv.core.durations import MINUTE
from bfenv.core.errors import WorkloadError
from bfenv.core.jobs import Trace
from bfenv.workloads.logs.conversion import EVERYTHING, Options, Selection, convert
from bfenv.workloads.logs.run import Run, order_times
from bfenv.workloads.logs.text import consumed, numbered_lines
from bfenv.workloads.logs.times import find_zone, read_duration, read_time

COMMAND = (
    "SLURM_TIME_FORMAT=%s sacct -a -X -D -P -S 2026-01-01 -E now > dump.txt -o JobID,User,Group,"
    "Partition,QOS,Submit,Eligible,Start,End,ElapsedRaw,TimelimitRaw,State,AllocCPUS,NNodes"
)
# The first column with a number counts. AllocNodes comes rounded, as "2K".
TRES = ("AllocTRES", "ReqTRES")
SIZES = {
    "cores": ("AllocCPUS", "NCPUS", "ReqCPUS"),
    "nodes": ("NNodes", "AllocNodes", "ReqNodes"),
    "gpus": TRES,
    "memory": TRES,
    "billing": TRES,
    "dominant": TRES,
}
RUNTIMES = ("ElapsedRaw", "Elapsed", "End")
JOB = re.compile(r"[0-9]+(_([0-9]+|\[[0-9,:%.-]*\]?))?(\+[0-9]+)?")
STEP = re.compile(r"[0-9]+(_[0-9]+)?(\+[0-9]+)?\.[A-Za-z0-9_+]+")
COUNT = re.compile(r"([0-9]{1,12}(?:\.[0-9]+)?)([KMG]?)", re.IGNORECASE)
AMOUNT = re.compile(r"([0-9]{1,15}(?:\.[0-9]+)?)([KMGT]?)", re.IGNORECASE)
MULTIPLES = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
STATE = re.compile(r"[A-Z_]+")  # of "CANCELLED by 1000"
WAITING = {"PENDING", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"}
UNFINISHED = {
    "RUNNING", "SUSPENDED", "CONFIGURING", "COMPLETING", "STOPPED", "SIGNALING", "STAGE_OUT",
}  # fmt: skip
COMPLETED, FAILED, CANCELLED = 1, 0, 5  # SWF field 11
STATUSES = {"COMPLETED": COMPLETED, "CANCELLED": CANCELLED}  # all others are FAILED
UNLIMITED = {"unlimited", "partition_limit"}

Fields = dict[str, str]  # of a line, by the column's name in lower case
Capacity = dict[str, dict[str, int]]  # what partitions have, by name, "" for all; memory in MiB


def read_sacct(
    path: str | os.PathLike[str],
    *,
    processors: int | None = None,
    timezone: str = "UTC",
    resource: str = "cores",
    capacity: str | None = None,
    fields: str | None = None,
    selection: Selection = EVERYTHING,
    eligible: bool = False,
    longest: int | str | None = None,
    overrun: str = "kill",
    on_error: str = "raise",
) -> Trace:
    """Read the jobs that ran from the output of Slurm's sacct.

    Make the file with this command; `-r` restricts it to a partition:

        SLURM_TIME_FORMAT=%s sacct -a -X -D -P -S 2026-01-01 -E now > dump.txt \\
          -o JobID,User,Group,Partition,QOS,Submit,Eligible,Start,End,ElapsedRaw,TimelimitRaw,State,AllocCPUS,NNodes

    Columns are found by their names in the first line. JobID, Submit, Start, State, a size and a
    runtime are required. Others may be missing, and further ones are ignored; but a name with a "|"
    in it, as in JobName, makes its line malformed.

    Each run that ended and took time is a job: each run of a requeued or resized job, with the
    submit time that sacct shows for it; each task of an array; each component of a heterogeneous
    job. The work is then exact, although the components need no longer start together.
    `trace.cleaning` counts all other lines by reason: jobs + dropped = lines.

    Size is what was allocated, which other jobs could not have, or else what was requested. Runtime
    is ElapsedRaw, which leaves out suspension, or else Elapsed, or else End - Start.

    Times are seconds since 1970, as with the command above, or local times of `timezone`. A local
    time in the hour that the clock showed twice is chosen such that submit <= start <= end and,
    where possible, end - start = elapsed; otherwise it is the earlier.

    Users, groups, queues and partitions are numbered by first appearance; no name is kept.

    Parameters
    ----------
    path
        The file, gzipped or not.
    processors
        Processors of the machine.
    timezone
        Time zone of local times, and of the trace's times of day.
    resource
        What a processor is: "cores", "nodes", "gpus", "memory" (GiB) or "billing", of AllocTRES
        but for the first two; or "dominant", the share of the resource of which a job has most,
        in cores of its partition.
    capacity
        What each partition has, for "dominant": "cpu=512,mem=4T,gpu=64" for all, or
        "gpu: cpu=512,gpu=64; long: cpu=4096". `processors` is then by default the sum of cpu.
    fields
        Columns of a dump without a line of names (`sacct -n`), as given to `-o`. None takes those
        of the command above if the first line is a job.
    selection
        Which jobs to take.
    eligible
        Take the time from which a job was neither held nor waiting for other jobs as its submit
        time, instead of Submit.
    longest
        Estimate of jobs without a time limit, or their runtime if that is longer: seconds, or a
        duration such as "2d" or "1-12:00". None is the longest limit seen in the job's partition.
    overrun
        If a runtime exceeds the time limit: "kill" cuts it, as Slurm kills the job, "extend" raises
        the limit.
    on_error
        On a malformed line: "raise", or "skip" it with a warning and count it.

    Returns
    -------
    Trace
        The trace, with SWF records and header.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    WorkloadError
        If columns or jobs are missing, an option is out of range, a line is malformed, or
        `processors` is None: the message then states how many were in use at once.
    """  # noqa: E501
    check_choice("resource", resource, SIZES, error=WorkloadError)
    zone = find_zone(timezone)
    lines = numbered_lines(path)
    header = fields.replace(",", "|") if fields is not None else lines[0][1]
    if fields is None and JOB.fullmatch(header.partition("|")[0].strip()):
        header = COMMAND.partition("-o ")[2].replace(",", "|")
    elif fields is None:
        lines.popleft()
    names = _columns(path, header, resource)
    size = partial(size_of, resource, read_capacity(capacity) if resource == "dominant" else {})
    if resource == "dominant" and processors is None:
        processors = sum(has["cpu"] for has in read_capacity(capacity).values())
    submitted = "Eligible" if eligible else "Submit"
    return convert(
        path,
        consumed(lines),
        partial(_parse, header, names, zone, size, eligible),
        Options(processors, timezone, longest, overrun, on_error, selection),
        notes=[
            "made of Slurm accounting (sacct)",
            f"a processor is one of Slurm's {resource}; both sizes are what was allocated",
            f"submit times are Slurm's {submitted}; each run of a requeued job is a job",
        ],
    )


def _columns(path: str | os.PathLike[str], header: str, resource: str) -> list[str]:
    """Return the columns' names in lower case; WorkloadError names all that are missing."""
    names = [name.strip().lower() for name in header.split("|")]
    required = [("JobID",), ("Submit",), ("Start",), ("State",), SIZES[resource], RUNTIMES]
    missing = [
        " or ".join(choice)
        for choice in required
        if not any(name.lower() in names for name in choice)
    ]
    if missing:
        raise WorkloadError(
            f"{path}: the first line has no column {', '.join(missing)}; make the file with: "
            f"{COMMAND}"
        )
    return names


def _parse(
    header: str,
    names: list[str],
    zone: tzinfo,
    size: Callable[[Fields], int],
    eligible: bool,
    line: str,
) -> Run | str:
    """Return the run in a line, or why there is none; ValueError if it is malformed."""
    if line == header:
        return "headers"
    words = line.split("|")
    if len(words) != len(names):
        raise ValueError(f"{len(words)} fields, expected {len(names)} (a name with a '|' in it?)")
    return parse_fields(dict(zip(names, map(str.strip, words), strict=True)), zone, size, eligible)


def parse_fields(
    fields: Fields, zone: tzinfo, count: Callable[[Fields], int], eligible: bool
) -> Run | str:
    """Return the run in the fields of a job, or why there is none; ValueError if malformed.

    `count` returns its processors, 0 if they are not known.
    """
    state = _state(fields)
    if reason := _unfinished(fields, state):
        return reason
    start, end = _time(fields, "Start", zone), _time(fields, "End", zone)
    if not start or (state == "CANCELLED" and start == end):  # older versions print the latter
        return "never_started"
    if "end" in fields and not end:
        return "running"
    submitted = _time(fields, "Submit", zone)
    if not submitted:
        return "no_submit"
    elapsed = _duration(fields, "ElapsedRaw")
    if elapsed is None:
        elapsed = _duration(fields, "Elapsed")
    submit, begin, finish = order_times(submitted, start, end, elapsed)
    if eligible:  # not known of jobs that were never held
        submit = max(submit, order_times(_time(fields, "Eligible", zone), (begin,), (), None)[0])
    runtime = finish - begin if elapsed is None else elapsed
    if runtime < 1:
        return "no_runtime"
    size = count(fields)
    if size < 1:
        return "no_size"
    return Run(
        submit,
        begin,
        runtime,
        size,
        estimate=_limit(fields),
        user=intern(fields.get("user", "")),
        group=intern(fields.get("group") or fields.get("account", "")),
        queue=intern(fields.get("qos", "")),
        partition=intern(fields.get("partition", "")),
        status=STATUSES.get(state, FAILED),
        job=fields["jobid"],
        cluster=intern(fields.get("cluster", "")),
        same=(fields["jobid"], submit, begin),
    )


def _unfinished(fields: Fields, state: str) -> str:
    """Return why a line is not a job that ended, by its id and state; "" if it is one."""
    job = fields["jobid"]
    if not JOB.fullmatch(job):
        if STEP.fullmatch(job):
            return "steps"
        raise ValueError(f"JobID: {job[:40]!r} is not a job id")
    if not state:
        raise ValueError(f"State: {fields['state'][:40]!r} is not a state")
    if state in WAITING:
        return "pending"
    return "running" if state in UNFINISHED else ""


def _state(fields: Fields) -> str:
    match = STATE.match(fields["state"].upper())
    return match.group() if match else ""


def _time(fields: Fields, column: str, zone: tzinfo) -> tuple[int, ...]:
    try:
        return read_time(fields.get(column.lower()), zone)
    except ValueError as error:
        raise ValueError(f"{column}: {error}") from None


def _duration(fields: Fields, column: str, unit: int = 1) -> int | None:
    try:
        return read_duration(fields.get(column.lower()), unit)
    except ValueError as error:
        raise ValueError(f"{column}: {error}") from None


def _limit(fields: Fields) -> int:
    """Return the time limit in seconds; -1 for none."""
    for column in ("TimelimitRaw", "Timelimit"):
        if fields.get(column.lower(), "").lower() in UNLIMITED:
            return -1
        limit = _duration(fields, column, unit=MINUTE)
        if limit:
            return limit
    return -1


def _count(fields: Fields, column: str) -> int:
    """Return a number of CPUs or nodes, which Slurm may print as 2K for 2048; 0 for none."""
    text = fields.get(column.lower(), "")
    if not text:
        return 0
    if text.isdecimal() and text.isascii() and len(text) <= 12:  # most of a log
        return int(text)
    match = COUNT.fullmatch(text)
    if not match:
        raise ValueError(f"{column}: {text[:40]!r} is not a number")
    return round(float(match[1]) * MULTIPLES[match[2].upper()])


def read_capacity(text: str | None) -> Capacity:
    """Read what partitions have, see `read_sacct`.

    Raises
    ------
    WorkloadError
        If it is missing or cannot be read, or a partition has no cpu.
    """
    if text is None:
        raise WorkloadError(
            "resource dominant needs the capacity of each partition, like "
            "'gpu: cpu=512,mem=4T,gpu=64; long: cpu=4096,mem=16T'"
        )
    capacity = {}
    for part in text.split(";"):
        name, colon, items = part.rpartition(":")
        try:
            has = _tres_amounts(items.strip())
        except ValueError as error:
            raise WorkloadError(f"capacity: {error}") from None
        if not all(amount > 0 for amount in has.values()) or "cpu" not in has:
            raise WorkloadError(f"capacity: {part.strip()!r:.60} has no positive cpu=N")
        capacity[name.strip() if colon else ""] = has
    return capacity


def size_of(resource: str, capacity: Capacity, fields: Fields) -> int:
    """Return a job's processors, in units of a resource; 0 if they are not known."""
    if SIZES[resource] is not TRES:
        return next(filter(None, (_count(fields, column) for column in SIZES[resource])), 0)
    text = next(filter(None, (fields.get(column.lower()) for column in TRES)), "")
    amounts = _tres_amounts(text)
    if resource == "memory":
        return -(-amounts.get("mem", 0) // 1024)
    if resource != "dominant":
        return amounts.get(resource.removesuffix("s"), 0)
    partition = fields.get("partition", "")
    has = capacity.get(partition) or capacity.get("")
    if has is None:
        raise ValueError(f"Partition: no capacity of {partition[:40]!r} is given")
    shares = (amounts.get(name, 0) * has["cpu"] / amount for name, amount in has.items())
    return math.ceil(max(shares) - 1e-9)


@lru_cache(maxsize=1 << 14)
def _tres_amounts(text: str) -> dict[str, int]:
    """Read "cpu=4,mem=16G,gres/gpu=2": amounts by name, mem in MiB, billing rounded up."""
    amounts: dict[str, int] = {}
    for item in filter(None, text.split(",")):
        name, _, value = item.partition("=")
        match = AMOUNT.fullmatch(value.strip())
        kind = name.strip().removeprefix("gres/")
        if kind not in ("cpu", "mem", "gpu", "node", "billing"):
            continue  # other resources, and GPUs by type, which are in gres/gpu as well
        if not match:
            raise ValueError(f"TRES: {item[:40]!r} is not an amount")
        amount = float(match[1]) * MULTIPLES[match[2].upper()]
        mebi = amount / 2**20 if match[2] else amount  # sacct prints memory in MiB by default
        amounts[kind] = math.ceil(mebi if kind == "mem" else amount)
    return amounts
