"""The jobs of a live queue, as Slurm's `squeue` prints them: in text, or in JSON.

Source: the manual page squeue(1) of Slurm 25.11, and the data parsers of Slurm 21.08 to 25.05, of
which later ones wrap numbers as {"set", "number"} and states as lists.
"""

import os
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import bfenv_site.live.reasons as rs
from bfenv.core.durations import MINUTE, parse_duration
from bfenv.core.errors import WorkloadError
from bfenv.core.names import LARGEST
from bfenv.core.text import counted, shown
from bfenv.workloads.logs.text import read_json, read_lines
from bfenv.workloads.logs.times import LATEST
from bfenv_site.defaults import SQUEUE
from bfenv_site.forecasts.knowledge import UNLIMITED
from bfenv_site.logs.run import ENDLESS_NUMBER, NO_NUMBER

FIELDS = 13  # of a line of squeue
ERROR = re.compile(r"\w+: error: |slurm_\w+ error: ")  # begins a message of Slurm's commands
RUNS = {"RUNNING", "COMPLETING", "CONFIGURING", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING"}
WAITS = {"PENDING", "REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD", rs.SUSPENDED}
ENDS = {"COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "NODE_FAIL", "OUT_OF_MEMORY", "DEADLINE"}
SHORT = {  # what %t prints in place of %T
    "R": "RUNNING",
    "CG": "COMPLETING",
    "CF": "CONFIGURING",
    "ST": "STOPPED",
    "SI": "SIGNALING",
    "SO": "STAGE_OUT",
    "RS": "RESIZING",
    "PD": "PENDING",
    "RQ": "REQUEUED",
    "RH": "REQUEUE_HOLD",
    "SE": "SPECIAL_EXIT",
    "RD": "RESV_DEL_HOLD",
    "S": rs.SUSPENDED,
    "CD": "COMPLETED",
    "F": "FAILED",
    "TO": "TIMEOUT",
    "CA": "CANCELLED",
    "NF": "NODE_FAIL",
    "OOM": "OUT_OF_MEMORY",
    "DL": "DEADLINE",
}
ENDLESS = {"UNLIMITED", "INFINITE"}
NO_LIMIT = {"NOT_SET", "INVALID", "PARTITION_LIMIT", "N/A", ""}  # there is one, and it is not said
INTEGER = re.compile(r"-?[0-9]{1,15}$")
PLAIN = re.compile(r"[0-9]{1,9}$")  # a limit in minutes, as everywhere in Slurm
DIGITS = 15  # of a number, at most
# Tasks of an array: "0-9:2,20%4" within brackets; Slurm cuts a long list, as in "0,2,4,..."
TASKS = re.compile(r"\[([^\[\]]*)\]")
SPAN = re.compile(rf"([0-9]{{1,{DIGITS}}})(?:-([0-9]{{1,{DIGITS}}}))?(?::([0-9]{{1,{DIGITS}}}))?$")
CUT = "..."
MOST_ENTRIES = 10**7  # Slurm knows no more jobs; one array has 4 million at most


class Entry(NamedTuple):
    """A job of a live queue."""

    name: str
    user: str
    runs: bool
    size: int  # processors
    limit: int  # seconds; 0 if it is not known, UNLIMITED if there is none
    submit: int  # seconds since 1970, as are the others
    start: int  # -1 if it waits
    priority: int
    reason: str
    partition: str = ""  # several with commas between them, of a job that may run in any
    nodes: str = ""  # as Slurm lists them
    nice: int = 0
    end: int = -1  # -1 if it has not ended
    most_tasks: int = 0  # of the array that may run at once; 0 for no limit
    misses: str = ""  # the nodes that the reason names as not available, as Slurm lists them

    @property
    def array(self) -> str:
        """The number of the job, or of its array."""
        return self.name.partition("_")[0]


def number_of(entry: Entry) -> tuple[int, ...]:
    """Return the number of a job, and of its task: of equal priorities, Slurm takes the lowest."""
    numbers = re.findall(f"[0-9]{{1,{DIGITS}}}", entry.name.partition("[")[0])
    return tuple(map(int, numbers))


def slurms_order(entry: Entry) -> tuple[bool, int, tuple[int, ...]]:
    """Return a key that sorts running jobs by number, then the waiting ones in Slurm's order."""
    return not entry.runs, 0 if entry.runs else -entry.priority, number_of(entry)


class Snapshot(NamedTuple):
    """A queue at an instant."""

    time: int  # seconds since 1970
    entries: list[Entry]  # that run, or wait for nothing but processors
    apart: list[Entry]  # others that wait, or are suspended; the reason is its name
    ended: list[Entry]  # that have run and are still known to Slurm
    has_clock: bool = True  # the time is that of Slurm, not of the last event
    clock: int = 0  # seconds since 1970 when it was printed, as running jobs show; 0 if none does


def read_squeue(path: str | os.PathLike[str], maintenance: bool = False) -> Snapshot:
    """Read what `squeue --json`, or the command SQUEUE, has printed.

    Args:
        path: The file.
        maintenance: Whether jobs that wait for the end of maintenance wait for processors, because
            its windows are known.

    Raises:
        BfenvError: If the file is neither, a time has no time zone, or there is no job.
    """
    lines, _ = read_lines(path)
    if not "".join(lines).lstrip().startswith("{"):
        return snapshot_of(path, lines, maintenance)
    content, _ = read_json(path)
    jobs = content.get("jobs") if isinstance(content, dict) else None
    if not isinstance(jobs, list) or not all(isinstance(job, dict) for job in jobs):
        raise WorkloadError(f"{path}: not the output of squeue --json: it has no list 'jobs'")
    parsed = [_from_json(path, job) for job in jobs]
    last = _amount(path, "last_update", content.get("last_update"), most=LATEST)
    return _snapshot(path, parsed, last, maintenance)


def snapshot_of(source: Any, lines: Iterable[str], maintenance: bool = False) -> Snapshot:
    """Return what lines of the command SQUEUE say; `source` is the file's name, for messages.

    Raises BfenvError as `read_squeue` does.
    """
    parsed = [_from_line(source, i, line) for i, line in enumerate(lines, 1)]
    return _snapshot(source, parsed, 0, maintenance)


def _snapshot(
    source: Any, parsed: list[tuple[Entry, int, int] | None], last: int, maintenance: bool = False
) -> Snapshot:
    """Sort jobs by what they wait for; see `reasons` for those that wait for processors.

    * `parsed`: each job, its number of tasks, and the time on Slurm's clock or 0; None for lines
      without a job in the queue.
    * `last`: the time on Slurm's clock, or 0.
    * `maintenance`: whether maintenance windows are known, so that no job waits for them unseen.
    """
    jobs = [job for job in parsed if job is not None]
    clock = max((time for _, _, time in jobs), default=0)
    has_clock = last > 0 or clock > 0
    running = Counter(
        entry.array for entry, _, _ in jobs if entry.runs or entry.reason == rs.SUSPENDED
    )
    entries: list[Entry] = []
    apart: list[Entry] = []
    ended: list[Entry] = []
    if sum(count for _, count, _ in jobs) > MOST_ENTRIES:
        raise WorkloadError(f"{source}: more than {MOST_ENTRIES:,} jobs, which no Slurm has")
    for entry, count, time in jobs:
        last = max(last, time, entry.submit, entry.start)
        if entry.runs or entry.end >= 0:
            (ended if entry.end >= 0 else entries).append(entry)
            continue
        reason = _reason_apart(entry, maintenance)
        if entry.most_tasks and reason in ("", rs.ARRAY_LIMIT):
            free = max(0, min(count, entry.most_tasks - running[entry.array]))
            running[entry.array] += free
            entries += [entry] * free
            apart += [entry._replace(reason=rs.ARRAY_LIMIT)] * (count - free)
        elif reason:
            misses = rs.unavailable_nodes(entry.reason) if entry.priority else ""
            apart += [entry._replace(reason=reason, misses=misses)] * count
        else:
            entries += [entry] * count
    return Snapshot(last, entries, apart, ended, has_clock, clock)


def _reason_apart(entry: Entry, maintenance: bool) -> str:
    """Return what a job waits for besides processors; "" for nothing else."""
    if entry.reason == rs.SUSPENDED:
        return rs.SUSPENDED
    if rs.is_for_processors(entry.reason) or (maintenance and rs.is_maintenance(entry.reason)):
        return "" if entry.priority else rs.HELD
    name = rs.reason_name(entry.reason)
    is_description = " " in name  # such as "job requeued in held state"
    return rs.HELD if is_description and "held" in name.lower() else name


def no_answer(line: str) -> str:
    """Return what is wrong with a line that is a message of Slurm's commands; "" if it is none."""
    return f"says {shown(line.strip())}: Slurm did not answer" if ERROR.match(line) else ""


def _from_line(path: Any, number: int, line: str) -> tuple[Entry, int, int] | None:
    """Return the job in a line, its number of tasks, and Slurm's time or 0; None without one."""
    if not line.strip():
        return None
    fields = [field.strip() for field in line.split("|")]
    place = f"{path}, line {number}"
    if len(fields) != FIELDS:
        fault = f"{counted(len(fields), 'field')}, not {FIELDS}; print it with {SQUEUE}"
        raise WorkloadError(f"{place}: {no_answer(line) or fault}")
    name, user, state, size, limit, submit, start, ran, priority, reason, partition, nodes, nice = (
        fields
    )
    state = SHORT.get(state, state)
    has_ended = state in ENDS and start.isdecimal() and nodes != ""  # else it never ran
    if not has_ended and state not in RUNS | WAITS:
        return None
    runs = state in RUNS
    start = submit if start == "N/A" else start  # it is being requeued, and still has its nodes
    began = _instant(place, start) if runs or has_ended else -1
    elapsed = _seconds(place, ran)  # INVALID if the clock here is behind Slurm's
    seconds = MINUTE * int(limit) if PLAIN.match(limit) else _seconds(place, limit)
    entry = Entry(
        name=name,
        user=user,
        runs=runs,
        size=whole_number(place, size),
        limit=seconds,
        submit=_instant(place, submit),
        start=began,
        priority=whole_number(place, priority),
        reason=rs.SUSPENDED if state == rs.SUSPENDED else reason,
        partition=partition,
        nodes=nodes,
        nice=int(nice) if INTEGER.match(nice) else 0,
    )
    if has_ended:
        return entry._replace(end=began + elapsed), 1, 0
    count, most = _tasks(place, name)
    is_clock = state == "RUNNING" and ran.upper() not in NO_LIMIT
    return entry._replace(most_tasks=most), count, began + elapsed if is_clock else 0


def _seconds(place: str, text: str) -> int:
    """Return the seconds of a time; 0 if it is not said, UNLIMITED if there is no end.

    Raises WorkloadError if it is something else; `place` is where it stands, for the message.
    """
    if text.upper() in ENDLESS:
        return UNLIMITED
    if text.upper() in NO_LIMIT:
        return 0
    try:
        return parse_duration(text, WorkloadError)
    except WorkloadError as error:
        raise WorkloadError(f"{place}: {error}") from None


def whole_number(place: str, text: str) -> int:
    """Return the number that a text of digits says; `place` is where it stands, for the message.

    Raises WorkloadError if it is something else, or has more than DIGITS digits.
    """
    if not text.isdecimal() or len(text) > DIGITS:
        raise WorkloadError(f"{place}: {shown(text)} is not a whole number")
    return int(text)


def _instant(place: str, text: str) -> int:
    if not text.isdecimal():
        raise WorkloadError(
            f"{place}: the time {shown(text)} has no time zone; set SLURM_TIME_FORMAT=%s for squeue"
        )
    if len(text) > DIGITS or int(text) > LATEST:
        raise WorkloadError(f"{place}: the time {shown(text)} is after the year 3000")
    return int(text)


def _tasks(place: Any, text: str) -> tuple[int, int]:
    """Return the number of jobs in an entry and how many may run at once, or 0.

    These are 3 and 4 for "7_[0-2%4]". Raises WorkloadError if Slurm has cut the list of tasks, or
    it cannot be read; `place` is where it stands, for the message.
    """
    match = TASKS.search(text)
    if match is None:
        return 1, 0
    tasks, percent, most = match[1].partition("%")
    if tasks.endswith(CUT):
        raise WorkloadError(
            f"{place}: Slurm has cut the tasks of {shown(text)}; set SLURM_BITSTR_LEN=0 for squeue"
        )
    count = 0
    for part in tasks.split(","):
        span = SPAN.match(part)
        if span is None or int(span[3] or 1) < 1 or int(span[2] or span[1]) < int(span[1]):
            raise WorkloadError(
                f"{place}: {shown(part)} in {shown(text)} is not a range of tasks, such as 0-9:2"
            )
        count += len(range(int(span[1]), int(span[2] or span[1]) + 1, int(span[3] or 1)))
    return count, whole_number(str(place), most) if percent else 0


def _from_json(path: Any, job: dict[str, Any]) -> tuple[Entry, int, int] | None:
    """Return what `_from_line` does, from a job of the JSON."""
    states = job.get("job_state")
    states = states if isinstance(states, list) else str(states).split(",")
    states = [name for name in map(str, states) if name in RUNS | WAITS]
    if not states:
        return None
    # A job that has ended and still has its nodes is ["TIMEOUT", "COMPLETING"]; one that is being
    # requeued is ["PENDING", "COMPLETING"]
    state = "COMPLETING" if "COMPLETING" in states else states[0]

    def amount(field: str, default: int = 0, most: int = LARGEST) -> int:
        return _amount(
            f"{path}: job {shown(job.get('job_id'))}", field, job.get(field), default, most
        )

    task, array = amount("array_task_id", -1), amount("array_job_id")
    name = f"{array}_{task}" if array and task >= 0 else str(job.get("job_id"))
    size = amount("cpus")
    if size < 1:
        raise WorkloadError(f"{path}: job {name:.40} has no number of cpus")
    reason = str(job.get("state_reason") or "")
    description = str(job.get("state_description") or "")
    if rs.unavailable_nodes(description):  # the nodes are not in the reason
        reason = description
    if job.get("hold"):
        reason = rs.HELD
    if state == rs.SUSPENDED:
        reason = rs.SUSPENDED
    minutes, limit = job.get("time_limit"), amount("time_limit", most=LATEST)
    is_endless = isinstance(minutes, dict) and bool(minutes.get("infinite"))
    limit = 0 if limit == NO_NUMBER else limit
    count, most = 1, 0
    if tasks := str(job.get("array_task_string") or ""):
        name = f"{array or name}_[{tasks.strip('[]')}]"
        count, most = _tasks(path, name)
    runs, submit = state in RUNS, amount("submit_time", most=LATEST)
    entry = Entry(
        name=name,
        user=str(job.get("user_name") or ""),
        runs=runs,
        size=size,
        limit=UNLIMITED if is_endless or limit == ENDLESS_NUMBER else limit * MINUTE,
        submit=submit,
        start=(amount("start_time", most=LATEST) or submit) if runs else -1,
        priority=amount("priority"),
        reason=reason,
        partition=str(job.get("partition") or ""),
        nodes=str(job.get("nodes") or ""),
        nice=amount("nice"),
        most_tasks=most or amount("array_max_tasks"),
    )
    return entry, count, 0


def _amount(source: Any, field: str, value: Any, default: int = 0, most: int = LARGEST) -> int:
    """Return a number of Slurm's JSON, plain or wrapped; the default if there is none.

    Raises WorkloadError if it is larger than `most`, or no finite number; `source` and `field` are
    for the message.
    """
    if isinstance(value, dict):
        value = value.get("number") if value.get("set") and not value.get("infinite") else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return default
    if not abs(value) <= most:
        raise WorkloadError(f"{source}: {field} is {shown(value)}, which is out of range")
    return int(value)
