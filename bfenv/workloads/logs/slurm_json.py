"""What Slurm's `sacct --json` prints, as a trace.

Source: the data parsers of Slurm 21.08 to 25.05; later ones wrap numbers as {"set", "number"} and
states as lists.
"""

import json
import os
from collections.abc import Callable, Iterable
from datetime import UTC
from functools import partial
from typing import Any, Unpack

from bfenv.core.errors import WorkloadError
from bfenv.core.jobs import Trace
from bfenv.workloads.logs.conversion import CommonOptions, convert
from bfenv.workloads.logs.run import Dropped, Run
from bfenv.workloads.logs.selection import EVERYTHING
from bfenv.workloads.logs.slurm_job import parse_fields
from bfenv.workloads.logs.text import FEW, read_text
from bfenv.workloads.logs.tres import Fields, sizes_in

KINDS = {"cpu": "cpu", "mem": "mem", "node": "node", "billing": "billing", "gres": "gres/"}

DENSEST = 8  # characters of a value, with its name, on average


def read_sacct_json(
    path: str | os.PathLike[str],
    *,
    processors: int | None = None,
    resource: str = "cores",
    capacity: str | None = None,
    eligible: bool = False,
    **options: Unpack[CommonOptions],
) -> Trace:
    """Read the jobs that ran from the output of `sacct --json`.

    A job's record is read as `read_sacct` reads a line, with the same options; a malformed one is
    named by its number in the file.

    Parameters
    ----------
    path, processors, resource, capacity, eligible, **options
        As in `read_sacct`.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    WorkloadError
        If the file is not such JSON, no job is left, an option is out of range, or a record is
        malformed.
    """
    taken = options.get("selection", EVERYTHING).partitions
    size, processors = sizes_in(resource, capacity, processors, taken)
    notes = [
        "made of Slurm accounting (sacct --json)",
        f"a processor is one of Slurm's {resource}; both sizes are what was allocated",
    ]
    parse = partial(_parse, size, eligible)
    return convert(path, _jobs(path), parse, notes, processors=processors, **options)


def _jobs(path: str | os.PathLike[str]) -> Iterable[tuple[int, Any]]:
    text = read_text(path)
    _check_density(path, text)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise WorkloadError(f"{path}: not JSON: {error}") from None
    jobs = content.get("jobs") if isinstance(content, dict) else None
    if not isinstance(jobs, list):
        raise WorkloadError(f"{path}: not the output of sacct --json: it has no list 'jobs'")
    return enumerate(jobs, start=1)


def _check_density(path: str | os.PathLike[str], text: str) -> None:
    """Refuse a text with more values than sacct prints: decoded, they could fill the memory."""
    values = sum(map(text.count, "[{,"))
    if values > FEW and values * DENSEST > len(text):
        raise WorkloadError(
            f"{path}: {values:,} values of less than {DENSEST} characters on average, "
            "which sacct does not print"
        )


def _parse(size: Callable[[Fields], int], eligible: bool, job: Any) -> Run | Dropped:
    """Return the run of a job, or why there is none; ValueError if it is malformed."""
    if not isinstance(job, dict):
        raise ValueError("a job must be an object")
    return parse_fields(_fields(job), UTC, size, eligible)


def _fields(job: dict[str, Any]) -> Fields:
    """Return the fields of a job as sacct prints them."""
    times, state = _object(job.get("time")), _object(job.get("state")).get("current")
    if isinstance(state, list):
        state = state[0] if state else ""
    limit = times.get("limit")
    is_unlimited = _object(limit).get("infinite") is True
    allocated = _object(job.get("tres")).get("allocated")
    amounts = _amounts(allocated if isinstance(allocated, list) else [])
    cpus = amounts.get("cpu") or _number(_object(job.get("required")).get("CPUs"))
    fields = {
        "JobID": _job_id(job),
        "State": str(state or ""),
        "Submit": _number(times.get("submission")),
        "Eligible": _number(times.get("eligible")),
        "Start": _instant(times.get("start")),
        "End": _instant(times.get("end")),
        "ElapsedRaw": _number(times.get("elapsed")),
        "TimelimitRaw": "UNLIMITED" if is_unlimited else _number(limit),
        "AllocCPUS": cpus,
        "NNodes": _number(job.get("allocation_nodes")) or amounts.get("node", ""),
        "AllocTRES": ",".join(f"{name}={amount}" for name, amount in amounts.items()),
    }
    for name in ("User", "Group", "Account", "Partition", "QOS", "Cluster"):
        fields[name] = str(job.get(name.lower()) or "")
    return fields


def _instant(value: Any) -> str:
    """Return a time as text; "", not 0, for one that has not come."""
    text = _number(value)
    return "" if text == "0" else text


def _job_id(job: dict[str, Any]) -> str:
    array, het = _object(job.get("array")), _object(job.get("het"))
    number, task = _number(array.get("job_id")), _number(array.get("task_id"))
    if number not in ("", "0") and task:
        return f"{number}_{task}"
    number = _number(het.get("job_id"))
    if number not in ("", "0"):
        return f"{number}+{_number(het.get('job_offset')) or 0}"
    return _number(job.get("job_id"))


def _amounts(allocated: list[Any]) -> dict[str, str]:
    amounts: dict[str, str] = {}
    for one in map(_object, allocated):
        kind = str(one.get("type"))
        if kind in KINDS:
            name = str(one.get("name") or "") if kind == "gres" else ""
            amounts[KINDS[kind] + name] = _number(one.get("count"))
    return amounts


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(value: Any) -> str:
    """Return a number, or one that is wrapped with whether it is set, as text; "" for none."""
    if isinstance(value, dict):
        value = value.get("number") if value.get("set") else None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""
