"""Schedules in the formats of other tools: CSV, SWF, Batsim."""

from pathlib import Path

import numpy as np

from bfenv.analysis.formatting import csv_text
from bfenv.analysis.placement import place
from bfenv.core.errors import BfenvError
from bfenv.core.files import write_atomically
from bfenv.core.schedule import Schedule
from bfenv.workloads.logs.records import JOB, RUNTIME
from bfenv.workloads.logs.swf import write_swf

SWF = (".swf", ".swf.gz")
BATSIM = "jobs.csv"  # as in Batsim's own out_jobs.csv
BATSIM_COLUMNS = (
    "job_id",
    "workload_name",
    "profile",
    "submission_time",
    "requested_number_of_resources",
    "requested_time",
    "success",
    "final_state",
    "starting_time",
    "execution_time",
    "finish_time",
    "waiting_time",
    "turnaround_time",
    "stretch",
    "allocated_resources",
    "consumed_energy",
    "metadata",
)


def write_schedule(schedule: Schedule, path: Path) -> None:
    """Write a schedule atomically, in the format of the file's name.

    Names in .swf and .swf.gz mean the Standard Workload Format, names in jobs.csv the format of
    Batsim, and other names in .csv the columns of `schedule_csv`.

    Raises BfenvError if the name is another, or the file cannot be written.
    """
    check_name(path)
    if path.name.endswith(SWF):
        write_swf(schedule.trace, path, schedule)
    elif path.name.endswith(BATSIM):
        write_atomically(path, batsim_csv(schedule).encode())
    else:
        write_atomically(path, schedule_csv(schedule).encode())


def check_name(path: Path) -> None:
    """Check that the name of a schedule's file determines its format.

    Raises BfenvError if it does not.
    """
    if not path.name.endswith((*SWF, ".csv")):
        raise BfenvError(f"{path}: the name of a schedule's file must end in .csv, .swf or .swf.gz")


def schedule_csv(schedule: Schedule) -> str:
    """Return one line per job; times are in seconds since the first submit time.

    Jobs count from 0, without those that were dropped. For a log, `number` is the job's in the log.
    """
    trace, jobs = schedule.trace, schedule.trace.jobs
    columns = [jobs.submit, jobs.size, jobs.estimate, trace.runtime, schedule.start, schedule.end]
    names = ["job", "submit", "size", "estimate", "runtime", "start", "end"]
    if trace.records is not None:
        columns.append(trace.records[:, JOB].astype(np.int64))
        names.append("number")
    rows = zip(range(len(trace)), *(column.tolist() for column in columns), strict=True)
    return csv_text(names, rows)


def batsim_csv(schedule: Schedule) -> str:
    """Return the schedule as Batsim's file of jobs (docs/output-jobs.rst of oar-team/batsim).

    Jobs are numbered from 0 in trace order; a job's profile has its number. A job failed if it
    ran longer than its estimate in the log. Killed trials are left out, because Batsim has one
    line per job. Processors are assigned by `bfenv.analysis.placement`. The energy is -1, unknown.
    """
    trace, jobs = schedule.trace, schedule.trace.jobs
    spans = {run.job: run.spans for run in place(schedule) if not run.trial}
    killed = np.zeros(len(trace), dtype=bool)
    if trace.records is not None:
        killed = (trace.runtime == jobs.estimate) & (trace.records[:, RUNTIME] > jobs.estimate)
    wait, runtime = schedule.wait, trace.runtime
    columns = (
        jobs.submit,
        jobs.size,
        jobs.estimate,
        killed,
        schedule.start,
        runtime,
        schedule.end,
        wait,
        wait + runtime,
        (wait + runtime) / runtime,
    )
    rows = []
    for job, line in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        submit, size, estimate, is_killed, *values = line
        state = "COMPLETED_WALLTIME_REACHED" if is_killed else "COMPLETED_SUCCESSFULLY"
        head = (job, trace.name, job, submit, size, estimate, int(not is_killed), state)
        processors = " ".join(
            f"{first}" if last == first + 1 else f"{first}-{last - 1}"
            for first, last in sorted(spans[job])
        )
        rows.append((*head, *values, processors, -1, ""))
    return csv_text(BATSIM_COLUMNS, rows)
