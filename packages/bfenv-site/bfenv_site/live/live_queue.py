"""A live queue: what Slurm's `squeue` and `sinfo` print, and forecasts from it.

Source: the manual pages squeue(1) and sinfo(1) of Slurm 25.11, and the data parsers of Slurm 21.08
to 25.05, of which later ones wrap numbers as {"set", "number"} and states as lists.
"""

import os
import re
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import bfenv_site.live.reasons as rs
from bfenv.baselines.registry import find_competitor
from bfenv.core.arguments import check_integer
from bfenv.core.competitor import Competitor
from bfenv.core.durations import DAY, MINUTE, parse_duration
from bfenv.core.errors import BfenvError, WorkloadError
from bfenv.core.jobs import Jobs, Outage
from bfenv.core.names import LARGEST
from bfenv.core.policy import Policy
from bfenv.core.text import counted, shown
from bfenv.workloads.load import load_workload
from bfenv.workloads.logs.header import date_at
from bfenv.workloads.logs.outages import united_outages
from bfenv.workloads.logs.records import USER
from bfenv.workloads.logs.text import read_json, read_lines
from bfenv.workloads.logs.times import LATEST, read_time, rounded
from bfenv_site.defaults import PLANNER, SINFO, SQUEUE
from bfenv_site.forecasts.forecast import FUTURES, Asked, Forecaster, joined
from bfenv_site.forecasts.known import UNLIMITED, what_is_known
from bfenv_site.futures.futures import cluster_at
from bfenv_site.logs.outage_files import windows_of
from bfenv_site.logs.selection import read_users
from bfenv_site.slurm.conf import expand_names
from bfenv_site.slurm.live import is_slurm, knows_partitions, on_live_queue

FIELDS = 13  # of a line of squeue
RUNS = {"RUNNING", "COMPLETING", "CONFIGURING", "STOPPED", "SIGNALING", "STAGE_OUT"}
WAITS = {"PENDING", "REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD", rs.SUSPENDED}
ENDS = {"COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "NODE_FAIL", "OUT_OF_MEMORY", "DEADLINE"}
ENDLESS = {"UNLIMITED", "INFINITE"}
NO_LIMIT = {"NOT_SET", "INVALID", "PARTITION_LIMIT", "N/A", ""}  # there is one, and it is not said
DEFAULT_LIMIT = DAY  # seconds, where no job has a limit
# States of nodes, as sinfo's %T begins: with what runs on them they are lost, or they run what they
# have and take nothing new. A flag behind the state says the same of an idle or allocated node.
LOST = re.compile(
    r"(?!powered|powering_up)(down|drained|fail|maint|inval|unk|future|error|perfctrs)"
)
DRAINING = re.compile(r"drain|drng|reserved|resv|reboot|blocked|power(ing)?_?down|no_respond")
LOST_FLAGS, DRAINING_FLAGS = "$", "*%!@^"  # maintenance; no answer, powers down, reboots
INTEGER = re.compile(r"-?[0-9]{1,15}$")
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
        """The number of the job, or of the array that it is of."""
        return self.name.partition("_")[0]


def number_of(entry: Entry) -> tuple[int, ...]:
    """Return the number of a job, and of its task: of equal priorities, Slurm takes the lowest."""
    numbers = re.findall(f"[0-9]{{1,{DIGITS}}}", entry.name.partition("[")[0])
    return tuple(map(int, numbers))


class Snapshot(NamedTuple):
    """A queue at an instant."""

    time: int  # seconds since 1970
    entries: list[Entry]  # that run, or wait for nothing but processors
    apart: list[Entry]  # others that wait, or are suspended; the reason is its name
    ended: list[Entry]  # that have run and are still known to Slurm
    has_clock: bool = True  # the time is that of Slurm, not of the last event


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
    found = [_from_json(path, job) for job in jobs]
    last = _amount(path, "last_update", content.get("last_update"), most=LATEST)
    return _snapshot(path, found, last, maintenance)


def snapshot_of(where: Any, lines: Iterable[str], maintenance: bool = False) -> Snapshot:
    """Return what lines of the command SQUEUE say; `where` they are from is for messages.

    Raises BfenvError as `read_squeue` does.
    """
    found = [_from_line(where, i, line) for i, line in enumerate(lines, 1)]
    return _snapshot(where, found, 0, maintenance)


def _snapshot(
    where: Any, found: list[tuple[Entry, int, int] | None], last: int, maintenance: bool = False
) -> Snapshot:
    """Sort jobs by what they wait for; see `reasons` for those that wait for processors.

    * `found`: each with its number of tasks, and the time on Slurm's clock or 0.
    * `last`: the time on Slurm's clock, or 0.
    * `maintenance`: whether maintenance windows are known, so that no job waits for them unseen.
    """
    there = [one for one in found if one is not None]
    has_clock = last > 0 or any(time for _, _, time in there)
    running = Counter(entry.array for entry, _, _ in there if entry.runs)
    entries: list[Entry] = []
    apart: list[Entry] = []
    ended: list[Entry] = []
    if sum(count for _, count, _ in there) > MOST_ENTRIES:
        raise WorkloadError(f"{where}: more than {MOST_ENTRIES:,} jobs, which no Slurm has")
    for entry, count, time in there:
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
    return Snapshot(last, entries, apart, ended, has_clock)


def _reason_apart(entry: Entry, maintenance: bool) -> str:
    """Return for what a job waits other than processors; "" if it waits for these alone."""
    if entry.reason == rs.SUSPENDED:
        return rs.SUSPENDED
    if rs.is_for_processors(entry.reason) or (maintenance and rs.is_maintenance(entry.reason)):
        return "" if entry.priority else rs.HELD
    name = rs.reason_name(entry.reason)
    if entry.priority == 0 and name.lower() in ("job", "launch"):  # a description: requeued, held
        return rs.HELD
    return name


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
    seconds, elapsed = map(_limit, (limit, ran))  # INVALID if the clock here is behind Slurm's
    entry = Entry(
        name, user, runs, _whole(where, size), seconds, _instant(where, submit), began,
        _whole(where, priority), rs.SUSPENDED if state == rs.SUSPENDED else reason, partition,
        nodes, int(nice) if INTEGER.match(nice) else 0,
    )  # fmt: skip
    if has_ended:
        return entry._replace(end=began + elapsed), 1, 0
    count, most = _tasks(where, name)
    is_clock = state == "RUNNING" and ran.upper() not in NO_LIMIT
    return entry._replace(most_tasks=most), count, began + elapsed if is_clock else 0


def _limit(text: str) -> int:
    """Return the seconds of a limit; 0 if it is not said, UNLIMITED if there is none."""
    if text.upper() in ENDLESS:
        return UNLIMITED
    return 0 if text.upper() in NO_LIMIT else parse_duration(text, WorkloadError)


def _whole(where: str, text: str) -> int:
    if not text.isdecimal() or len(text) > DIGITS:
        raise WorkloadError(f"{where}: {shown(text)} is not a whole number")
    return int(text)


def _instant(where: str, text: str) -> int:
    if not text.isdecimal():
        raise WorkloadError(
            f"{where}: the time {shown(text)} has no time zone; set SLURM_TIME_FORMAT=%s for squeue"
        )
    if len(text) > DIGITS or int(text) > LATEST:
        raise WorkloadError(f"{where}: the time {shown(text)} is after the year 3000")
    return int(text)


def _tasks(where: Any, text: str) -> tuple[int, int]:
    """Return the number of jobs in an entry and how many may run at once, or 0.

    These are 3 and 4 for "7_[0-2%4]". Raises WorkloadError if Slurm has cut the list of tasks, or
    it cannot be read; `where` it is from is for the message.
    """
    match = TASKS.search(text)
    if match is None:
        return 1, 0
    tasks, percent, most = match[1].partition("%")
    if tasks.endswith(CUT):
        raise WorkloadError(
            f"{where}: Slurm has cut the tasks of {shown(text)}; set SLURM_BITSTR_LEN=0 for squeue"
        )
    count = 0
    for part in tasks.split(","):
        span = SPAN.match(part)
        if span is None or int(span[3] or 1) < 1 or int(span[2] or span[1]) < int(span[1]):
            raise WorkloadError(
                f"{where}: {shown(part)} in {shown(text)} is not a range of tasks, such as 0-9:2"
            )
        count += len(range(int(span[1]), int(span[2] or span[1]) + 1, int(span[3] or 1)))
    return count, _whole(str(where), most) if percent else 0


def _from_json(path: Any, job: dict[str, Any]) -> tuple[Entry, int, int] | None:
    states = job.get("job_state")
    state = str((states[0] if states else "") if isinstance(states, list) else states)
    if state not in RUNS | WAITS:
        return None

    def amount(field: str, default: int = 0, most: int = LARGEST) -> int:
        return _amount(
            f"{path}: job {shown(job.get('job_id'))}", field, job.get(field), default, most
        )

    task, array = amount("array_task_id", -1), amount("array_job_id")
    name = f"{array}_{task}" if array and task >= 0 else str(job.get("job_id"))
    size = amount("cpus")
    if size < 1:
        raise WorkloadError(f"{path}: job {name:.40} has no number of cpus")
    runs, string = state in RUNS, str(job.get("array_task_string") or "")
    reason = rs.HELD if job.get("hold") else str(job.get("state_reason") or "")
    description = str(job.get("state_description") or "")
    if rs.unavailable_nodes(description):  # the nodes are not in the reason
        reason = reason if job.get("hold") else description
    reason = rs.SUSPENDED if state == rs.SUSPENDED else reason
    limit = job.get("time_limit")
    is_endless = isinstance(limit, dict) and bool(limit.get("infinite"))
    count, most = 1, 0
    if string:
        name = f"{array or name}_[{string.strip('[]')}]"
        count, most = _tasks(path, name)
    entry = Entry(
        name, str(job.get("user_name") or ""), runs, size,
        UNLIMITED if is_endless else MINUTE * amount("time_limit", most=LATEST),
        amount("submit_time", most=LATEST),
        amount("start_time", most=LATEST) if runs else -1, amount("priority"), reason,
        str(job.get("partition") or ""), str(job.get("nodes") or ""), amount("nice"),
        most_tasks=most or amount("array_max_tasks"),
    )  # fmt: skip
    return entry, count, 0


def _amount(where: Any, field: str, value: Any, default: int = 0, most: int = LARGEST) -> int:
    """Return a number of Slurm's JSON, plain or wrapped; the default if there is none.

    Raises WorkloadError if it is larger than `most`, or no finite number; `where` it is from and
    its `field` are for the message.
    """
    if isinstance(value, dict):
        value = value.get("number") if value.get("set") and not value.get("infinite") else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return default
    if not abs(value) <= most:
        raise WorkloadError(f"{where}: {field} is {shown(value)}, which is out of range")
    return int(value)


class Node(NamedTuple):
    """A node of a live cluster."""

    name: str
    size: int  # processors
    is_up: bool  # it takes new jobs
    partitions: tuple[str, ...]
    is_lost: bool = False  # jobs on it hold nothing that others could have


def read_sinfo(path: str | os.PathLike[str]) -> list[Node]:
    """Return the nodes, from what the command SINFO has printed.

    A node that drains is not up, and not lost either: it runs the jobs that it has.

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
        state, count = state.lower(), _whole(f"{where}, line {number}", size)
        is_lost = LOST.match(state) is not None or state[-1:] in tuple(LOST_FLAGS)
        drains = DRAINING.match(state) is not None or state[-1:] in tuple(DRAINING_FLAGS)
        is_up = not is_lost and not drains
        nodes[name] = Node(name, count, is_up, (*others, partition.rstrip("*")), is_lost)
    return list(nodes.values())


def forecaster_of_queue(
    squeue: str | os.PathLike[str],
    *,
    sinfo: str | os.PathLike[str] | None = None,
    processors: int | None = None,
    history: str | None = None,
    users: str | os.PathLike[str] | None = None,
    policy: str | Policy | None = None,
    at: str | int | None = None,
    maintenance: str | os.PathLike[str] | None = None,
    futures: int = FUTURES,
    seed: int = 0,
    threads: int | None = None,
) -> Forecaster:
    """Prepare forecasts from a snapshot of a queue.

    Jobs that wait for something other than processors are left out, and counted by their reason
    (`bfenv.site.reasons`). So are tasks that their array does not allow to run yet, jobs on lost
    nodes, and jobs that the nodes of their partitions have no room for. The others keep Slurm's
    order, by priority. Processors of nodes that drain are for the jobs that they run. There is no
    correction by earlier forecasts. The plan by limits is the map of Slurm's backfill, as
    `squeue --start` shows it; with maintenance, a run of the policy with limits for runtimes.

    Args:
        squeue: What `squeue --json`, or the command SQUEUE, has printed.
        sinfo: What the command SINFO has printed, for nodes and partitions.
        processors: How many the machine has, if there is no `sinfo`; None for as many as the
            history says.
        history: A workload: an accounting log, for runtimes and arrivals. None for none.
        users: The file of `bfenv workloads import --users`, which tells the history's users by
            name.
        policy: The scheduler. None for `slurm` if sinfo names partitions of different nodes, and
            PLANNER otherwise.
        at: When the snapshot was taken, in seconds since 1970 or as a date with an offset. None for
            what its clock says.
        maintenance: A file of maintenance windows, see `windows_of`.
        futures, seed, threads: As of `bfenv_site.forecast_starts`.

    Raises:
        BfenvError: If a file cannot be read, there is no `sinfo` and jobs use more than the
            machine, or the history does not say when it began.
    """
    snapshot = read_squeue(squeue, maintenance is not None)
    if not snapshot.entries and not snapshot.apart:
        raise WorkloadError(f"{squeue}: no job runs or waits")
    trace = None if history is None else load_workload(history)
    every = [] if sinfo is None else read_sinfo(sinfo)
    nodes = [node for node in every if node.is_up]
    if sinfo is not None:
        processors = sum(node.size for node in nodes)
        if not processors:
            raise BfenvError(f"{sinfo}: no node takes jobs")
    elif processors is None:
        if trace is None:
            raise BfenvError("how large is the machine? Give the file of sinfo, or its processors")
        processors = trace.processors
    check_integer("processors", processors, 1, LARGEST)
    snapshot, notes = _at(without_old_reasons(snapshot, every), at, squeue)
    fitting, left_out = on_nodes(snapshot.entries, every, processors)
    left_out = [*snapshot.apart, *left_out]
    reasons = Counter(entry.reason for entry in left_out)
    notes += [
        f"left out, because of {reason}: {counted(count, 'job')}"
        for reason, count in sorted(reasons.items())
    ]
    used = sum(entry.size for entry in fitting if entry.runs)
    if used > processors:
        what = f"running jobs use {used:,} processors of a machine that has {processors:,}"
        if sinfo is None:
            raise BfenvError(f"{squeue}: {what}")
        notes.append(what)
    if policy is None:
        sets = {part: {n.name for n in nodes if part in n.partitions} for part in _parts(nodes)}
        policy = "slurm" if len({frozenset(names) for names in sets.values()}) > 1 else PLANNER
    else:
        notes += _partition_note(find_competitor(policy), nodes)
    origin, numbers = 0, dict[str, int]()
    past, start, runtime = (
        np.zeros((len(Jobs._fields), 0), dtype=np.int64),
        np.zeros(0, np.int64),
        None,
    )
    zone = None
    if trace is not None:
        begin = date_at(trace, 0)
        if begin is None:
            raise BfenvError(f"{trace.name} does not say when it began: it cannot be a history")
        origin, zone = round(begin.timestamp()), begin.tzinfo
        ended = trace.jobs.submit + trace.runtime <= snapshot.time - origin
        past, runtime = trace.requests[:, ended], trace.runtime[ended]
        start = past[0]
        if users is not None and trace.records is not None:
            numbers = _user_numbers(users, trace.records[:, USER], trace.jobs.user)
    own, first, unknown = _requests(fitting, snapshot.time, numbers, past[2])
    if unknown:
        notes.append(
            f"taken as long as the longest, for want of a limit: {counted(unknown, 'job')}"
        )
    if endless := sum(entry.limit == UNLIMITED for entry in fitting):
        notes.append(f"without a limit, so without an end by limits: {counted(endless, 'job')}")
    own[0] -= origin
    order = np.argsort(np.append(past[0], own[0]), kind="stable")
    place = np.argsort(order)[past.shape[1] :]
    requests = np.concatenate([past, own], axis=1)[:, order]
    begun = np.append(start, np.where(first >= 0, first - origin, -1))[order]
    over = np.full(own.shape[1], -1)
    end = np.append(over[:0] if runtime is None else start + runtime, over)[order]
    now = snapshot.time - origin
    windows = () if maintenance is None else windows_of(maintenance, zone)
    outages = tuple(
        Outage(max(begin - origin, now + 1), last - origin, min(size or processors, processors))
        for begin, last, size in windows
        if last - origin > now + 1
    )
    outages = united_outages(outages, processors)[0]
    known = what_is_known(
        cluster_at(now, requests, begun, end, processors), Jobs(*requests), outages
    )
    ordered = _in_order(fitting)
    asked = {
        int(number): Asked(entry.name, snapshot.time - entry.submit)
        for number, entry in zip(place, ordered, strict=True)
    }
    own_jobs = dict(zip(place.tolist(), ordered, strict=True))
    policy, planner = (
        on_live_queue(
            find_competitor(each),
            processors,
            [(node.name, node.size, node.partitions) for node in nodes],
            [(own_jobs[job].partition, own_jobs[job].nodes) for job in known.machine.job.tolist()],
        )
        for each in (policy, "slurm")
    )
    planner = policy if is_slurm(policy) else planner
    return Forecaster(
        Path(squeue).name, known, policy, joined([]), futures, seed, threads,
        asked, planner, tuple(notes), {entry.name: entry.reason for entry in left_out},
    )  # fmt: skip


def _at(
    snapshot: Snapshot, at: str | int | None, squeue: str | os.PathLike[str]
) -> tuple[Snapshot, list[str]]:
    """Return a snapshot at the time that was given, or a note on the time that was assumed."""
    if at is not None:
        given = read_time(at, UTC) if str(at).isdecimal() else ()
        if not given:
            try:
                date = datetime.fromisoformat(str(at).strip())
            except ValueError:
                date = None
            if date is None or date.tzinfo is None:
                raise BfenvError(
                    f"the time of {squeue}, {at!r}, must be seconds since 1970 or a date with an "
                    "offset, such as 2026-01-15T10:00+01:00"
                )
            given = (date.timestamp(),)
        time = rounded(given[0])
        if time < snapshot.time:
            raise BfenvError(f"{squeue} has events after {at}, at {snapshot.time} s since 1970")
        return snapshot._replace(time=time), []
    if snapshot.has_clock:
        return snapshot, []
    date = datetime.fromtimestamp(snapshot.time, UTC)
    return snapshot, [
        f"the queue does not say when it was printed: taken as of its last event, "
        f"{date:%Y-%m-%d %H:%M} UTC (give --at)"
    ]


def _parts(nodes: Iterable[Node]) -> list[str]:
    """Return the names of all partitions of nodes, in their order."""
    return list(dict.fromkeys(part for node in nodes for part in node.partitions))


def _partition_note(policy: Competitor, nodes: list[Node]) -> list[str]:
    """Say that a policy knows no partitions, if sinfo names several of different nodes."""
    sets = {frozenset(n.name for n in nodes if part in n.partitions) for part in _parts(nodes)}
    if len(sets) < 2 or knows_partitions(policy):
        return []
    return [f"{policy.name} knows no partitions: in its futures, jobs run on any node"]


def without_old_reasons(snapshot: Snapshot, nodes: Iterable[Node]) -> Snapshot:
    """Return a queue in which no job waits for nodes that take jobs again.

    Slurm keeps the reason ReqNodeNotAvail of a job after the nodes that it names have come back,
    until the main scheduler looks at the job. Such a job waits for processors.
    """
    up = {node.name for node in nodes if node.is_up}
    are_up = {
        misses: set(expand_names("squeue", misses)) <= up
        for misses in {entry.misses for entry in snapshot.apart if entry.misses}
    }
    entries = [*snapshot.entries]
    apart: list[Entry] = []
    for entry in snapshot.apart:
        (entries if are_up.get(entry.misses) else apart).append(entry)
    return snapshot._replace(entries=entries, apart=apart)


def on_nodes(
    entries: list[Entry], nodes: list[Node], processors: int
) -> tuple[list[Entry], list[Entry]]:
    """Return the jobs that matter on the nodes that take jobs, and those that are left out.

    A running job counts with its processors on these nodes. One that has none there holds nothing
    that others could have; it is left out, and named if its nodes are lost or not known. A waiting
    job is left out if the nodes of its partitions have too few processors. The reason of a job that
    is left out becomes why.

    Args:
        entries: Those that run, or wait for processors.
        nodes: All that sinfo lists; none if that is not known.
        processors: Of the machine.
    """
    size = {node.name: node.size for node in nodes}
    up = {node.name for node in nodes if node.is_up}
    lost = {node.name for node in nodes if node.is_lost}
    parts = set(_parts(nodes))
    kept, left_out = [], []
    for entry in entries:
        names = expand_names("squeue", entry.nodes) if entry.runs and nodes else []
        if not entry.runs:
            own = [part for part in entry.partition.split(",") if part in parts]
            if own:
                most = sum(n.size for n in nodes if n.is_up and set(own) & set(n.partitions))
            else:  # sinfo does not say where it may run
                most = processors
            if entry.size > most:
                where = f"{entry.partition} has" if own else "the machine has"
                left_out.append(entry._replace(reason=f"more processors than {where} up"))
            else:
                kept.append(entry)
            continue
        here = [name for name in names if name in up]
        if not names or len(here) == len(names):
            kept.append(entry)
        elif here:
            known = sum(size.get(name, 0) for name in names) or 1
            share = -(-entry.size * sum(size[name] for name in here) // known)
            kept.append(entry._replace(size=max(1, share), nodes=",".join(here)))
        elif any(name in lost for name in names):
            left_out.append(entry._replace(reason=rs.LOST_NODES))
        elif not any(name in size for name in names):
            left_out.append(entry._replace(reason=rs.UNKNOWN_NODES))
    return kept, left_out


def _in_order(entries: Iterable[Entry]) -> list[Entry]:
    """Return the running jobs by number, then the waiting ones in Slurm's order."""
    return sorted(
        entries,
        key=lambda one: (not one.runs, 0 if one.runs else -one.priority, number_of(one)),
    )


def _requests(
    entries: list[Entry], time: int, users: dict[str, int], past_limits: np.ndarray
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return requests and starts of jobs in the order of `_in_order`, and how many lack a limit.

    A policy takes jobs by submit time, so the waiting jobs' are dealt out in Slurm's order.
    """
    ordered = _in_order(entries)
    submit = np.array([min(entry.submit, time) for entry in ordered], dtype=np.int64)
    waits = sum(not entry.runs for entry in ordered)
    submit[len(ordered) - waits :].sort()
    limits = [entry.limit for entry in ordered]
    said = [limit for limit in limits if limit < UNLIMITED]
    longest = max([*said, int(past_limits.max(initial=0))], default=0) or DEFAULT_LIMIT
    requests = np.array(
        [
            submit,
            [entry.size for entry in ordered],
            [
                entry.limit or max(longest, (time - entry.start + 1) if entry.runs else 0)
                for entry in ordered
            ],
            [users.get(entry.user, -1) for entry in ordered],
            [entry.priority for entry in ordered],
            np.zeros(len(ordered), dtype=np.int64),
            np.ones(len(ordered), dtype=np.int64),
        ]
    )
    start = np.array([min(entry.start, time) for entry in ordered], dtype=np.int64)
    return requests, start, limits.count(0)


def _user_numbers(path: Any, logged: np.ndarray, user: np.ndarray) -> dict[str, int]:
    """Return the numbers of users in a trace, by name."""
    number_of = dict(zip(logged.astype(int).tolist(), user.tolist(), strict=True))
    found = {}
    for (kind, number), name in read_users(path).items():
        if kind == "user":
            found[name] = number_of.get(number, -1)
    return found
