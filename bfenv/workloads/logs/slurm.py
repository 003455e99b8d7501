"""What Slurm's `sacct` prints, as a trace.

Source: the manual page sacct(1) of Slurm 25.11, <https://slurm.schedmd.com/sacct.html>.
"""

import os
import re
from datetime import tzinfo
from functools import partial

from bfenv.core.arguments import check_choice
from bfenv.core.durations import MINUTE
from bfenv.core.errors import WorkloadError
from bfenv.core.jobs import Trace
from bfenv.workloads.logs.conversion import Options, convert
from bfenv.workloads.logs.run import Run, order_times
from bfenv.workloads.logs.text import numbered_lines
from bfenv.workloads.logs.times import find_zone, read_duration, read_time

COMMAND = (
    "SLURM_TIME_FORMAT=%s sacct -a -X -D -P -S 2026-01-01 -E now > dump.txt -o JobID,User,Group,"
    "Partition,QOS,Submit,Eligible,Start,End,ElapsedRaw,TimelimitRaw,State,AllocCPUS,NNodes"
)
# The first column with a number counts. AllocNodes comes rounded, as "2K".
SIZES = {"cpus": ("AllocCPUS", "NCPUS", "ReqCPUS"), "nodes": ("NNodes", "AllocNodes", "ReqNodes")}
RUNTIMES = ("ElapsedRaw", "Elapsed", "End")
JOB = re.compile(r"[0-9]+(_([0-9]+|\[[0-9,:%.-]*\]?))?(\+[0-9]+)?")
STEP = re.compile(r"[0-9]+(_[0-9]+)?(\+[0-9]+)?\.[A-Za-z0-9_+]+")
COUNT = re.compile(r"([0-9]{1,12}(?:\.[0-9]+)?)([KMG]?)", re.IGNORECASE)
MULTIPLES = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}
STATE = re.compile(r"[A-Z_]+")  # of "CANCELLED by 1000"
WAITING = {"PENDING", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"}
UNFINISHED = {
    "RUNNING", "SUSPENDED", "CONFIGURING", "COMPLETING", "STOPPED", "SIGNALING", "STAGE_OUT",
}  # fmt: skip
COMPLETED, FAILED, CANCELLED = 1, 0, 5  # SWF field 11
STATUSES = {"COMPLETED": COMPLETED, "CANCELLED": CANCELLED}  # all others are FAILED
UNLIMITED = {"unlimited", "partition_limit"}

Fields = dict[str, str]  # of a line, by the column's name in lower case


def read_sacct(
    path: str | os.PathLike[str],
    *,
    processors: int | None = None,
    timezone: str = "UTC",
    unit: str = "cpus",
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
    unit
        What a processor is: "cpus" or "nodes".
    eligible
        Take the time from which a job was neither held nor waiting for other jobs as its submit
        time, instead of Submit.
    longest
        Estimate of jobs without a time limit, or their runtime if that is longer: seconds, or a
        duration such as "2d" or "1-12:00". None is the runtime.
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
    check_choice("unit", unit, SIZES, error=WorkloadError)
    zone = find_zone(timezone)
    (_, header), *lines = numbered_lines(path)
    names = _columns(path, header, unit)
    submitted = "Eligible" if eligible else "Submit"
    return convert(
        path,
        lines,
        partial(_parse, header, names, zone, SIZES[unit], eligible),
        Options(processors, timezone, longest, overrun, on_error),
        notes=[
            "made of Slurm accounting (sacct)",
            f"a processor is one of Slurm's {unit}; both sizes are what was allocated",
            f"submit times are Slurm's {submitted}; each run of a requeued job is a job",
        ],
    )


def _columns(path: str | os.PathLike[str], header: str, unit: str) -> list[str]:
    """Return the columns' names in lower case; WorkloadError names all that are missing."""
    names = [name.strip().lower() for name in header.split("|")]
    required = [("JobID",), ("Submit",), ("Start",), ("State",), SIZES[unit], RUNTIMES]
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
    header: str, names: list[str], zone: tzinfo, sizes: tuple[str, ...], eligible: bool, line: str
) -> Run | str:
    """Return the run in a line, or why there is none; ValueError if it is malformed."""
    if line == header:
        return "headers"
    words = line.split("|")
    if len(words) != len(names):
        raise ValueError(f"{len(words)} fields, expected {len(names)} (a name with a '|' in it?)")
    fields = dict(zip(names, map(str.strip, words), strict=True))
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
    size = next(filter(None, (_count(fields, column) for column in sizes)), 0)
    if size < 1:
        return "no_size"
    return Run(
        submit,
        begin,
        runtime,
        size,
        estimate=_limit(fields),
        user=fields.get("user", ""),
        group=fields.get("group") or fields.get("account", ""),
        queue=fields.get("qos", ""),
        partition=fields.get("partition", ""),
        status=STATUSES.get(state, FAILED),
        job=fields["jobid"],
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
    match = COUNT.fullmatch(text)
    if not match:
        raise ValueError(f"{column}: {text[:40]!r} is not a number")
    return round(float(match[1]) * MULTIPLES[match[2].upper()])
