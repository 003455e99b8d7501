"""The accounting logs of PBS Professional, OpenPBS and Torque, as a trace.

Source: PBS Professional 2022.1 Administrator's Guide, section 19.4; Torque 6.1 Administrator
Guide, section 10.1. A line is "date;record;id;name=value name=value ...", and the record E is the
end of a job.
"""

import os
import re
from datetime import datetime, tzinfo
from functools import partial
from typing import Unpack

from bfenv.core.jobs import Trace
from bfenv.workloads.logs.conversion import ReaderOptions, convert
from bfenv.workloads.logs.run import COMPLETED, FAILED, Run
from bfenv.workloads.logs.text import numbered_lines
from bfenv.workloads.logs.times import find_zone, read_duration, read_epoch, read_integer

DATE = "%m/%d/%Y %H:%M:%S"
LINE = re.compile(r"[0-9]{2}/[0-9]{2}/[0-9]{4} [0-9:]{8}[0-9.]*;[A-Za-z];")
COUNTS = (
    "Resource_List.ncpus", "resources_used.ncpus", "total_execution_slots", "Resource_List.procs"
)  # fmt: skip
PPN = re.compile(r"(?:^|:)ppn=([0-9]{1,9})")


def read_pbs(path: str | os.PathLike[str], **options: Unpack[ReaderOptions]) -> Trace:
    """Read the jobs that ended from PBS or Torque accounting; several days may be in one file.

    Size is Resource_List.ncpus, or else Torque's number of execution slots, or else what
    Resource_List.procs or Resource_List.nodes, as in "2:ppn=8+1:ppn=4", requests, or else the
    places in exec_host. The submit time is qtime, the time at which the job was queued.
    The queue is also the partition.

    Parameters
    ----------
    path, **options
        As in `read_sacct`: processors, timezone, selection, longest, overrun, on_error.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    WorkloadError
        If no job is left, an option is out of range, or a line is malformed.
    """
    zone = find_zone(options.get("timezone", "UTC"))
    notes = ["made of PBS accounting; a processor is a CPU"]
    return convert(path, numbered_lines(path), partial(_parse, zone), notes, **options)


def _parse(zone: tzinfo, line: str) -> Run | str:
    """Return the run in a line, or why there is none; ValueError if it is malformed."""
    if not LINE.match(line):
        raise ValueError("not a line of PBS accounting: date;record;id;name=value ...")
    date, record, job, text = line.split(";", 3) if line.count(";") > 2 else (*line.split(";"), "")
    if record != "E":
        return "other_record"
    fields = dict(item.partition("=")[::2] for item in text.split())
    submit, start, end = (read_epoch(fields.get(name)) for name in ("qtime", "start", "end"))
    if submit < 0:
        submit = read_epoch(fields.get("ctime"))
    if submit < 0:
        return "no_submit"
    if start <= 0:
        return "never_started"
    if end < 0:
        end = _date(date, zone)
    walltime = read_duration(fields.get("resources_used.walltime"))
    runtime = end - start if walltime is None else walltime
    if runtime < 1:
        return "no_runtime"
    size = _size(fields)
    if size < 1:
        return "no_size"
    return Run(
        submit,
        start,
        runtime,
        size,
        estimate=read_duration(fields.get("Resource_List.walltime")) or -1,
        user=fields.get("user", ""),
        group=fields.get("group", ""),
        queue=fields.get("queue", ""),
        partition=fields.get("queue", ""),
        status=COMPLETED if fields.get("Exit_status") == "0" else FAILED,
        job=job.strip(),
    )


def _date(text: str, zone: tzinfo) -> int:
    return int(datetime.strptime(text[:19], DATE).replace(tzinfo=zone).timestamp())


def _size(fields: dict[str, str]) -> int:
    """Return the CPUs that a job requested; 0 if they are not known."""
    for name in COUNTS:
        count = read_integer(fields.get(name))
        if count:
            return count
    total = 0
    for chunk in filter(None, fields.get("Resource_List.nodes", "").split("+")):
        count_text = chunk.partition(":")[0]
        nodes = int(count_text) if count_text.isdecimal() and len(count_text) < 10 else 1
        per_node = PPN.search(chunk)
        total += nodes * (int(per_node[1]) if per_node else 1)
    hosts = filter(None, fields.get("exec_host", "").split("+"))
    return (
        total or sum(map(_places, hosts)) or read_integer(fields.get("Resource_List.nodect")) or 0
    )


def _places(host: str) -> int:
    """Return how many CPUs "host/3*8" of PBS, or "host/0-2,5" of Torque, is."""
    ranges = host.partition("/")[2]
    _, star, count = ranges.partition("*")
    if star:
        return max(read_integer(count) or 0, 1)
    total = 0
    for one in ranges.split(","):
        first, dash, last = one.partition("-")
        total += (read_integer(last) or 0) - (read_integer(first) or 0) if dash else 0
        total += 1
    return max(total, 1)
