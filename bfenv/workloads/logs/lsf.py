"""The accounting file of IBM Spectrum LSF, lsb.acct, as a trace.

Source: the manual page lsb.acct(5) of LSF 10.1. A line is words separated by spaces, those of text
in quotes; JOB_FINISH is the end of a job.
"""

import os
import re

from bfenv.core.jobs import Trace
from bfenv.workloads.logs.conversion import EVERYTHING, Options, Selection, convert
from bfenv.workloads.logs.run import Run
from bfenv.workloads.logs.text import consumed, numbered_lines
from bfenv.workloads.logs.times import read_epoch, read_integer

WORD = re.compile(r'"(?:[^"]|"")*"|[^\s"]+')
LEAST = 24  # words of JOB_FINISH, up to the number of execution hosts
EVENT, END, SLOTS, SUBMIT, START, USER, QUEUE, ASKED = 0, 2, 6, 7, 10, 11, 12, 22
JOB_ID, DONE = 3, 64  # the value of jStatus for a job that ended with exit status 0
COMPLETED, FAILED = 1, 0  # SWF field 11


def read_lsf(
    path: str | os.PathLike[str],
    *,
    processors: int | None = None,
    timezone: str = "UTC",
    selection: Selection = EVERYTHING,
    longest: int | str | None = None,
    overrun: str = "kill",
    on_error: str = "raise",
) -> Trace:
    """Read the jobs that ended from LSF's lsb.acct.

    Size is the number of execution hosts listed, one for each slot, or else of the slots requested.
    The run limit's place in the line differs between versions, so no job has an estimate of its
    own: give `longest`, or estimates are the runtimes. The queue is also the partition.

    Parameters
    ----------
    path, processors, timezone, selection, longest, overrun, on_error
        As in `read_sacct`.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    WorkloadError
        If no job is left, an option is out of range, or a line is malformed.
    """
    return convert(
        path,
        consumed(numbered_lines(path)),
        _parse,
        Options(processors, timezone, longest, overrun, on_error, selection),
        notes=["made of LSF accounting; a processor is a slot", "run limits were not read"],
    )


def _parse(line: str) -> Run | str:
    """Return the run in a line, or why there is none; ValueError if it is malformed."""
    if line.startswith("#"):
        return "headers"
    words = WORD.findall(line)
    if not words or not words[EVENT].startswith('"'):
        raise ValueError("not a line of lsb.acct, which begins with an event in quotes")
    if words[EVENT] != '"JOB_FINISH"':
        return "other_record"
    if len(words) < LEAST:
        raise ValueError(f"{len(words)} words, expected {LEAST} or more")
    end, submit, start = (read_epoch(words[i]) for i in (END, SUBMIT, START))
    slots, asked = _integer(words[SLOTS]), _integer(words[ASKED])
    hosts_at = ASKED + 1 + asked
    hosts = _integer(words[hosts_at]) if hosts_at < len(words) else 0
    status_at = hosts_at + 1 + hosts
    if status_at >= len(words):
        raise ValueError(f"{len(words)} words, too few for {asked} and {hosts} hosts")
    if submit <= 0:
        return "no_submit"
    if start <= 0:
        return "never_started"
    if end - start < 1:
        return "no_runtime"
    # A host may be listed once as "8*host" for eight slots.
    listed = sum(_slots(word) for word in words[hosts_at + 1 : status_at])
    size = listed or slots
    if size < 1:
        return "no_size"
    queue = words[QUEUE].strip('"')
    return Run(
        submit,
        start,
        end - start,
        size,
        user=words[USER].strip('"'),
        queue=queue,
        partition=queue,
        status=COMPLETED if _integer(words[status_at]) == DONE else FAILED,
        job=words[JOB_ID],
        same=(words[JOB_ID], start, end, tuple(words[SUBMIT : START + 1])),
    )


def _integer(word: str) -> int:
    return max(read_integer(word.strip('"')) or 0, 0)


def _slots(word: str) -> int:
    count, star, _ = word.strip('"').partition("*")
    return int(count) if star and count.isdecimal() and len(count) < 10 else 1
