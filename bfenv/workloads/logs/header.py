"""The header of an SWF file: its labels, and what they say of the machine and the clock."""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime

from bfenv.core.durations import DAY
from bfenv.core.jobs import Trace
from bfenv.workloads.logs.cleaning import CHANGED
from bfenv.workloads.logs.records import SUBMIT
from bfenv.workloads.logs.times import find_zone, time_of_day

SIZES = ("MaxProcs", "MaxNodes")  # labels of the machine's size, the better one first
NO_ESTIMATE = re.compile(rf"\s*Note\s*:\s*{CHANGED['no_estimate']}: ([0-9]{{1,15}})\s*")


def read_labels(header: Iterable[str]) -> dict[str, str]:
    """Return the `Label: value` lines of a header; of several with one label, the first."""
    labels: dict[str, str] = {}
    for line in header:
        label, colon, value = line.partition(":")
        if colon:
            labels.setdefault(label.strip(), value.strip())
    return labels


def estimates_filled_in(header: Iterable[str]) -> int:
    """Return how many jobs got an estimate when the log was imported, as a note of it says."""
    matches = filter(None, map(NO_ESTIMATE.fullmatch, header))
    return sum(int(match[1]) for match in matches)


def machine_size(labels: Mapping[str, str]) -> int | None:
    """Return the processors of the machine, MaxProcs or else MaxNodes; None if neither is known."""
    sizes = (_leading_integer(labels.get(label)) for label in SIZES)
    return next(filter(None, sizes), None)


def start_time(labels: Mapping[str, str]) -> int:
    """Return the time of second 0 of the log, in seconds since 1970; 0 if it is not known."""
    return _leading_integer(labels.get("UnixStartTime")) or 0


def clock_at(labels: Mapping[str, str], submit: int) -> int | None:
    """Return the local time of day `submit` seconds into the log, in seconds after midnight.

    The result is None if the header's time zone is unknown, or no clock shows such a time.
    """
    moment = start_time(labels) + submit
    zone = labels.get("TimeZoneString") or "UTC"
    if zone == "UTC":
        return moment % DAY
    try:
        return time_of_day(moment, find_zone(zone))
    except (ValueError, OSError, OverflowError):  # an unknown zone is a WorkloadError
        return None


def date_at(trace: Trace, seconds: int) -> datetime | None:
    """Return the local date and time `seconds` into a trace; None if the log's date is unknown."""
    labels = read_labels(trace.header)
    start = start_time(labels)
    if trace.records is None or not start:
        return None
    origin = start + int(trace.records[0, SUBMIT]) - int(trace.jobs.submit[0])
    try:
        zone = find_zone(labels.get("TimeZoneString") or "UTC")
        return datetime.fromtimestamp(origin + seconds, zone)
    except (ValueError, OSError, OverflowError):  # an unknown zone is a WorkloadError
        return None


def header_of(trace: Trace, submit: int) -> list[str]:
    """Return the header to write with a trace whose first record is submitted at `submit`.

    It is the trace's own, changed only where it would be read as another machine or time of day.
    """
    lines = list(trace.header) or [
        "Version: 2.2",
        f"MaxJobs: {len(trace)}",
        f"MaxRecords: {len(trace)}",
        f"Note: {trace.name}",
    ]
    labels, changed = read_labels(lines), {}
    if machine_size(labels) != trace.processors:
        changed["MaxProcs"] = str(trace.processors)
    origin = submit - int(trace.jobs.submit[0])
    if clock_at(labels, origin) != trace.time_of_day:
        # The first moment since the log's start at which UTC shows the trace's time of day.
        start = start_time(labels)
        changed["UnixStartTime"] = str(start + (trace.time_of_day - start - origin) % DAY)
        changed["TimeZoneString"] = "UTC"
    for label, value in changed.items():
        same = (i for i, line in enumerate(lines) if re.match(rf"\s*{label}\s*:", line))
        i = next(same, len(lines))
        lines[i : i + 1] = [f"{label}: {value}"]
    return lines


def _leading_integer(value: str | None) -> int | None:
    match = re.match(r"[0-9]{1,18}", value or "")
    return int(match.group()) if match else None
