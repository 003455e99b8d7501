"""Rows and schedules in the formats of other tools: CSV, JSON lines, SWF, Batsim."""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bfenv.analysis.placement import place
from bfenv.core.errors import BfenvError
from bfenv.core.files import write_atomically
from bfenv.core.schedule import Schedule
from bfenv.leaderboard.store import Row
from bfenv.workloads.logs.records import RUNTIME
from bfenv.workloads.logs.swf import write_swf

SWF = (".swf", ".swf.gz")
BATSIM = "jobs.csv"  # as in Batsim's own out_jobs.csv
BATSIM_COLUMNS = (
    "job_id", "workload_name", "profile", "submission_time", "requested_number_of_resources",
    "requested_time", "success", "final_state", "starting_time", "execution_time", "finish_time",
    "waiting_time", "turnaround_time", "stretch", "allocated_resources", "consumed_energy",
    "metadata",
)  # fmt: skip


def write_schedule(schedule: Schedule, path: Path) -> None:
    """Write a schedule in the format of the file's name, in one step or not at all.

    .swf and .swf.gz are the Standard Workload Format, a name that ends in jobs.csv what Batsim
    writes, other names in .csv the columns of `schedule_csv`. Raises BfenvError for another name.
    """
    check_name(path)
    if path.name.endswith(SWF):
        write_swf(schedule.trace, path, schedule)
    elif path.name.endswith(BATSIM):
        write_atomically(path, batsim_csv(schedule).encode())
    else:
        write_atomically(path, schedule_csv(schedule).encode())


def check_name(path: Path) -> None:
    """Raise BfenvError if the name of the file does not tell a format for schedules."""
    if not path.name.endswith((*SWF, ".csv")):
        raise BfenvError(f"{path}: the name of a schedule's file ends in .csv, .swf or .swf.gz")


def schedule_csv(schedule: Schedule) -> str:
    """job,submit,size,estimate,runtime,start,end; times in seconds since the first submit time."""
    trace, jobs = schedule.trace, schedule.trace.jobs
    columns = (jobs.submit, jobs.size, jobs.estimate, trace.runtime, schedule.start, schedule.end)
    rows = zip(range(len(trace)), *(column.tolist() for column in columns), strict=True)
    return _csv(("job", "submit", "size", "estimate", "runtime", "start", "end"), rows)


def batsim_csv(schedule: Schedule) -> str:
    """The schedule as Batsim's file of jobs has it (docs/output-jobs.rst of oar-team/batsim).

    Jobs are numbered from 0 in trace order and have profiles of their number. A job is no success
    where the log says that it ran on beyond its estimate. Killed trials are left out, as Batsim
    has one line per job; processors are handed out by `bfenv.analysis.placement`; -1 is the energy
    that nobody measured.
    """
    trace, jobs = schedule.trace, schedule.trace.jobs
    spans = {run.job: run.spans for run in place(schedule) if not run.trial}
    killed = np.zeros(len(trace), dtype=bool)
    if trace.records is not None:
        killed = (trace.runtime == jobs.estimate) & (trace.records[:, RUNTIME] > jobs.estimate)
    wait, runtime = schedule.wait, trace.runtime
    columns = (
        jobs.submit, jobs.size, jobs.estimate, killed, schedule.start, runtime, schedule.end,
        wait, wait + runtime, (wait + runtime) / runtime,
    )  # fmt: skip
    rows = []
    for job, line in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        submit, size, estimate, late, *rest = line
        state = "COMPLETED_WALLTIME_REACHED" if late else "COMPLETED_SUCCESSFULLY"
        head = (job, trace.name, job, submit, size, estimate, int(not late), state)
        rows.append((*head, *rest, _intervals(spans[job]), -1, ""))
    return _csv(BATSIM_COLUMNS, rows)


def _intervals(spans: Sequence[tuple[int, int]]) -> str:
    """Like "0-3 7": processors from 0, both ends included."""
    return " ".join(
        f"{first}" if last == first + 1 else f"{first}-{last - 1}" for first, last in sorted(spans)
    )


def rows_csv(rows: Sequence[Row]) -> str:
    """One line per row, a column per value; curves, which are lists, are left out."""
    flat = [
        {name: value for name, value in flattened(row).items() if not isinstance(value, list)}
        for row in rows
    ]
    first = ("suite", "policy", "workload", "seed", "status", "error")
    columns = list(dict.fromkeys([*first, *(name for row in flat for name in row)]))
    return _csv(columns, ([row.get(name) for name in columns] for row in flat))


def rows_jsonl(rows: Iterable[Row]) -> str:
    """One line of JSON per row, nested values under names like metrics.mean_wait."""
    return "".join(json.dumps(flattened(row), allow_nan=False) + "\n" for row in rows)


def flattened(row: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """The row without dicts within dicts, names joined by points."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            flat |= flattened(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat


def _csv(columns: Sequence[str], rows: Iterable[Sequence]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()
