"""What a log says of a job, and the run it tells of: one reading of times for all formats."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import tzinfo
from functools import lru_cache
from itertools import product
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

import numpy as np

from bfenv.core.durations import HOUR
from bfenv.workloads.logs.markers import YEAR, is_blank, is_no_date
from bfenv.workloads.logs.text import join_lines, numbered_lines
from bfenv.workloads.logs.times import Number, read_duration, read_integer, read_time, rounded

COMPLETED, FAILED, CANCELLED, UNKNOWN = 1, 0, 5, -1  # SWF field 11
ENDLESS_NUMBER, NO_NUMBER = 2**32 - 1, 2**32 - 2  # Slurm's limits: unlimited, and not said

Value = TypeVar("Value")


class Record(NamedTuple):
    """What a record of a log says of a job, as it stands there; None is what the log lacks."""

    submit: Any = None  # times, as `read_time` takes them
    start: Any = None
    end: Any = None
    eligible: Any = None  # only if it stands in for the submit time
    runtime: Any = None  # durations, as `read_duration` takes them
    limit: Any = None
    size: Any = None  # processors that the job held
    request: Any = None  # processors that it requested
    user: str = ""
    group: str = ""
    account: str = ""
    queue: str = ""  # with Slurm, its QOS
    partition: str = ""
    cluster: str = ""
    nodes: str = ""  # as in "n[1-4],fat7"
    job: str = ""  # its id, "" if it is not known
    status: int = UNKNOWN
    reason: str = ""  # why the record is not that of a run, a key of `cleaning.DROPPED`
    after: str = ""  # jobs that it waits for, as in "afterok:7:8,afterany:9"; or their ids


class Run(NamedTuple):
    """One execution of a job, which becomes a job of the trace.

    Records of the same job id, submit and start time are about the same run.
    """

    submit: Number  # seconds since 1970
    start: Number  # seconds since 1970; -1 if not known
    runtime: Number  # seconds, 1 or more once rounded
    size: int  # at least 1
    estimate: int = -1  # seconds; -1 for none
    user: str = ""
    group: str = ""
    queue: str = ""
    partition: str = ""
    status: int = UNKNOWN
    job: str = ""
    cluster: str = ""
    request: int = 0  # processors requested; 0 if not known
    line: int = 0  # of the log
    after: str = ""  # see `Record`

    @property
    def work(self) -> int:
        """Processor seconds."""
        return self.size * rounded(self.runtime)


class Log(NamedTuple):
    """A log as its format reads it: lines, and what makes records of them."""

    lines: Iterable[tuple[int, Any]]  # number and content of each line, row or object
    parse: Callable[[Any], Record]  # ValueError if the line is malformed
    counts: Counter[str]  # of `cleaning.CHANGED`, filled as lines are read
    notes: Sequence[str]  # for the header of the trace
    encoding: str = "utf-8"
    labels: Mapping[str, str] = {}  # what the log calls the fields, for messages
    limit_unit: int = 1  # seconds
    delimiter_option: str = ""  # what to do about a delimiter in names, for messages
    # Of a table whose columns you name: that of each duration, and the seconds in its unit
    durations: Mapping[str, tuple[str, float]] = {}
    has_epochs: bool = False  # times are seconds since 1970: 0 is no time
    has_gaps: bool = False  # a table, whose fields may be left out of jobs that ran


def open_lines(
    path: str | os.PathLike[str],
    parse: Callable[[str], Record],
    note: str,
    is_whole: Callable[[str], bool],
    begins: Callable[[str, str], bool],
    continues: Callable[[str], bool] | None = None,
) -> Log:
    """Open an accounting log of lines, whose records may have line breaks, see `join_lines`."""
    lines, encoding = numbered_lines(path)
    counts: Counter[str] = Counter()
    whole = join_lines(lines, is_whole, begins, counts, continues)
    return Log(whole, parse, counts, [note], encoding, has_epochs=True)


class Ambiguous(ValueError):
    """A line with too many fields, and the records that it may be."""

    def __init__(self, message: str, records: Iterable[Record]) -> None:
        super().__init__(message)
        self.records = records


def read_run(record: Record, log: Log, zone: tzinfo, line: int = 0) -> Run | str:
    """Return the run that a record tells of, or the reason why there is none.

    Raises ValueError if a value cannot be read; the message names it.
    """
    if record.reason:
        return record.reason
    submits = _time(log, "submit", record.submit, zone)
    starts = _time(log, "start", record.start, zone)
    ends = _time(log, "end", record.end, zone)
    runtime = _read(log, "runtime", read_duration, record.runtime)
    limit = _read(log, "limit", read_duration, record.limit, log.limit_unit)
    if not submits:
        return "no_submit"
    submit, start, end = order_times(submits, starts, ends, runtime)
    if submit <= 0 and start - submit >= YEAR:
        return "no_submit"
    start = -1 if is_no_date(start, submit) else start
    end = -1 if is_no_date(end, start) else end
    may_lack = log.has_gaps and runtime is not None and runtime > 0
    if start < 0 and record.start is not None and not (may_lack and is_blank(record.start)):
        return "never_started"
    if start == end and record.status == CANCELLED and start >= 0:  # as old versions of Slurm print
        return "never_started"
    if end < 0 and record.end is not None and not (may_lack and is_blank(record.end)):
        return "running"
    set_back = runtime is not None and abs(end + HOUR - start - runtime) <= 1  # the clock, unseen
    if (0 <= end < start and not set_back) or (runtime is not None and runtime < 0):
        return "contradictory"
    if record.eligible is not None:  # not known of jobs that were never held
        eligible = _time(log, "eligible", record.eligible, zone)
        submit = max(submit, order_times(eligible, (start,), (), None)[0])
    if runtime and end > start >= 0 and 999 < runtime / (end - start) < 1001:
        advice = (
            " (add the unit to the column, as in --map runtime=COLUMN:ms)" if log.durations else ""
        )
        raise ValueError(
            f"{log.labels.get('runtime', 'runtime')}: in milliseconds, by start and end{advice}"
        )
    if runtime is None:
        runtime = end - start if start >= 0 and end >= 0 else 0
    if runtime < 0.5:
        return "no_runtime"
    if start < 0 and runtime >= 10 * YEAR:  # the end minus a start of zero
        return "never_started"
    size, request = (
        value if type(value) is int else _read(log, "size", read_integer, value) or 0
        for value in (record.size, record.request)
    )
    size = size if size > 0 else request
    if size < 1:
        return "no_size"
    estimate = -1 if limit is None or limit < 0.5 else _intern(rounded(limit))
    return Run(
        submit,
        start,
        runtime,
        size,
        estimate,
        record.user,
        record.group or record.account,
        record.queue,
        record.partition,
        record.status,
        record.job,
        record.cluster,
        request,
        line,
        record.after,
    )  # by position, which takes half the time


@lru_cache(2**14)
def _intern(number: int) -> int:
    """Return a number; equal ones are one object, as millions of jobs share a few limits."""
    return number


def _time(log: Log, field: str, value: Any, zone: tzinfo) -> tuple[Number, ...]:
    instants = _read(log, field, read_time, value, zone)
    return () if log.has_epochs and instants == (0,) else instants


def _read(log: Log, field: str, reader: Callable[..., Value], *arguments: Any) -> Value:
    try:
        return reader(*arguments)
    except ValueError as error:
        raise ValueError(f"{log.labels.get(field, field)}: {error}") from None


def order_times(
    submit: tuple[Number, ...],
    start: tuple[Number, ...],
    end: tuple[Number, ...],
    elapsed: Number | None,
) -> tuple[Number, Number, Number]:
    """Choose the instants that submit, start and end time mean, in seconds since 1970, -1 for none.

    A local time is ambiguous where the clock was set back. Instants in order are preferred, then
    those that agree with the time elapsed, end - start in seconds, if that is known, then the
    earlier.
    """
    if len(submit) <= 1 and len(start) <= 1 and len(end) <= 1:
        return (submit or (-1,))[0], (start or (-1,))[0], (end or (-1,))[0]

    def implausibility(times: tuple[Number, ...]) -> tuple[int, Number]:
        submit, start, end = times
        disorder = (0 <= start < submit) + (0 <= end < start)
        return disorder, 0 if elapsed is None or end < 0 else abs(end - start - elapsed)

    return min(product(submit or (-1,), start or (-1,), end or (-1,)), key=implausibility)


def peak_use(runs: Sequence[Run]) -> int:
    """Return the most processors in use at once by runs whose start is known.

    Processors of a run that ends at an instant are free for one that starts then.
    """
    started = [run for run in runs if run.start >= 0]
    start, runtime, size = (column(started, name) for name in ("start", "runtime", "size"))
    times = np.round(np.concatenate([start, start + runtime]), 3)
    change = np.concatenate([size, -size])
    return int(np.cumsum(change[np.lexsort((change, times))]).max(initial=0))


def column(runs: Sequence[Run], field: str) -> np.ndarray:
    """Return a field of each run: (n,) float64, because a log may have any number."""
    return np.fromiter(map(attrgetter(field), runs), np.float64, len(runs))


def number_names(names: Sequence[str]) -> list[int]:
    """Number names from 1 by first appearance; -1 for no name."""
    numbers = {"": -1}
    return [numbers.setdefault(name, len(numbers)) for name in names]
