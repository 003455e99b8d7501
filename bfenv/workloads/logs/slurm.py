"""What Slurm's `sacct` prints, as a trace.

Source: the manual page sacct(1) of Slurm 25.11, <https://slurm.schedmd.com/sacct.html>.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from datetime import tzinfo
from functools import partial
from itertools import chain
from typing import Unpack

from bfenv.core.errors import WorkloadError
from bfenv.core.jobs import Trace
from bfenv.workloads.logs.conversion import CommonOptions, convert
from bfenv.workloads.logs.run import Dropped, Run
from bfenv.workloads.logs.selection import EVERYTHING
from bfenv.workloads.logs.slurm_job import COLUMNS, JOB, parse_fields
from bfenv.workloads.logs.text import numbered_lines
from bfenv.workloads.logs.times import find_zone
from bfenv.workloads.logs.tres import SIZES, TRES, Fields, sizes_in

COMMAND = (
    "SLURM_TIME_FORMAT=%s sacct -a -X -D -P -S 2026-01-01 -E now > dump.txt -o JobID,User,Group,"
    "Partition,QOS,Submit,Eligible,Start,End,ElapsedRaw,TimelimitRaw,State,AllocCPUS,NNodes"
)
RAW_ID = "jobidraw"  # a column that stands in for JobID
RUNTIMES = ("ElapsedRaw", "Elapsed", "End")
KNOWN = {name.lower(): name for name in (*COLUMNS, *chain(*SIZES.values()))}


def read_sacct(
    path: str | os.PathLike[str],
    *,
    processors: int | None = None,
    resource: str = "cores",
    capacity: str | None = None,
    fields: str | None = None,
    eligible: bool = False,
    **options: Unpack[CommonOptions],
) -> Trace:
    """Read the jobs that ran from the output of Slurm's sacct.

    Make the file with this command; `-r` restricts it to a partition:

        SLURM_TIME_FORMAT=%s sacct -a -X -D -P -S 2026-01-01 -E now > dump.txt \\
          -o JobID,User,Group,Partition,QOS,Submit,Eligible,Start,End,ElapsedRaw,TimelimitRaw,State,AllocCPUS,NNodes

    Columns are found by their names in the first line. JobID or JobIDRaw, Submit, Start, State, a size and a
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
        Estimate of jobs without a time limit, or their runtime if that is longer: seconds, a
        duration such as "2d" or "1-12:00", or the limits of partitions, "gpu=2d,long=14d". It is
        otherwise the longest limit seen in the job's partition.
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
    zone = find_zone(options.get("timezone", "UTC"))
    taken = options.get("selection", EVERYTHING).partitions
    size, processors = sizes_in(resource, capacity, processors, taken)
    header, lines = _header(numbered_lines(path), fields)
    names = _columns(path, header, resource)
    submitted = "Eligible" if eligible else "Submit"
    notes = [
        "made of Slurm accounting (sacct)",
        f"a processor is one of Slurm's {resource}; both sizes are what was allocated",
        f"submit times are Slurm's {submitted}; each run of a requeued job is a job",
    ]
    parse = partial(_parse, header, names, zone, size, eligible)
    return convert(path, lines, parse, notes, processors=processors, **options)


def _header(
    lines: Iterator[tuple[int, str]], fields: str | None
) -> tuple[str, Iterable[tuple[int, str]]]:
    """Return the line of column names, and the lines after it, if they have one."""
    if fields is not None:
        return fields.replace(",", "|"), lines
    first = next(lines)
    if JOB.fullmatch(first[1].partition("|")[0].strip()):
        return COMMAND.partition("-o ")[2].replace(",", "|"), chain((first,), lines)
    return first[1], lines


def _columns(path: str | os.PathLike[str], header: str, resource: str) -> list[str]:
    """Return sacct's names of the columns; WorkloadError names all that are missing."""
    given = [name.strip() for name in header.split("|")]
    names = [KNOWN.get(name.lower(), name) for name in given]
    if "JobID" not in names:
        names = ["JobID" if name.lower() == RAW_ID else name for name in names]
    required = [("JobID",), ("Submit",), ("Start",), ("State",), SIZES[resource], RUNTIMES]
    missing = [
        " or ".join(choice) for choice in required if not any(name in names for name in choice)
    ]
    if missing:
        raise WorkloadError(
            f"{path}: the first line has no column {', '.join(missing)}; make the file with: "
            f"{COMMAND}{',AllocTRES' if SIZES[resource] is TRES else ''}"
        )
    return names


def _parse(
    header: str,
    names: list[str],
    zone: tzinfo,
    size: Callable[[Fields], int],
    eligible: bool,
    line: str,
) -> Run | Dropped | str:
    """Return the run in a line, or why there is none; ValueError if it is malformed."""
    if line == header:
        return "headers"
    words = line.split("|")
    if len(words) != len(names):
        why = "a name with a '|' in it?" if len(words) > len(names) else "cut short?"
        raise ValueError(f"{len(words)} fields, expected {len(names)} ({why})")
    if " " in line or not line.isprintable():  # most lines have no spaces
        words = [word.strip() for word in words]
    return parse_fields(dict(zip(names, words, strict=True)), zone, size, eligible)
