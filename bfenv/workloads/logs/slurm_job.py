"""The run in what Slurm's accounting has of a job, whatever it was printed as."""

import re
from collections.abc import Callable
from datetime import tzinfo
from functools import lru_cache
from sys import intern

from bfenv.core.durations import MINUTE
from bfenv.workloads.logs.run import (
    CANCELLED,
    COMPLETED,
    FAILED,
    UNKNOWN,
    Dropped,
    Run,
    order_times,
)
from bfenv.workloads.logs.times import read_duration, read_time
from bfenv.workloads.logs.tres import Fields

JOB = re.compile(r"[0-9]+(_([0-9]+|\[[0-9,:%.-]*\]?))?(\+[0-9]+)?")
STEP = re.compile(r"[0-9]+(_[0-9]+)?(\+[0-9]+)?\.[A-Za-z0-9_+]+")
STATE = re.compile(r"[A-Z_]+")  # of "CANCELLED by 1000"
WAITING = {"PENDING", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"}
UNFINISHED = {
    "RUNNING", "SUSPENDED", "CONFIGURING", "COMPLETING", "STOPPED", "SIGNALING", "STAGE_OUT",
}  # fmt: skip
STATUSES = {"COMPLETED": COMPLETED, "CANCELLED": CANCELLED} | dict.fromkeys(
    (
        "FAILED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL", "PREEMPTED", "DEADLINE", "BOOT_FAIL",
        "LAUNCH_FAILED", "RECONFIG_FAIL", "REQUEUED", "RESIZING", "REVOKED",
    ),
    FAILED,
)  # fmt: skip  # any other is not known
UNLIMITED = {"unlimited", "partition_limit"}
CACHE = 1 << 12  # texts; the states and limits of a log are few
COLUMNS = (
    "JobID", "User", "Group", "Account", "Partition", "QOS", "Cluster", "Submit", "Eligible",
    "Start", "End", "ElapsedRaw", "Elapsed", "TimelimitRaw", "Timelimit", "State",
)  # fmt: skip  # that `parse_fields` reads


def parse_fields(
    fields: Fields, zone: tzinfo, count: Callable[[Fields], int], eligible: bool
) -> Run | Dropped:
    """Return the run in the fields of a job, or why there is none; ValueError if malformed.

    `count` returns its processors, 0 if they are not known.
    """
    result = _run(fields, zone, count, eligible)
    if isinstance(result, str):
        return Dropped(result, fields.get("Partition", ""), fields.get("Cluster", ""))
    return result


def _run(fields: Fields, zone: tzinfo, count: Callable[[Fields], int], eligible: bool) -> Run | str:
    """Return the run in the fields of a job, or the reason why there is none."""
    state = _state(fields["State"])
    if reason := _unfinished(fields, state):
        return reason
    start, end = _time(fields, "Start", zone), _time(fields, "End", zone)
    if not start or (state == "CANCELLED" and start == end):  # older versions print the latter
        return "never_started"
    if "End" in fields and not end:
        return "running"
    submitted = _time(fields, "Submit", zone)
    if not submitted:
        return "no_submit"
    elapsed = _duration(fields, "ElapsedRaw")
    if elapsed is None:
        elapsed = _duration(fields, "Elapsed")
    submit, begin, finish = order_times(submitted, start, end, elapsed)
    if eligible:  # not known of jobs that were never held
        submit = max(submit, order_times(_time(fields, "Eligible", zone), (begin,), (), None)[0])
    runtime = finish - begin if elapsed is None else elapsed
    if runtime < 1:
        return "no_runtime"
    size = count(fields)
    if size < 1:
        return "no_size"
    group = fields.get("Group") or fields.get("Account", "")
    user, queue = fields.get("User", ""), fields.get("QOS", "")
    partition, cluster = fields.get("Partition", ""), fields.get("Cluster", "")
    status = STATUSES.get(state, UNKNOWN)
    return Run(
        submit, begin, runtime, size, _limit(fields), intern(user), intern(group), intern(queue),
        intern(partition), status, fields["JobID"], intern(cluster),
    )  # fmt: skip  # by position, which takes half the time


def _unfinished(fields: Fields, state: str) -> str:
    """Return why a line is not a job that ended, by its id and state; "" if it is one."""
    job = fields["JobID"]
    if not (job.isdecimal() and job.isascii()) and not JOB.fullmatch(job):
        if STEP.fullmatch(job):
            return "steps"
        raise ValueError(f"JobID: {job[:40]!r} is not a job id")
    if not state:
        raise ValueError(f"State: {fields['State'][:40]!r} is not a state")
    if state in WAITING:
        return "pending"
    return "running" if state in UNFINISHED else ""


@lru_cache(maxsize=CACHE)
def _state(text: str) -> str:
    match = STATE.match(text.upper())
    return match.group() if match else ""


def _time(fields: Fields, column: str, zone: tzinfo) -> tuple[int, ...]:
    try:
        return read_time(fields.get(column), zone)
    except ValueError as error:
        raise ValueError(f"{column}: {error}") from None


def _duration(fields: Fields, column: str) -> int | None:
    try:
        return read_duration(fields.get(column))
    except ValueError as error:
        raise ValueError(f"{column}: {error}") from None


def _limit(fields: Fields) -> int:
    """Return the time limit in seconds; -1 for none."""
    for column in ("TimelimitRaw", "Timelimit"):
        if limit := _read_limit(column, fields.get(column)):
            return limit
    return -1


@lru_cache(maxsize=CACHE)
def _read_limit(column: str, text: str | None) -> int | None:
    """Read a limit in minutes, or as a duration: in seconds, -1 for no limit, None if unknown."""
    if text is not None and text.lower() in UNLIMITED:
        return -1
    try:
        return read_duration(text, unit=MINUTE)
    except ValueError as error:
        raise ValueError(f"{column}: {error}") from None
