"""The messages of a scheduling pass: what has become known, and the answer.

Both are arrays of int64, which both ends write and read with one kernel each. JSON is another form
of the same numbers.

* A pass: the clock; the numbers of jobs submitted, ended and killed; then job, submit, size,
  estimate, user, priority and requested_start of each job submitted; then the jobs that have ended;
  then those whose trial has.
* An answer: the time of a wake-up, FOREVER for none; then job and limit of each start, in seconds,
  FOREVER for a start without a limit.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

import bfenv.core.cluster as c
from bfenv.core.cluster import RUNNING as RUNNING_NOW
from bfenv.core.cluster import Cluster, finished, start, started, try_start, wake_at
from bfenv.core.events import advance, commit_starts, push
from bfenv.core.jobs import FOREVER, RESTARTABLE
from bfenv.core.kernel import kernel
from bfenv_judge.players.player_process import PlayerError, shown

HEAD = 4  # integers before the jobs of a pass
ROWS = RESTARTABLE  # of a request that are sent: all but whether the job is restartable
COLUMNS = 1 + ROWS  # integers of a job that was submitted
# Indices into Known.totals
SUBMITTED, ENDED, RUNNING, TRYING = range(4)
LATEST = 2**62  # seconds; no number in a reply may reach it


class Known(NamedTuple):
    """What a player knows: how many jobs were submitted, have ended, and are running."""

    totals: np.ndarray  # (4,) int64, see the names above
    trying: np.ndarray  # (m,) int64 jobs in a trial, ascending; the first TRYING of them count


def nothing_known(cluster: Cluster) -> Known:
    """Return what a player knows before the first pass."""
    return Known(np.zeros(4, dtype=np.int64), np.zeros_like(cluster.running))


def longest_pass(cluster: Cluster) -> int:
    """Return how many integers the message of a pass may have."""
    return HEAD + COLUMNS * len(cluster.start) + len(cluster.finished) + len(cluster.running)


# The referee's side -------------------------------------------------------------------------


@kernel
def write_pass(cluster, jobs, known, message):
    """Write what has become known since the last pass; return the number of integers.

    It is -1 if jobs have started that the player has not: players do not follow outages, nor one
    event at a time.
    """
    state, totals = cluster.state, known.totals
    first, last = totals[SUBMITTED], state[c.NEXT_JOB]
    i = HEAD
    for job in range(first, last):
        message[i] = job
        message[i + 1] = jobs.submit[job]
        message[i + 2] = jobs.size[job]
        message[i + 3] = jobs.estimate[job]
        message[i + 4] = jobs.user[job]
        message[i + 5] = jobs.priority[job]
        message[i + 6] = jobs.requested_start[job]
        i += COLUMNS
    for job in finished(cluster):
        message[i] = job
        i += 1
    trying, killed = 0, 0
    for job in known.trying[: totals[TRYING]]:
        if cluster.trial_end[job] >= 0:
            message[i + killed] = job
            killed += 1
        elif cluster.end[job] < 0:
            known.trying[trying] = job
            trying += 1
    message[0] = state[c.NOW]
    message[1] = last - first
    message[2] = state[c.FINISHED]
    message[3] = killed
    totals[SUBMITTED] = last
    totals[ENDED] += state[c.FINISHED]
    totals[RUNNING] -= state[c.FINISHED] + killed
    totals[TRYING] = trying
    waiting = last - totals[ENDED] - totals[RUNNING]
    if (
        state[RUNNING_NOW] != totals[RUNNING]
        or state[c.QUEUE_END] - state[c.QUEUE_BEGIN] != waiting
        or state[c.ONE_EVENT]
    ):
        return -1
    return i + killed


@kernel
def make_starts(cluster, jobs, known, trials, answer):
    """Make the starts of an answer; return the first job with a limit unless `trials`, else -1.

    Raises ValueError at an illegal start.
    """
    for i in range(1, len(answer), 2):
        job, limit = answer[i], answer[i + 1]
        if limit == FOREVER:
            start(cluster, jobs, job)
        elif not trials:
            return job
        else:
            try_start(cluster, jobs, job, limit)
            if limit < jobs.estimate[job]:
                _note_trial(known, job)
        known.totals[RUNNING] += 1
    wake_at(cluster, answer[0])
    return -1


@kernel
def _note_trial(knowledge, job):
    """Insert a job into the ascending list of those in a trial."""
    i = knowledge.totals[TRYING]
    while i > 0 and knowledge.trying[i - 1] > job:
        knowledge.trying[i] = knowledge.trying[i - 1]
        i -= 1
    knowledge.trying[i] = job
    knowledge.totals[TRYING] += 1


# The player's side --------------------------------------------------------------------------


@kernel
def follow_pass(cluster, jobs, truth, requests, runtime, message):
    """Bring a mirror to a pass; this writes the `requests` and `runtime` that `truth` shows."""
    state = cluster.state
    if state[c.STARTED]:
        commit_starts(cluster, jobs, truth)
    truth.event_count[0] = 0  # what is to come is not known here
    now, submitted, ended, killed = message[0], message[1], message[2], message[3]
    i = HEAD
    for _ in range(submitted):
        for row in range(ROWS):
            requests[row, message[i]] = message[i + 1 + row]
        i += COLUMNS
    for job in message[i : i + ended]:
        runtime[job] = now - cluster.start[job]
    for job in message[i : i + ended + killed]:
        push(truth, now, job)
    state[c.LAST_JOB] += submitted
    state[c.WAKE] = now
    advance(cluster, jobs, truth)


@kernel
def write_answer(cluster, jobs, answer):
    """Write the starts and the wake-up of this pass; return the number of integers."""
    answer[0] = cluster.state[c.WAKE]
    i = 1
    for job in started(cluster):
        limit = cluster.kill_time[job] - cluster.start[job]
        answer[i] = job
        answer[i + 1] = FOREVER if limit == jobs.estimate[job] else limit
        i += 2
    return i


# JSON ---------------------------------------------------------------------------------------


def pass_to_json(message: np.ndarray) -> dict[str, Any]:
    """Return the message of a pass as docs/players.md describes it."""
    now, submitted, ended, _ = message[:HEAD].tolist()
    last = HEAD + COLUMNS * submitted
    parts = {
        "submitted": message[HEAD:last].reshape(-1, COLUMNS).tolist(),
        "ended": message[last : last + ended].tolist(),
        "killed": message[last + ended :].tolist(),
    }
    return {"message": "pass", "now": now} | {key: part for key, part in parts.items() if part}


def answer_from_json(reply: Mapping[str, Any]) -> np.ndarray:
    """Read an answer.

    Raises PlayerError if it is not what docs/players.md says.
    """
    items = reply.get("start", [])
    if not isinstance(items, list):
        raise PlayerError(f"its start is not a list: {shown(items)}")
    wake = reply.get("wake")
    numbers = [FOREVER if wake is None else _integer("wake", wake)]
    for item in items:
        pair = item if isinstance(item, list) else [item, FOREVER]
        if len(pair) != 2:
            raise PlayerError("its start is not a list of jobs, or of [job, seconds] for trials")
        job, limit = pair
        numbers.append(_integer("start", job))
        numbers.append(limit if limit == FOREVER else _integer("start", limit))
    return np.array(numbers, dtype=np.int64)


def _integer(name: str, value: Any) -> int:
    if type(value) is not int or not -LATEST < value < LATEST:
        limits = f"between -{LATEST:,} and {LATEST:,}"
        raise PlayerError(f"its {name} must be an integer {limits}, got {shown(value)}")
    return value
