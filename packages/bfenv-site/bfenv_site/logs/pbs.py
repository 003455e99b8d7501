"""The accounting logs of PBS Professional, OpenPBS and Torque.

Source: PBS Professional 2022.1 Administrator's Guide, section 19.4; Torque 6.1 Administrator
Guide, section 10.1. A line is "date;record;id;name=value name=value ...". The record E is the end
of a job, R that of a run whose job is queued again.

The size is the places in exec_host, or else Torque's number of execution slots, or else the largest
of what is requested: a site's default is smaller than what a user asks for. The submit time is
qtime, the time at which the job was queued; that of a further run is the end of the run before. The
queue is also the partition.
"""

import os
import re
from datetime import datetime
from functools import partial
from typing import Any

from bfenv.workloads.logs.times import find_zone, read_integer
from bfenv_site.logs.run import COMPLETED, FAILED, Log, Record, open_lines

DATE = "%m/%d/%Y %H:%M:%S"
LINE = re.compile(r"[0-9]{2}/[0-9]{2}/[0-9]{4} [0-9:]{8}[0-9.]*;[A-Za-z];")
RECORD = re.compile(";[A-Za-z];")  # in a line that begins a record, even if it is damaged
ITEM = re.compile(r'([^\s="]+)=("[^"]*"|\S*)')
TIMES = ("ctime", "qtime", "etime", "start", "end")
PPN = re.compile(r"(?:^|:)(?:ppn|ncpus)=([0-9]{1,9})")
COUNT = re.compile(r"[0-9]{1,9}")


def open_pbs(path: str | os.PathLike[str], timezone: str = "UTC") -> Log:
    """Open PBS or Torque accounting; several days may be in one file."""
    return open_lines(
        path,
        partial(_parse, timezone),
        "made of PBS accounting; a processor is a CPU",
        lambda text: text.count('"') % 2 == 0,
        lambda _, line: bool(LINE.match(line)),
        lambda line: not RECORD.search(line),
    )


def _parse(timezone: str, line: str) -> Record:
    if not LINE.match(line):
        raise ValueError("not a line of PBS accounting: date;record;id;name=value ...")
    date, kind, job, text = line.split(";", 3) if line.count(";") > 2 else (*line.split(";"), "")
    items = ITEM.findall(text) if '"' in text else [item.split("=", 1) for item in text.split()]
    fields: dict[str, str] = {}
    for item in items:
        fields.setdefault(item[0], item[1] if len(item) > 1 else "")
    names: dict[str, Any] = {name: fields.get(name, "") for name in ("user", "group", "queue")}
    names |= {"job": job.strip(), "partition": names["queue"]}
    if kind not in "ER" or (kind == "R" and "start" not in fields):
        return Record(reason="other_record", **names)
    hosts = fields.get("exec_host", "").replace('"', "")
    if "[]" in job and not hosts:
        return Record(reason="parents", **names)
    for name in TIMES:
        if "=" in fields.get(name, ""):
            raise ValueError(f"{name}: {fields[name][:40]!r} is not a time: is a space missing?")
    size = (
        sum(map(_places, filter(None, hosts.split("+"))))
        or _count(fields, "total_execution_slots")
        or _count(fields, "resources_used.ncpus")
    )
    chunks = (fields.get(f"Resource_List.{name}", "") for name in ("nodes", "select"))
    requests = [
        *(sum(map(_chunk, filter(None, text.split("+")))) for text in chunks),
        *(_count(fields, f"Resource_List.{name}") for name in ("ncpus", "procs")),
    ]  # CPUs, in each way that there is; 0 if not in that way
    odd = (count for count in requests if size and count not in (0, size))
    submits = (fields[name] for name in ("qtime", "ctime") if fields.get(name, "0") > "0")
    end = fields.get("end") or datetime.strptime(date[:19], DATE).replace(
        tzinfo=find_zone(timezone)
    )
    return Record(
        submit=next(submits, ""),
        start=fields.get("start", ""),
        end=end,
        runtime=fields.get("resources_used.walltime"),
        limit=fields.get("Resource_List.walltime"),
        size=size,
        request=next(odd, max(*requests, _count(fields, "Resource_List.nodect"))),
        account=fields.get("account", fields.get("project", "")),
        nodes=hosts and ",".join(host.partition("/")[0] for host in hosts.split("+")),
        status=COMPLETED if fields.get("Exit_status") == "0" else FAILED,
        **names,
    )


def _chunk(text: str) -> int:
    """Return the CPUs of "2:ppn=8" or "2:ncpus=8"."""
    count, per_node = COUNT.fullmatch(text.partition(":")[0].strip('"')), PPN.search(text)
    return (int(count[0]) if count else 1) * (int(per_node[1]) if per_node else 1)


def _count(fields: dict[str, str], name: str) -> int:
    try:
        return read_integer(fields.get(name)) or 0
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _places(host: str) -> int:
    """Return how many CPUs "host/3*8" of PBS, or "host/0-2,5" of Torque, is."""
    ranges = host.partition("/")[2]
    _, star, count = ranges.partition("*")
    if star:
        return max(read_integer(count) or 0, 1)
    total = 0
    for part in ranges.split(","):
        first, dash, last = part.partition("-")
        total += (read_integer(last) or 0) - (read_integer(first) or 0) if dash else 0
        total += 1
    return max(total, 1)
