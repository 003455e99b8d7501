"""The accounting file of IBM Spectrum LSF, lsb.acct.

Source: the manual page lsb.acct(5) of LSF 10.1. A line is words separated by spaces, those of text
in quotes; JOB_FINISH is the end of a job.

The size is the number of execution hosts listed, one for each slot, or else of the slots requested.
The limit is the run limit of `bsub -W`, in seconds, where a line has the fields of LSF 9.1 and
later. The queue is also the partition.
"""

import os
import re

from bfenv.workloads.logs.times import read_integer
from bfenv_site.logs.run import COMPLETED, FAILED, Log, Record, open_lines

WORD = re.compile(r'"(?:[^"]|"")*"|[^\s"]+')
WHOLE = re.compile(r"-?[0-9]{1,15}")
BEGIN = re.compile(r'"[A-Z_]+" "[0-9.]+" [0-9]+ ')
LEAST = 24  # words of JOB_FINISH, up to the number of execution hosts
EVENT, END, JOB_ID, SLOTS, SUBMIT, START, USER, QUEUE, ASKED_HOSTS = 0, 2, 3, 6, 7, 10, 11, 12, 22
DONE = 64  # the status of a job that ended with exit status 0
# Places counted from the status, which follows the execution hosts. Where a line has text and whole
# numbers at these, it has the fields of a version of LSF.
INDEX, INDEX_TEXTS, INDEX_NUMBERS = 29, (2, 3, 23, 24, 27, 28), (25, 26, 29)  # any version
PAIRS = 53  # that follow this number of them, since LSF 9.1
USE_OF_HOST = 6  # words on each host, the last being the number of pairs that follow
LIMIT_TEXTS = (32, 33, 34, 35, 37, 41, 42, 43, 44, 46, 47, 49, 51, 52)
LIMIT_NUMBERS = (30, 31, 36, 38, 45, 48, 50, 53)


def open_lsf(path: str | os.PathLike[str]) -> Log:
    """Open LSF's lsb.acct."""
    return open_lines(
        path,
        _parse,
        "made of LSF accounting; a processor is a slot",
        lambda text: text.startswith("#") or text.count('"') % 2 == 0,
        lambda _, line: bool(BEGIN.match(line)),
    )


def _parse(line: str) -> Record:
    if line.startswith("#"):
        return Record(reason="headers")
    words = WORD.findall(line)
    if not words or not words[EVENT].startswith('"'):
        raise ValueError("not a line of lsb.acct, which begins with an event in quotes")
    if words[EVENT] != '"JOB_FINISH"':
        return Record(reason="other_record")
    if line.count('"') % 2:
        raise ValueError("a quote is not closed")
    if len(words) < LEAST:
        raise ValueError(f"{len(words)} words, expected {LEAST} or more")
    asked_hosts = _integer(words[ASKED_HOSTS])
    hosts_at = ASKED_HOSTS + 1 + asked_hosts
    hosts = _integer(words[hosts_at]) if hosts_at < len(words) else 0
    status_at = hosts_at + 1 + hosts
    if status_at >= len(words):
        raise ValueError(f"{len(words)} words, too few for {asked_hosts} and {hosts} hosts")
    # A host may be listed once as "8*host" for eight slots.
    host_words = [word.strip('"').rpartition("*") for word in words[hosts_at + 1 : status_at]]
    queue, tail = words[QUEUE].strip('"'), words[status_at:]
    index = _integer(tail[INDEX]) if _has(tail, INDEX_TEXTS, INDEX_NUMBERS) else 0
    return Record(
        submit=words[SUBMIT],
        start=words[START],
        end=words[END],
        limit=_limit(tail),
        size=sum(int(n) if n.isdecimal() and len(n) < 10 else 1 for n, _, _ in host_words),
        request=_integer(words[SLOTS]),
        user=words[USER].strip('"'),
        queue=queue,
        partition=queue,
        nodes=",".join(host for _, _, host in host_words),
        status=COMPLETED if _integer(words[status_at]) == DONE else FAILED,
        job=words[JOB_ID] + (f"[{index}]" if index else ""),
    )


def _limit(words: list[str]) -> int:
    """Return a job's run limit in seconds, -1 if it has none; `words` begin with the status."""
    if not _has(words, INDEX_TEXTS + LIMIT_TEXTS, INDEX_NUMBERS + LIMIT_NUMBERS):
        return -1
    place = PAIRS + 2 * _integer(words[PAIRS]) + 1  # the number of hosts whose use follows
    hosts = _integer(words[place]) if place < len(words) else 0
    place += 1
    for _ in range(hosts):
        pairs_at = place + USE_OF_HOST - 1
        if pairs_at >= len(words):
            return -1
        place = pairs_at + 1 + 2 * _integer(words[pairs_at])
    return (_integer(words[place]) if place < len(words) else 0) or -1


def _has(words: list[str], texts: tuple[int, ...], numbers: tuple[int, ...]) -> bool:
    """Return whether there are words in quotes, and whole numbers, at these places."""
    return (
        len(words) > max(*texts, *numbers)
        and all(words[i].startswith('"') for i in texts)
        and all(WHOLE.fullmatch(words[i]) for i in numbers)
    )


def _integer(word: str) -> int:
    return max(read_integer(word.strip('"')) or 0, 0)
