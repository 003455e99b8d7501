"""The accounting file of Sun/Univa/Altair Grid Engine, as a trace.

Source: the manual page accounting(5). A line is 45 or more fields separated by colons.
"""

import os
import re
from typing import Unpack

from bfenv.core.jobs import Trace
from bfenv.workloads.logs.conversion import ReaderOptions, convert
from bfenv.workloads.logs.run import COMPLETED, FAILED, Run
from bfenv.workloads.logs.text import numbered_lines
from bfenv.workloads.logs.times import LATEST, read_duration, read_epoch, read_integer

LEAST = 35  # fields, up to the slots
(QUEUE, GROUP, OWNER, JOB, SUBMIT, START, END) = (0, 2, 3, 5, 8, 9, 10)
FAILURE, EXIT, SLOTS, TASK, CATEGORY = 11, 12, 34, 35, 39
IO_WAIT = re.compile(r"\s*[0-9]+\.[0-9]+\s*")  # seconds
LIMIT = re.compile(r"\b[hs]_rt=([0-9:]+)")


def read_sge(path: str | os.PathLike[str], **options: Unpack[ReaderOptions]) -> Trace:
    """Read the jobs that ended from the accounting file of Grid Engine.

    Size is the number of slots; the estimate is h_rt or s_rt in the job's category. Times in
    milliseconds, as Univa Grid Engine 8.2 writes them, are rounded down. Tasks of an array are
    jobs; tasks within a parallel job are not. The queue is also the partition.

    Parameters
    ----------
    path, **options
        As in `read_sacct`: processors, timezone, selection, longest, overrun, on_error.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    WorkloadError
        If no job is left, an option is out of range, or a line is malformed.
    """
    notes = ["made of Grid Engine accounting; a processor is a slot"]
    return convert(path, numbered_lines(path), _parse, notes, **options)


def _parse(line: str) -> Run | str:
    """Return the run in a line, or why there is none; ValueError if it is malformed."""
    if line.startswith("#"):
        return "headers"
    fields = line.split(":")
    if len(fields) < LEAST:
        raise ValueError(f"{len(fields)} fields separated by colons, expected {LEAST} or more")
    submit, start, end = (_seconds(fields[i]) for i in (SUBMIT, START, END))
    io_wait_at = _io_wait_at(fields)
    category, parallel_task = fields[CATEGORY:io_wait_at], fields[io_wait_at + 1 : io_wait_at + 2]
    if parallel_task and parallel_task[0].strip() not in ("", "NONE", "none"):
        return "steps"
    if submit <= 0:
        return "no_submit"
    if start <= 0:
        return "never_started"
    if end - start < 1:
        return "no_runtime"
    size = read_integer(fields[SLOTS]) or 0
    if size < 1:
        return "no_size"
    task = fields[TASK].strip() if len(fields) > TASK else "0"
    job = fields[JOB].strip() + ("" if task in ("", "0") else f".{task}")
    limit = LIMIT.search(":".join(category))
    is_done = fields[FAILURE].strip().partition(" ")[0] == "0" and fields[EXIT].strip() == "0"
    return Run(
        submit,
        start,
        end - start,
        size,
        estimate=(read_duration(limit[1]) or -1) if limit else -1,
        user=fields[OWNER].strip(),
        group=fields[GROUP].strip(),
        queue=fields[QUEUE].strip(),
        partition=fields[QUEUE].strip(),
        status=COMPLETED if is_done else FAILED,
        job=job,
    )


def _io_wait_at(fields: list[str]) -> int:
    """Return the place of the I/O wait, which follows the category.

    The category may have colons in it, as in "-l h_rt=24:00:00".
    """
    for i in range(CATEGORY + 1, len(fields)):
        if IO_WAIT.fullmatch(fields[i]):
            return i
    return CATEGORY + 1


def _seconds(text: str) -> int:
    """Return a time in seconds since 1970, -1 if it is not known; milliseconds are recognized."""
    value = read_integer(text)
    return read_epoch(value // 1000 if value is not None and value >= LATEST else value)
