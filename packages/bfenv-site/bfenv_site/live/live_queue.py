"""A live queue: what Slurm's `squeue` and `sinfo` print, and forecasts from it.

Source: the manual pages squeue(1) and sinfo(1) of Slurm 25.11, and the data parsers of Slurm 21.08
to 25.05, of which later ones wrap numbers as {"set", "number"} and states as lists.
"""

import csv
import os
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bfenv.baselines.registry import find_policy
from bfenv.core.arguments import check_integer
from bfenv.core.durations import MINUTE, parse_duration
from bfenv.core.errors import BfenvError, WorkloadError
from bfenv.core.jobs import Jobs
from bfenv.core.policy import Policy
from bfenv.core.text import counted
from bfenv.workloads.load import load_workload
from bfenv.workloads.logs.header import date_at
from bfenv.workloads.logs.records import USER
from bfenv.workloads.logs.text import read_json, read_lines
from bfenv_site.defaults import PLANNER, SINFO, SQUEUE
from bfenv_site.forecasts.forecast import FUTURES, Asked, Forecaster, joined
from bfenv_site.forecasts.known import what_is_known
from bfenv_site.futures.futures import cluster_at
from bfenv_site.slurm.live import is_slurm, on_live_queue

FIELDS = 13  # of a line of squeue
RUNS = {"RUNNING", "COMPLETING", "CONFIGURING", "STOPPED", "SIGNALING", "STAGE_OUT"}
SUSPENDED = "SUSPENDED"  # a job that has a place on its nodes, but whose processors others may use
WAITS = {"PENDING", "REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD", SUSPENDED}
ENDS = {"COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "NODE_FAIL", "OUT_OF_MEMORY", "DEADLINE"}
APART = ("JobHeld", "Dependency", "BeginTime", "Reservation", SUSPENDED)  # how their reasons begin
ENDLESS = {"UNLIMITED", "INFINITE", "NOT_SET", "INVALID", "PARTITION_LIMIT", "N/A", ""}
LOST = re.compile("down|drained|fail|maint|inval|unk|power|reboot|future")  # states of nodes
DEFAULT_LIMIT = 86_400  # seconds, where no job has a limit
INTEGER = re.compile(r"-?\d+$")
TASKS = re.compile(r"\[([0-9,:-]+)(?:%[0-9]+)?\]")


class Entry(NamedTuple):
    """A job of a live queue."""

    name: str
    user: str
    runs: bool
    size: int  # processors
    limit: int  # seconds; 0 if it has none
    submit: int  # seconds since 1970, as are the others
    start: int  # -1 if it waits
    priority: int
    reason: str
    partition: str = ""  # several with commas between them, of a job that may run in any
    nodes: str = ""  # as Slurm lists them
    nice: int = 0
    end: int = -1  # -1 if it has not ended


def number_of(entry: Entry) -> tuple[int, ...]:
    """Return the number of a job, and of its task: of equal priorities, Slurm takes the lowest."""
    return tuple(map(int, re.findall("[0-9]+", entry.name.partition("[")[0])))


class Snapshot(NamedTuple):
    """A queue at an instant."""

    time: int  # seconds since 1970
    entries: list[Entry]  # that run, or wait for nothing but processors
    apart: list[Entry]  # others that wait, or are suspended
    ended: list[Entry]  # that have run and are still known to Slurm


def read_squeue(path: str | os.PathLike[str]) -> Snapshot:
    """Read what `squeue --json`, or the command SQUEUE, has printed.

    Raises:
        BfenvError: If the file is neither, a time has no time zone, or there is no job.
    """
    lines, _ = read_lines(path)
    if not "".join(lines).lstrip().startswith("{"):
        return snapshot_of(path, lines)
    content, _ = read_json(path)
    jobs = content.get("jobs") if isinstance(content, dict) else None
    if not isinstance(jobs, list) or not all(isinstance(job, dict) for job in jobs):
        raise WorkloadError(f"{path}: not the output of squeue --json: it has no list 'jobs'")
    found = [_from_json(path, job) for job in jobs]
    return _snapshot(path, found, _amount(content.get("last_update")))


def snapshot_of(where: Any, lines: Iterable[str]) -> Snapshot:
    """Return what lines of the command SQUEUE say; `where` they are from is for messages.

    Raises BfenvError as `read_squeue` does.
    """
    return _snapshot(where, [_from_line(where, i, line) for i, line in enumerate(lines, 1)], 0)


def _snapshot(where: Any, found: list[tuple[Entry, int, int] | None], last: int) -> Snapshot:
    entries: list[Entry] = []
    apart: list[Entry] = []
    ended: list[Entry] = []
    for entry, count, time in filter(None, found):
        last = max(last, time, entry.submit, entry.start)
        if not entry.runs and entry.priority == 0 and not entry.reason.startswith(APART):
            entry = entry._replace(reason="JobHeld")  # such as "launch failed requeued held"
        is_apart = not entry.runs and entry.reason.startswith(APART)
        (ended if entry.end >= 0 else apart if is_apart else entries).extend([entry] * count)
    return Snapshot(last, entries, apart, ended)


def _from_line(path: Any, number: int, line: str) -> tuple[Entry, int, int] | None:
    if not line.strip():
        return None
    fields = [field.strip() for field in line.split("|")]
    where = f"{path}, line {number}"
    if len(fields) != FIELDS:
        raise WorkloadError(f"{where}: {len(fields)} fields, not {FIELDS}; print it with {SQUEUE}")
    name, user, state, size, limit, submit, start, ran, priority, reason, *more = fields
    partition, nodes, nice = more
    has_ended = state in ENDS and start.isdecimal() and nodes != ""  # else it never ran
    if not has_ended and state not in RUNS | WAITS:
        return None
    runs = state in RUNS
    start = submit if start == "N/A" else start  # it is being requeued, and still has its nodes
    began = _instant(where, start) if runs or has_ended else -1
    seconds, elapsed = (  # INVALID if the clock here is behind Slurm's
        0 if text.upper() in ENDLESS else parse_duration(text, WorkloadError)
        for text in (limit, ran)
    )
    entry = Entry(
        name, user, runs, _whole(where, size), seconds, _instant(where, submit), began,
        _whole(where, priority), SUSPENDED if state == SUSPENDED else reason, partition, nodes,
        int(nice) if INTEGER.match(nice) else 0,
    )  # fmt: skip
    if has_ended:
        return entry._replace(end=began + elapsed), 1, 0
    return entry, _tasks(name), began + elapsed if state == "RUNNING" else 0


def _whole(where: str, text: str) -> int:
    if not text.isdecimal():
        raise WorkloadError(f"{where}: {text!r} is not a whole number")
    return int(text)


def _instant(where: str, text: str) -> int:
    if not text.isdecimal():
        raise WorkloadError(
            f"{where}: the time {text!r} has no time zone; set SLURM_TIME_FORMAT=%s for squeue"
        )
    return int(text)


def _tasks(text: str) -> int:
    """Return the number of jobs in an entry, which is 3 for "7_[0-2%4]"."""
    match = TASKS.search(text)
    if match is None:
        return 1
    count = 0
    for part in match[1].split(","):
        span, _, step = part.partition(":")
        first, _, last = span.partition("-")
        count += len(range(int(first), int(last or first) + 1, int(step or 1)))
    return count


def _from_json(path: Any, job: dict[str, Any]) -> tuple[Entry, int, int] | None:
    states = job.get("job_state")
    state = (states[0] if states else "") if isinstance(states, list) else str(states)
    if state not in RUNS | WAITS:
        return None
    task, array = _amount(job.get("array_task_id"), -1), _amount(job.get("array_job_id"))
    name = f"{array}_{task}" if array and task >= 0 else str(job.get("job_id"))
    size = _amount(job.get("cpus"))
    if size < 1:
        raise WorkloadError(f"{path}: job {name} has no number of cpus")
    runs, string = state in RUNS, str(job.get("array_task_string") or "")
    held = "JobHeld" if job.get("hold") else str(job.get("state_reason") or "")
    held = SUSPENDED if state == SUSPENDED else held
    entry = Entry(
        name, str(job.get("user_name") or ""), runs, size,
        MINUTE * _amount(job.get("time_limit")), _amount(job.get("submit_time")),
        _amount(job.get("start_time")) if runs else -1, _amount(job.get("priority")), held,
        str(job.get("partition") or ""), str(job.get("nodes") or ""), _amount(job.get("nice")),
    )  # fmt: skip
    return entry, _tasks(f"[{string.strip('[]')}]") if string else 1, 0


def _amount(value: Any, default: int = 0) -> int:
    """Return a number of Slurm's JSON, plain or wrapped."""
    if isinstance(value, dict):
        value = value.get("number") if value.get("set") and not value.get("infinite") else None
    return int(value) if isinstance(value, int | float) else default


class Node(NamedTuple):
    """A node of a live cluster."""

    name: str
    size: int  # processors
    is_up: bool
    partitions: tuple[str, ...]


def read_sinfo(path: str | os.PathLike[str]) -> list[Node]:
    """Return the nodes, from what the command SINFO has printed.

    A node that drains while jobs run on it is up.

    Raises:
        BfenvError: If the file is something else.
    """
    return nodes_of(path, read_lines(path)[0])


def nodes_of(where: Any, lines: Iterable[str]) -> list[Node]:
    """Return the nodes in lines of the command SINFO; `where` they are from is for messages.

    Raises BfenvError as `read_sinfo` does.
    """
    nodes: dict[str, Node] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        fields = line.strip().split("|")
        if len(fields) != 4:
            raise WorkloadError(f"{where}, line {number}: not four fields; print it with {SINFO}")
        name, size, state, partition = fields
        others = nodes[name].partitions if name in nodes else ()
        is_up, count = LOST.match(state.lower()) is None, _whole(f"{where}, line {number}", size)
        nodes[name] = Node(name, count, is_up, (*others, partition))
    return list(nodes.values())


def forecaster_of_queue(
    squeue: str | os.PathLike[str],
    *,
    sinfo: str | os.PathLike[str] | None = None,
    processors: int | None = None,
    history: str | None = None,
    users: str | os.PathLike[str] | None = None,
    policy: str | Policy = PLANNER,
    futures: int = FUTURES,
    seed: int = 0,
    threads: int | None = None,
) -> Forecaster:
    """Prepare forecasts from a snapshot of a queue.

    Jobs that are held, suspended, or wait for a dependency, a begin time or a reservation, are left
    out. The others keep Slurm's order, by priority. There is no correction by earlier forecasts.
    The plan by limits is the map of Slurm's backfill, as `squeue --start` shows it.

    Args:
        squeue: What `squeue --json`, or the command SQUEUE, has printed.
        sinfo: What the command SINFO has printed, for the processors of the nodes that are up.
        processors: How many the machine has, if there is no `sinfo`; None for as many as the
            history says.
        history: A workload: an accounting log, for runtimes and arrivals. None for none.
        users: The file of `bfenv workloads import --users`, which tells the history's users by
            name.
        policy, futures, seed, threads: As of `bfenv_site.forecast_starts`.

    Raises:
        BfenvError: If a file cannot be read, jobs use more than the machine, or the history does
            not say when it began.
    """
    snapshot = read_squeue(squeue)
    if not snapshot.entries:
        raise WorkloadError(f"{squeue}: no job runs or waits")
    trace = None if history is None else load_workload(history)
    nodes = [] if sinfo is None else [node for node in read_sinfo(sinfo) if node.is_up]
    if sinfo is not None:
        processors = sum(node.size for node in nodes)
    elif processors is None:
        if trace is None:
            raise BfenvError("how large is the machine? Give the file of sinfo, or its processors")
        processors = trace.processors
    check_integer("processors", processors, 1)
    used = sum(entry.size for entry in snapshot.entries if entry.runs)
    if used > processors:
        raise BfenvError(
            f"{squeue}: running jobs use {used:,} processors of a machine that has {processors:,}"
        )
    apart = Counter(why for one in snapshot.apart for why in APART if one.reason.startswith(why))
    notes = [
        f"left out, because of {reason}: {counted(count, 'job')}"
        for reason, count in sorted(apart.items())
    ]
    origin, numbers = 0, dict[str, int]()
    past, start, runtime = np.zeros((6, 0), dtype=np.int64), np.zeros(0, np.int64), None
    if trace is not None:
        begin = date_at(trace, 0)
        if begin is None:
            raise BfenvError(f"{trace.name} does not say when it began: it cannot be a history")
        origin = round(begin.timestamp())
        ended = trace.jobs.submit + trace.runtime <= snapshot.time - origin
        past, runtime = trace.requests[:, ended], trace.runtime[ended]
        start = past[0]
        if users is not None and trace.records is not None:
            numbers = _user_numbers(users, trace.records[:, USER], trace.jobs.user)
    fitting = [entry for entry in snapshot.entries if entry.size <= processors]
    if len(fitting) < len(snapshot.entries):
        count = counted(len(snapshot.entries) - len(fitting), "job")
        notes.append(f"left out, because larger than what is up: {count}")
    own, first, endless = _requests(fitting, snapshot.time, numbers, past[2])
    if endless:
        notes.append(
            f"taken as long as the longest, for want of a limit: {counted(endless, 'job')}"
        )
    own[0] -= origin
    order = np.argsort(np.append(past[0], own[0]), kind="stable")
    place = np.argsort(order)[past.shape[1] :]
    requests = np.concatenate([past, own], axis=1)[:, order]
    begun = np.append(start, np.where(first >= 0, first - origin, -1))[order]
    over = np.full(own.shape[1], -1)
    end = np.append(over[:0] if runtime is None else start + runtime, over)[order]
    now = snapshot.time - origin
    known = what_is_known(cluster_at(now, requests, begun, end, processors), Jobs(*requests), ())
    ordered = _in_order(fitting)
    asked = {
        int(number): Asked(entry.name, snapshot.time - entry.submit)
        for number, entry in zip(place, ordered, strict=True)
    }
    own_jobs = dict(zip(place.tolist(), ordered, strict=True))
    policy, planner = (
        on_live_queue(
            find_policy(each),
            processors,
            [(node.name, node.size, node.partitions) for node in nodes],
            [(own_jobs[job].partition, own_jobs[job].nodes) for job in known.machine.job.tolist()],
        )
        for each in (policy, "slurm")
    )
    planner = policy if is_slurm(policy) else planner
    return Forecaster(
        Path(squeue).name, known, policy, joined([]), futures, seed, threads,
        asked, planner, tuple(notes),
    )  # fmt: skip


def _in_order(entries: Iterable[Entry]) -> list[Entry]:
    """Return the running jobs by number, then the waiting ones in Slurm's order."""
    return sorted(
        entries,
        key=lambda one: (not one.runs, 0 if one.runs else -one.priority, number_of(one)),
    )


def _requests(
    entries: list[Entry], time: int, users: dict[str, int], past_limits: np.ndarray
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return requests and starts of jobs in the order of `_in_order`, and how many have no limit.

    A policy takes jobs by submit time, so the waiting jobs' are dealt out in Slurm's order.
    """
    ordered = _in_order(entries)
    submit = np.array([min(entry.submit, time) for entry in ordered], dtype=np.int64)
    waits = sum(not entry.runs for entry in ordered)
    submit[len(ordered) - waits :].sort()
    limits = [entry.limit for entry in ordered]
    longest = max([*limits, int(past_limits.max(initial=0))]) or DEFAULT_LIMIT
    requests = np.array(
        [
            submit,
            [entry.size for entry in ordered],
            [limit or longest for limit in limits],
            [users.get(entry.user, -1) for entry in ordered],
            [entry.priority for entry in ordered],
            np.zeros(len(ordered), dtype=np.int64),
        ]
    )
    start = np.array([min(entry.start, time) for entry in ordered], dtype=np.int64)
    return requests, start, limits.count(0)


def _user_numbers(path: Any, logged: np.ndarray, user: np.ndarray) -> dict[str, int]:
    """Return the numbers of users in a trace, by name."""
    number_of = dict(zip(logged.astype(int).tolist(), user.tolist(), strict=True))
    found = {}
    for row in csv.reader(read_lines(path)[0]):
        if len(row) == 3 and row[0] == "user" and row[1].isdecimal():
            found[row[2]] = number_of.get(int(row[1]), -1)
    return found
