"""What Slurm's `sacct` prints, as a Trace.

Source: the manual page sacct(1) of Slurm 25.11, <https://slurm.schedmd.com/sacct.html>.
"""

import os
import re
from datetime import tzinfo
from functools import partial

from bfenv.core.errors import WorkloadError
from bfenv.core.jobs import Trace
from bfenv.workloads.logs.conversion import Run, convert, gather, in_order, numbered_lines
from bfenv.workloads.logs.times import find_zone, instants, seconds

COMMAND = (
    "SLURM_TIME_FORMAT=%s sacct -a -X -D -P -S 2026-01-01 -E now > dump.txt -o JobID,User,Group,"
    "Partition,QOS,Submit,Eligible,Start,End,ElapsedRaw,TimelimitRaw,State,AllocCPUS,NNodes"
)
# The first of them that a line has a number in counts. AllocNodes comes rounded, as "2K".
SIZES = {"cpus": ("AllocCPUS", "NCPUS", "ReqCPUS"), "nodes": ("NNodes", "AllocNodes", "ReqNodes")}
RUNTIMES = ("ElapsedRaw", "Elapsed", "End")
JOB = re.compile(r"[0-9]+(_([0-9]+|\[[0-9,:%.-]*\]?))?(\+[0-9]+)?")
STEP = re.compile(r"[0-9]+(_[0-9]+)?(\+[0-9]+)?\.[A-Za-z0-9_+]+")
COUNT = re.compile(r"([0-9]{1,12}(?:\.[0-9]+)?)([KMG]?)", re.IGNORECASE)
WAITING = {"PENDING", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"}
UNFINISHED = {
    "RUNNING", "SUSPENDED", "CONFIGURING", "COMPLETING", "STOPPED", "SIGNALING", "STAGE_OUT",
}  # fmt: skip
COMPLETED, FAILED, CANCELLED = 1, 0, 5  # SWF field 11
UNLIMITED = {"unlimited", "partition_limit"}


def read_sacct(
    path: str | os.PathLike,
    *,
    processors: int | None = None,
    timezone: str = "UTC",
    unit: str = "cpus",
    eligible: bool = False,
    longest: int | None = None,
    overrun: str = "kill",
    on_error: str = "raise",
) -> Trace:
    """The jobs that ran, out of what Slurm's sacct printed, gzipped or not.

    The command, to which `-r` adds a partition to keep to:

        SLURM_TIME_FORMAT=%s sacct -a -X -D -P -S 2026-01-01 -E now > dump.txt \\
          -o JobID,User,Group,Partition,QOS,Submit,Eligible,Start,End,ElapsedRaw,TimelimitRaw,State,AllocCPUS,NNodes

    Columns are found by their names in the first line. Needed are JobID, Submit, Start, State, a
    size and a runtime; the others may be missing, and more may be there, though names with a "|"
    in them (JobName) spoil their lines.

    A job is each run that ended and took time: of a requeued or resized job each of its runs,
    submitted when sacct says so; of a job array each task; of a heterogeneous job each component,
    so that the work is exact though the components need no longer start together. `trace.cleaning`
    counts all other lines by why they are none, so that jobs + dropped = lines.

    size: CPUs (or nodes: unit="nodes") allocated, which is what others could not have, else
    requested. runtime: ElapsedRaw, which leaves out suspension, else Elapsed, else End - Start.
    submit: Submit, or with `eligible` the time from which the job was neither held nor waiting
    for others. estimate: the time limit; where there is none, `longest` seconds or the runtime,
    whichever is longer. A runtime beyond the limit is cut to it, as Slurm kills the job then
    (overrun="kill"), or the limit is raised (overrun="extend").

    Times are seconds since 1970, as above, or local times of `timezone`, which is also the zone
    of the times of day. A local time in the hour that the clock showed twice is taken so that
    submit <= start <= end and, where possible, end - start = elapsed; else it is the earlier.

    Users, groups, queues and partitions become numbers, by first appearance; no name is kept.

    Raises FileNotFoundError, and WorkloadError if columns or jobs are missing, if `processors` is
    None (naming how many were in use at once), and on a malformed line; with on_error="skip" those
    are counted and skipped with a warning.
    """  # noqa: E501
    if unit not in SIZES:
        raise WorkloadError(f"unit is 'cpus' or 'nodes', not {unit!r}")
    zone = find_zone(timezone)
    (_, header), *lines = numbered_lines(path)
    names = _columns(path, header, unit)
    parse = partial(_run, header, names, zone, SIZES[unit], eligible)
    runs, counts = gather(path, lines, parse, on_error)
    submitted = "Eligible" if eligible else "Submit"
    return convert(
        path,
        runs,
        counts,
        processors=processors,
        timezone=timezone,
        overrun=overrun,
        longest=longest,
        notes=[
            "made of Slurm accounting (sacct)",
            f"a processor is one of Slurm's {unit}; both sizes are what was allocated",
            f"submit times are Slurm's {submitted}; each run of a requeued job is a job",
        ],
    )


def _columns(path: str | os.PathLike, header: str, unit: str) -> list[str]:
    """The columns' names in lower case; WorkloadError names all that are missing."""
    names = [name.strip().lower() for name in header.split("|")]
    needed = [("JobID",), ("Submit",), ("Start",), ("State",), SIZES[unit], RUNTIMES]
    missing = [
        " or ".join(choice)
        for choice in needed
        if not any(name.lower() in names for name in choice)
    ]
    if missing:
        raise WorkloadError(
            f"{path}: the first line has no column {', '.join(missing)}; make the file with: "
            f"{COMMAND}"
        )
    return names


def _run(
    header: str, names: list[str], zone: tzinfo, sizes: tuple[str, ...], eligible: bool, line: str
) -> Run | str:
    """The run that a line tells of, or why it tells of none; ValueError if it is malformed."""
    if line == header:
        return "headers"
    words = line.split("|")
    if len(words) != len(names):
        raise ValueError(f"{len(words)} fields, expected {len(names)} (a name with a '|' in it?)")
    fields = dict(zip(names, map(str.strip, words), strict=True))
    if not JOB.fullmatch(fields["jobid"]):
        if STEP.fullmatch(fields["jobid"]):
            return "steps"
        raise ValueError(f"JobID: {fields['jobid'][:40]!r} is no job")
    state = re.match(r"[A-Z_]*", fields["state"].upper()).group()  # of "CANCELLED by 1000"
    if not state:
        raise ValueError(f"State: {fields['state'][:40]!r} is no state")
    if state in WAITING:
        return "pending"
    if state in UNFINISHED:
        return "running"
    start, end = _time(fields, "Start", zone), _time(fields, "End", zone)
    if not start or (state == "CANCELLED" and start == end):  # of old, the latter
        return "never_started"
    if "end" in fields and not end:
        return "running"
    submitted = _time(fields, "Submit", zone)
    if not submitted:
        return "no_submit"
    elapsed = _duration(fields, "ElapsedRaw")
    if elapsed is None:
        elapsed = _duration(fields, "Elapsed")
    submit, begin, finish = in_order(submitted, start, end, elapsed)
    if eligible:  # not known of jobs that were never held
        submit = max(submit, in_order(_time(fields, "Eligible", zone), (begin,), (), None)[0])
    runtime = finish - begin if elapsed is None else elapsed
    if runtime < 1:
        return "no_runtime"
    size = next(filter(None, (_count(fields, column) for column in sizes)), 0)
    if size < 1:
        return "no_size"
    return Run(
        submit,
        begin,
        runtime,
        size,
        _limit(fields),
        fields.get("user", ""),
        fields.get("group") or fields.get("account", ""),
        fields.get("qos", ""),
        fields.get("partition", ""),
        {"COMPLETED": COMPLETED, "CANCELLED": CANCELLED}.get(state, FAILED),
        fields["jobid"],
        (fields["jobid"], submit, begin),
    )


def _time(fields: dict[str, str], column: str, zone: tzinfo) -> tuple[int, ...]:
    try:
        return instants(fields.get(column.lower()), zone)
    except ValueError as error:
        raise ValueError(f"{column}: {error}") from None


def _duration(fields: dict[str, str], column: str, unit: int = 1) -> int | None:
    try:
        return seconds(fields.get(column.lower()), unit)
    except ValueError as error:
        raise ValueError(f"{column}: {error}") from None


def _limit(fields: dict[str, str]) -> int:
    """The time limit in seconds; -1 for none."""
    for column in ("TimelimitRaw", "Timelimit"):
        if fields.get(column.lower(), "").lower() in UNLIMITED:
            return -1
        limit = _duration(fields, column, unit=60)
        if limit:
            return limit
    return -1


def _count(fields: dict[str, str], column: str) -> int:
    """A number of CPUs or nodes, which Slurm may print as 2K for 2048; 0 where there is none."""
    text = fields.get(column.lower(), "")
    match = COUNT.fullmatch(text)
    if text and not match:
        raise ValueError(f"{column}: {text[:40]!r} is no number")
    if not text:
        return 0
    return round(float(match[1]) * 1024 ** " KMG".index(match[2].upper() or " "))
