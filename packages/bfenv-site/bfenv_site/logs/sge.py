"""The accounting file of Sun, Univa and Altair Grid Engine.

Source: the manual page accounting(5). A line is 45 or more fields separated by colons.

The size is the number of slots; the limit is h_rt or s_rt in the job's category. Times in
milliseconds, as Univa Grid Engine 8.2 writes them, are seconds here. Tasks of an array are jobs;
tasks within a parallel job are not. The queue is also the partition.
"""

import os
import re

from bfenv.core.text import counted
from bfenv.workloads.logs.times import LATEST, read_integer
from bfenv_site.logs.run import COMPLETED, FAILED, Log, Record, open_lines

LEAST = 35  # fields, up to the slots
QUEUE, HOST, GROUP, OWNER, NAME, JOB, ACCOUNT, SUBMIT, START, END = 0, 1, 2, 3, 4, 5, 6, 8, 9, 10
FAILURE, EXIT, SLOTS, TASK, CATEGORY = 11, 12, 34, 35, 39
IO_WAIT = re.compile(r"\s*[0-9]+\.[0-9]+\s*")  # seconds
LIMIT = re.compile(r"\b[hs]_rt=([0-9:]+)")
TIME = re.compile("[0-9]{9,13}")
MOST = 24  # fields among which the times are looked for, where a text before them has colons
FEW = 6  # fields of what may be a line's beginning


def open_sge(path: str | os.PathLike[str]) -> Log:
    """Open the accounting file of Grid Engine."""
    return open_lines(
        path,
        _parse,
        "made of Grid Engine accounting; a processor is a slot",
        lambda text: not FEW <= text.count(":") + 1 < LEAST,
        lambda _, line: line.count(":") + 1 >= LEAST,
    )


def _parse(line: str) -> Record:
    if line.startswith("#"):
        return Record(reason="headers")
    fields = line.split(":")
    places = range(SUBMIT, min(MOST, len(fields) - 2))
    moved = next((i for i in places if _are_times(fields[i - 1 : i + 3], i == SUBMIT)), SUBMIT)
    if moved > SUBMIT:  # by colons in the job's name, or in the account behind its id
        job = next((i for i in range(moved - 3, JOB - 1, -1) if fields[i].strip().isdecimal()), 0)
        if not job:
            raise ValueError("no job id before the account, the priority and three times")
        account = ":".join(fields[job + 1 : moved - 1])
        fields[NAME : moved - 1] = [":".join(fields[NAME:job]), fields[job], account]
    if len(fields) < LEAST:
        raise ValueError(
            f"{counted(len(fields), 'field')} between colons, expected {LEAST} or more"
        )
    queue, task = fields[QUEUE].strip(), fields[TASK].strip() if len(fields) > TASK else "0"
    # It follows the category, which may have colons in it, as in "-l h_rt=24:00:00".
    waits = (i for i in range(CATEGORY + 1, len(fields)) if IO_WAIT.fullmatch(fields[i]))
    io_wait_at = next(waits, CATEGORY + 1)
    category, parallel_task = fields[CATEGORY:io_wait_at], fields[io_wait_at + 1 : io_wait_at + 2]
    if parallel_task and parallel_task[0].strip() not in ("", "NONE", "none"):
        return Record(reason="steps", partition=queue)
    limit = LIMIT.search(":".join(category))
    is_done = fields[FAILURE].strip().partition(" ")[0] == "0" and fields[EXIT].strip() == "0"
    # Since 1970, in seconds or milliseconds
    times = [read_integer(fields[i]) or 0 for i in (SUBMIT, START, END)]
    submit, start, end = (time // 1000 if time >= LATEST else time for time in times)
    return Record(
        submit=submit,
        start=start,
        end=end,
        size=fields[SLOTS],
        limit=limit and limit[1],
        user=fields[OWNER].strip(),
        group=fields[GROUP].strip(),
        account=fields[ACCOUNT].strip(),
        queue=queue,
        partition=queue,
        nodes=fields[HOST].strip(),
        status=COMPLETED if is_done else FAILED,
        job=fields[JOB].strip() + ("" if task in ("", "0") else f".{task}"),
    )


def _are_times(fields: list[str], may_lack: bool) -> bool:
    """Return whether fields are a priority, the submit time, unless it may lack, and two times."""
    priority, *times = map(str.strip, fields)
    return (
        priority.removeprefix("-").isdecimal()
        and (may_lack or TIME.fullmatch(times[0]) is not None)
        and all(TIME.fullmatch(text) or text in ("0", "-1") for text in times)
    )
