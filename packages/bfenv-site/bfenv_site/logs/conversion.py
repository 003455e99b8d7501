"""The runs in another system's log, converted to a trace with SWF records and header."""

import gc
import operator
import os
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import tzinfo
from pathlib import Path
from typing import TypedDict

import numpy as np

import bfenv.workloads.logs.cleaning as cl
import bfenv_site.logs.run as rn
import bfenv_site.logs.selection as sel
from bfenv.core.durations import format_duration
from bfenv.core.errors import WorkloadError
from bfenv.core.jobs import THINK, Trace, make_trace
from bfenv.core.text import counted
from bfenv.workloads.logs import records as swf
from bfenv.workloads.logs.markers import node_names
from bfenv.workloads.logs.times import Number, find_zone, rounded, time_of_day
from bfenv_site.logs.dependencies import waited_for
from bfenv_site.logs.estimates import check_longest, check_unit, fill_estimates, read_longest

FEW_PARTITIONS = 8  # whose own use a message lists
REPEATS = ("duplicates", "parents")  # reasons of runs whose work other lines have
NOT_READ = rn.Record()
# An array as a whole, as "7[].pbs" or "7_[1-5]", and one of its tasks, "7[2].pbs" or "7_2".
ARRAY = re.compile(r"([^\[\]_]+)_?\[(?:[0-9]+[-,:%][^\]]*)?\](.*)")
TASK = re.compile(r"([^\[\]_]+)(?:\[[0-9]+\]|_[0-9]+)(.*)")


class CommonOptions(TypedDict, total=False):
    """Options of all readers; `read_sacct` describes them, and `convert` has the defaults."""

    timezone: str
    selection: sel.Selection
    longest: int | str | None
    overrun: str
    on_error: str


class Reading:
    """The runs in a log, and what else is in it: counted by reason, with the first line of each."""

    def __init__(self, path: str | os.PathLike[str], selection: sel.Selection) -> None:
        self.path, self.selection = path, selection
        self.runs: list[rn.Run] = []
        # By reason, partition and cluster
        self.other_records: Counter[tuple[str, str, str]] = Counter()
        self.counts: Counter[str] = Counter()
        self.examples: dict[str, str] = {}
        self.work: Counter[str] = Counter()
        self.nodes: tuple[set[str], set[str]] = set(), set()  # of jobs taken, and of others

    def drop(self, reason: str, run: rn.Run) -> None:
        """Count a run that is no job of the trace."""
        self.counts[reason] += 1
        self.work[reason] += run.work if reason not in REPEATS else 0
        self.examples.setdefault(reason, run_text(run))


def read_runs(reading: Reading, log: rn.Log, zone: tzinfo, on_error: str) -> None:
    """Read all lines of a log, each as a run or as the reason why there is none.

    Raises WorkloadError if a line is malformed and `on_error` is "raise". The message says what
    "skip" would leave out.
    """
    path, runs, selection = reading.path, reading.runs, reading.selection
    is_part = bool(selection.partitions) or selection.cluster is not None  # of the nodes
    total, malformed, first = 0, 0, ""
    was_enabled = gc.isenabled()
    gc.disable()  # it would visit all runs again and again, and they have no cycles
    try:
        for number, line in log.lines:
            total += 1
            record = NOT_READ
            try:
                record = log.parse(line)
                run = rn.read_run(record, log, zone, number)
            except ValueError as error:
                meanings = set()
                for candidate in error.records if isinstance(error, rn.Ambiguous) else ():
                    with suppress(ValueError):
                        meanings.add(rn.read_run(candidate, log, zone, number))
                if len(meanings) == 1:
                    run = meanings.pop()
                else:
                    run = "malformed"
                    malformed, first = malformed + 1, first or f"{path}:{number}: {error}"
            is_taken = selection.has(record)
            if is_part and record.nodes:
                reading.nodes[0 if is_taken else 1].update(node_names(record.nodes))
            if isinstance(run, rn.Run):
                runs.append(run)
                continue
            reading.other_records[run, record.partition, record.cluster] += 1
            reason = run if is_taken else "other_partition"
            reading.counts[reason] += 1
            if reason not in reading.examples:
                reading.examples[reason] = f"line {number}: {line}"
    finally:
        if was_enabled:
            gc.enable()
    reading.counts.update(log.counts)
    has_delimiters = log.delimiter_option and "in it?" in first
    if log.durations and "seconds since 1970; expected seconds" in first:
        first += " (add the unit to the column, as in --map submit=COLUMN:ms)"
    if malformed and on_error == "raise":
        advice = f"--skip leaves out {counted(malformed, 'such line')} of {total:,}"
        no_advice = f"{'no' if malformed == total else 'and no other'} line is a job that ran"
        advice = f"{advice}; or {log.delimiter_option}" if has_delimiters else advice
        raise WorkloadError(f"{first}; {advice if runs else no_advice}")
    if malformed:
        text = cl.malformed_warning(malformed, first)
        text += f"; {log.delimiter_option}" if has_delimiters else ""
        warnings.warn(text, stacklevel=4)


def convert(
    path: str | os.PathLike[str],
    log: rn.Log,
    *,
    processors: int | None = None,
    timezone: str = "UTC",
    selection: sel.Selection = sel.EVERYTHING,
    longest: int | str | None = None,
    overrun: str = "kill",
    on_error: str = "raise",
) -> Trace:
    """Convert a log to a trace, in order of submit time, with SWF records and header.

    Each run is one job, however many lines tell of it. Users, groups, queues and partitions are
    numbered by first appearance. A run without an estimate gets one, see `fill_estimates`, or else
    its runtime. Runs larger than the machine are dropped. All of this is counted. Limits that cut
    most jobs are a warning: they may be in another unit.

    Raises WorkloadError if an option is out of range, a line is malformed, or no run is left. If
    `processors` is None, the message states how many were in use at once.

    * `path`: the file, which names the trace.
    * `log`: what is in it.
    * `processors`, `timezone`, `selection`, `longest`, `overrun`, `on_error`: as in `read_sacct`.

    The `cleaning` of the trace is `Imported`.
    """
    cl.check_options(overrun, on_error)
    limits, zone = read_longest(longest), find_zone(timezone)
    reading = Reading(path, selection)
    read_runs(reading, log, zone, on_error)
    for kind, names in (
        ("partition", [*selection.partitions, *filter(None, limits)]),
        ("cluster", [*filter(None, [selection.cluster])]),
    ):
        sel.check_names(path, kind, reading.runs, reading.other_records, names)
    runs = _unique_runs(reading, log.has_gaps)
    reading.runs = []  # millions of them: each step keeps what the next one needs
    runs = sel.select(runs, selection, zone, reading.drop)
    processors = _machine_size(path, runs, processors)
    runs = _jobs(reading, runs, processors)
    records = _records(path, runs)
    runtime, estimate = _runtimes_and_estimates(reading, runs, records, log, limits, overrun)
    if selection.ids is not None:
        sel.write_ids(selection.ids, runs)
    if selection.users is not None:
        sel.write_users(selection.users, runs)
    header = _header(runs, log, reading.counts, timezone, processors, selection.names)
    origin = rounded(runs[0].submit)
    del runs
    submit, size = records[:, [swf.SUBMIT, swf.REQUESTED]].T.astype(np.int64)
    return make_trace(
        submit,
        size,
        runtime,
        processors,
        estimate=estimate,
        user=records[:, swf.USER],
        name=Path(path).name.split(".")[0],
        cleaning=cl.Imported(
            **{reason: count for reason, count in reading.counts.items() if count},
            encoding=log.encoding,
            examples=reading.examples,
            work=dict(reading.work),
            nodes=frozenset(reading.nodes[0]),
            other_nodes=frozenset(reading.nodes[1]),
        ),
        time_of_day=time_of_day(origin, zone),
        header=header,
        records=records,
    )


def _unique_runs(reading: Reading, is_table: bool) -> list[rn.Run]:
    """Return each run once: of equal id, cluster, submit and start time; no array beside its tasks.

    A further run of a requeued job is submitted when the one before ended, if the log repeats the
    job's first submit time. A table may give all tasks of an array one id: there, runs of other
    runtimes are others, and the submit times count.
    """
    runs = reading.runs
    arrays = {run.job: array.groups() for run in runs if (array := ARRAY.match(run.job))}
    jobs = (run.job for run in runs) if arrays else ()
    tasks = {task.groups() for task in map(TASK.match, jobs) if task}
    place_of: dict[tuple[str | Number, ...], int] = {}
    unique_runs: list[rn.Run] = []
    for run in runs:
        if run.job in arrays and arrays[run.job] in tasks:
            reading.drop("parents", run)
            continue
        key = run.cluster, run.job, run.submit, run.start
        amounts = (run.runtime, run.size) if is_table else ()
        count = len(unique_runs)
        i = place_of.setdefault((*key, *amounts), count) if run.job else count
        if i < count:
            shorter, unique_runs[i] = sorted((run, unique_runs[i]), key=operator.attrgetter("work"))
            reading.drop("duplicates", shorter)
            continue
        unique_runs.append(run)
    if is_table:
        return unique_runs
    ends: dict[tuple[str, str], Number] = {}
    for i in sorted(range(len(unique_runs)), key=lambda i: unique_runs[i].start):
        run = unique_runs[i]
        end = ends.get((run.cluster, run.job), 0) if run.job else 0
        if run.submit < end <= run.start:
            unique_runs[i] = run._replace(submit=end)
        ends[run.cluster, run.job] = run.start + run.runtime
    return unique_runs


def _machine_size(
    path: str | os.PathLike[str], runs: Sequence[rn.Run], processors: int | None
) -> int:
    """Return the processors that the user gave; WorkloadError suggests a number if none."""
    if processors is None:
        peak = rn.peak_use(runs)
        hint = f"; at least {peak} were in use at once" if peak else ""
        parts = sorted({run.partition for run in runs if run.partition})
        if peak and 1 < len(parts) <= FEW_PARTITIONS:
            peaks = (rn.peak_use([run for run in runs if run.partition == part]) for part in parts)
            hint += f" ({', '.join(map('{}={}'.format, parts, peaks))})"
        raise WorkloadError(
            f"{path}: processors must be the size of the machine, as in --processors 4096, "
            f"and is missing{hint}"
        )
    return cl.check_processors("processors", processors)


def _jobs(reading: Reading, runs: Sequence[rn.Run], processors: int) -> list[rn.Run]:
    """Return the runs that are jobs of the machine, by submit time; count what is odd."""
    jobs = []
    for run in runs:
        if run.size <= processors:
            jobs.append(run)
        else:
            reading.drop("too_large", run)
    if not jobs:
        reasons = cl.DROPPED | {"continued": cl.CHANGED["continued"]}
        numbers = cl.count_reasons(reading.counts, reasons)
        reasons_text = ", ".join(f"{text}: {count:,}" for count, text in numbers)
        raise WorkloadError(
            f"{reading.path}: no line is a job that ran ({reasons_text or 'there are none'})"
        )
    if rn.peak_use(jobs) > processors:  # a single job that is too large may be a wrong line
        warnings.warn(
            f"{reading.path}: {rn.peak_use(runs):,} processors were in use at once, more than the "
            f"{processors:,} given; check the size of the machine, or import its partitions one by "
            "one",
            stacklevel=4,
        )
    counts, ids = reading.counts, set()
    counts["reordered"] = int(np.sum(np.diff(rn.column(jobs, "submit")) < 0))
    jobs.sort(key=operator.attrgetter("submit"))
    no_state = all(run.status == rn.UNKNOWN for run in jobs)  # the log has none
    for run in jobs:
        job = run.cluster, run.job
        oddities = {
            "requeued": run.job and job in ids,
            "components": "+" in run.job,
            "early_start": 0 <= run.start < run.submit,
            "odd_size": run.request > 0 and run.request != run.size,
            "unknown_state": run.status == rn.UNKNOWN and not no_state,
        }
        ids.add(job)
        for oddity, holds in oddities.items():
            if holds:
                counts[oddity] += 1
                reading.examples.setdefault(oddity, run_text(run))
    return jobs


def run_text(run: rn.Run) -> str:
    """Return a run in words."""
    job = f"job {run.job}, " if run.job else ""
    runtime, size = format_duration(run.runtime), counted(run.size, "processor")
    return f"line {run.line}: {job}{runtime} on {size}"


def _records(path: str | os.PathLike[str], runs: Sequence[rn.Run]) -> np.ndarray:
    """Return the SWF fields, (n, 18) float64; an estimate that is missing is -1.

    Submit time, start and runtime are each rounded once, so no rounding adds to another.
    """
    records = np.full((len(runs), len(swf.FIELDS)), -1.0)
    records[:, swf.JOB] = np.arange(1, len(runs) + 1)
    submit, start, runtime = (
        np.floor(rn.column(runs, field) + 0.5) for field in ("submit", "start", "runtime")
    )
    records[:, swf.SUBMIT] = submit - submit[0]
    records[:, swf.WAIT] = np.where(start >= submit, start - submit, -1)
    records[:, swf.RUNTIME] = runtime
    records[:, swf.ALLOCATED] = rn.column(runs, "size")
    records[:, swf.REQUESTED] = records[:, swf.ALLOCATED]  # no other job could have the rest
    records[:, swf.ESTIMATE] = rn.column(runs, "estimate")
    records[:, swf.STATUS] = rn.column(runs, "status")
    records[:, swf.USER] = rn.number_names([run.user for run in runs])
    records[:, swf.GROUP] = rn.number_names([run.group for run in runs])
    records[:, swf.QUEUE] = rn.number_names([run.queue for run in runs])
    records[:, swf.PARTITION] = rn.number_names([run.partition for run in runs])
    if any(run.after for run in runs):
        places, unfollowed = waited_for(runs)
        if unfollowed:
            wait = counted(unfollowed, "job waits", "jobs wait")
            warnings.warn(
                f"{path}: {wait} for the start of another job, or for jobs of the same name "
                "(after, singleton), which is not followed",
                stacklevel=4,
            )
        records[places >= 0, swf.PRECEDING] = places[places >= 0] + 1
        records[places >= 0, THINK] = 0
    return records


def _runtimes_and_estimates(
    reading: Reading,
    runs: Sequence[rn.Run],
    records: np.ndarray,
    log: rn.Log,
    limits: Mapping[str, int],
    overrun: str,
) -> tuple[np.ndarray, np.ndarray]:
    """Return runtimes and estimates that fit each other, (n,) int64 seconds each.

    Estimates that are missing are filled in, in the records too. What changes is counted.

    * `records`: (n, 18) float64, what `_records` returns.
    * `limits`: estimates of runs without one, by partition.

    Raises WorkloadError if estimates are in another unit than runtimes.
    """
    log_estimates = records[:, swf.ESTIMATE].astype(np.int64)
    has_none = log_estimates < 1
    records[:, swf.ESTIMATE] = fill_estimates(runs, log_estimates, limits)
    runtime, size, estimate = records[:, [swf.RUNTIME, swf.REQUESTED, swf.ESTIMATE]].T.astype(
        np.int64
    )
    check_unit(reading.path, runtime[~has_none], log_estimates[~has_none], log.durations, overrun)
    check_longest(reading.path, runtime[has_none], limits)
    estimate = np.where(estimate < 1, runtime, estimate)
    for reason, is_affected in (
        ("no_estimate", has_none),
        ("clipped" if overrun == "kill" else "extended", runtime > estimate),
    ):
        if is_affected.any():
            reading.examples[reason] = run_text(runs[int(np.argmax(is_affected))])
    work = int(np.dot(runtime, size))
    runtime, estimate, changes = cl.apply_overrun(runtime, estimate, overrun)
    reading.work["clipped"] = work - int(np.dot(runtime, size))
    reading.counts.update(changes, no_estimate=int(np.sum(has_none)))
    return runtime, estimate


def _header(
    runs: Sequence[rn.Run],
    log: rn.Log,
    counts: Mapping[str, int],
    timezone: str,
    processors: int,
    has_names: bool,
) -> tuple[str, ...]:
    """Return the lines of the SWF header; with `has_names`, those of queues and partitions too."""
    notes = [*log.notes, "users, groups, queues and partitions are numbered by first appearance"]
    notes += [f"text read as {log.encoding}"] * (log.encoding != "utf-8")
    dropped = cl.count_reasons(counts, cl.DROPPED)
    notes += [f"not a job: {reason}: {count}" for count, reason in dropped]
    notes += [f"{reason}: {count}" for count, reason in cl.count_reasons(counts, cl.CHANGED)]
    return (
        "Version: 2.2",
        f"MaxJobs: {len(runs)}",
        f"MaxRecords: {len(runs)}",
        f"UnixStartTime: {rounded(runs[0].submit)}",
        f"TimeZoneString: {timezone}",
        f"MaxProcs: {processors}",
        *(_names(runs) if has_names else ()),
        *(f"Note: {note}" for note in notes),
    )


def _names(runs: Sequence[rn.Run]) -> Iterable[str]:
    """Name the numbers of queues and partitions, as SWF's header does; and clusters, if several."""
    queues, partitions = [run.queue for run in runs], [run.partition for run in runs]
    for label, names in (("Queue", queues), ("Partition", partitions)):
        for name, number in dict(zip(names, rn.number_names(names), strict=True)).items():
            if name:
                yield f"{label}: {number} {'_'.join(name.split())}"
    clusters = sorted({"_".join(run.cluster.split()) for run in runs if run.cluster})
    if len(clusters) > 1:
        yield f"Clusters: {' '.join(clusters)}"
