"""What Slurm's `sacct` prints, as columns or as JSON.

Source: the manual page sacct(1) of Slurm 25.11, <https://slurm.schedmd.com/sacct.html>, and the
data parsers of Slurm 21.08 to 25.05; later ones wrap numbers as {"set", "number"} and states as
lists.
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain
from sys import intern
from typing import Any, Unpack

from bfenv.core.durations import MINUTE
from bfenv.core.errors import WorkloadError
from bfenv.core.jobs import Trace
from bfenv.workloads.logs.text import join_lines, numbered_lines, read_json
from bfenv_site.logs.conversion import CommonOptions, convert
from bfenv_site.logs.run import CANCELLED, COMPLETED, FAILED, UNKNOWN, Log, Record
from bfenv_site.logs.selection import EVERYTHING
from bfenv_site.logs.table import Rows
from bfenv_site.logs.tres import SIZES, TRES, Fields, sizes_in

COMMAND = (
    "SLURM_TIME_FORMAT=%s sacct -a -X -D -P -S 2026-01-01 -E now > dump.txt -o JobID,User,Group,"
    "Partition,QOS,Submit,Eligible,Start,End,ElapsedRaw,TimelimitRaw,State,AllocCPUS,NNodes"
)
COLUMNS = (
    "JobID",
    "User",
    "Group",
    "Account",
    "Partition",
    "QOS",
    "Cluster",
    "Submit",
    "Eligible",
    "Start",
    "End",
    "ElapsedRaw",
    "Elapsed",
    "TimelimitRaw",
    "Timelimit",
    "State",
    "NodeList",
    "Dependency",
)  # that are read, beside those of `SIZES`
RAW_ID = "jobidraw"  # a column that stands in for JobID
RUNTIMES = ("ElapsedRaw", "Elapsed", "End")
SACCT_NAMES = {name.lower(): name for name in (*COLUMNS, *chain(*SIZES.values()))}
WIDTH = re.compile(r"%-?[0-9]*$")  # of a column, as in JobID%20
HEADER = re.compile(r"\s*[A-Za-z]+([^A-Za-z0-9\s]+|\t|\s*[,;~]\s*)[A-Za-z]")
JOB = re.compile(r"[0-9]+(_([0-9]+|\[[0-9,:%.-]*\]?))?(\+[0-9]+)?")
STEP = re.compile(r"[0-9]+(_[0-9]+)?(\+[0-9]+)?\.[A-Za-z0-9_+]+")
FIRST = re.compile(rf"(?:{STEP.pattern}|{JOB.pattern})([^A-Za-z0-9_+.\s]+|\t)")  # of a dump
STATE = re.compile(r"[A-Z_]+")  # of "CANCELLED by 1000"
WAITING = {"PENDING", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"}
UNFINISHED = {
    "RUNNING",
    "SUSPENDED",
    "CONFIGURING",
    "COMPLETING",
    "STOPPED",
    "SIGNALING",
    "STAGE_OUT",
}
STATUSES = {"COMPLETED": COMPLETED, "CANCELLED": CANCELLED} | dict.fromkeys(
    (
        "FAILED",
        "TIMEOUT",
        "OUT_OF_MEMORY",
        "NODE_FAIL",
        "PREEMPTED",
        "DEADLINE",
        "BOOT_FAIL",
        "LAUNCH_FAILED",
        "RECONFIG_FAIL",
        "REQUEUED",
        "RESIZING",
        "REVOKED",
    ),
    FAILED,
)  # any other is not known
LABELS = {  # what sacct calls the fields
    "submit": "Submit",
    "start": "Start",
    "end": "End",
    "eligible": "Eligible",
    "runtime": "ElapsedRaw",
    "limit": "TimelimitRaw",
}
KINDS = {"cpu": "cpu", "mem": "mem", "node": "node", "billing": "billing", "gres": "gres/"}
DELIMITERS = (",", ";", "\t")  # of a dump that may have been through a spreadsheet, with quotes
CACHE = 1 << 12  # texts; the states of a log are few

Sizes = Callable[[Fields], tuple[int, int]]

# What to do if names have the delimiter in them
ANOTHER_DELIMITER = (
    "print the log again with a delimiter that no name has, as in sacct --delimiter=^, and give "
    "--delimiter ^ here"
)


def read_sacct(
    path: str | os.PathLike[str],
    *,
    processors: int | None = None,
    resource: str = "cores",
    capacity: str | None = None,
    fields: str | None = None,
    delimiter: str | None = None,
    eligible: bool = False,
    **options: Unpack[CommonOptions],
) -> Trace:
    """Return the jobs that ran, from the output of Slurm's sacct, columns or JSON.

    Make the file with this command; `-r` restricts it to a partition:

        SLURM_TIME_FORMAT=%s sacct -a -X -D -P -S 2026-01-01 -E now > dump.txt \\
          -o JobID,User,Group,Partition,QOS,Submit,Eligible,Start,End,ElapsedRaw,TimelimitRaw,State,AllocCPUS,NNodes

    Columns are found by their names in the first line. JobID or JobIDRaw, Submit, Start, State, a size and a
    runtime are required. Others may be missing, and further ones are ignored. A name such as
    JobName may contain delimiters and line breaks: the fields beside it show where it ends.

    Each run that ended and took time is a job: each run of a requeued or resized job, submitted no
    earlier than the run before ended; each task of an array; each component of a heterogeneous
    job. The work is then exact, although the components need no longer start together.
    `trace.cleaning` counts all other records by reason: jobs + dropped = records.

    Size is what was allocated, which other jobs could not have, or else what was requested. Runtime
    is ElapsedRaw, which leaves out suspension, or else Elapsed, or else End - Start.

    Times are seconds since 1970, as with the command above, or local times of `timezone`. A local
    time in the hour that the clock showed twice is chosen such that submit <= start <= end and,
    where possible, end - start = elapsed; otherwise it is the earlier.

    Users, groups, queues and partitions are numbered by first appearance; no name is kept.

    Args:
        path: The file, gzipped or not.
        processors: Processors of the machine.
        timezone: Time zone of local times, and of the trace's times of day.
        resource: What a processor is: "cores", "nodes", "gpus", "memory" (GiB) or "billing", of
            AllocTRES but for the first two; or "dominant", the share of the resource of which a job
            has most, in cores of its partition.
        capacity: What each partition has, for "dominant": "cpu=512,mem=4T,gpu=64" for all, or "gpu:
            cpu=512,gpu=64; long: cpu=4096". `processors` is then by default the sum of cpu.
        fields: Columns of a dump without a line of names (`sacct -n`), as given to `-o`. With None,
            a dump whose first line is a job has the columns of the command above.
        delimiter: What `--delimiter` of sacct was. None finds it between the first two columns.
        selection: Which jobs to take.
        eligible: Take the time from which a job was neither held nor waiting for other jobs as its
            submit time, instead of Submit.
        longest: Estimate of jobs without a time limit, or their runtime if that is longer: seconds,
            a duration such as "2d" or "1-12:00", or the limits of partitions, "gpu=2d,long=14d". It
            is otherwise the longest limit seen in the job's partition.
        overrun: If a runtime exceeds the time limit: "kill" cuts it, as Slurm kills the job,
            "extend" raises the limit.
        on_error: On a malformed line: "raise", or "skip" it with a warning and count it.

    Raises:
        FileNotFoundError: If there is no such file.
        WorkloadError: If columns or jobs are missing, an option is out of range, a line is
            malformed, or `processors` is None: the message then states how many were in use at
            once.
    """  # noqa: E501
    taken = options.get("selection", EVERYTHING).partitions
    sizes, processors = sizes_in(resource, capacity, processors, taken)
    lines, encoding = numbered_lines(path)
    first = next(lines)
    if first[1].lstrip().startswith("{"):
        log = _open_json(path, sizes, resource, eligible)
        return convert(path, log, processors=processors, **options)
    field_names = (
        None if fields is None else [WIDTH.sub("", name.strip()) for name in fields.split(",")]
    )
    command_names = COMMAND.partition("-o ")[2].split(",")
    is_job = FIRST.match(first[1]) is not None
    delimiter = delimiter or find_delimiter(first[1]) or "|"
    header, names = "", field_names or command_names
    if not is_job and (
        field_names is None or _names(first[1], delimiter) == list(map(str.lower, field_names))
    ):
        header, names = first[1], [name.strip() for name in first[1].split(delimiter)]
    else:
        lines = chain((first,), lines)
        if first[1].count(delimiter) == len(names) and first[1].endswith(delimiter):  # sacct -p
            names = [*names, ""]
    names = _column_names(path, names, resource)
    places = {name: names.index(name) for name in names if name in (*COLUMNS, *SIZES[resource])}
    free = [i for i, name in enumerate(names) if name not in SACCT_NAMES.values()]

    def record(words: Sequence[str]) -> Record:
        row = {name: words[i].strip() for name, i in places.items()}
        return read_fields(row, sizes, eligible)

    def is_id(text: str) -> bool:
        return bool(JOB.fullmatch(text) or STEP.fullmatch(text))

    is_quoted, is_first = delimiter in DELIMITERS, is_id if names[0] == "JobID" else bool
    rows = Rows(header, delimiter, len(names), free, record, is_quoted, is_first)
    counts: Counter[str] = Counter()
    continues = rows.continues if names[0] == "JobID" and len(names) - 1 in free else None
    whole = join_lines(lines, rows.is_whole, rows.begins, counts, continues)
    notes = _notes("sacct", resource, eligible)
    labels = {f: name if name in names else name.removesuffix("Raw") for f, name in LABELS.items()}
    log = Log(
        whole,
        rows.parse,
        counts,
        notes,
        encoding,
        labels,
        limit_unit=MINUTE,
        delimiter_option=ANOTHER_DELIMITER,
    )
    return convert(path, log, processors=processors, **options)


def find_delimiter(line: str) -> str:
    """Return what separates the first two columns of sacct's output; "" if nothing does."""
    if match := HEADER.match(line):
        return match[1].strip(" ")
    match = FIRST.match(line)
    text = match[match.lastindex or 0] if match else ""
    return text[:1] if not text.strip(text[:1]) else text  # the second column may be empty


def is_header(line: str) -> bool:
    """Return whether a line has names of columns that sacct must have printed."""
    delimiter = find_delimiter(line)
    names = set(_names(line, delimiter)) if delimiter else set()
    is_own = delimiter == "|" or {"state", "submit", "start"} <= names
    return is_own and not names.isdisjoint(("jobid", RAW_ID))


def _names(line: str, delimiter: str) -> list[str]:
    return [name.strip().lower() for name in line.split(delimiter)]


def _column_names(path: str | os.PathLike[str], texts: Sequence[str], resource: str) -> list[str]:
    """Return sacct's names of the columns; WorkloadError names all that are missing."""
    names = [SACCT_NAMES.get(text.lower(), text) for text in texts]
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


def _notes(command: str, resource: str, eligible: bool) -> list[str]:
    submitted = "Eligible" if eligible else "Submit"
    return [
        f"made of Slurm accounting ({command})",
        f"a processor is one of Slurm's {resource}; both sizes are what was allocated",
        f"submit times are Slurm's {submitted}; each run of a requeued job is a job",
    ]


def read_fields(fields: Fields, sizes: Sizes, eligible: bool) -> Record:
    """Return the record in the fields of a job, by sacct's name; ValueError if malformed."""
    job, state = fields["JobID"], _state(fields["State"])
    partition, cluster = intern(fields.get("Partition", "")), intern(fields.get("Cluster", ""))
    reason = ""
    if not (job.isdecimal() and job.isascii()) and not JOB.fullmatch(job):
        if not STEP.fullmatch(job):
            raise ValueError(f"JobID: {job[:40]!r} is not a job id")
        reason = "steps"
    elif not state:
        raise ValueError(f"State: {fields['State'][:40]!r} is not a state")
    elif state in WAITING:
        reason = "pending"
    elif state in UNFINISHED:
        reason = "running"
    if reason:
        return Record(reason=reason, partition=partition, cluster=cluster)
    size, request = sizes(fields) if fields["Start"][:1].isdigit() else (0, 0)
    return Record(
        fields.get("Submit", ""),
        fields["Start"] or "Unknown",
        fields.get("End"),
        fields.get("Eligible", "") if eligible else None,
        fields.get("ElapsedRaw") or fields.get("Elapsed"),
        fields.get("TimelimitRaw") or fields.get("Timelimit"),
        size,
        request,
        intern(fields.get("User", "")),
        intern(fields.get("Group", "")),
        intern(fields.get("Account", "")),
        intern(fields.get("QOS", "")),
        partition,
        cluster,
        fields.get("NodeList", ""),
        job,
        STATUSES.get(state, UNKNOWN),
        "",
        fields.get("Dependency", ""),
    )  # by position, which takes half the time


@lru_cache(maxsize=CACHE)
def _state(text: str) -> str:
    match = STATE.match(text.upper())
    return match.group() if match else ""


def _open_json(path: str | os.PathLike[str], sizes: Sizes, resource: str, eligible: bool) -> Log:
    content, encoding = read_json(path)
    jobs = content.get("jobs") if isinstance(content, dict) else None
    if not isinstance(jobs, list):
        raise WorkloadError(f"{path}: not the output of sacct --json: it has no list 'jobs'")

    def parse(job: Any) -> Record:
        if not isinstance(job, dict):
            raise ValueError("a job must be an object")
        return read_fields(_json_fields(job), sizes, eligible)

    notes = _notes("sacct --json", resource, eligible)
    return Log(
        enumerate(jobs, start=1),
        parse,
        Counter(),
        notes,
        encoding,
        LABELS,
        limit_unit=MINUTE,
        has_epochs=True,
    )


def _json_fields(job: dict[str, Any]) -> Fields:
    """Return the fields of a job as sacct prints them."""
    times, state = _object(job.get("time")), _object(job.get("state")).get("current")
    if isinstance(state, list):
        state = state[0] if state else ""
    limit = times.get("limit")
    tres = _object(job.get("tres"))
    amounts, requests = (_amounts(tres.get(name)) for name in ("allocated", "requested"))
    fields = {
        "JobID": _job_id(job),
        "State": str(state or ""),
        "Submit": _number(times.get("submission")),
        "Eligible": _number(times.get("eligible")),
        "Start": _number(times.get("start")),
        "End": _number(times.get("end")),
        "ElapsedRaw": _number(times.get("elapsed")),
        "TimelimitRaw": "" if _object(limit).get("infinite") is True else _number(limit),
        "AllocCPUS": amounts.get("cpu", ""),
        "ReqCPUS": _number(_object(job.get("required")).get("CPUs")),
        "NNodes": _number(job.get("allocation_nodes")) or amounts.get("node", ""),
        "AllocTRES": ",".join(f"{name}={amount}" for name, amount in amounts.items()),
        "ReqTRES": ",".join(f"{name}={amount}" for name, amount in requests.items()),
        "NodeList": str(job.get("nodes") or ""),
    }
    for name in ("User", "Group", "Account", "Partition", "QOS", "Cluster"):
        fields[name] = str(job.get(name.lower()) or "")
    return fields


def _job_id(job: dict[str, Any]) -> str:
    array, het = _object(job.get("array")), _object(job.get("het"))
    number, task = _number(array.get("job_id")), _number(array.get("task_id"))
    if number not in ("", "0") and task:
        return f"{number}_{task}"
    number = _number(het.get("job_id"))
    if number not in ("", "0"):
        return f"{number}+{_number(het.get('job_offset')) or 0}"
    return _number(job.get("job_id"))


def _amounts(listed: Any) -> dict[str, str]:
    amounts: dict[str, str] = {}
    for amount in map(_object, listed if isinstance(listed, list) else []):
        kind = str(amount.get("type"))
        if kind in KINDS:
            name = str(amount.get("name") or "") if kind == "gres" else ""
            amounts[KINDS[kind] + name] = _number(amount.get("count"))
    return amounts


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(value: Any) -> str:
    """Return a number, or one that is wrapped with whether it is set, as text; "" for none."""
    if isinstance(value, dict):
        value = value.get("number") if value.get("set") else None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    is_text = isinstance(value, int | float | str) and not isinstance(value, bool)
    return str(value) if is_text else ""
