"""Forecasts from a live queue: from what `squeue` and `sinfo` print, and from an accounting log."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bfenv.baselines.registry import find_competitor
from bfenv.core.arguments import check_integer
from bfenv.core.competitor import Competitor
from bfenv.core.durations import DAY, MINUTE
from bfenv.core.errors import BfenvError, WorkloadError
from bfenv.core.jobs import ESTIMATE, SUBMIT, Jobs, Outage, Trace
from bfenv.core.names import LARGEST
from bfenv.core.policy import Policy
from bfenv.core.text import counted, listed
from bfenv.workloads.load import load_workload
from bfenv.workloads.logs.header import date_at
from bfenv.workloads.logs.outages import MORE_THAN_ALL, united_outages
from bfenv.workloads.logs.records import USER
from bfenv.workloads.logs.times import read_time, rounded
from bfenv_site.defaults import PLANNER
from bfenv_site.forecasts.forecast import FUTURES, join_forecasts
from bfenv_site.forecasts.forecaster import Forecaster, QueuedJob
from bfenv_site.forecasts.knowledge import UNLIMITED, knowledge_of
from bfenv_site.futures.futures import cluster_at
from bfenv_site.live.nodes import (
    Node,
    on_nodes,
    partition_names,
    partition_sizes,
    read_sinfo,
    without_old_reasons,
)
from bfenv_site.live.squeue import Entry, Snapshot, read_squeue, slurms_order
from bfenv_site.logs.outage_files import windows_of
from bfenv_site.logs.selection import read_users
from bfenv_site.slurm.live import is_slurm, knows_partitions, on_live_queue, partitions_of_conf

DEFAULT_LIMIT = DAY  # seconds, where no job has a limit
# Seconds by which a given time may be later than what running jobs show: a script may take the time
# after it has printed the nodes, or round it, and the clocks of two machines may differ a little.
CLOCK_TOLERANCE = 10 * MINUTE


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
    partition: str | None = None,
    futures: int = FUTURES,
    seed: int = 0,
    threads: int | None = None,
) -> Forecaster:
    """Prepare forecasts from a snapshot of a queue.

    Jobs that wait for something other than processors are left out, and counted by their reason,
    see `bfenv_site.live.reasons`. So are tasks that their array does not allow to run yet, jobs on
    lost nodes, and jobs that the nodes of their partitions have no room for. The others keep
    Slurm's order, by priority. Processors of nodes that drain are for the jobs that they run. There
    is no correction by earlier forecasts. The plan by limits is the map of Slurm's backfill, as
    `squeue --start` shows it; for jobs without a reservation in it, and with maintenance, it is a
    run of the policy with limits for runtimes.

    Args:
        squeue: What `squeue --json`, or the command SQUEUE, has printed.
        sinfo: What the command SINFO has printed, for nodes and partitions.
        processors: How many the machine has, if there is no `sinfo`; None for as many as the
            history says.
        history: A workload: an accounting log, for runtimes and arrivals. None for none.
        users: The file of `bfenv workloads import --users`, which tells the history's users by
            name.
        policy: The scheduler. None for `slurm`, which knows nodes, if there is a `sinfo`, and
            PLANNER otherwise.
        at: When the snapshot was taken, in seconds since 1970 or as a date with an offset. None for
            what its clock says.
        maintenance: A file of maintenance windows, see `windows_of`.
        partition: That of new jobs; None for the default one, as `sinfo` or slurm.conf says.
        futures, seed, threads: As of `bfenv_site.forecast_starts`.

    Raises:
        BfenvError: If a file cannot be read, there is no `sinfo` and jobs use more than the
            machine, there is no such partition, or the history does not say when it began, or
            begins after the snapshot.
    """
    snapshot = read_squeue(squeue, maintenance is not None)
    if not snapshot.entries and not snapshot.apart:
        raise WorkloadError(f"{squeue}: no job runs or waits")
    trace = None if history is None else load_workload(history)
    nodes = [] if sinfo is None else read_sinfo(sinfo)
    up = [node for node in nodes if node.is_up]
    processors = _processors(sinfo, nodes, processors, trace)
    snapshot, notes = _at(without_old_reasons(snapshot, nodes), at, squeue)
    entries, without_room = on_nodes(snapshot.entries, nodes, processors)
    entries.sort(key=slurms_order)
    left_out = [*snapshot.apart, *without_room]
    notes += [
        f"left out, because of {reason}: {counted(count, 'job')}"
        for reason, count in sorted(Counter(entry.reason for entry in left_out).items())
    ]
    if policy is None:
        policy = PLANNER if sinfo is None else "slurm"
    competitor = find_competitor(policy)
    used = sum(entry.size for entry in entries if entry.runs)
    if used > processors:
        excess = f"running jobs use {used:,} processors of a machine that has {processors:,}"
        if sinfo is None:
            raise BfenvError(f"{squeue}: {excess}")
        notes.append(excess)
    notes += _assumptions(entries, up, competitor, has_nodes=sinfo is not None)
    partitions, default = _partitions(competitor, None if sinfo is None else nodes)
    new = default if partition is None else _checked_partition(partition, partitions)
    past = _past(trace, users, snapshot.time)
    if snapshot.time < past.origin:
        begin, printed = (
            datetime.fromtimestamp(time, UTC) for time in (past.origin, snapshot.time)
        )
        raise BfenvError(
            f"the history {history} begins at {begin:%Y-%m-%d %H:%M} UTC, after {squeue} was "
            f"printed ({printed:%Y-%m-%d %H:%M} UTC)"
        )
    past = _from_first_start(past, entries)
    now = snapshot.time - past.origin
    outages, outage_notes = _outages(maintenance, past, now, processors)
    notes += outage_notes
    log = _with_queue(past, entries, snapshot.time)
    live = dict(zip(log.numbers, entries, strict=True))
    # Whichever line of sinfo comes first, jobs to come are in the same partition.
    coming = default if partitions.get(default) else ""
    coming = coming or max(sorted(partitions), key=partitions.__getitem__, default="")
    may_come = log.requests[SUBMIT].min(initial=now) <= now - DAY  # see `sample_arrivals`
    if may_come and len(partitions) > 1 and knows_partitions(competitor):
        notes.append(f"partitions of jobs to come are not known: all are taken to be in {coming}")
    cluster = cluster_at(now, log.requests, log.start, log.end, processors)
    knowledge = knowledge_of(cluster, Jobs(*log.requests), outages)

    def follow(competitor: Competitor) -> Policy:
        """Return the policy with the nodes and partitions of the queue, if it knows them."""
        jobs = [live[job] for job in knowledge.machine.job.tolist()]
        return on_live_queue(
            competitor,
            processors,
            [(node.name, node.size, node.partitions) for node in up],
            [(job.partition, job.nodes) for job in jobs],
            coming,
            new,
        )

    scheduler = follow(competitor)
    return Forecaster(
        Path(squeue).name,
        knowledge,
        scheduler,
        join_forecasts([]),
        futures,
        seed,
        threads,
        live={
            job: QueuedJob(entry.name, snapshot.time - entry.submit) for job, entry in live.items()
        },
        planner=scheduler if is_slurm(scheduler) else follow(find_competitor("slurm")),
        notes=tuple(notes),
        left_out={entry.name: entry.reason for entry in left_out},
        partitions=partitions,
        partition=new,
    )


def _processors(
    sinfo: str | os.PathLike[str] | None,
    nodes: Sequence[Node],
    processors: int | None,
    trace: Trace | None,
) -> int:
    """Return the size of the machine: that of its nodes, the given one, or that of its log."""
    if sinfo is not None:
        processors = sum(node.size for node in nodes if node.is_up)
        if not processors:
            fault = "no node takes jobs" if nodes else "no node in it"
            raise BfenvError(f"{sinfo}: {fault}")
    elif processors is None:
        if trace is None:
            raise BfenvError("how large is the machine? Give the file of sinfo, or its processors")
        processors = trace.processors
    return check_integer("processors", processors, 1, LARGEST)


def _assumptions(
    entries: Sequence[Entry], up: Sequence[Node], competitor: Competitor, has_nodes: bool
) -> list[str]:
    """Return a note for each thing that the forecasts assume of jobs and partitions.

    * `up`: the nodes that take jobs; `has_nodes` says whether they are known.
    """
    notes = []
    in_queue = sorted({part for entry in entries for part in entry.partition.split(",")} - {""})
    if not has_nodes and len(in_queue) > 1:
        notes.append(
            f"without --sinfo, the nodes of partitions are not known ({listed(in_queue)}): jobs "
            "run on any processors"
        )
    partitions = {
        frozenset(node.name for node in up if partition in node.partitions)
        for partition in partition_names(up)
    }
    if len(partitions) > 1 and not knows_partitions(competitor):
        notes.append(f"{competitor.name} ignores partitions: in its futures, jobs run on any node")
    if without_limit := sum(entry.limit == 0 for entry in entries):
        notes.append(
            f"without a known limit, so the longest is assumed: {counted(without_limit, 'job')}"
        )
    if endless := sum(entry.limit == UNLIMITED for entry in entries):
        notes.append(f"without a limit, so they never end in the plan: {counted(endless, 'job')}")
    return notes


def _outages(
    maintenance: str | os.PathLike[str] | None, past: "Past", now: int, processors: int
) -> tuple[tuple[Outage, ...], list[str]]:
    """Return the outages to come, in seconds of the past's log, and notes on windows left out.

    * `maintenance`: a file of windows, see `windows_of`; None for none.
    * `now`: in seconds of the log.
    """
    windows = () if maintenance is None else windows_of(maintenance, past.zone)
    outages = tuple(
        Outage(
            max(begin - past.origin, now + 1),
            end - past.origin,
            min(size or processors, processors),
        )
        for begin, end, size in windows
        if end - past.origin > now + 1
    )
    notes = []
    if count := len(windows) - len(outages):
        notes.append(f"left out, because already over: {counted(count, 'maintenance window')}")
    outages, cut = united_outages(outages, processors)
    if cut:
        notes.append(f"{counted(cut, 'maintenance window')} would take {MORE_THAN_ALL}")
    return outages, notes


def _at(
    snapshot: Snapshot, at: str | int | None, squeue: str | os.PathLike[str]
) -> tuple[Snapshot, list[str]]:
    """Return a snapshot at the time that was given, or a note on the time that was assumed."""
    if at is not None:
        instants = read_time(at, UTC) if str(at).isdecimal() else ()
        if not instants:
            try:
                date = datetime.fromisoformat(str(at).strip())
            except ValueError:
                date = None
            if date is None or date.tzinfo is None:
                raise BfenvError(
                    f"the time of {squeue}, {at!r}, must be seconds since 1970 or a date with an "
                    "offset, such as 2026-01-15T10:00+01:00"
                )
            instants = (date.timestamp(),)
        time = rounded(instants[0])
        if time < snapshot.time:
            raise BfenvError(f"{squeue} has events after {at}, at {snapshot.time} s since 1970")
        if snapshot.clock and time > snapshot.time + CLOCK_TOLERANCE:
            printed = datetime.fromtimestamp(snapshot.time, UTC)
            raise BfenvError(
                f"{squeue} was printed at {printed:%Y-%m-%d %H:%M} UTC, as its running jobs show, "
                f"not at {at}"
            )
        return snapshot._replace(time=time), []
    if snapshot.has_clock:
        return snapshot, []
    date = datetime.fromtimestamp(snapshot.time, UTC)
    return snapshot, [
        "the queue does not say when it was printed: the time of its last event is assumed, "
        f"{date:%Y-%m-%d %H:%M} UTC (set it with --at)"
    ]


def _partitions(competitor: Competitor, nodes: Sequence[Node] | None) -> tuple[dict[str, int], str]:
    """Return the processors of each partition, and the default one; "" if none is.

    Nodes of sinfo come before the slurm.conf of a policy. A single partition is the default.
    """
    sizes, default = partitions_of_conf(competitor)
    if nodes is not None:
        sizes = partition_sizes(nodes)
        default = next((node.default for node in nodes if node.default), default)
    if default not in sizes:
        default = next(iter(sizes)) if len(sizes) == 1 else ""
    return sizes, default


def _checked_partition(partition: str, partitions: Mapping[str, int]) -> str:
    """Return the partition of a new job; BfenvError if it is none of `partitions`."""
    if not partitions:
        raise BfenvError("--partition needs --sinfo with nodes in partitions")
    if partition not in partitions:
        names = listed(sorted(partitions))
        raise BfenvError(f"partition {partition:.40} is not known: there are {names}")
    return partition


class Past(NamedTuple):
    """The jobs of an accounting log that had ended when a queue was printed."""

    origin: int  # seconds since 1970, time 0 of the log; 0 without a log
    zone: tzinfo | None  # of the log
    requests: np.ndarray  # (7, m) int64, see `Trace.requests`
    runtime: np.ndarray  # (m,) int64 seconds
    users: dict[str, int]  # numbers by name


def _past(trace: Trace | None, users: str | os.PathLike[str] | None, time: int) -> Past:
    """Return what a log knows before a time in seconds since 1970; nothing without a log."""
    if trace is None:
        none = np.zeros((len(Jobs._fields), 0), dtype=np.int64)
        return Past(0, None, none, none[0], {})
    begin = date_at(trace, 0)
    if begin is None:
        raise BfenvError(f"{trace.name} does not say when it began: it cannot be a history")
    origin = round(begin.timestamp())
    has_ended = trace.jobs.submit + trace.runtime <= time - origin
    numbers = {}
    if users is not None and trace.records is not None:
        logged = trace.records[:, USER].astype(int).tolist()
        number_in_trace = dict(zip(logged, trace.jobs.user.tolist(), strict=True))
        numbers = {
            name: number_in_trace.get(number, -1)
            for (kind, number), name in read_users(users).items()
            if kind == "user"
        }
    return Past(
        origin, begin.tzinfo, trace.requests[:, has_ended], trace.runtime[has_ended], numbers
    )


def _from_first_start(past: Past, entries: Sequence[Entry]) -> Past:
    """Let time 0 be the start of the first running job, if the log begins later."""
    first = min((entry.start for entry in entries if entry.runs), default=past.origin)
    if first >= past.origin:
        return past
    requests = past.requests.copy()
    requests[SUBMIT] += past.origin - first
    return past._replace(origin=first, requests=requests)


class LogWithQueue(NamedTuple):
    """The jobs of a log and of a queue by submit time, in seconds of the log."""

    requests: np.ndarray  # (7, n) int64, see `Trace.requests`
    start: np.ndarray  # (n,) int64; -1 where a job waits
    end: np.ndarray  # (n,) int64; -1 where a job has not ended
    numbers: list[int]  # of the jobs of the queue, in its order


def _with_queue(past: Past, entries: Sequence[Entry], time: int) -> LogWithQueue:
    """Merge the jobs of a queue into a log; jobs of the log start when they are submitted.

    * `entries`: sorted by `slurms_order`.
    * `time`: now, in seconds since 1970.
    """
    submit = past.requests[SUBMIT]
    requests, start = _requests(entries, time, past)
    order = np.argsort(np.append(submit, requests[SUBMIT]), kind="stable")
    return LogWithQueue(
        np.concatenate([past.requests, requests], axis=1)[:, order],
        np.append(submit, start)[order],
        np.append(submit + past.runtime, np.full(len(start), -1))[order],
        np.argsort(order)[len(submit) :].tolist(),
    )


def _requests(entries: Sequence[Entry], time: int, past: Past) -> tuple[np.ndarray, np.ndarray]:
    """Return requests and starts of jobs, in seconds of the past's log; -1 where a job waits.

    Policies order jobs by submit time. So the waiting jobs get each other's submit times, in the
    order in which Slurm would start them.

    * `entries`: sorted by `slurms_order`.
    * `time`: now, in seconds since 1970.
    """
    submit = np.array([min(entry.submit, time) for entry in entries], dtype=np.int64)
    waits = sum(not entry.runs for entry in entries)
    submit[len(entries) - waits :].sort()
    limits = [entry.limit for entry in entries if entry.limit < UNLIMITED]
    longest = max([*limits, int(past.requests[ESTIMATE].max(initial=0))], default=0)
    longest = longest or DEFAULT_LIMIT
    requests = np.array(
        [
            submit - past.origin,
            [entry.size for entry in entries],
            [
                entry.limit or max(longest, 2 * (time - entry.start) if entry.runs else 0)
                for entry in entries
            ],
            [past.users.get(entry.user, -1) for entry in entries],
            [entry.priority for entry in entries],
            [0] * len(entries),
            [1] * len(entries),
        ],
        dtype=np.int64,
    )
    start = [min(entry.start, time) - past.origin if entry.runs else -1 for entry in entries]
    return requests, np.array(start, dtype=np.int64)
