"""Outages in a file of their own: lines of times, or what Slurm prints of its nodes' events."""

import os
import re
import warnings
from collections import Counter
from datetime import UTC, datetime, tzinfo

from bfenv.core.durations import DAY
from bfenv.core.errors import WorkloadError
from bfenv.core.jobs import Outage, Trace
from bfenv.core.text import counted
from bfenv.workloads.logs.header import date_at
from bfenv.workloads.logs.markers import node_names
from bfenv.workloads.logs.outages import MORE_THAN_ALL, united_outages
from bfenv.workloads.logs.text import join_lines, numbered_lines
from bfenv.workloads.logs.times import LOCAL_TIME, find_zone, read_integer, read_time, rounded
from bfenv_site.logs.tres import sizes_of

EVENT_COLUMNS = ("NodeName", "TimeStart", "TimeEnd", "TRES")
EVENTS = f"sacctmgr -P show event format={','.join(EVENT_COLUMNS)} Start=2026-01-01"
OPEN = 2**62  # end of an event without one
WHOLE = -1  # processors of an outage of the whole machine
LONG_AFTER = 30 * DAY  # the log's last job: hardly any job waits so long, so the year may be wrong
LEFT_OUT = {
    "cluster": "of the cluster as a whole, no outage of a node",
    "others": "of nodes of other partitions",
    "none": "of nodes without such processors",
    "contradictory": "without a start, or that end before it",
    "late": "of after the log's last submission",
}  # events that are no outages, by why
NAMES = re.compile(r"\s*(begin|start)", re.IGNORECASE)  # a line of column names

Event = tuple[str, int, int, int]  # node, begin and end in seconds of the trace, processors


def load_outages(
    path: str | os.PathLike[str], trace: Trace, timezone: str | None = None, resource: str = "cores"
) -> tuple[Outage, ...]:
    """Read the outages of a trace's machine from a file.

    Each line is "begin,end" or "begin,end,processors", without processors for the whole machine.
    A first line that begins with "begin" or "start" has column names; lines that begin with "#" are
    comments. The file may also have the events of nodes, as Slurm prints them:

        sacctmgr -P show event format=NodeName,TimeStart,TimeEnd,TRES Start=2026-01-01

    An event takes its node's processors, once however many events of the node there are at a time,
    and no more than the machine has. One without an end lasts until the log's last submission.
    Events of the cluster as a whole are no outages, and those of nodes that had only jobs of other
    partitions, by the log's NodeList, are left out. A warning says how many were left out, and what
    cannot be told.

    Times are local dates with times of day, or seconds since 1970.

    Raises FileNotFoundError if there is no such file. Raises WorkloadError if a line cannot be
    read, an outage ends before it begins, all of them are outside of the log's time, or the trace
    has no date.

    * `path`: the file.
    * `trace`: a trace whose log has a date. Parts of outages before its first submission are left
      out, with a warning.
    * `timezone`: Time zone of times that have no offset. Default: the time zone of the log.
    * `resource`: what a processor is, of those of `read_sacct` that TRES has.
    """
    zero = date_at(trace, 0)
    if zero is None:
        raise WorkloadError(f"{trace.name}: outages need a log with dates (UnixStartTime)")
    begin, submit = round(zero.timestamp()), int(trace.jobs.submit[-1])
    log_zone = zero.tzinfo
    zone = log_zone if timezone is None and log_zone is not None else find_zone(timezone or "UTC")
    lines = list(numbered_lines(path)[0])
    names = [name.strip().lower() for name in lines[0][1].split("|")]
    is_slurm = {"timestart", "timeend", "tres"} <= set(names)
    if not is_slurm and "timestart" in names:
        missing = ", ".join(name for name in EVENT_COLUMNS if name.lower() not in names)
        raise WorkloadError(
            f"{path}: the first line has no column {missing}; print it with {EVENTS}"
        )
    events: list[Event] = []
    lines = lines[1:] if is_slurm or NAMES.match(lines[0][1]) else lines
    if is_slurm:  # users write the reasons

        def is_whole(*lines: str) -> bool:
            return lines[-1].count("|") >= len(names) - 1

        lines = list(join_lines(iter(lines), is_whole, is_whole, Counter()))
    for number, line in lines:
        if line.startswith("#") and not is_slurm:
            continue
        try:
            if is_slurm:
                node, first, end, out = _event(line, names, zone, resource)
            else:
                (first, end, out), node = _interval(line, zone), str(number)
        except (ValueError, IndexError):
            shape = "an event" if is_slurm else "begin,end or begin,end,processors"
            raise WorkloadError(f"{path}:{number}: {line[:60]!r} is not {shape}") from None
        if end <= first and not is_slurm:
            raise WorkloadError(f"{path}:{number}: {line[:60]!r} ends before it begins")
        events.append((node, first - begin, end - begin, out))
    if is_slurm:
        events = _of_nodes(path, events, trace, submit)
        if not events:
            return ()
    last = int((trace.jobs.submit + trace.runtime).max())
    outages = [
        Outage(max(first, 0), end, trace.processors if out == WHOLE else out)
        for _, first, end, out in events
        if end > 0
    ]
    if not any(outage.begin < last for outage in outages):
        raise WorkloadError(
            f"{path}: no outage lies within the log, {_day(zero)} to {_day(date_at(trace, last))}"
        )
    united, cut = united_outages(outages, trace.processors)
    notes = []
    if count := sum(end <= 0 for _, _, end, _ in events):
        notes.append(f"{counted(count, 'outage')} before the log's first submission left out")
    if count := sum(first >= last + LONG_AFTER for _, first, _, _ in events):
        days = LONG_AFTER // DAY
        notes.append(f"{counted(count, 'outage')} over {days} days after the log's last job")
    windows = [] if is_slurm else events
    if count := sum(first < 0 < end for _, first, end, _ in windows):
        notes.append(f"{counted(count, 'outage')} cut at the log's first submission")
    if count := sum(out > trace.processors for _, _, end, out in windows if end > 0):
        notes.append(f"{counted(count, 'outage')} cut to the machine's processors")
    if cut:
        notes.append(f"{counted(cut, 'outage')} would take {MORE_THAN_ALL}")
    if notes:
        warnings.warn(f"{path}: {'; '.join(notes)}", stacklevel=2)
    return united


def windows_of(
    path: str | os.PathLike[str], zone: tzinfo | None = None
) -> list[tuple[int, int, int]]:
    """Read maintenance windows to come.

    Args:
        path: A file of lines "begin,end" or "begin,end,processors", as of `load_outages`.
        zone: Time zone of times that have no offset; None if these are refused.

    Returns:
        Begin and end in seconds since 1970, and processors; 0 for the whole machine.

    Raises:
        FileNotFoundError: If there is no such file.
        WorkloadError: If a line cannot be read, a window ends before it begins, or a time has no
            offset and there is no zone.
    """
    windows = []
    for number, line in numbered_lines(path)[0]:
        if (number == 1 and NAMES.match(line)) or line.startswith("#"):
            continue
        words = [word.strip() for word in line.split(",")][:2]
        if zone is None and any(LOCAL_TIME.fullmatch(word) for word in words):
            raise WorkloadError(
                f"{path}:{number}: {line[:60]!r} has no time zone; add an offset such as +01:00, "
                "or give --history, whose zone counts"
            )
        try:
            begin, end, out = _interval(line, zone or UTC)
        except (ValueError, IndexError):
            shape = "begin,end or begin,end,processors"
            raise WorkloadError(f"{path}:{number}: {line[:60]!r} is not {shape}") from None
        if end <= begin:
            raise WorkloadError(f"{path}:{number}: {line[:60]!r} ends before it begins")
        windows.append((begin, end, 0 if out == WHOLE else out))
    return windows


def _of_nodes(
    path: str | os.PathLike[str], events: list[Event], trace: Trace, submit: int
) -> list[Event]:
    """Return the events of the imported nodes, joined by node, and warn of the others."""
    cleaning = trace.cleaning
    nodes, other_nodes = getattr(cleaning, "nodes", None), getattr(cleaning, "other_nodes", None)
    left_out: Counter[str] = Counter()
    events_of_node: dict[str, list[Event]] = {}
    unknown, still = 0, 0
    for node, first, end, out in sorted(events, key=lambda event: event[1]):
        event_nodes = set(node_names(node))
        if not node:
            left_out["cluster"] += 1
        elif other_nodes and event_nodes <= other_nodes and event_nodes.isdisjoint(nodes or ()):
            left_out["others"] += 1
        elif out < 1:
            left_out["none"] += 1
        elif end <= first:
            left_out["contradictory"] += 1
        elif end >= OPEN // 2 and first > submit:
            left_out["late"] += 1
        else:
            unknown += not (nodes and event_nodes & nodes)
            still += end >= OPEN // 2
            end = min(end, max(submit, first) + 1) if end >= OPEN // 2 else end
            node_events = events_of_node.setdefault(node, [])
            if node_events and first <= (before := node_events[-1])[2]:
                node_events[-1] = node, before[1], max(before[2], end), max(before[3], out)
            else:
                node_events.append((node, first, end, out))
    reasons = [f"{count:,} {LEFT_OUT[reason]}" for reason, count in left_out.items()]
    notes = [f"events left out: {', '.join(reasons)}"] if reasons else []
    if still:
        notes.append(
            f"{counted(still, 'event has', 'events have')} no end: the node counts as out of "
            "service until the log's last submission"
        )
    if unknown and (nodes or other_nodes or getattr(cleaning, "other_partition", 0)):
        notes.append(
            f"{counted(unknown, 'event')} may be of nodes of other partitions: no job of the log "
            "says whose they are (column NodeList of sacct)"
        )
    if notes:
        warnings.warn(f"{path}: {'; '.join(notes)}", stacklevel=3)
    return [event for node_events in events_of_node.values() for event in node_events]


def _day(moment: datetime | None) -> str:
    return "its end" if moment is None else f"{moment:%Y-%m-%d}"


def _interval(line: str, zone: tzinfo) -> tuple[int, int, int]:
    """Return begin, end and processors in a line; WHOLE for the whole machine."""
    words = [word.strip() for word in line.split(",")]
    if len(words) > 3:
        raise ValueError
    words = words[:2] if words[2:] == [""] else words
    first, last = (rounded(read_time(word, zone)[0]) for word in words[:2])
    out = read_integer(words[2]) if len(words) > 2 else WHOLE
    if out is None or out == 0 or (out < 0 and len(words) > 2):
        raise ValueError
    return first, last, out


def _event(line: str, names: list[str], zone: tzinfo, resource: str) -> Event:
    """Return node, begin, end and processors of one of Slurm's events, in seconds since 1970."""
    words = line.split("|")
    if (surplus := len(words) - len(names)) > 0 and "reason" in names:  # which users write
        words[names.index("reason") : names.index("reason") + surplus + 1] = [""]
    fields = dict(zip(names, map(str.strip, words), strict=True))
    last = read_time(fields["timeend"], zone)
    unit = "cores" if resource == "dominant" else resource  # whose shares are in cores
    out = sizes_of(unit, {}, (), {"AllocTRES": fields["tres"]})[0]
    node = "" if fields.get("event", "").lower() == "cluster" else fields.get("nodename", "?")
    first = read_time(fields["timestart"], zone) or (0,)
    return node, rounded(first[0]) or OPEN, rounded(last[0]) if last and last[0] > 0 else OPEN, out
