"""The Standard Workload Format, version 2.2: read and write.

Format: Chapin et al. 1999 and the Parallel Workloads Archive. Each job is a line of 18 numbers, -1
for what is not known; lines that begin with a semicolon are the header.
"""

import gzip
import os
import re
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

import bfenv.workloads.logs.cleaning as cl
import bfenv.workloads.logs.header as hd
import bfenv.workloads.logs.records as at
from bfenv.core.arguments import check_choice
from bfenv.core.dependencies import dependencies_of
from bfenv.core.durations import DAY
from bfenv.core.errors import WorkloadError
from bfenv.core.files import write_atomically
from bfenv.core.jobs import PRECEDING, THINK, Trace, check_trace, make_trace
from bfenv.core.schedule import Schedule
from bfenv.core.text import counted
from bfenv.workloads.logs.markers import YEAR
from bfenv.workloads.logs.outages import LABEL as OUTAGE
from bfenv.workloads.logs.outages import find_outages, outage_lines, read_outages
from bfenv.workloads.logs.records import Requests, format_records, parse_records, requests_in
from bfenv.workloads.logs.text import read_lines

BLOCK = 1 << 15  # records that are formatted at a time
LEVEL = 4  # of gzip; 6 makes files 8 % smaller, in three times the time
PARTS = {2: -1, 3: 1, 4: 0}  # status of a part of a job; that of a job with such a last part
OUTAGES = ("header", "find", "none")  # where outages come from
DEPENDENCIES = ("follow", "ignore")  # of jobs on others
RULES = ("archive", "rlscheduler")  # whose rules make jobs of lines
LARGEST = "LargestValues:"  # runtime, memory, user, group, executable in the log
MEMORY, EXECUTABLE = 9, 13  # fields of a record


def read_swf(
    path: str | os.PathLike[str],
    *,
    processors: int | None = None,
    overrun: str = "kill",
    on_error: str = "raise",
    outages: str = "header",
    dependencies: str = "follow",
    rules: str = "archive",
) -> Trace:
    """Return the trace in an SWF file, named like the file.

    Size is the requested processors if positive, or else the allocated ones; the estimate is the
    requested time if positive, or else the run time. Submit times are rebased to 0, lines out of
    order are put in order, fractions of seconds are rounded, and users are numbered from 0 in the
    order of their ids.

    `trace.cleaning` counts dropped lines. These are dropped: jobs without a submit time, a runtime
    or a size; jobs larger than the machine; repeated lines; and parts of a job (status 2 to 4) if
    the whole job has a line, too.

    Lines of the header like "Outage: BEGIN END PROCESSORS", with the file's seconds, become
    `trace.outages`.

    `trace.records` keeps all 18 fields of the jobs as they are in the file. Times of day are those
    of the header's TimeZoneString, or of UTC, with a warning if this machine does not know the
    zone.

    Args:
        path: The file, gzipped or not.
        processors: Processors of the machine. None takes the header's MaxProcs, or else MaxNodes.
        overrun: If a runtime exceeds the estimate: "kill" cuts the runtime, as production systems
            kill the job, "extend" raises the estimate.
        on_error: On a malformed line: "raise", or "skip" it with a warning and count it.
        outages: "header" reads the lines above, "find" also detects outages in the log's waits with
            `find_outages`, "none" leaves all out.
        dependencies: "follow" lets a job start no earlier than the end of the job that it waits
            for plus its think time (fields 17 and 18), where the log has these; a warning says so.
            "ignore" clears these fields.
        rules: "archive", as above, or "rlscheduler" for those of RLScheduler (Zhang et al. 2020):
            the size is the larger of both, and a job without a runtime (-1) runs for 10 s. The
            records have these values, and the header the log's largest ones.

    Raises:
        FileNotFoundError: If there is no such file.
        WorkloadError: If a line is malformed, no job is left, the machine's size is not known, an
            option is out of range, or the file cannot be read: a damaged gzip file, or a file that
            decompresses to an implausible size.
    """
    if not isinstance(path, str | os.PathLike):
        raise WorkloadError(f"path must be the path of a file, got {path!r:.60}")
    path = Path(path)
    cl.check_options(overrun, on_error)
    check_choice("outages", outages, OUTAGES, error=WorkloadError)
    check_choice("dependencies", dependencies, DEPENDENCIES, error=WorkloadError)
    check_choice("rules", rules, RULES, error=WorkloadError)
    header, records, malformed = _read(path, on_error)
    if rules == "rlscheduler":
        largest = records[:, [at.RUNTIME, MEMORY, at.USER, at.GROUP, EXECUTABLE]].max(axis=0)
        header = (*header, f"{LARGEST} {' '.join(f'{value:.0f}' for value in largest)}")
        records[records[:, at.RUNTIME] < 0, at.RUNTIME] = 10  # seconds
        records[:, at.REQUESTED] = records[:, [at.ALLOCATED, at.REQUESTED]].max(axis=1)
    records, line_counts = _each_once(records)
    labels = hd.read_labels(header)
    processors = _machine(path, labels, processors)
    requests = requests_in(records)
    jobs, counts = _find_jobs(path, requests, records[:, at.WAIT], processors)
    counts["early_start"] = int(np.sum(records[jobs, at.WAIT] < -1))
    submit, size, runtime, estimate = (column[jobs] for column in requests)
    missing = estimate <= 0
    runtime, estimate, changed = cl.apply_overrun(
        runtime, np.where(missing, runtime, estimate), overrun
    )
    records = records[jobs]
    if dependencies == "ignore":
        records[:, [PRECEDING, THINK]] = -1
    header_outages = read_outages(header, int(submit[0]), processors)
    user = records[:, at.USER]
    trace = make_trace(
        submit - submit[0],
        size,
        runtime,
        processors,
        estimate=estimate,
        user=np.where(user >= 0, np.unique(user, return_inverse=True)[1], -1),  # no fractions
        name=path.name.removesuffix(".gz").removesuffix(".swf"),
        cleaning=cl.Conversion(
            no_estimate=int(missing.sum()), malformed=malformed, **line_counts, **counts, **changed
        ),
        time_of_day=_time_of_day(path, labels, int(submit[0])),
        header=header,
        records=records,
        outages=() if outages == "none" else header_outages,
    )
    if (follow := dependencies_of(trace)) is not None:
        wait = counted(int(np.sum(follow.before >= 0)), "job waits", "jobs wait")
        warnings.warn(
            f"{path.name}: {wait} for the end of another job, as fields 17 and 18 say; "
            "dependencies=ignore lets them start",
            stacklevel=2,
        )
    if outages != "find":
        return trace
    new = (
        outage
        for outage in find_outages(trace)
        if not any(
            outage.begin < listed.end and listed.begin < outage.end for listed in header_outages
        )
    )
    return replace(trace, outages=tuple(sorted((*header_outages, *new))))


def write_swf(trace: Trace, path: str | os.PathLike[str], schedule: Schedule | None = None) -> None:
    """Write a trace as SWF, completely or not at all.

    The trace's records and header are written unchanged, unless `read_swf` would then return
    another trace; in this case, the values of the trace are written. Without records, unknown
    fields are -1. Fields are written in their shortest form. A log of the archive that is read and
    written has the same bytes, except for trailing zeros of field 6 (142.00 becomes 142), spaces
    between fields, remarks, and lines that are not jobs.

    SWF has no fields for priorities and requested start times. They are left out with a warning.

    Args:
        trace: The trace.
        path: The file, gzipped if its name ends in .gz.
        schedule: A schedule of the trace: field 3 is then the wait of each job, and field 5 its
            size.

    Raises:
        WorkloadError: If the schedule is that of another trace.
        BfenvError: If the file cannot be written.

    Examples:
        >>> import bfenv
        >>> trace = bfenv.make_trace(submit=[0, 5], size=[2, 4], runtime=[60, 30], processors=4)
        >>> bfenv.write_swf(trace, "tiny.swf")
        >>> bfenv.read_swf("tiny.swf").jobs.size
        array([2, 4])
    """
    check_trace(trace)
    path, jobs = Path(path), trace.jobs
    if schedule is not None and schedule.trace is not trace and schedule.trace.hash != trace.hash:
        raise WorkloadError(
            f"schedule must be of {trace.name}, got a schedule of {schedule.trace.name}"
        )
    if jobs.priority.any() or jobs.requested_start.any() or not jobs.restartable.all():
        warnings.warn(
            f"{path}: SWF has no priorities, requested start times and restartable jobs; they are "
            "left out",
            stacklevel=2,
        )
    first = int(jobs.submit[0])
    if trace.records is not None:
        first = int(requests_in(trace.records[:1]).submit[0])
    header = [line for line in hd.header_of(trace, first) if not OUTAGE.match(line)]
    header += outage_lines(trace.outages, first - int(jobs.submit[0]))
    lines = [f"; {line}".rstrip() for line in (re.sub(r"[\r\n]+", " ", line) for line in header)]
    blocks = [_encoded(lines)]
    for begin in range(0, len(trace), BLOCK):  # the text of all would fill the memory
        block = slice(begin, begin + BLOCK)
        records = _records(trace, block, first)
        if schedule is not None:
            records[:, at.WAIT] = schedule.wait[block]
            records[:, at.ALLOCATED] = jobs.size[block]
        blocks.append(_encoded(format_records(records)))
    data = b"".join(blocks)
    write_atomically(path, gzip.compress(data, LEVEL, mtime=0) if path.suffix == ".gz" else data)


def _read(path: Path, on_error: str) -> tuple[tuple[str, ...], np.ndarray, int]:
    """Return a file's header and records, and how many malformed lines were skipped."""
    lines, _ = read_lines(path, "latin-1")
    comments = (line.strip() for line in lines if line.lstrip().startswith(";"))
    header = tuple(comment[1:].removeprefix(" ") for comment in comments)
    try:
        records, malformed = parse_records(path, lines, on_error)
    except WorkloadError as error:
        if header:
            raise
        raise WorkloadError(f"{error}; is it SWF? `bfenv workloads import` reads others") from None
    if not len(records):
        raise WorkloadError(f"{path}: the trace is empty: no job lines")
    return header, records, malformed


def _each_once(records: np.ndarray) -> tuple[np.ndarray, dict[str, int]]:
    """Return each job once, and counts of the other lines.

    Lines of equal numbers are the same line again, or the parts of a job that was swapped out or
    checkpointed. Without a line of the whole, the parts are one job of their runtimes in all.
    """
    _, inverse, count = np.unique(records[:, at.JOB], return_inverse=True, return_counts=True)
    several = np.flatnonzero((count[inverse] > 1) & (records[:, at.JOB] > 0))
    is_part = np.isin(records[:, at.STATUS], list(PARTS))
    wholes = set(records[several][~is_part[several] & (records[several, at.RUNTIME] > 0), at.JOB])
    keep, counts = np.ones(len(records), dtype=bool), {"duplicates": 0, "parts": 0}
    seen: set[bytes] = set()
    begun: dict[tuple[float, float], int] = {}
    for i in several.tolist():
        line, job = records[i].tobytes(), float(records[i, at.JOB])
        if line in seen:
            reason = "duplicates"
        elif is_part[i] and (job in wholes or (job, records[i, at.ALLOCATED]) in begun):
            reason = "parts"
            if job not in wholes:
                whole = records[begun[job, records[i, at.ALLOCATED]]]
                whole[at.RUNTIME] += max(records[i, at.RUNTIME], 0)
                whole[at.STATUS] = PARTS[records[i, at.STATUS]]
        else:
            reason = ""
            if is_part[i]:
                begun[job, records[i, at.ALLOCATED]] = i
                records[i, at.STATUS] = PARTS[records[i, at.STATUS]]
        seen.add(line)
        if reason:
            keep[i] = False
            counts[reason] += 1
    return records[keep], counts


def _machine(path: Path, labels: dict[str, str], processors: int | None) -> int:
    """Return the size of the machine, as given or as in the header."""
    processors = hd.machine_size(labels) if processors is None else processors
    if processors is None:
        sizes = [f"{label}: {labels[label]}" for label in hd.SIZES if label in labels]
        fault = f"{sizes[0]!r:.60} is not a size" if sizes else "no MaxProcs or MaxNodes"
        raise WorkloadError(
            f"{path}: {fault} in the header; set the number of processors, as in "
            f"{path}:processors=1024"
        )
    return cl.check_processors(f"{path}: processors", processors)


def _find_jobs(
    path: Path, requests: Requests, wait: np.ndarray, processors: int
) -> tuple[np.ndarray, dict[str, int]]:
    """Return the records that are jobs, (k,) int64 by submit time, and counts of the others."""
    submit = requests.submit
    faults = {
        "no_submit": submit < 0,
        "never_started": wait <= -YEAR,  # a start of zero
        "contradictory": requests.runtime < -1,
        "no_runtime": requests.runtime <= 0,
        "no_size": requests.size <= 0,
        "too_large": requests.size > processors,
    }
    counts, usable = {}, np.ones(len(submit), dtype=bool)
    for name, fault in faults.items():  # of several faults, the first counts
        counts[name] = int(np.sum(usable & fault))
        usable &= ~fault
    jobs = np.flatnonzero(usable)
    if len(jobs) == 0:
        reasons = ", ".join(
            f"{reason}: {count:,}" for count, reason in cl.count_reasons(counts, cl.DROPPED)
        )
        raise WorkloadError(f"{path}: the trace is empty: no usable job line ({reasons})")
    counts["reordered"] = int(np.sum(np.diff(submit[jobs]) < 0))
    return jobs[np.argsort(submit[jobs], kind="stable")], counts


def _time_of_day(path: Path, labels: dict[str, str], submit: int) -> int:
    """Return the local time of day at which a job is submitted, or with a warning that of UTC."""
    clock = hd.clock_at(labels, submit)
    if clock is None:
        clock = (hd.start_time(labels) + submit) % DAY
        warnings.warn(
            f"{path}: no local time is known in zone {labels['TimeZoneString']!r}; "
            "times of day are in UTC",
            stacklevel=3,
        )
    return clock


def _encoded(lines: list[str]) -> bytes:
    return "".join([f"{line}\n" for line in lines]).encode("latin-1", errors="backslashreplace")


def _records(trace: Trace, block: slice, first: int) -> np.ndarray:
    """Return the SWF fields of some jobs, (k,) rows float64, `first` the first submit time.

    They are changed where they would be read as other jobs.
    """
    jobs = trace.jobs
    own_submit, own_size = jobs.submit[block] - jobs.submit[0] + first, jobs.size[block]
    own_runtime, own_estimate = trace.runtime[block], jobs.estimate[block]
    if trace.records is not None:
        records = trace.records[block].copy()
    else:
        records = np.full((len(own_size), len(at.FIELDS)), -1.0)
        records[:, at.JOB] = np.arange(block.start + 1, block.start + len(own_size) + 1)
        records[:, at.ALLOCATED] = records[:, at.REQUESTED] = own_size
        user = jobs.user[block]
        records[:, at.USER] = np.where(user < 0, -1, user + 1)
    submit, size, runtime, estimate = requests_in(records)
    estimate = np.where(estimate > 0, estimate, runtime)
    changed = submit != own_submit
    records[changed, at.SUBMIT] = own_submit[changed]
    changed = size != own_size
    records[changed, at.REQUESTED] = own_size[changed]
    changed = (np.minimum(runtime, estimate) != own_runtime) | (estimate != own_estimate)
    records[changed, at.RUNTIME] = own_runtime[changed]
    records[changed, at.ESTIMATE] = own_estimate[changed]
    return records
